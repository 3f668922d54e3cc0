// SPDX-License-Identifier: GPL-2.0

//! How long tasks do not run, for users that do not count it as time in a function.

use crate::kernel::clock;
use crate::kernel::tracepoint::{Point, Probes, TaskProbe, TaskView};
use crate::trace::fgraph::ret_stack;
use kernel::prelude::*;
use kernel::sync::Arc;

struct Counter;

impl TaskProbe for Counter {
    fn switched(&self, prev: TaskView<'_>, next: TaskView<'_>) {
        ret_stack::count_sleep(prev, next, clock::sched());
    }
}

/// The number of users, and the probe that counts.
pub(crate) struct State {
    wanted: usize,
    probe: Option<Probes<Counter>>,
}

kernel::sync::global_lock! {
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static SLEEP: Mutex<State> = State { wanted: 0, probe: None };
}

/// Sleep is counted ([`ret_stack::Current::sleep_time`]) while it lives. Task context.
pub(crate) struct Sleepless(());

impl Sleepless {
    /// May sleep. `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let mut state = SLEEP.lock();
        if state.probe.is_none() {
            state.probe = Some(Probes::register(
                &[Point::Switch],
                Arc::new(Counter, GFP_KERNEL)?,
            )?);
        }
        state.wanted += 1;
        Ok(Self(()))
    }
}

impl Drop for Sleepless {
    fn drop(&mut self) {
        let mut state = SLEEP.lock();
        state.wanted = state.wanted.saturating_sub(1);
        if state.wanted == 0 {
            state.probe = None;
        }
    }
}
