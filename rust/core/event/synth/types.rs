// SPDX-License-Identifier: GPL-2.0

//! The types of fields: how many bytes one has, and how it is printed.

use crate::core::format::Out;
use crate::core::parse::number;
use core::fmt;

/// Bytes that a text of fixed length has in an entry, whatever its type says.
pub const TEXT_ROOM: usize = 256;

/// How a number is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// A decimal number with sign, of 4 or 8 bytes. Shorter ones are printed without sign.
    Signed,
    /// A decimal number without sign.
    Unsigned,
    /// A hexadecimal number, and the names of the flags in it.
    Flags,
}

/// A type of numbers.
#[derive(Debug, PartialEq, Eq)]
pub struct Number {
    name: &'static str,
    /// Bytes.
    pub size: u8,
    /// How it is printed.
    pub print: Print,
    /// How a `print fmt` has it printed.
    pub format: &'static str,
}

const fn number(name: &'static str, size: u8, print: Print, format: &'static str) -> Number {
    Number {
        name,
        size,
        print,
        format,
    }
}

#[rustfmt::skip]
static NUMBERS: &[Number] = &[
    number("s64", 8, Print::Signed, "%lld"),
    number("u64", 8, Print::Unsigned, "%llu"),
    number("s32", 4, Print::Signed, "%d"),
    number("u32", 4, Print::Unsigned, "%u"),
    number("s16", 2, Print::Signed, "%d"),
    number("u16", 2, Print::Unsigned, "%u"),
    number("s8", 1, Print::Signed, "%d"),
    number("u8", 1, Print::Unsigned, "%u"),
    number("char", 1, Print::Signed, "%d"),
    number("unsigned char", 1, Print::Unsigned, "%u"),
    number("int", 4, Print::Signed, "%d"),
    number("unsigned int", 4, Print::Unsigned, "%u"),
    number("long", 8, Print::Signed, "%ld"),
    number("unsigned long", 8, Print::Unsigned, "%lu"),
    number("bool", 1, Print::Signed, "%d"),
    number("pid_t", 4, Print::Signed, "%d"),
    number("gfp_t", 4, Print::Flags, "%x"),
];

impl Number {
    /// The bytes of `value` that a field of this type keeps, as a word.
    #[inline(always)]
    pub fn cut(&self, value: u64) -> u64 {
        let above = 64_u32.wrapping_sub(u32::from(self.size).wrapping_mul(8));
        value & u64::MAX.wrapping_shr(above)
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number(&'static Number),
    /// A text of at most so many bytes, which has [`TEXT_ROOM`] in the entry.
    Text(u16),
    /// A text behind the fields of the entry.
    DynamicText,
    /// A stack trace behind the fields of the entry: its length, then the addresses.
    Stack,
}

impl Kind {
    /// Bytes, as `format` tells them.
    pub fn size(self) -> usize {
        match self {
            Self::Number(number) => usize::from(number.size),
            Self::Text(size) => usize::from(size),
            Self::DynamicText | Self::Stack => 8,
        }
    }

    /// Bytes in an entry, without what is behind the fields.
    pub const fn room(self) -> usize {
        match self {
            Self::Text(_) => TEXT_ROOM,
            _ => 8,
        }
    }

    /// Whether its value is behind the fields of the entry.
    pub const fn is_dynamic(self) -> bool {
        matches!(self, Self::DynamicText | Self::Stack)
    }

    /// Whether it is a text.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text(_) | Self::DynamicText)
    }

    /// How a `print fmt` has it printed.
    pub fn format(self) -> &'static str {
        match self {
            Self::Number(number) => number.format,
            _ => "%s",
        }
    }
}

/// The text of a type, in the parts of the definition that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeText<'a> {
    /// Whether the word `unsigned` is before it.
    pub is_unsigned: bool,
    /// The word in front of the name.
    pub word: &'a [u8],
    /// What follows the name, from a bracket on.
    pub array: &'a [u8],
}

/// Whether a command takes `ty` for a field before it is run: a number, or any array.
pub fn is_possible(ty: &[u8]) -> bool {
    ty.contains(&b'[') || NUMBERS.iter().any(|known| known.name.as_bytes() == ty)
}

/// Why a text is no type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSize;

impl TypeText<'_> {
    fn bytes(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        let prefix: &[u8] = if self.is_unsigned { b"unsigned " } else { b"" };
        let parts = prefix.iter().chain(self.word).chain(self.array);
        parts.copied()
    }

    fn is(&self, name: &[u8]) -> bool {
        self.bytes().eq(name.iter().copied())
    }

    /// Where `part` ends for the first time.
    fn end_of(&self, part: &[u8]) -> Option<usize> {
        let mut rest = self.bytes();
        let mut at = 0_usize;
        loop {
            let mut here = rest.clone();
            if part.iter().all(|byte| here.next() == Some(*byte)) {
                return Some(at.wrapping_add(part.len()));
            }
            rest.next()?;
            at = at.wrapping_add(1);
        }
    }

    /// Bytes of a text; 0 for one of any length.
    fn text_size(&self, start: usize) -> Result<u16, BadSize> {
        let mut digits = [0_u8; 3];
        let mut length = 0_usize;
        let mut rest = self.bytes().skip(start);
        loop {
            match rest.next() {
                Some(b']') => break,
                Some(digit) => *digits.get_mut(length).ok_or(BadSize)? = digit,
                None => return Err(BadSize),
            }
            length = length.wrapping_add(1);
        }
        let first_end = self.bytes().position(|byte| byte == b']');
        let end_is_first = first_end == Some(start.wrapping_add(length));
        if !end_is_first || rest.next().is_some() {
            return Err(BadSize);
        }
        match digits.get(..length) {
            None | Some([]) => Ok(0),
            Some(digits) => match number::unsigned(digits, 0) {
                Ok(size) if size <= TEXT_ROOM as u64 => Ok(size as u16),
                _ => Err(BadSize),
            },
        }
    }

    /// What a field of this type holds; none for an unknown type.
    ///
    /// # Errors
    ///
    /// For a text whose length is not understood.
    pub fn kind(&self) -> Result<Option<Kind>, BadSize> {
        if let Some(number) = NUMBERS.iter().find(|known| self.is(known.name.as_bytes())) {
            return Ok(Some(Kind::Number(number)));
        }
        if let Some(start) = self.end_of(b"char[") {
            return Ok(Some(match self.text_size(start)? {
                0 => Kind::DynamicText,
                size => Kind::Text(size),
            }));
        }
        Ok(self.end_of(b"long[").map(|_| Kind::Stack))
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out) -> fmt::Result {
        if self.is_unsigned {
            out.bytes(b"unsigned ")?;
        }
        out.bytes(self.word)?;
        out.bytes(self.array)
    }
}

/// Whether `format` calls a field signed whose type is this text.
pub fn is_signed(kind: Kind, ty: &[u8]) -> bool {
    kind.is_dynamic() || ty.first() != Some(&b'u') && ty != b"gfp_t"
}
