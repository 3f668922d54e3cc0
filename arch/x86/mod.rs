// SPDX-License-Identifier: GPL-2.0

//! x86-64: patch sites, trampolines, instruction encoders.
//!
//! It implements [`Arch`] by the kernel's text patching (`asm/text-patching.h`) and by
//! copies of the models in `entry.S`. Lock order: the ftrace lock, then `text_mutex`.

#[path = "insn.rs"]
// A host crate, too, whose tests see what is public.
#[allow(unreachable_pub)]
pub(crate) mod insn;
#[path = "text.rs"]
mod text;
#[path = "trampoline.rs"]
mod trampoline;

use crate::trace::ftrace::arch::{Arch, Callees, Found, IdleSite, Machine, Trampoline};
use core::ops::RangeInclusive;
use kernel::{bindings, prelude::*};

impl Arch for Machine {
    type Patcher = text::Patcher;

    const SITE_SIZE: usize = insn::SITE_SIZE;
    const TEXT_UPPER_HALF: usize = 0xffff_ffff_0000_0000;

    fn prepare(site: &IdleSite<'_>) -> Found {
        let addr = site.addr();
        let fentry = bindings::__fentry__ as *const () as usize;
        match text::read(addr) {
            None => Found::Fault,
            Some(i) if insn::is_nop(&i) => Found::Nop,
            Some(i) if insn::call_target(addr, &i) == Some(fentry) => {
                let nop = insn::NOP.as_ptr().cast();
                // SAFETY: the compiler's call is there, so 5 bytes are the site's, and nothing
                // executes those of an `IdleSite`.
                unsafe { bindings::rtrace_poke_idle_text(addr as _, nop, insn::SITE_SIZE) };
                Found::Compiled
            }
            Some(i) => Found::Other(i),
        }
    }

    fn patcher() -> text::Patcher {
        text::Patcher::lock()
    }

    fn list_caller(regs: bool) -> usize {
        trampoline::model(regs)
    }

    fn make_trampoline(ops: usize, to: Callees, regs: bool) -> Result<Trampoline> {
        trampoline::make(ops, to, regs)
    }

    unsafe fn renew_trampoline(addr: usize, ops: usize, to: Callees, regs: bool) -> Result {
        // SAFETY: `make_trampoline` made it with these arguments, and nothing runs in it.
        unsafe { trampoline::renew(addr, ops, to, regs) }
    }

    fn renew_list_callers() -> Result {
        trampoline::renew_models()
    }

    fn plain_entry(addr: usize) -> usize {
        addr.wrapping_add(trampoline::plain_offset())
    }

    fn gated_entry(addr: usize) -> usize {
        addr.wrapping_add(trampoline::gated_offset())
    }

    fn hook_entry(addr: usize) -> usize {
        addr.wrapping_add(trampoline::hook_offset())
    }

    fn record_entry(addr: usize) -> Option<usize> {
        Some(addr.wrapping_add(trampoline::record_offset()?))
    }

    fn no_rings() -> usize {
        (&raw const bindings::rtrace_no_ring) as usize
    }

    fn trampoline_calls(addr: usize, regs: bool) -> Option<usize> {
        let at = addr.wrapping_add(trampoline::call_offset(regs));
        insn::call_target(at, &text::read(at)?).map(trampoline::called)
    }

    unsafe fn retarget_trampoline(addr: usize, to: Callees, regs: bool) -> Result {
        // SAFETY: `make_trampoline` made it with these `regs`, and it was not freed.
        unsafe { trampoline::retarget(addr, to, regs) }
    }

    fn own_text() -> RangeInclusive<usize> {
        bindings::ftrace_stub as *const () as usize..=Self::return_hook()
    }

    #[inline(always)]
    fn return_hook() -> usize {
        bindings::return_to_handler as *const () as usize
    }

    #[inline(always)]
    unsafe fn has_all_registers(regs: *mut bindings::ftrace_regs) -> bool {
        // SAFETY: `struct ftrace_regs` is x86's `struct pt_regs`; the models write `cs` in either
        // case.
        unsafe { (*regs.cast::<bindings::pt_regs>()).__bindgen_anon_1.csx != 0 }
    }

    #[inline(always)]
    unsafe fn return_address(regs: *mut bindings::ftrace_regs) -> *mut usize {
        // SAFETY: `struct ftrace_regs` is x86's `struct pt_regs`, of which trampolines save `sp`.
        unsafe { (*regs.cast::<bindings::pt_regs>()).sp as *mut usize }
    }

    #[inline(always)]
    unsafe fn hooked_address(regs: *mut bindings::ftrace_regs) -> usize {
        // They lie right below it.
        regs.cast::<bindings::pt_regs>().wrapping_add(1) as usize
    }

    unsafe fn set_return(regs: *mut bindings::ftrace_regs, ret: usize) {
        let regs = regs.cast::<bindings::pt_regs>();
        // SAFETY: the hook saved `regs`, which are nobody else's; right above them is the word that
        // the function returned by.
        unsafe {
            (*regs).sp = (regs.wrapping_add(1) as usize).wrapping_add(size_of::<usize>());
            (*regs).ip = ret;
        }
    }

    unsafe fn free_trampoline(addr: usize) {
        // SAFETY: it came from `execmem_alloc_rw()`, and nothing uses it any more.
        unsafe { bindings::execmem_free(addr as _) };
    }
}
