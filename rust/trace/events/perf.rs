// SPDX-License-Identifier: GPL-2.0

//! Events that perf uses (the PMU `tracepoint`). The caller of begin and end holds the event mutex.
//!
//! Two built-in entries are among them, as in C: `ftrace:function`, and `ftrace:print`, which is
//! never hit for perf.

use super::registry::{self, Registry};
use crate::core::format::entry::{self, Entry as _};
use crate::kernel::own_event::{Class, OwnEvent, OwnField};
use crate::kernel::perf_trace::InUse;
use crate::kernel::trace_event::{Call, HeldCall};
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// A built-in entry: its type and its event.
struct Own(u16, SetOnce<OwnEvent>);

/// Made at perf's first use and never freed.
static OWN: [Own; 2] = [
    Own(entry::Function::ID, SetOnce::new()),
    Own(entry::Print::ID, SetOnce::new()),
];

/// Gives the classes by which perf uses built-in entries. `None` if perf cannot use the entry.
pub(crate) trait OwnClasses {
    /// The class of the entries of type `kind`.
    fn of(kind: u16) -> Option<Class>;
}

impl Own {
    /// The event; it is made if it does not exist. The caller holds the event mutex. `ENOMEM`.
    fn made(&'static self, class: Class) -> Result<&'static Call> {
        if self.1.as_ref().is_none() {
            self.1.populate(described(self.0, class)?);
        }
        let event: &Call = self.1.as_ref().ok_or(ENOMEM)?;
        Ok(event)
    }
}

/// Makes the event for entries of type `kind`. `EINVAL`, `ENOMEM`.
fn described(kind: u16, class: Class) -> Result<OwnEvent> {
    let row = entry::TABLE.iter().find(|row| row.id == kind);
    let row = row.ok_or(EINVAL)?;
    let mut event = OwnEvent::new(c"ftrace", row.name, kind, class)?;
    for field in row.fields {
        let end = if field.len.is_some() { "[]" } else { "" };
        event.define(OwnField {
            ty: fmt!("{}{end}", field.ctype),
            name: field.name,
            offset: field.offset,
            size: field.size,
            signed: field.signed,
        })?;
    }
    Ok(event)
}

/// Runs `begin` on the event whose entries have type `config`. If that succeeds, the module of the
/// event cannot be unloaded. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` when there is no such event or it is being removed, and the errors of `begin`.
pub(crate) fn begin<C: OwnClasses>(
    config: u64,
    begin: impl FnOnce(&mut InUse, &Call) -> Result,
) -> Result {
    let mut registry = registry::lock().map_err(|_| EINVAL)?;
    let Registry { events, perf, .. } = &mut *registry;
    let kind = u16::try_from(config).map_err(|_| EINVAL)?;
    let own = OWN.iter().find(|own| own.0 == kind);
    if let Some((own, class)) = own.and_then(|own| Some((own, C::of(kind)?))) {
        return begin(perf, own.made(class)?);
    }
    let event = events
        .iter()
        .find(|event| event.registered().id() == kind && event.can_record())
        .ok_or(EINVAL)?;
    let held = HeldCall::new(event).ok_or(EINVAL)?;
    begin(perf, &held)?;
    held.keep();
    Ok(())
}

/// Runs `begin` on an event that is in no list. If that succeeds, the event is held until [`end`].
/// Task context, sleeps. Errors as `begin`'s.
#[cfg(CONFIG_KPROBE_EVENTS)]
pub(crate) fn begin_local(call: &Call, begin: impl FnOnce(&mut InUse, &Call) -> Result) -> Result {
    let mut registry = registry::lock()?;
    let held = HeldCall::new(call).ok_or(EINVAL)?;
    begin(&mut registry.perf, &held)?;
    held.keep();
    Ok(())
}

/// Runs `end` on `call`, which [`begin`] has kept held, and releases its module. Task context, sleeps.
pub(crate) fn end(call: HeldCall, end: impl FnOnce(&mut InUse, &Call)) {
    if let Ok(mut registry) = registry::lock() {
        end(&mut registry.perf, &call);
    }
}
