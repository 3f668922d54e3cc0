// SPDX-License-Identifier: GPL-2.0

//! The function profiler: how often each function ran on each CPU, and for how long.
//!
//! It follows the top instance's filters. Each CPU has a table of its own ([`table`]), made at the
//! first use and kept. While the profiler is the only graph user and counts all time, and the clock
//! can be read in line, functions take [`hot`]; else it is a user like others ([`shared`]).
//!
//! Words: *graph time* is what a function's callees took, part of its own time unless option
//! `graph-time` is off; *sleep time* is time in which the task did not run, part of it unless the
//! top instance's `sleep-time` is off.
//!
//! Lock order: `PROFILE`, then those of [`crate::trace::fgraph`].

pub(crate) mod hot;
mod shared;
mod table;

use crate::kernel::clock;
use crate::trace::fgraph as graph;
use crate::trace::fgraph::{EntryPath, Sleepless};
use crate::trace::ftrace::ops::Ops;
use kernel::bindings::fgraph_ops;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::types::Opaque;
pub(crate) use table::Row;

/// What changes when the profiler is switched.
struct State {
    on: bool,
    sleepless: Option<Sleepless>,
}

kernel::sync::global_lock! {
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    unsafe(uninit) static PROFILE: Mutex<State> = State { on: false, sleepless: None };
}

static GRAPH_TIME: Atomic<bool> = Atomic::new(true);
static SLEEP_TIME: Atomic<bool> = Atomic::new(true);

/// The profiler as a graph user.
struct User(Opaque<fgraph_ops>);

// SAFETY: only reached through a `UserRef`, and written to under `PROFILE`.
unsafe impl Sync for User {}

static USER: User = User(Opaque::zeroed());

fn user() -> Result<graph::UserRef> {
    // SAFETY: static memory of zeros, whose functions are set once, before it is registered.
    unsafe { graph::UserRef::from_raw(USER.0.get()) }.ok_or(EINVAL)
}

/// Makes the lock.
///
/// # Safety
///
/// Called once, before anything else here.
pub(crate) unsafe fn init_lock() {
    // SAFETY: by the precondition.
    unsafe { PROFILE.init() };
}

fn way() -> EntryPath {
    if GRAPH_TIME.load(Relaxed) && SLEEP_TIME.load(Relaxed) && clock::sched_is_native() {
        EntryPath::Alone(hot::ftrace_graph_profile)
    } else {
        EntryPath::Shared
    }
}

/// Is it on? Task context.
pub(crate) fn is_on() -> bool {
    PROFILE.lock().on
}

/// Switches it on, with empty tables, or off. Task context, sleeps.
///
/// # Errors
///
/// `ENOMEM`, and those of [`graph::register`].
pub(crate) fn switch(on: bool) -> Result {
    let mut state = PROFILE.lock();
    if state.on == on {
        return Ok(());
    }
    if on {
        table::prepare()?;
        let user = user()?;
        let sleepless = if SLEEP_TIME.load(Relaxed) {
            None
        } else {
            Some(Sleepless::new()?)
        };
        shared::install(USER.0.get());
        user.ops().init();
        user.ops().share_sets(Ops::global().ok_or(ENODEV)?.raw());
        graph::register(user, way(), hot::open).inspect_err(|_| hot::close())?;
        state.sleepless = sleepless;
    } else {
        graph::unregister(user()?);
        hot::close();
        state.sleepless = None;
    }
    state.on = on;
    Ok(())
}

fn refresh(state: &State) -> Result {
    if state.on {
        graph::set_entry_path(user()?, way());
    }
    Ok(())
}

/// Option `graph-time`. Task context, sleeps.
pub(crate) fn set_graph_time(on: bool) -> Result {
    let state = PROFILE.lock();
    GRAPH_TIME.store(on, Relaxed);
    refresh(&state)
}

/// The top instance's option `sleep-time`. Task context, sleeps. `ENOMEM`.
pub(crate) fn set_sleep_time(on: bool) -> Result {
    let mut state = PROFILE.lock();
    if SLEEP_TIME.load(Relaxed) == on {
        return Ok(());
    }
    if state.on && !on {
        state.sleepless = Some(Sleepless::new()?);
    }
    SLEEP_TIME.store(on, Relaxed);
    refresh(&state)?;
    if on {
        state.sleepless = None;
    }
    Ok(())
}

/// What was counted on `cpu`, most time first. Task context, sleeps. `ENOMEM`.
pub(crate) fn rows(cpu: CpuId) -> Result<KVVec<Row>> {
    table::rows(cpu)
}
