// SPDX-License-Identifier: GPL-2.0

//! Trampolines for one ops: copies of the models in `entry.S`.
//!
//! A copy differs from its model in places of the same length: the ops's address in each `movabs`
//! that loads the third argument, each call's target, the NOP or jump before the call of what hooks
//! returns, and the RETs, since a mitigation may want another one at another address. References relative to the instruction pointer are adjusted by
//! the kernel's own `text_poke_apply_relocation()`, which also covers what else was patched into
//! the model at boot; copies that were made before that are written anew then ([`renew`]).

use super::insn;
use super::text::{self, Patcher};
use crate::kernel::ftrace::{gate_of, rings_of, stub};
use crate::trace::ftrace::arch::{Callees, Trampoline};
use kernel::{bindings, page, prelude::*};

/// A model's numbers, made by the assembler.
#[repr(C)]
struct Model {
    size: usize,
    /// Offset of the entry that saves nothing for the callback, 0 if there is none.
    plain: usize,
    /// Of both entries; the same twice if there is one.
    calls: [Call; 2],
    /// Offsets of the RETs.
    returns: [usize; 2],
    /// Offsets of the entry with a gate, which begins with `movabs $gate, %r11`, and of its RET; 0
    /// if there is none.
    gated: [usize; 2],
    /// Offsets of the entry for what hooks returns, which begins with a NOP, of its call and of its
    /// RET; 0 if there is none.
    hook: [usize; 3],
    /// The entry that records; 0 if there is none.
    record: Record,
}

/// Of a model's entry that records.
#[repr(C)]
struct Record {
    /// Its offset.
    entry: usize,
    /// Offset of `movabs rings, %rax`, a load of the word at that address.
    rings: usize,
    /// Offset of `movabs $ops, %rdx`.
    ops: usize,
    /// Offsets of the RETs.
    returns: [usize; 2],
}

/// Where a copy differs from its model.
#[repr(C)]
struct Call {
    /// Offset of `movabs $ops, %rdx`.
    ops: usize,
    /// Offset of the call.
    at: usize,
}

extern "C" {
    /// For `ftrace_caller` and `ftrace_regs_caller`, in `entry.S`.
    static rtrace_models: [Model; 2];
}

/// `movabs $imm64, %rdx` starts with these.
const MOVABS_RDX: [u8; 2] = [0x48, 0xba];
/// And `movabs $imm64, %r11` with these.
const MOVABS_R11: [u8; 2] = [0x49, 0xbb];

/// And `movabs moffs64, %rax` with these.
const MOVABS_TO_RAX: [u8; 2] = [0x48, 0xa1];

fn numbers(regs: bool) -> &'static Model {
    // SAFETY: read-only data that the assembler laid out as `[Model; 2]`.
    let [args, all] = unsafe { &rtrace_models };
    if regs {
        all
    } else {
        args
    }
}

/// Address of a model, which itself calls all ops.
pub(super) fn model(regs: bool) -> usize {
    if regs {
        bindings::ftrace_regs_caller as *const () as usize
    } else {
        bindings::ftrace_caller as *const () as usize
    }
}

/// Where in a trampoline the call is that saves registers for its function.
pub(super) fn call_offset(regs: bool) -> usize {
    let [call, _] = &numbers(regs).calls;
    call.at
}

/// Where a trampoline that does not save all registers is entered if none are to be saved.
pub(super) fn plain_offset() -> usize {
    numbers(false).plain
}

/// Where a trampoline that does not save all registers is entered if there is a gate.
pub(super) fn gated_offset() -> usize {
    numbers(false).gated[0]
}

/// Where a trampoline that does not save all registers is entered if there is a function to hook
/// returns.
pub(super) fn hook_offset() -> usize {
    numbers(false).hook[0]
}

/// Where a trampoline that does not save all registers is entered to record; none if it cannot be.
pub(super) fn record_offset() -> Option<usize> {
    Some(numbers(false).record.entry).filter(|offset| *offset != 0)
}

/// Where a call of the function at `func` leads: past what is for indirect branches.
fn callable(func: usize) -> usize {
    let prefix = text::read(func).map_or(0, |start| insn::indirect_prefix(&start));
    func.wrapping_add(prefix)
}

