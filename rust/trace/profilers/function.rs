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

#[allow(unsafe_code, reason = "the hot path: hooks returns")]
pub(crate) mod hot;
pub(crate) mod shared;
#[allow(unsafe_code, reason = "looked into without bounds")]
mod table;

use crate::kernel::clock;
use crate::trace::fgraph::graph_user::GraphUser;
use crate::trace::fgraph::{EntryFuncs, EntryPath, Sleepless};
use crate::trace::ftrace::ops::Ops;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use shared::Profile;
pub(crate) use table::Row;

/// What changes when the profiler is switched.
pub(crate) struct State {
    on: bool,
    sleepless: Option<Sleepless>,
}

kernel::sync::global_lock! {
    /// Taken around switching.
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static PROFILE: Mutex<State> = State { on: false, sleepless: None };
}

static GRAPH_TIME: Atomic<bool> = Atomic::new(true);
static SLEEP_TIME: Atomic<bool> = Atomic::new(true);

static USER: GraphUser<Profile> = GraphUser::new(Profile);

/// The name that `enabled_functions` shows for the profiler, which the C interface has.
pub(crate) struct Symbols;

/// What [`Symbols`] are.
pub(crate) trait HotSymbols {
    /// Call [`hot::hit`].
    const ENTRY: EntryFuncs;
}

fn entry_path() -> EntryPath {
    if GRAPH_TIME.load(Relaxed) && SLEEP_TIME.load(Relaxed) && clock::sched_is_native() {
        EntryPath::Alone(Symbols::ENTRY)
    } else {
        EntryPath::Shared
    }
}

/// Whether it is on. Task context.
pub(crate) fn is_on() -> bool {
    PROFILE.lock().on
}

/// Switches it on, with empty tables, or off. Task context, sleeps.
///
/// # Errors
///
/// `ENOMEM`, and those of [`GraphUser::register`].
pub(crate) fn switch(on: bool) -> Result {
    let mut state = PROFILE.lock();
    if state.on == on {
        return Ok(());
    }
    if on {
        table::prepare()?;
        let sleepless = if SLEEP_TIME.load(Relaxed) {
            None
        } else {
            Some(Sleepless::new()?)
        };
        let sets = Ops::global().ok_or(ENODEV)?.raw();
        Pin::static_ref(&USER)
            .register(Some(sets), entry_path(), &hot::open)
            .inspect_err(|_| hot::close())?;
        state.sleepless = sleepless;
    } else {
        USER.unregister();
        hot::close();
        state.sleepless = None;
    }
    state.on = on;
    Ok(())
}

fn refresh(state: &State) {
    if state.on {
        USER.set_entry_path(entry_path());
    }
}

/// Option `graph-time`. Task context, sleeps.
pub(crate) fn set_graph_time(on: bool) {
    let state = PROFILE.lock();
    GRAPH_TIME.store(on, Relaxed);
    refresh(&state);
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
    refresh(&state);
    if on {
        state.sleepless = None;
    }
    Ok(())
}

/// What was counted on `cpu`, most time first. Task context, sleeps. `ENOMEM`.
pub(crate) fn rows(cpu: CpuId) -> Result<KVVec<Row>> {
    table::rows(cpu)
}
