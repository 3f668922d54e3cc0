// SPDX-License-Identifier: GPL-2.0

//! What an instance asks of a tracer.
//!
//! An instance has one current tracer; `Instance::set_tracer` moves from one to the next, always by
//! way of the one that records nothing. What a current tracer keeps is its [`Running`]: dropping
//! that ends it. All methods run in task context under the instance's state mutex and may sleep.
//!
//! The tracers are handed over at boot ([`Registry::tracers`](super::feature::Registry::tracers)).

use super::feature;
use super::Instance;
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
}

/// A tracer at work in one instance. Dropping it ends the work: afterwards it records nothing.
pub(crate) trait Running: Send {
    /// `tracing_on` was switched.
    fn switched(&mut self, _on: bool) {}

    /// Its own options, or what else it goes by (pids, graph filters), have changed.
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

/// The tracers there are, in the order of `available_tracers`; a tracer's place is its *row*. Any
/// context.
pub(crate) fn all() -> &'static [&'static dyn Tracer] {
    feature::tracers()
}

/// The tracer in `row`. `EINVAL` if there is none.
pub(super) fn get(row: usize) -> Result<&'static dyn Tracer> {
    all().get(row).copied().ok_or(EINVAL)
}

/// The row of the tracer called `name`. `EINVAL` if there is none.
pub(super) fn find(name: &[u8]) -> Result<usize> {
    all()
        .iter()
        .position(|tracer| tracer.name().as_bytes() == name)
        .ok_or(EINVAL)
}

/// The row of the tracer that records nothing.
pub(super) fn idle() -> usize {
    all().len().saturating_sub(1)
}