/// The function that a call leads into at `at`: what [`callable`] was asked.
pub(super) fn called(at: usize) -> usize {
    let before = at.wrapping_sub(4);
    match text::read(before).map(|start| insn::indirect_prefix(&start)) {
        None | Some(0) => at,
        Some(_) => before,
    }
}

/// The instructions in the trampoline at `addr` that say what is called, with their offsets.
/// `ERANGE` when a function is out of a call's reach.
fn calls(addr: usize, to: Callees, regs: bool) -> Result<[Option<(usize, insn::Insn)>; 4]> {
    let Model { calls, hook, .. } = numbers(regs);
    let call = |offset: usize, func: usize| {
        let insn = insn::call(addr.wrapping_add(offset), callable(func)).ok_or(ERANGE)?;
        Ok::<_, Error>(Some((offset, insn)))
    };
    let [first, second] = calls;
    let [entry, hooking, _] = *hook;
    let mut all = [
        call(first.at, to.func)?,
        call(second.at, to.func)?,
        None,
        None,
    ];
    if let ([.., of_hook, start], true) = (&mut all, hooking != 0) {
        *of_hook = call(hooking, to.hooking.unwrap_or_else(stub))?;
        let insn = match to.hooking {
            Some(_) => insn::NOP,
            None => insn::jmp(addr.wrapping_add(entry), addr).ok_or(ERANGE)?,
        };
        *start = Some((entry, insn));
    }
    Ok(all)
}

/// Makes the trampoline at `addr` call other functions, also while it runs. Errors as of [`calls`].
///
/// # Safety
///
/// It was made by [`make`] with the same `regs`, and not freed.
pub(super) unsafe fn retarget(addr: usize, to: Callees, regs: bool) -> Result {
    let mut calls = calls(addr, to, regs)?;
    if to.hooking.is_none() {
        // The jump comes before the call behind it calls nothing, else hits would be lost.
        calls.reverse();
    }
    let patcher = Patcher::lock();
    for (offset, insn) in calls.iter().flatten() {
        // SAFETY: a trampoline of ours has a NOP, call or jump of five bytes there.
        unsafe { patcher.replace(addr.wrapping_add(*offset), insn) };
    }
    Ok(())
}

/// Memory for a trampoline, given back when dropped.
struct Memory(*mut u8);

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it came from `execmem_alloc_rw()` and nobody has its address.
        unsafe { bindings::execmem_free(self.0.cast()) };
    }
}

/// The bytes of a trampoline at `addr`.
///
/// # Errors
///
/// `ENOMEM`; `ERANGE` when a function is out of a call's reach; `EINVAL` when the model is not what
/// it should be.
fn code_at(addr: usize, ops: usize, to: Callees, regs: bool) -> Result<KVec<u8>> {
    let Model {
        size,
        calls: places,
        returns,
        gated,
        hook,
        record,
        ..
    } = numbers(regs);
    let mut code = KVec::from_elem(0, *size, GFP_KERNEL)?;
    // SAFETY: `code` has `size` bytes, and so has the model, by the assembler's word.
    let ret = unsafe {
        bindings::copy_from_kernel_nofault(code.as_mut_ptr().cast(), model(regs) as _, *size)
    };
    if ret != 0 {
        return Err(EFAULT);
    }
    // SAFETY: `code` holds a copy of the `size` bytes of whole instructions at the model's address.
    unsafe {
        bindings::text_poke_apply_relocation(
            code.as_mut_ptr(),
            addr as *const u8,
            *size,
            model(regs) as *mut u8,
            *size,
        )
    };
    for place in places {
        load(&mut code, place.ops, MOVABS_RDX, ops)?;
    }
    for (offset, insn) in calls(addr, to, regs)?.iter().flatten() {
        put(&mut code, *offset, insn)?;
    }
    let [gate, gated_return] = *gated;
    if gate != 0 {
        load(&mut code, gate, MOVABS_R11, gate_of(ops))?;
    }
    let mut further_returns = [0; 2];
    if record.entry != 0 {
        load(&mut code, record.rings, MOVABS_TO_RAX, rings_of(ops))?;
        load(&mut code, record.ops, MOVABS_RDX, ops)?;
        further_returns = record.returns;
    }
    if cfg!(CONFIG_MITIGATION_RETHUNK) {
        let [plain, balanced] = *returns;
        put(&mut code, plain, &return_at(addr.wrapping_add(plain))?)?;
        let [_, _, hook_return] = *hook;
        let [recorded, rest] = further_returns;
        for further in [gated_return, hook_return, recorded, rest] {
            if further != 0 {
                put(&mut code, further, &return_at(addr.wrapping_add(further))?)?;
            }
        }
        // Where calls are counted, what the model has there is right at any address.
        // SAFETY: it reads what kind of CPU this is.
        if !regs || !unsafe { bindings::rtrace_calls_are_counted() } {
            put(
                &mut code,
                balanced,
                &return_at(addr.wrapping_add(balanced))?,
            )?;
        }
    }
    Ok(code)
}

