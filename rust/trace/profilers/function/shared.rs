// SPDX-License-Identifier: GPL-2.0

//! The profiler as one graph user of several, or with time left out. For each function that has not
//! returned it keeps three words: when it was entered, what its callees took, and how long the task
//! had slept by then.

use super::{table, GRAPH_TIME, SLEEP_TIME};
use crate::kernel::clock;
use crate::kernel::context::PreemptOff;
use crate::trace::fgraph as graph;
use crate::trace::fgraph::ret_stack::Current;
use kernel::bindings::{fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_regs};
use kernel::ffi::c_int;
use kernel::sync::atomic::{Atomic, Relaxed};

/// Sets the user's functions; it is not registered, and the profiler's lock is held.
pub(super) fn install(user: *mut fgraph_ops) {
    // SAFETY: the profiler's static, which nobody else looks at now.
    unsafe {
        (*user).entryfunc = Some(profile_graph_entry);
        (*user).retfunc = Some(profile_graph_return);
    }
}

fn place(user: *mut fgraph_ops) -> usize {
    // SAFETY: callers are the user's own functions.
    unsafe { graph::UserRef::from_raw(user) }.map_or(0, graph::UserRef::place)
}

fn enter(place: usize, func: usize) -> Option<()> {
    let stay = PreemptOff::new();
    // SAFETY: the tables are prepared before the user is registered.
    let table = unsafe { table::here(&stay) };
    table
        .find(func as u64)
        .or_else(|| table.add(func as u64))?
        .hit();
    let current = Current::get();
    let words = current.reserve(place, 24)?;
    let [calltime, callees, sleep] = words else {
        return None;
    };
    callees.store(0, Relaxed);
    sleep.store(current.sleep_time(), Relaxed);
    calltime.store(clock::sched(), Relaxed);
    Some(())
}

fn leave(place: usize, func: usize) -> Option<()> {
    let now = clock::sched();
    let stay = PreemptOff::new();
    // SAFETY: the tables are prepared before the user is registered.
    let table = unsafe { table::here(&stay) };
    let current = Current::get();
    let [calltime, callees, sleep] = current.reserved(place, 0)? else {
        return None;
    };
    let mut took = now.wrapping_sub(calltime.load(Relaxed));
    if !SLEEP_TIME.load(Relaxed) {
        took = took.wrapping_sub(current.sleep_time().wrapping_sub(sleep.load(Relaxed)));
    }
    if !GRAPH_TIME.load(Relaxed) {
        if let Some(outer) = current.reserved(place, 1).and_then(|words| words.get(1)) {
            add(outer, took);
        }
        let callees = callees.load(Relaxed);
        // A function that calls nothing traced has no time of its own; that is how ftrace counts.
        took = if callees != 0 && callees < took {
            took.wrapping_sub(callees)
        } else {
            0
        };
    }
    table.find(func as u64)?.took(took);
    Some(())
}

fn add(word: &Atomic<u64>, value: u64) {
    word.store(word.load(Relaxed).wrapping_add(value), Relaxed);
}

/// # Safety
///
/// For [`graph::shared`].
#[no_mangle]
unsafe extern "C" fn profile_graph_entry(
    trace: *mut ftrace_graph_ent,
    user: *mut fgraph_ops,
    _: *mut ftrace_regs,
) -> c_int {
    // SAFETY: by the precondition.
    let func = unsafe { (*trace).func };
    c_int::from(enter(place(user), func).is_some())
}

/// # Safety
///
/// For [`graph::shared`].
#[no_mangle]
unsafe extern "C" fn profile_graph_return(
    trace: *mut ftrace_graph_ret,
    user: *mut fgraph_ops,
    _: *mut ftrace_regs,
) {
    // SAFETY: by the precondition.
    let func = unsafe { (*trace).func };
    let _ = leave(place(user), func);
}
