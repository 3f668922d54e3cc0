// SPDX-License-Identifier: GPL-2.0

//! The interface of a tracer.
//!
//! An instance has one current tracer. `Instance::set_tracer` changes it, and `nop` is current in
//! between. [`Running`] is the state of a tracer while it is current; dropping it stops the tracer.
//! All methods run in task context under the instance's state mutex and may sleep.
//!
//! The tracers are registered at boot ([`Registry::tracers`](super::feature::Registry::tracers)).

use super::feature;
use super::Instance;
use crate::core::parse::options::{Flag, Set, TracerOption};
use kernel::prelude::*;
use kernel::sync::Arc;

/// A tracer that can become the current one.
pub(crate) trait Tracer: Sync {
    /// The name in `current_tracer`.
    fn name(&self) -> &'static str;

    /// Starts recording into `instance`. `flags` are the tracer's own options.
    ///
    /// # Errors
    ///
    /// After any error the instance goes back to its old tracer.
    fn start(&self, instance: &Arc<Instance>, flags: u32) -> Result<KBox<dyn Running>>;

    /// The tracer's own options.
    fn options(&self) -> &'static [TracerOption] {
        &[]
    }

    /// The bits of its own options that are on by default.
    fn default_flags(&self) -> u32 {
        0
    }

    /// Whether `option`, one of its own, may be set to `on`. The tracer need not be current.
    ///
    /// # Errors
    ///
    /// `EINVAL` if not.
    fn accept(&self, _option: &TracerOption, _on: bool) -> Result {
        Ok(())
    }

    /// Core options that are on while the tracer is current. The user's values are restored
    /// afterwards.
    fn forces(&self) -> Set {
        Set::NONE
    }

    /// Whether instances other than the top one may use it.
    fn in_instances(&self) -> bool {
        true
    }

    /// Whether it keeps its worst trace in the snapshot. Then `trace` shows the snapshot, and no
    /// other user may take one.
    fn uses_snapshot(&self) -> bool {
        false
    }
}

/// A running tracer of one instance. Dropping it stops the tracer: it records nothing afterwards.
pub(crate) trait Running: Send {
    /// `tracing_on` has changed to `on`.
    fn switched(&mut self, _on: bool) {}

    /// Its own options, the pids or the graph filters have changed.
    ///
    /// # Errors
    ///
    /// After any error the tracer goes on as before.
    fn changed(&mut self, _flags: u32) -> Result {
        Ok(())
    }

    /// The core option `flag` is about to change to `on`.
    ///
    /// # Errors
    ///
    /// Any error keeps the old value of the option.
    fn option(&mut self, _flag: Flag, _on: bool) -> Result {
        Ok(())
    }
}

/// All tracers, in the order of `available_tracers`. The index of a tracer is its *row*. Any
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

/// The row of `nop`.
pub(super) fn idle() -> usize {
    all().len().saturating_sub(1)
}