/// Fills in the `value` that the `movabs` at `at` loads, which begins with `opcode`.
fn load(code: &mut [u8], at: usize, opcode: [u8; 2], value: usize) -> Result {
    let movabs = code.get_mut(at..).ok_or(EINVAL)?;
    let (start, rest) = movabs.split_first_chunk_mut::<2>().ok_or(EINVAL)?;
    if *start != opcode {
        return Err(EINVAL);
    }
    rest.get_mut(..8)
        .ok_or(EINVAL)?
        .copy_from_slice(&value.to_le_bytes());
    Ok(())
}

/// The return that the CPU wants at `at`.
fn return_at(at: usize) -> Result<insn::Insn> {
    // SAFETY: it reads what was decided about this CPU.
    let thunk = unsafe { bindings::rtrace_return_thunk(at as _) };
    insn::ret(at, thunk).ok_or(ERANGE)
}

fn put(code: &mut [u8], at: usize, insn: &insn::Insn) -> Result {
    code.get_mut(at..)
        .and_then(|place| place.get_mut(..insn.len()))
        .ok_or(EINVAL)?
        .copy_from_slice(insn);
    Ok(())
}

/// Makes a trampoline. Errors as of [`code_at`].
pub(super) fn make(ops: usize, to: Callees, regs: bool) -> Result<Trampoline> {
    let size = numbers(regs).size;
    // SAFETY: a plain allocation.
    let memory = Memory(
        unsafe { bindings::execmem_alloc_rw(bindings::execmem_type_EXECMEM_FTRACE, size) }.cast(),
    );
    if memory.0.is_null() {
        return Err(ENOMEM);
    }
    let addr = memory.0 as usize;
    let code = code_at(addr, ops, to, regs)?;
    // SAFETY: `size` writable bytes were allocated, which nobody else knows of.
    unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), memory.0, code.len().min(size)) };

    let pages = i32::try_from(size.div_ceil(page::PAGE_SIZE)).map_err(|_| EINVAL)?;
    // SAFETY: the range is the whole pages of the allocation.
    let ret = unsafe { bindings::set_memory_rox(addr, pages) };
    if ret != 0 {
        return Err(Error::from_errno(ret));
    }
    core::mem::forget(memory);
    Ok(Trampoline { addr, size })
}

/// Writes the trampoline at `addr` anew, from what its model is now. Errors as of [`code_at`].
///
/// # Safety
///
/// It was made by [`make`] with the same arguments, and no task or CPU is in it.
pub(super) unsafe fn renew(addr: usize, ops: usize, to: Callees, regs: bool) -> Result {
    let code = code_at(addr, ops, to, regs)?;
    let _text = Patcher::lock();
    // SAFETY: `text_mutex` is held; the code has the length that was allocated, and as no task or
    // CPU is in it, nobody meets it half written.
    unsafe { bindings::text_poke(addr as _, code.as_ptr().cast(), code.len()) };
    Ok(())
}

/// Makes the models call the list of ops itself. Where calls are counted, boot has made theirs, like
/// any other call, one of the code before that function, which counts; but they have counted it
/// before. `ERANGE`.
pub(super) fn renew_models() -> Result {
    // SAFETY: It reads what kind of CPU this is.
    if !unsafe { bindings::rtrace_calls_are_counted() } {
        return Ok(());
    }
    let text = Patcher::lock();
    for regs in [false, true] {
        let [call, _] = &numbers(regs).calls;
        let at = model(regs).wrapping_add(call.at);
        let list = bindings::arch_ftrace_ops_list_func as *const () as usize;
        // SAFETY: By the assembler's word a call is there, in the kernel's own text.
        unsafe { text.replace(at, &insn::call(at, list).ok_or(ERANGE)?) };
    }
    Ok(())
}
