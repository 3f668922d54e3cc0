// SPDX-License-Identifier: GPL-2.0

//! The text of `format` files.

use super::registry::Event;
use crate::core::format::entry::Common;
use crate::core::format::event::Field;
use crate::core::format::Out;
use core::fmt;

/// Writes the format of `event`'s entries. Task context. The event is borrowed from the registry.
///
/// # Errors
///
/// Only those of `out`.
pub(crate) fn write(event: &Event, out: &mut dyn Out) -> fmt::Result {
    out.bytes(b"name: ")?;
    out.bytes(event.name().to_bytes())?;
    write!(out, "\nID: {}\nformat:\n", event.registered().id())?;
    Common::FIELDS
        .iter()
        .try_for_each(|field| field.write(out))?;
    out.bytes(b"\n")?;
    for field in event.fields() {
        let field = Field {
            ctype: field.ty.to_bytes(),
            name: field.name.to_bytes(),
            offset: field.offset,
            size: field.size,
            signed: field.signed,
            len: field.len,
        };
        field.write(out)?;
    }
    out.bytes(b"\nprint fmt: ")?;
    out.bytes(event.print_fmt().to_bytes())?;
    out.bytes(b"\n")
}
