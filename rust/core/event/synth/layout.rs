// SPDX-License-Identifier: GPL-2.0

//! What follows from the fields of a synthetic event: the texts of its `format`, and the line that
//! the kernel prints for an entry.

use super::types::{Kind, Print, TEXT_ROOM};
use crate::core::format::symbol::Symbols;
use crate::core::format::Out;
use core::fmt;

/// A field with its name.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a [u8],
    /// What it holds.
    pub kind: Kind,
}

/// Writes the `print fmt`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_print_fmt<'a>(
    fields: impl Iterator<Item = Named<'a>> + Clone,
    out: &mut dyn Out,
) -> fmt::Result {
    out.bytes(b"\"")?;
    for (at, Named { name, kind }) in fields.clone().enumerate() {
        if at != 0 {
            out.bytes(b" ")?;
        }
        out.bytes(name)?;
        write!(out, "={}", kind.format())?;
    }
    out.bytes(b"\"")?;
    for Named { name, kind } in fields {
        let (before, behind) = match kind {
            Kind::DynamicText => (", __get_str(", ")"),
            Kind::Stack => (", __get_stacktrace(", ")"),
            Kind::Number(_) | Kind::Text(_) => (", REC->", ""),
        };
        out.write_str(before)?;
        out.bytes(name)?;
        out.write_str(behind)?;
    }
    Ok(())
}

/// The word at `at` of an entry.
pub fn word(entry: &[u8], at: usize) -> u64 {
    let bytes = entry.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// A word that says where the value of a dynamic field is: `length` bytes at `start` of the entry.
#[inline(always)]
pub fn place(start: usize, length: usize) -> u64 {
    (start as u64 & 0xffff) | (length as u64 & 0xffff).wrapping_shl(16)
}

/// The bytes of the value of a dynamic field, or what of them is in the entry.
fn placed(entry: &[u8], word: u64) -> &[u8] {
    let (start, length) = ((word & 0xffff) as usize, (word >> 16 & 0xffff) as usize);
    let rest = entry.get(start..).unwrap_or(&[]);
    rest.get(..length).unwrap_or(rest)
}

fn until_nul(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or(text)
}

/// Writes a field whose room begins at `at` of the entry, as `trace` prints it; what names the flags
/// of a number is not written.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_field(
    field: Named<'_>,
    entry: &[u8],
    at: usize,
    symbols: &dyn Symbols,
    out: &mut dyn Out,
) -> fmt::Result {
    out.bytes(field.name)?;
    out.bytes(b"=")?;
    let word = word(entry, at);
    match field.kind {
        Kind::Number(number) => {
            let value = number.cut(word);
            match (number.print, number.size) {
                (Print::Signed, 4) => write!(out, "{}", value as i32),
                (Print::Signed, 8) => write!(out, "{}", value as i64),
                (Print::Signed | Print::Unsigned, _) => write!(out, "{value}"),
                (Print::Flags, _) => write!(out, "{value:x}"),
            }
        }
        Kind::Text(_) => {
            let rest = entry.get(at..).unwrap_or(&[]);
            out.bytes(until_nul(rest.get(..TEXT_ROOM).unwrap_or(rest)))
        }
        Kind::DynamicText => out.bytes(until_nul(placed(entry, word))),
        Kind::Stack => {
            out.bytes(b"STACK:\n")?;
            for address in placed(entry, word).chunks_exact(8).skip(1) {
                let address = symbols.current_addr(self::word(address, 0) as usize);
                out.bytes(b"=> ")?;
                if !symbols.write_symbol(address, true, out)? {
                    write!(out, "0x{address:x}")?;
                }
                out.bytes(b"\n")?;
            }
            Ok(())
        }
    }
}
