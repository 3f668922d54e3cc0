// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/rethook.h`, of which `arch/x86/kernel/rethook.c` has the trampoline.
//!
//! C exports none of these to modules.

use crate::kernel::kprobes::no_kprobe;
use crate::kernel::rethook::{self, Node, Rethook};
use kernel::bindings::{self, llist_node, pt_regs, rethook_handler_t, task_struct};
use kernel::ffi::{c_int, c_ulong};
use kernel::prelude::*;

/// Task context, sleeps. `EINVAL`, `ENOMEM`.
///
/// # Safety
///
/// `handler` may be called with `data`, until the rethook is stopped and who has not seen that is over.
#[export]
unsafe extern "C" fn rethook_alloc(
    data: *mut c_void,
    handler: rethook_handler_t,
    size: c_int,
    num: c_int,
) -> *mut bindings::rethook {
    Rethook::new(data, handler, size, num).unwrap_or_else(|error| error.to_ptr())
}

/// Any context.
///
/// # Safety
///
/// `rh` is from [`rethook_alloc`].
#[export]
unsafe extern "C" fn rethook_stop(rh: *mut bindings::rethook) {
    // SAFETY: the caller has it, so it stays.
    unsafe { Rethook::stop(rh) }
}

/// Any context that may call RCU.
///
/// # Safety
///
/// `rh` is from [`rethook_alloc`], and the caller leaves it alone from here on.
#[export]
unsafe extern "C" fn rethook_free(rh: *mut bindings::rethook) {
    // SAFETY: the caller gives it away.
    unsafe { Rethook::free(rh) }
}

/// Any context, preemption off.
///
/// # Safety
///
/// `rh` is from [`rethook_alloc`], and stays during the call.
#[export]
unsafe extern "C" fn rethook_try_get(rh: *mut bindings::rethook) -> *mut Node {
    // SAFETY: it stays during the call.
    unsafe { rethook::take(rh) }
}

/// Any context, preemption off.
///
/// # Safety
///
/// `node` is from [`rethook_try_get`], and the caller leaves it alone from here on.
#[export]
unsafe extern "C" fn rethook_recycle(node: *mut Node) {
    // SAFETY: the caller has it and gives it away.
    unsafe { rethook::give(node) }
}

/// Any context.
///
/// # Safety
///
/// `node` is from [`rethook_try_get`], and `regs` are those at a function's entry.
#[export]
unsafe extern "C" fn rethook_hook(node: *mut Node, regs: *mut pt_regs, mcount: bool) {
    // SAFETY: the node was taken for this, at a function's entry.
    unsafe { rethook::hook(node, regs, mcount) }
}

/// Any context.
///
/// # Safety
///
/// `tsk` lives; `cur` is null or has null, or what this has left there for the same task.
#[export]
unsafe extern "C" fn rethook_find_ret_addr(
    tsk: *mut task_struct,
    frame: c_ulong,
    cur: *mut *mut llist_node,
) -> c_ulong {
    // SAFETY: the cursor is the caller's own, and of this task.
    unsafe {
        match cur.as_mut() {
            Some(cursor) => rethook::find_caller(tsk, frame, cursor),
            None => {
                rethook::warn_once();
                0
            }
        }
    }
}

/// For `arch_rethook_trampoline_callback()`.
///
/// # Safety
///
/// `regs` are those at a hooked function's return, and `frame` says which call it was.
#[export]
unsafe extern "C" fn rethook_trampoline_handler(regs: *mut pt_regs, frame: c_ulong) -> c_ulong {
    // SAFETY: the trampoline's callback passes what it has saved.
    unsafe { rethook::returned(regs, frame) }
}

/// Any context.
///
/// # Safety
///
/// `tk` is dead, and still there.
#[export]
unsafe extern "C" fn rethook_flush_task(tk: *mut task_struct) {
    // SAFETY: the task is dead, and still there.
    unsafe { rethook::flush(tk) }
}

no_kprobe!(
    rethook_recycle,
    rethook_try_get,
    rethook_hook,
    rethook_find_ret_addr,
    rethook_trampoline_handler,
);
