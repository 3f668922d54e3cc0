// SPDX-License-Identifier: GPL-2.0

//! What follows from arguments once they are compiled: the fields of `format` files, how user space
//! is to print an entry, and how the kernel does.

use super::argument::Argument;
use crate::core::format::symbol::{self, Style, Symbols};
use crate::core::format::Out;
use core::fmt;

/// Bytes of the fields that all entries begin with.
const COMMON: usize = 8;

/// The entries of a kind of probe: the words in front of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Where the probe is.
    Entry,
    /// The function, and where it returns to.
    Return,
    /// Where the probe is in a program.
    ProgramEntry,
    /// The program's function, and where it returns to.
    ProgramReturn,
    /// An entry of another event.
    Event,
}

impl Kind {
    /// The names of the words.
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Entry | Self::ProgramEntry => &["__probe_ip"],
            Self::Return | Self::ProgramReturn => &["__probe_func", "__probe_ret_ip"],
            Self::Event => &[],
        }
    }

    /// Where the arguments begin, behind the fields that every entry begins with.
    pub const fn size(self) -> usize {
        self.words().len() * 8
    }
}

/// An argument with its name.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The argument.
    pub argument: &'a Argument,
}

/// Writes the type of an argument's field.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_type(argument: &Argument, out: &mut dyn Out) -> fmt::Result {
    out.write_str(argument.ty.c_type)?;
    match argument.count {
        Some(count) => write!(out, "[{count}]"),
        None => Ok(()),
    }
}

/// Writes the `print fmt`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_print_fmt<'a>(
    kind: Kind,
    arguments: impl Iterator<Item = Named<'a>> + Clone,
    out: &mut dyn Out,
) -> fmt::Result {
    out.write_str(match kind {
        Kind::Entry | Kind::ProgramEntry => "\"(%lx)",
        Kind::Return | Kind::ProgramReturn => "\"(%lx <- %lx)",
        Kind::Event => "\"",
    })?;
    for Named { name, argument } in arguments.clone() {
        out.bytes(b" ")?;
        out.bytes(name)?;
        out.bytes(b"=")?;
        let one = argument.ty.format();
        match argument.count {
            None => out.write_str(one)?,
            Some(count) => {
                for at in 0..count {
                    out.bytes(if at == 0 { b"{" } else { b"," })?;
                    out.write_str(one)?;
                }
                out.bytes(b"}")?;
            }
        }
    }
    out.bytes(b"\"")?;
    for word in kind.words() {
        write!(out, ", REC->{word}")?;
    }
    for Named { name, argument } in arguments {
        let (before, behind) = match argument.ty.text {
            Some(_) => (", __get_str(", ")"),
            None => (", REC->", ""),
        };
        for at in 0..argument.count.unwrap_or(1) {
            out.write_str(before)?;
            out.bytes(name)?;
            if argument.count.is_some() {
                write!(out, "[{at}]")?;
            }
            out.write_str(behind)?;
        }
    }
    Ok(())
}

/// Writes an entry of the event `name`, with its common fields, as a line of `trace`; `attached` is
/// the event that those of [`Kind::Event`] are of.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_entry<'a>(
    (name, attached): (&[u8], &[u8]),
    kind: Kind,
    arguments: impl Iterator<Item = Named<'a>>,
    entry: &[u8],
    symbols: &dyn Symbols,
    style: Style,
    out: &mut dyn Out,
) -> fmt::Result {
    let word = |at: usize| {
        let start = COMMON.wrapping_add(at.wrapping_mul(8));
        let bytes = entry.get(start..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| usize::from_ne_bytes(*bytes))
    };
    out.bytes(name)?;
    out.bytes(b": (")?;
    let with_offset = Style {
        offset: true,
        ..style
    };
    match kind {
        Kind::Event => out.bytes(attached)?,
        Kind::Entry => symbol::write(out, symbols, word(0), with_offset)?,
        Kind::Return => {
            symbol::write(out, symbols, word(1), with_offset)?;
            out.bytes(b" <- ")?;
            let without = Style {
                offset: false,
                ..style
            };
            symbol::write(out, symbols, word(0), without)?;
        }
        Kind::ProgramEntry => write!(out, "0x{:x}", word(0))?,
        Kind::ProgramReturn => write!(out, "0x{:x} <- 0x{:x}", word(1), word(0))?,
    }
    out.bytes(b")")?;
    let base = COMMON.wrapping_add(kind.size());
    for Named { name, argument } in arguments {
        out.bytes(b" ")?;
        out.bytes(name)?;
        out.bytes(b"=")?;
        let size = usize::from(argument.ty.size);
        let start = base.wrapping_add(argument.offset);
        let value = |at: usize| {
            let start = start.wrapping_add(at.wrapping_mul(size));
            entry.get(start..start.wrapping_add(size)).unwrap_or(&[])
        };
        let Some(count) = argument.count else {
            argument.ty.write(value(0), entry, symbols, out)?;
            continue;
        };
        for at in 0..usize::from(count) {
            out.bytes(if at == 0 { b"{" } else { b"," })?;
            argument.ty.write(value(at), entry, symbols, out)?;
        }
        out.bytes(b"}")?;
    }
    out.bytes(b"\n")
}
