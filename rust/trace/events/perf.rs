// SPDX-License-Identifier: GPL-2.0

//! Events as perf uses them (the PMU `tracepoint`): who begins and ends that has the event mutex.

use super::registry::{self, Registry};
use crate::kernel::trace_event::Call;
use kernel::prelude::*;

/// Runs `begin` on the event whose entries are of type `config`, whose code is held from then on if
/// that succeeds. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` when there is no such event or it is going, and those of `begin`.
pub(crate) fn begin(
    config: u64,
    begin: impl FnOnce(&mut crate::kernel::perf_trace::InUse, &Call) -> Result,
) -> Result {
    let mut registry = registry::lock().map_err(|_| EINVAL)?;
    let Registry { events, perf, .. } = &mut *registry;
    let kind = u16::try_from(config).map_err(|_| EINVAL)?;
    let event = events
        .iter()
        .find(|event| event.registered().id() == kind && event.can_record())
        .filter(|event| event.hold())
        .ok_or(EINVAL)?;
    begin(perf, event).inspect_err(|_| event.release())
}

/// Runs `end` on `call`, which was held by [`begin`]. Task context, sleeps.
pub(crate) fn end(call: &Call, end: impl FnOnce(&mut crate::kernel::perf_trace::InUse, &Call)) {
    if let Ok(mut registry) = registry::lock() {
        end(&mut registry.perf, call);
        call.release();
    }
}
