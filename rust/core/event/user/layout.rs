// SPDX-License-Identifier: GPL-2.0

//! What follows from the fields of a user event: the texts that show it, and what entries have to
//! keep to, which programs write.

use super::command::{has, Field};
use crate::core::format::entry::Common;
use crate::core::format::Out;
use core::fmt;

/// How the `print fmt` has a field of type `ty` printed.
fn format_of(ty: &[u8]) -> &'static [u8] {
    match ty {
        b"s64" => b"%lld",
        b"u64" => b"%llu",
        b"s32" | b"int" | b"s16" | b"short" | b"s8" | b"char" => b"%d",
        b"u32" | b"unsigned int" | b"u16" | b"unsigned short" | b"u8" | b"unsigned char" => b"%u",
        _ if has(ty, b"char[") => b"%s",
        _ => b"%llu",
    }
}

/// Writes the `print fmt`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_print_fmt<'a>(
    fields: impl Iterator<Item = Field<'a>> + Clone,
    out: &mut dyn Out,
) -> fmt::Result {
    out.bytes(b"\"")?;
    for (at, field) in fields.clone().enumerate() {
        if at != 0 {
            out.bytes(b" ")?;
        }
        out.bytes(field.name)?;
        out.bytes(b"=")?;
        out.bytes(format_of(field.ty))?;
    }
    out.bytes(b"\"")?;
    for Field { ty, name, .. } in fields {
        let (before, behind): (&[u8], &[u8]) = match Place::of(ty) {
            Some(Place::InEntry) if has(ty, b"char") => (b", __get_str(", b")"),
            Some(Place::BehindField) if has(ty, b"char") => (b", __get_rel_str(", b")"),
            _ => (b", REC->", b""),
        };
        out.bytes(before)?;
        out.bytes(name)?;
        out.bytes(behind)?;
    }
    Ok(())
}

/// Writes the definition, as `dynamic_events` has it.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_definition<'a>(
    name: &[u8],
    fields: impl Iterator<Item = Field<'a>>,
    out: &mut dyn Out,
) -> fmt::Result {
    out.bytes(b"u:")?;
    out.bytes(name)?;
    for (at, field) in fields.enumerate() {
        out.bytes(if at == 0 { b" " } else { b"; " })?;
        out.bytes(field.ty)?;
        out.bytes(b" ")?;
        out.bytes(field.name)?;
        if field.is_struct() {
            write!(out, " {}", field.size)?;
        }
    }
    out.bytes(b"\n")
}

/// Where the value of a field is that has a word with offset and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The offset counts from the start of the entry.
    InEntry,
    /// The offset counts from the end of the word.
    BehindField,
}

impl Place {
    fn of(ty: &[u8]) -> Option<Self> {
        if ty.starts_with(b"__data_loc ") {
            return Some(Self::InEntry);
        }
        ty.starts_with(b"__rel_loc ").then_some(Self::BehindField)
    }
}

/// The check of one field of an entry whose value is elsewhere: it is inside the entry, and a text
/// ends with a NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    offset: usize,
    place: Place,
    is_text: bool,
}

impl Check {
    /// The check of `field`, if there is one.
    pub fn of(field: &Field<'_>) -> Option<Self> {
        Some(Self {
            offset: field.offset,
            place: Place::of(field.ty)?,
            is_text: has(field.ty, b"char"),
        })
    }

    /// Whether an entry passes that has `payload` after the common fields. Any context.
    #[inline]
    pub fn passes(&self, payload: &[u8]) -> bool {
        self.look(payload).is_some_and(|passes| passes)
    }

    #[inline(always)]
    fn look(&self, payload: &[u8]) -> Option<bool> {
        let at = self.offset.checked_sub(Common::SIZE)?;
        let word = u32::from_ne_bytes(*payload.get(at..)?.first_chunk()?);
        let base = match self.place {
            Place::InEntry => 0,
            Place::BehindField => self.offset.wrapping_add(size_of::<u32>()),
        };
        let length = (word >> 16) as usize;
        let end = base
            .wrapping_add((word & 0xffff) as usize)
            .wrapping_add(length);
        if end > payload.len().wrapping_add(Common::SIZE) {
            return Some(false);
        }
        if !self.is_text {
            return Some(true);
        }
        // The byte before the end is part of the entry, even of a text without bytes.
        let last = end.checked_sub(Common::SIZE.wrapping_add(1))?;
        Some(payload.get(last) == Some(&0))
    }
}
