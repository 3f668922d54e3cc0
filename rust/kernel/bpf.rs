// SPDX-License-Identifier: GPL-2.0

//! BPF programs at events: they run at each hit before perf gets it, and may drop it.
//!
//! C headers: `include/linux/bpf.h`, `include/linux/btf.h`, `include/linux/trace_events.h`.

#[cfg(CONFIG_KPROBE_EVENTS)]
use super::context::PreemptOff;
use super::regs::Regs;
use super::trace_event::Call;
use kernel::bindings;
use kernel::prelude::*;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
use kernel::types::Opaque;

/// What a probe's event is at, as it is described to who asks for the programs there.
pub(crate) struct Target<'a> {
    /// The symbol, or the file's path; `None` for an address alone.
    pub(crate) name: Option<&'a CStr>,
    /// Bytes behind the symbol, or behind the file's start.
    pub(crate) offset: u64,
    /// The address of an instruction of the kernel, 0 if it is not known; for a file the place of its
    /// count of users.
    pub(crate) address: u64,
    /// Whether hits are returns.
    pub(crate) is_return: bool,
    /// Hits that the kernel has missed.
    #[cfg(CONFIG_KPROBE_EVENTS)]
    pub(crate) missed: usize,
}

/// Whether there are programs at an event. Any context. A change may be seen late.
#[inline(always)]
pub(super) fn has_programs(call: &Call) -> bool {
    // SAFETY: the structure is complete, and the word is only compared.
    let programs = unsafe { (&raw const (*call.as_ptr()).prog_array).read_volatile() };
    !programs.is_null()
}

/// Runs the programs at a kprobe. They may change the registers. Returns false if one drops the hit
/// or has the function return at once, or if a program runs on this CPU already. Any context.
#[cfg(CONFIG_KPROBE_EVENTS)]
#[inline(always)]
pub(crate) fn pass_kprobe(call: &Call, regs: &Regs, _stay: &PreemptOff) -> bool {
    if !has_programs(call) {
        return true;
    }
    let instruction = regs.instruction();
    // SAFETY: preemption is off; programs at a kprobe expect the registers of the hit.
    let pass = unsafe { bindings::trace_call_bpf(call.as_ptr(), regs.as_ptr().cast()) } != 0;
    pass && regs.instruction() == instruction
}

/// Runs the programs at a uprobe. They may change the registers, and sleep. `function` is what
/// `bpf_get_func_ip()` tells them: the probed instruction, or the function that has returned. Returns
/// false if one drops the hit. Task context, in the handler of a uprobe.
#[cfg(CONFIG_UPROBE_EVENTS)]
pub(crate) fn pass_uprobe(call: &Call, regs: &Regs, function: usize) -> bool {
    // SAFETY: programs at a uprobe expect the registers of the hit, and a task that is in a handler.
    !has_programs(call)
        || unsafe { bindings::rtrace_run_uprobe_programs(call.as_ptr(), regs.as_ptr(), function) }
            != 0
}

/// The entry of a system call's event, as programs see it: arguments, or the result alone. What other
/// entries begin with is the address of registers here. Programs see all bytes, so there is no padding.
#[cfg(CONFIG_FTRACE_SYSCALLS)]
#[repr(C)]
struct SyscallEntry {
    regs: *mut bindings::pt_regs,
    number: c_int,
    _hole: u32,
    words: [usize; 6],
}

/// Runs the programs at the event of a system call with these arguments, or this result. They may
/// sleep. Returns false if one drops the hit. Task context.
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(crate) fn pass_syscall(call: &Call, number: usize, words: &[usize]) -> bool {
    if !has_programs(call) {
        return true;
    }
    let regs = Opaque::<bindings::pt_regs>::zeroed();
    let mut entry = SyscallEntry {
        regs: regs.get(),
        number: number as c_int,
        _hole: 0,
        words: [0; 6],
    };
    for (to, word) in entry.words.iter_mut().zip(words) {
        *to = *word;
    }
    // SAFETY: there is room for the registers; programs at such an event expect an entry like this
    // one, of which all bytes are written, and see no more of it than the event has fields.
    unsafe {
        bindings::perf_fetch_caller_regs(regs.get());
        bindings::trace_call_bpf_faultable(call.as_ptr(), (&raw mut entry).cast()) != 0
    }
}

/// The types of an event in BTF, by their numbers.
pub(crate) struct Types {
    /// The BTF that they are in.
    pub(crate) object: u32,
    /// The type of the function that raw programs are called by; 0 for an event that has none of its
    /// own.
    pub(crate) raw: u32,
    /// The structure that entries are.
    pub(crate) entry: u32,
}

/// Whether an event has types. Task context.
pub(crate) fn has_types(call: &Call) -> bool {
    // SAFETY: the class lives as long as the event.
    !unsafe { (*(*call.as_ptr()).class).btf_ids }.is_null()
}

/// The types of an event. `None` if it has none, or if its module's BTF is not there. Task context, may
/// sleep. The caller holds the events lock.
pub(crate) fn types_of(call: &Call) -> Option<Types> {
    if !has_types(call) {
        return None;
    }
    // SAFETY: the event is known, and stays so under the events lock, with its module and its class,
    // whose numbers are two. BTF is counted, and given back once.
    unsafe {
        let ids = (*(*call.as_ptr()).class).btf_ids;
        let btf = bindings::btf_get_module_btf(call.module() as *const bindings::module);
        if btf.is_null() || kernel::error::from_err_ptr(btf).is_err() {
            return None;
        }
        let entry = bindings::btf_relocate_id(btf, *ids.add(1));
        let raw = match call.has(Call::TRACEPOINT) {
            true => bindings::btf_type_by_id(btf, bindings::btf_relocate_id(btf, *ids)),
            false => core::ptr::null(),
        };
        let raw = match raw.is_null() {
            true => 0,
            false => (*raw).__bindgen_anon_1.type_,
        };
        let object = bindings::btf_obj_id(btf);
        bindings::btf_put(btf);
        Some(Types { object, raw, entry })
    }
}

/// Whether the current task may see the kernel's addresses. Task context.
#[cfg(CONFIG_KPROBE_EVENTS)]
pub(crate) fn may_see_addresses() -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::rtrace_may_see_addresses() }
}

/// Whether errors may be injected into the function at `address`. Task context, may sleep.
#[cfg(CONFIG_KPROBE_EVENTS)]
pub(crate) fn may_fail(address: usize) -> bool {
    // SAFETY: compares addresses.
    unsafe { bindings::within_error_injection_list(address) }
}
