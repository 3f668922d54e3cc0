// SPDX-License-Identifier: GPL-2.0

//! Descriptions of the core's own entries as events, for the parts that handle them as such.

use super::registry::Registry;
use crate::core::format::entry::{self, Entry as _, Function, Print};
use crate::kernel::own_event::{Class, OwnEvent, OwnField};
use crate::kernel::trace_event::Registered;
use kernel::prelude::*;

/// Makes the event for entries of type `kind`. Task context, may sleep. `EINVAL` without such a
/// type, `ENOMEM`.
pub(super) fn described(kind: u16, class: Class) -> Result<OwnEvent> {
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
            is_function: kind == Function::ID && matches!(field.name, "ip" | "parent_ip"),
        })?;
    }
    Ok(event)
}

/// How C code reaches the entries of type `kind` as events.
fn class_of(kind: u16) -> Class {
    match kind {
        Function::ID if cfg!(CONFIG_FUNCTION_TRACER) => Class::WITHOUT_PROBE,
        Print::ID => Class::WITHOUT_PROBE,
        _ => Class::DESCRIBED,
    }
}

impl Registry {
    /// Adds the events of system `ftrace`: the core's own entries. None of them can be enabled.
    /// Once, at boot. `ENOMEM`.
    pub(super) fn add_own(&mut self) -> Result {
        for row in entry::listed() {
            let event = described(row.id, class_of(row.id))?;
            self.add(Registered::own(event)?)?;
        }
        Ok(())
    }
}
