// SPDX-License-Identifier: GPL-2.0

//! Tracers: what decides which entries an instance records. One tracer is one file with one
//! [`Tracer`].
//!
//! [`TRACERS`] says what exists. An instance has one current tracer; `Instance::set_tracer` moves
//! from one to the next, always by way of `nop`. What a current tracer keeps is its [`Running`]:
//! dropping that ends it. All methods run in task context under the instance's state mutex and may
//! sleep.

#[cfg(CONFIG_BRANCH_TRACER)]
pub(crate) mod branch;
#[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
pub(crate) mod critical_timings;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod function;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod function_graph;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
mod functions;
#[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
mod irqsoff;
pub(crate) mod latency;
mod nop;
#[cfg(CONFIG_SCHED_TRACER)]
mod wakeup;

use super::instance::Instance;
use super::output::TracerOutput;
use crate::core::parse::options::{Flag, Set, TracerOption};
use kernel::prelude::*;
use kernel::sync::Arc;

/// What an instance records when nothing else asks for entries.
pub(crate) trait Tracer: Sync {
    /// The word in `current_tracer`.
    fn name(&self) -> &'static str;

    /// Starts recording into `instance`; `flags` are the tracer's own options for it.
    ///
    /// # Errors
    ///
    /// Any; the instance then goes on with the tracer it had.
    fn start(&self, instance: &Arc<Instance>, flags: u32) -> Result<KBox<dyn Running>>;

    /// The tracer's own options.
    fn options(&self) -> &'static [TracerOption] {
        &[]
    }

    /// The bits of those of its own options that are on at first.
    fn default_flags(&self) -> u32 {
        0
    }

    /// May `option`, one of its own, be set to `on`, whether it is current or not?
    ///
    /// # Errors
    ///
    /// `EINVAL` when not.
    fn accept(&self, _option: &TracerOption, _on: bool) -> Result {
        Ok(())
    }

    /// Core options that are on while it is current, whatever the user had set; they are restored
    /// after it.
    fn forces(&self) -> Set {
        Set::NONE
    }

    /// May instances other than the top one use it?
    fn in_instances(&self) -> bool {
        true
    }

    /// Does it keep its worst trace in the snapshot? Then `trace` shows that, and nobody else may
    /// take snapshots.
    fn uses_snapshot(&self) -> bool {
        false
    }

    /// How it prints entries for one open file, where it has a way of its own. `ENOMEM`.
    fn output(&self, _instance: &Instance) -> Result<Option<KBox<dyn TracerOutput>>> {
        Ok(None)
    }
}

/// A tracer at work in one instance. Dropping it ends the work: afterwards it records nothing.
pub(crate) trait Running: Send {
    /// `tracing_on` was switched.
    fn switched(&mut self, _on: bool) {}

    /// Its own options, or whether the instance has pids to look at, have changed.
    ///
    /// # Errors
    ///
    /// Any; it then goes on as before.
    fn changed(&mut self, _flags: u32) -> Result {
        Ok(())
    }

    /// The core option `flag` is about to be set to `on`, which is not what it is.
    ///
    /// # Errors
    ///
    /// Any; the option then stays as it is.
    fn option(&mut self, _flag: Flag, _on: bool) -> Result {
        Ok(())
    }
}

/// The tracers there are, in the order of `available_tracers`.
pub(crate) const TRACERS: &[&dyn Tracer] = &[
    #[cfg(CONFIG_BRANCH_TRACER)]
    &branch::Branch,
    #[cfg(CONFIG_FUNCTION_TRACER)]
    &function_graph::FunctionGraph,
    #[cfg(CONFIG_SCHED_TRACER)]
    &wakeup::Wakeups(wakeup::Class::Deadline),
    #[cfg(CONFIG_SCHED_TRACER)]
    &wakeup::Wakeups(wakeup::Class::Urgent),
    #[cfg(CONFIG_SCHED_TRACER)]
    &wakeup::Wakeups(wakeup::Class::Any),
    #[cfg(all(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
    &irqsoff::Off::<true, true>,
    #[cfg(CONFIG_PREEMPT_TRACER)]
    &irqsoff::Off::<false, true>,
    #[cfg(CONFIG_IRQSOFF_TRACER)]
    &irqsoff::Off::<true, false>,
    #[cfg(CONFIG_FUNCTION_TRACER)]
    &function::Function,
    &nop::Nop,
];

/// The row of `nop`, which every instance starts with and passes through.
pub(crate) const NOP_ROW: usize = TRACERS.len() - 1;

/// Position of the tracer called `name` in [`TRACERS`].
pub(crate) fn find(name: &[u8]) -> Option<usize> {
    TRACERS
        .iter()
        .position(|tracer| tracer.name().as_bytes() == name)
}
