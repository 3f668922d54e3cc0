// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/ftrace.h` for tracing functions until they return.
//!
//! C exports none of these to modules; what the interface for Rust code needs is exported here.

use crate::kernel::interop::errno;
use crate::trace::fgraph as graph;
use crate::trace::fgraph::ret_stack::{self, Current};
use crate::trace::fgraph::{EntryPath, UserRef};
use crate::trace::ftrace::arch::{Arch, Machine};
use core::ptr;
use kernel::bindings::{fgraph_ops, task_struct};
use kernel::ffi::{c_int, c_ulong};
use kernel::prelude::*;

/// Task context, sleeps.
///
/// # Safety
///
/// `user` is a `struct fgraph_ops` under the rules of its header, which stays until it is
/// unregistered and then until calls of its functions are over; both functions are there.
#[export]
pub(crate) unsafe extern "C" fn register_ftrace_graph(user: *mut fgraph_ops) -> c_int {
    // SAFETY: the user is null, or there during the call and as long as it is registered.
    errno(
        unsafe { UserRef::from_raw(user) }
            .ok_or(EINVAL)
            .and_then(|user| graph::register(user, EntryPath::Shared, &|_| {})),
    )
}

/// Task context, sleeps.
///
/// # Safety
///
/// `user` was registered.
#[export]
pub(crate) unsafe extern "C" fn unregister_ftrace_graph(user: *mut fgraph_ops) {
    // SAFETY: the user is null, or there during the call and as long as it is registered.
    if let Some(user) = unsafe { UserRef::from_raw(user) } {
        graph::unregister(user);
    }
}

fn place(idx: c_int) -> Option<usize> {
    usize::try_from(idx)
        .ok()
        .filter(|place| *place < graph::USERS)
}

/// Memory that is kept until the function returns that is being entered; null if there is not so
/// much. From entry functions.
#[no_mangle]
pub(crate) extern "C" fn fgraph_reserve_data(idx: c_int, size_bytes: c_int) -> *mut c_void {
    let (Some(place), Ok(bytes)) = (place(idx), usize::try_from(size_bytes)) else {
        return ptr::null_mut();
    };
    Current::get()
        .reserve(place, bytes)
        .map_or(ptr::null_mut(), |words| words.as_ptr().cast_mut().cast())
}

/// What the entry function has reserved for the function that returns; null if nothing. From return
/// functions.
///
/// # Safety
///
/// `size_bytes` is null or valid.
#[export]
pub(crate) unsafe extern "C" fn fgraph_retrieve_data(
    idx: c_int,
    size_bytes: *mut c_int,
) -> *mut c_void {
    // SAFETY: `size_bytes` is null or valid, as it is asked for there.
    unsafe { fgraph_retrieve_parent_data(idx, size_bytes, 0) }
}

/// [`fgraph_retrieve_data`] of the traced function `depth` further out.
///
/// # Safety
///
/// `size_bytes` is null or valid.
#[export]
pub(crate) unsafe extern "C" fn fgraph_retrieve_parent_data(
    idx: c_int,
    size_bytes: *mut c_int,
    depth: c_int,
) -> *mut c_void {
    // A depth below 0 is that of the function itself, as in C.
    let (Some(place), Ok(depth)) = (place(idx), usize::try_from(depth.max(0))) else {
        return ptr::null_mut();
    };
    let current = Current::get();
    let Some(words) = current.reserved(place, depth) else {
        return ptr::null_mut();
    };
    // SAFETY: null, or a word that nobody else uses meanwhile.
    if let Some(size) = unsafe { size_bytes.as_mut() } {
        *size = (words.len() * size_of::<u64>()) as c_int;
    }
    words.as_ptr().cast_mut().cast()
}

/// The word that stays with the task for a user. From its functions.
///
/// # Safety
///
/// `user` is registered.
#[export]
pub(crate) unsafe extern "C" fn fgraph_get_task_var(user: *mut fgraph_ops) -> *mut c_ulong {
    // SAFETY: the user is null, or there during the call and as long as it is registered.
    let Some(user) = (unsafe { UserRef::from_raw(user) }) else {
        return ptr::null_mut();
    };
    let current = Current::get();
    let var = current.var(user.place(), graph::since(user.place()));
    var.map_or(ptr::null_mut(), |word| {
        ptr::from_ref(word).cast_mut().cast()
    })
}

/// Where a function really returns to whose return address, at `retp` on the stack of `task`, reads
/// `ret`. For unwinders; any context.
///
/// # Safety
///
/// The caller has a reference to `task`; `idx` is null or valid, 0 for the first call of an
/// unwinding.
#[export]
pub(crate) unsafe extern "C" fn ftrace_graph_ret_addr(
    task: *mut task_struct,
    idx: *mut c_int,
    ret: c_ulong,
    retp: *mut c_ulong,
) -> c_ulong {
    let hook = Machine::return_hook();
    if ret != hook {
        return ret;
    }
    // SAFETY: null, or a word that nobody else uses meanwhile.
    let Some(idx) = (unsafe { idx.as_mut() }) else {
        return ret;
    };
    // SAFETY: somebody holds a reference to the task until this returns.
    unsafe { ret_stack::find(task, idx, retp as usize, hook) }.unwrap_or(ret)
}

/// Where the innermost traced function of a task really returns to; 0 if there is none.
///
/// # Safety
///
/// The caller has a reference to `task`.
#[export]
pub(crate) unsafe extern "C" fn ftrace_graph_top_ret_addr(task: *mut task_struct) -> c_ulong {
    // SAFETY: somebody holds a reference to the task until this returns.
    unsafe { ret_stack::innermost_return(task, Machine::return_hook()) }.unwrap_or(0)
}

/// # Safety
///
/// `t` is being made.
#[export]
pub(crate) unsafe extern "C" fn ftrace_graph_init_task(t: *mut task_struct) {
    // SAFETY: the task does not run yet.
    unsafe { ret_stack::init(t) };
}

/// # Safety
///
/// `t` is the idle task of a CPU, which is not running or at its very beginning.
#[export]
pub(crate) unsafe extern "C" fn ftrace_graph_init_idle_task(t: *mut task_struct, _cpu: c_int) {
    // SAFETY: the task does not run yet.
    unsafe { ret_stack::begin(t) };
}

/// # Safety
///
/// Nobody uses `t` any more.
#[export]
pub(crate) unsafe extern "C" fn ftrace_graph_exit_task(t: *mut task_struct) {
    // SAFETY: nobody uses the task any more.
    unsafe { ret_stack::free(t) };
}

crate::abi::same_in_c! {
    fn fgraph_reserve_data(_, _) -> _;
}
