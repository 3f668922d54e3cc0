// SPDX-License-Identifier: GPL-2.0

//! Events as perf uses them (the PMU `tracepoint`): who begins and ends that has the event mutex.
//!
//! Two of the core's own entries are among them, as in C: `ftrace:function`, and `ftrace:print`,
//! which perf never sees a hit of.

use super::registry::{self, Registry};
use crate::core::format::entry::{self, Entry as _};
use crate::kernel::own_event::{Class, OwnEvent, OwnField};
use crate::kernel::perf_trace::InUse;
use crate::kernel::trace_event::Call;
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// One of the core's own entries, by type.
struct Own(u16, SetOnce<OwnEvent>);

/// Made when perf first asks for them, and kept.
static OWN: [Own; 2] = [
    Own(entry::Function::ID, SetOnce::new()),
    Own(entry::Print::ID, SetOnce::new()),
];

/// How perf reaches the core's own entries of the types above; None for one that it cannot have.
pub(crate) trait OwnClasses {
    /// Those of that type.
    fn of(kind: u16) -> Option<Class>;
}

impl Own {
    /// The event. The caller has the event mutex. `ENOMEM`.
    fn made(&'static self, class: Class) -> Result<&'static Call> {
        if self.1.as_ref().is_none() {
            self.1.populate(described(self.0, class)?);
        }
        let event: &Call = self.1.as_ref().ok_or(ENOMEM)?;
        Ok(event)
    }
}

/// An event of the entries of type `kind`.
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

/// Runs `begin` on the event whose entries are of type `config`, whose code is held from then on if
/// that succeeds. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` when there is no such event or it is going, and those of `begin`.
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
        .filter(|event| event.hold())
        .ok_or(EINVAL)?;
    begin(perf, event).inspect_err(|_| event.release())
}

/// Runs `end` on `call`, which was held by [`begin`]. Task context, sleeps.
pub(crate) fn end(call: &Call, end: impl FnOnce(&mut InUse, &Call)) {
    if let Ok(mut registry) = registry::lock() {
        end(&mut registry.perf, call);
        call.release();
    }
}
