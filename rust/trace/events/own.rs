// SPDX-License-Identifier: GPL-2.0

//! Descriptions of the core's own entries as events, for the parts that handle them as such.

use crate::core::format::entry;
use crate::kernel::own_event::{Class, OwnEvent, OwnField};
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
        })?;
    }
    Ok(event)
}
