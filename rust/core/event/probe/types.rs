// SPDX-License-Identifier: GPL-2.0

//! The types that an argument's value can be stored as: how long it is, how `format` files call it,
//! how it is printed.

use crate::core::format::symbol::Symbols;
use crate::core::format::Out;
use crate::core::parse::number;
use core::fmt;

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// A decimal number without sign.
    Unsigned,
    /// One with a sign.
    Signed,
    /// A hexadecimal number.
    Hex,
    /// One character in quotes.
    Char,
    /// A symbol with offset, of an address.
    Symbol,
    /// A text in quotes, elsewhere in the entry.
    Text,
}

/// What a value of a type that is text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOf {
    /// The kernel's memory.
    Kernel,
    /// The current task's memory.
    User,
    /// A symbol's name.
    Symbol,
}

/// One of the types.
#[derive(Debug, PartialEq, Eq)]
pub struct Type {
    /// Its name in definitions.
    pub name: &'static str,
    /// Its name in `format` files.
    pub c_type: &'static str,
    /// Bytes.
    pub size: u8,
    /// How it is printed.
    pub print: Print,
    /// What it is made of, if it is a text.
    pub text: Option<TextOf>,
}

const fn number(name: &'static str, c_type: &'static str, size: u8, print: Print) -> Type {
    Type {
        name,
        c_type,
        size,
        print,
        text: None,
    }
}

const fn text(name: &'static str, of: TextOf) -> Type {
    Type {
        name,
        c_type: "__data_loc char[]",
        size: 4,
        print: Print::Text,
        text: Some(of),
    }
}

static STRING: Type = text("string", TextOf::Kernel);
static USTRING: Type = text("ustring", TextOf::User);
static SYMSTR: Type = text("symstr", TextOf::Symbol);
static X64: Type = number("x64", "u64", 8, Print::Hex);

static TYPES: &[&Type] = &[
    &STRING,
    &USTRING,
    &SYMSTR,
    &number("u8", "u8", 1, Print::Unsigned),
    &number("u16", "u16", 2, Print::Unsigned),
    &number("u32", "u32", 4, Print::Unsigned),
    &number("u64", "u64", 8, Print::Unsigned),
    &number("s8", "s8", 1, Print::Signed),
    &number("s16", "s16", 2, Print::Signed),
    &number("s32", "s32", 4, Print::Signed),
    &number("s64", "s64", 8, Print::Signed),
    &number("x8", "u8", 1, Print::Hex),
    &number("x16", "u16", 2, Print::Hex),
    &number("x32", "u32", 4, Print::Hex),
    &X64,
    &number("char", "u8", 1, Print::Char),
    &number("symbol", "u64", 8, Print::Symbol),
];

impl Type {
    /// The type of this name; that of a bitfield is what holds it.
    pub fn named(name: &[u8]) -> Option<&'static Self> {
        let name = match name {
            [b'b', ..] => {
                let slash = name.iter().position(|&byte| byte == b'/')?;
                match number::unsigned(name.get(slash.wrapping_add(1)..)?, 0).ok()? {
                    8 => b"u8",
                    16 => b"u16".as_slice(),
                    32 => b"u32",
                    64 => b"u64",
                    _ => return None,
                }
            }
            name => name,
        };
        let known = TYPES.iter().find(|known| known.name.as_bytes() == name);
        known.copied()
    }

    /// What a value is stored as that has no type: a word, in hexadecimal.
    pub fn word() -> &'static Self {
        &X64
    }

    /// A text in the kernel's memory.
    pub fn string() -> &'static Self {
        &STRING
    }

    /// Whether the numbers are signed. As in C, texts are, too.
    pub fn is_signed(&self) -> bool {
        matches!(self.print, Print::Signed | Print::Text)
    }

    /// How a `print fmt` has it printed.
    pub(super) fn format(&self) -> &'static str {
        match (self.print, self.size) {
            (Print::Unsigned, 8) => "%Lu",
            (Print::Unsigned, _) => "%u",
            (Print::Signed, 8) => "%Ld",
            (Print::Signed, _) => "%d",
            (Print::Hex, 8) => "0x%Lx",
            (Print::Hex, _) => "0x%x",
            (Print::Char, _) => "'%c'",
            (Print::Symbol, _) => "%pS",
            (Print::Text, _) => "\\\"%s\\\"",
        }
    }

    /// Prints the value whose bytes are `value`, in an entry, as `trace` does.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub(super) fn write(
        &self,
        value: &[u8],
        entry: &[u8],
        symbols: &dyn Symbols,
        out: &mut dyn Out,
    ) -> fmt::Result {
        let mut bytes = [0; 8];
        let length = value.len().min(bytes.len());
        if let (Some(to), Some(from)) = (bytes.get_mut(..length), value.get(..length)) {
            to.copy_from_slice(from);
        }
        let word = u64::from_le_bytes(bytes);
        match self.print {
            Print::Unsigned => write!(out, "{word}"),
            Print::Signed => {
                let above = 64_u32.saturating_sub(u32::from(self.size).saturating_mul(8));
                write!(
                    out,
                    "{}",
                    (word.wrapping_shl(above) as i64).wrapping_shr(above)
                )
            }
            Print::Hex => write!(out, "0x{word:x}"),
            Print::Char => {
                out.bytes(b"'")?;
                out.bytes(&bytes[..1])?;
                out.bytes(b"'")
            }
            Print::Symbol => {
                let address = symbols.current_addr(word as usize);
                match symbols.write_symbol(address, true, out)? {
                    true => Ok(()),
                    false => write!(out, "0x{address:x}"),
                }
            }
            Print::Text => {
                let (start, length) = ((word & 0xffff) as usize, (word >> 16 & 0xffff) as usize);
                let text = entry.get(start..).filter(|_| length != 0);
                let Some(text) = text.and_then(|text| text.split(|&byte| byte == 0).next()) else {
                    return out.bytes(b"(fault)");
                };
                out.bytes(b"\"")?;
                out.bytes(text)?;
                out.bytes(b"\"")
            }
        }
    }
}
