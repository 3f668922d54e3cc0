// SPDX-License-Identifier: GPL-2.0

//! The trampolines that are made for ops: making them, taking them elsewhere, freeing them.

use super::manager::{Manager, Parts};
use super::raw::{flag, OpsRef};
use super::retire::wait_for_trampolines;
use super::{list, ListSymbols, State, Symbols, FTRACE};
use crate::kernel::{ftrace, memory};
use crate::trace::ftrace::arch::{Arch, Callees, Machine};
use kernel::prelude::*;

/// The function that the trampoline of `op` calls: its own, or the one that protects it.
fn trampoline_func(op: OpsRef) -> usize {
    if op.has(flag::RECURSION | flag::RCU) {
        Symbols::ASSIST as *const () as usize
    } else {
        op.func_addr()
    }
}

/// What the trampoline of `op` calls for `func`, that of [`trampoline_func`].
fn callees(op: OpsRef, func: usize) -> Callees {
    let hooking = match Manager::is(op) {
        true => Manager::hooking().map(|f| f as *const () as usize),
        false => None,
    };
    Callees { func, hooking }
}

/// What it calls while it calls nothing.
fn nothing() -> Callees {
    Callees {
        func: ftrace::stub(),
        hooking: None,
    }
}

/// Gives an ops a trampoline, unless it brought one, has one that fits, or is a direct caller.
/// Without memory it goes without: sites then call it by the list.
pub(crate) fn ensure_trampoline(state: &State, op: OpsRef) {
    if op.has(flag::DIRECT) || (op.trampoline() != 0 && !op.has(flag::ALLOC_TRAMP)) {
        return;
    }
    if op.has(flag::RECORDS) {
        op.record_in_rings(true);
    }
    let (regs, func) = (op.wants_regs(), trampoline_func(op));
    let to = callees(op, func);
    if op.trampoline() != 0 && op.has(flag::ALL_SAVED) == regs {
        if Machine::trampoline_calls(op.trampoline(), regs) == Some(func) {
            return;
        }
        // SAFETY: it was made for this ops, by its flag with these `regs`.
        if unsafe { Machine::retarget_trampoline(op.trampoline(), to, regs) }.is_ok() {
            return;
        }
    }
    if op.trampoline() != 0 {
        // Kept from an earlier registration with another kind of trampoline; only ops in kernel
        // data keep theirs.
        wait_for_trampolines();
        release_trampoline(state, op);
    }
    if let Ok(trampoline) = Machine::make_trampoline(op.as_ptr() as usize, to, regs) {
        op.set_trampoline(trampoline.addr, trampoline.size);
        op.set(if regs {
            flag::ALLOC_TRAMP | flag::ALL_SAVED
        } else {
            flag::ALLOC_TRAMP
        });
        list::add_trampoline(&state.key, op);
        // SAFETY: it was just made there.
        unsafe {
            memory::announce_code(trampoline.addr, trampoline.size, c"ftrace_trampoline", true)
        };
    }
}

/// Writes all trampolines anew, since the kernel's text, which they were copied from, has been
/// adapted to the CPU.
///
/// # Safety
///
/// At boot, while there is one CPU and one task, which is in no trampoline.
pub(crate) unsafe fn renew_trampolines() {
    let state = FTRACE.lock();
    list::for_each_trampoline(&state.key, |op| {
        let (addr, regs) = (op.trampoline(), op.has(flag::ALL_SAVED));
        let to = callees(op, trampoline_func(op));
        // SAFETY: it was made for this ops, by its flag with these `regs`; there is one task, and
        // it is in no trampoline.
        let result = unsafe { Machine::renew_trampoline(addr, op.as_ptr() as usize, to, regs) };
        warn_if_not_renewed(result);
    });
    warn_if_not_renewed(Machine::renew_list_callers());
}

fn warn_if_not_renewed(result: Result) {
    if let Err(error) = result {
        pr_warn!(
            "ftrace: a trampoline is as it was before mitigations: {:?}\n",
            error
        );
    }
}

/// Makes the trampoline of `op` call this instead of what it calls now; false if it has none, or
/// one that was not made here.
fn retarget(op: OpsRef, to: Callees) -> bool {
    if op.has(flag::RECORDS) {
        op.record_in_rings(to.func != ftrace::stub());
    }
    if op.trampoline() == 0 || !op.has(flag::ALLOC_TRAMP) {
        return false;
    }
    let (addr, regs) = (op.trampoline(), op.has(flag::ALL_SAVED));
    // SAFETY: it was made for this ops, by its flag with these `regs`.
    unsafe { Machine::retarget_trampoline(addr, to, regs) }.is_ok()
}

/// Makes the trampoline of `op` call nothing, until [`call_again`] or the next registration.
pub(super) fn call_nothing(op: OpsRef) {
    // If it cannot be done, hits go on, but for those that would be recorded by the trampoline itself.
    let _ = retarget(op, nothing());
}

/// Makes the trampoline of `op` call what it is for.
pub(super) fn call_again(op: OpsRef) {
    if op.trampoline() != 0 && !retarget(op, callees(op, trampoline_func(op))) {
        kernel::warn_on!(op.has(flag::ALLOC_TRAMP));
    }
}

/// Makes the trampoline of `op` call nothing. As ftrace is disarmed sites go on leading to it, so
/// that it stays.
pub(super) fn cut_off(state: &State, op: OpsRef) {
    if op.trampoline() == 0 || !op.has(flag::ALLOC_TRAMP) {
        return;
    }
    kernel::warn_on!(!retarget(op, nothing()));
    list::remove_trampoline(&state.key, op);
    op.set_trampoline(0, 0);
    op.clear(flag::ALLOC_TRAMP | flag::ALL_SAVED);
}

/// Frees the trampoline of `op`, which is not registered any more and was waited for, unless
/// somebody has registered it again. Task context, sleeps.
pub(super) fn free_trampoline(op: OpsRef) {
    let state = FTRACE.lock();
    if !op.has(flag::ENABLED) {
        release_trampoline(&state, op);
    }
}

/// Frees the trampoline that was made for `op`, if any, which no task is in.
fn release_trampoline(state: &State, op: OpsRef) {
    if op.trampoline() == 0 || !op.has(flag::ALLOC_TRAMP) {
        return;
    }
    let (addr, size) = (op.trampoline(), op.trampoline_size());
    // SAFETY: it is still there.
    unsafe { memory::announce_code(addr, size, c"ftrace_trampoline", false) };
    list::remove_trampoline(&state.key, op);
    op.set_trampoline(0, 0);
    op.clear(flag::ALLOC_TRAMP | flag::ALL_SAVED);
    // The unwinder may be looking at the ops, whose memory the caller frees next.
    kernel::sync::rcu::synchronize_rcu();
    // SAFETY: it was made by `make_trampoline`; the ops is not registered, so no site leads to it,
    // and callers waited for the tasks in it.
    unsafe { Machine::free_trampoline(addr) };
}
