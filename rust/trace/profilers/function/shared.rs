// SPDX-License-Identifier: GPL-2.0

//! The profiler as one graph user of several, or with time left out.

use super::{table, GRAPH_TIME, SLEEP_TIME};
use crate::kernel::clock;
use crate::kernel::context::PreemptOff;
use crate::kernel::ftrace::ftrace_graph_ret;
use crate::trace::fgraph::graph_user::{EntryRegs, GraphCallback};
use crate::trace::fgraph::ret_stack::Current;
use kernel::sync::atomic::{Atomic, Relaxed};

/// The profiler as a graph user.
pub(crate) struct Profile;

/// What is kept of a call until it returns, on the task's shadow stack.
struct Open<'a> {
    /// When it began.
    since: &'a Atomic<u64>,
    /// How long the task had slept by then.
    slept: &'a Atomic<u64>,
    /// What the traced functions took that it called.
    callees: &'a Atomic<u64>,
}

impl<'a> Open<'a> {
    const WORDS: usize = 3;

    fn of(words: &'a [Atomic<u64>]) -> Option<Self> {
        let [since, slept, callees] = words else {
            return None;
        };
        Some(Self {
            since,
            slept,
            callees,
        })
    }

    /// The call of the user in `place` that is `depth` further out than the innermost.
    fn find(current: &'a Current, place: usize, depth: usize) -> Option<Self> {
        Self::of(current.reserved(place, depth)?)
    }

    /// How long it has lasted at `now`, without sleep if that is not wanted.
    fn lasted(&self, current: &Current, now: u64) -> u64 {
        let whole = now.wrapping_sub(self.since.load(Relaxed));
        if SLEEP_TIME.load(Relaxed) {
            return whole;
        }
        let slept = current.sleep_time().wrapping_sub(self.slept.load(Relaxed));
        whole.wrapping_sub(slept)
    }

    /// A function that it called took `time`.
    fn add_callee(&self, time: u64) {
        let sum = self.callees.load(Relaxed).wrapping_add(time);
        self.callees.store(sum, Relaxed);
    }

    /// Its own part of `whole`. A function that calls nothing traced has none; that is how ftrace
    /// counts.
    fn own_part(&self, whole: u64) -> u64 {
        match self.callees.load(Relaxed) {
            0 => 0,
            callees => whole.saturating_sub(callees),
        }
    }
}

impl GraphCallback for Profile {
    #[inline(always)]
    fn enter(&self, place: usize, func: usize, _: i32, _: EntryRegs<'_>) -> Option<()> {
        let stay = PreemptOff::new();
        let (table, site) = (table::this(&stay)?, func as u64);
        table.find(site).or_else(|| table.add(site))?.hit();
        let current = Current::get();
        let open = Open::of(current.reserve(place, Open::WORDS * size_of::<u64>())?)?;
        open.callees.store(0, Relaxed);
        open.slept.store(current.sleep_time(), Relaxed);
        // Last, so that what is done here is not counted.
        open.since.store(clock::sched(), Relaxed);
        Some(())
    }

    #[inline(always)]
    fn leave(&self, place: usize, ret: &ftrace_graph_ret) -> Option<()> {
        let now = clock::sched();
        let stay = PreemptOff::new();
        let current = Current::get();
        let open = Open::find(&current, place, 0)?;
        let whole = open.lasted(&current, now);
        let counted = if GRAPH_TIME.load(Relaxed) {
            whole
        } else {
            if let Some(caller) = Open::find(&current, place, 1) {
                caller.add_callee(whole);
            }
            open.own_part(whole)
        };
        table::this(&stay)?.find(ret.func as u64)?.took(counted);
        Some(())
    }
}
