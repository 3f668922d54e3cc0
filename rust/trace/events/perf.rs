// SPDX-License-Identifier: GPL-2.0

//! Events that perf uses (the PMU `tracepoint`). The caller of begin and end holds the event mutex.
//!
//! `ftrace:function` is among them, as in C. `ftrace:print` is, too, but is never hit for perf.

use super::own;
use super::registry::{self, Registry};
use crate::core::format::entry::{Entry as _, Function};
use crate::kernel::own_event::{Class, OwnEvent};
use crate::kernel::perf_trace::InUse;
use crate::kernel::trace_event::{Call, HeldCall};
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// Made at perf's first use and never freed.
static FUNCTION: SetOnce<OwnEvent> = SetOnce::new();

/// Gives the class by which perf uses calls of functions. `None` if perf cannot use them.
pub(crate) trait FunctionClass {
    /// The class.
    fn class() -> Option<Class>;
}

/// The event of calls of functions; it is made if it does not exist. The caller holds the event
/// mutex. `ENOMEM`.
fn function(class: Class) -> Result<&'static Call> {
    if FUNCTION.as_ref().is_none() {
        FUNCTION.populate(own::described(Function::ID, class)?);
    }
    let event: &Call = FUNCTION.as_ref().ok_or(ENOMEM)?;
    Ok(event)
}

/// Runs `begin` on the event whose entries have type `config`. If that succeeds, the module of the
/// event cannot be unloaded. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` when there is no such event or it is being removed, and the errors of `begin`. Under
/// lockdown at boot, none of the kernel's own is there.
pub(crate) fn begin<C: FunctionClass>(
    config: u64,
    begin: impl FnOnce(&mut InUse, &Call) -> Result,
) -> Result {
    let mut registry = registry::lock().map_err(|_| EINVAL)?;
    let Registry { events, perf, .. } = &mut *registry;
    let kind = u16::try_from(config).map_err(|_| EINVAL)?;
    let is_function = kind == Function::ID && Instance::top().is_ok();
    if let Some(class) = C::class().filter(|_| is_function) {
        return begin(perf, function(class)?);
    }
    let event = events
        .iter()
        .find(|event| event.registered().id() == kind && event.can_record())
        .ok_or(EINVAL)?;
    let held = HeldCall::new(event.registered()).ok_or(EINVAL)?;
    begin(perf, &held)?;
    held.keep();
    Ok(())
}

/// Runs `begin` on the event that `hold` holds, which may be in no list: one that is perf's alone, or
/// that has ended since perf has it. If that succeeds, the event is held until [`end`]. Task context,
/// sleeps. Errors as `begin`'s; `EINVAL` if it cannot be held.
pub(crate) fn begin_with(
    hold: impl FnOnce() -> Option<HeldCall>,
    begin: impl FnOnce(&mut InUse, &Call) -> Result,
) -> Result {
    let mut registry = registry::lock()?;
    let held = hold().ok_or(EINVAL)?;
    begin(&mut registry.perf, &held)?;
    held.keep();
    Ok(())
}

/// Runs `end` on `call`, which [`begin`] has kept held, and releases its module. Task context, sleeps.
pub(crate) fn end(call: HeldCall, end: impl FnOnce(&mut InUse, &Call)) {
    if let Ok(mut registry) = registry::lock() {
        end(&mut registry.perf, &call);
        // Who looks for events without users takes the lock next.
        drop(call);
    }
}
