// SPDX-License-Identifier: GPL-2.0

//! Tracers: what decides which entries an instance records. One tracer is one file with one [`Tracer`].
//!
//! [`TRACERS`] says what exists. An instance has one current tracer; [`Instance::set_tracer`] moves from one to
//! the next, always by way of `nop`. All methods run in task context under the instance's state lock and may
//! sleep, unless said otherwise.

mod nop;

pub(crate) use nop::NOP;

use super::instance::Instance;
use kernel::prelude::*;

/// A tracer's own option: its word, and its bit in the value the instance keeps for the tracer.
pub(crate) struct TracerOption {
    /// The word in `trace_options` and the file name in `options/`.
    pub(crate) name: &'static str,
    /// One bit.
    pub(crate) bit: u32,
}

/// What an instance records when nothing else asks for entries.
pub(crate) trait Tracer: Sync {
    /// The word in `current_tracer`.
    fn name(&self) -> &'static str;

    /// Starts recording into `instance`; `flags` are the tracer's own options for it.
    ///
    /// # Errors
    ///
    /// Any; the instance is then left with `nop`.
    fn init(&self, instance: &Instance, flags: u32) -> Result;

    /// Stops recording and undoes [`Tracer::init`].
    fn reset(&self, instance: &Instance);

    /// Recording is switched on again (`tracing_on`) while this tracer is current.
    fn start(&self, _instance: &Instance) {}

    /// Recording is switched off while this tracer is current.
    fn stop(&self, _instance: &Instance) {}

    /// The tracer's own options.
    fn options(&self) -> &'static [TracerOption] {
        &[]
    }

    /// Is asked before one of its own options changes from `old` to `new`, while it is current.
    ///
    /// # Errors
    ///
    /// `EINVAL` refuses the change.
    fn set_flag(&self, _instance: &Instance, _old: u32, _new: u32) -> Result {
        Ok(())
    }

    /// May instances other than the top one use it?
    fn in_instances(&self) -> bool {
        true
    }
}

/// The tracers there are, in the order of `available_tracers`.
pub(crate) static TRACERS: [&dyn Tracer; 1] = [&nop::NOP];

/// The row of `nop`, which every instance starts with and passes through.
pub(crate) const NOP_ROW: usize = TRACERS.len() - 1;

/// Position of the tracer called `name` in [`TRACERS`].
pub(crate) fn find(name: &[u8]) -> Option<usize> {
    TRACERS.iter().position(|t| t.name().as_bytes() == name)
}
