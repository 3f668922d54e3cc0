// SPDX-License-Identifier: GPL-2.0

//! Definitions of user events:
//!
//! ```text
//!   NAME [FIELD[;FIELD…]]        by ioctl(2)
//!   u:NAME [FIELD[;FIELD…]]      in dynamic_events
//!   FIELD: TYPE NAME | struct TYPE NAME SIZE
//! ```
//!
//! A program that uses an event defines it with the same fields again. Both definitions are compared
//! word by word ([`same_fields`]).

use crate::core::event::probe::command::words;
use crate::core::format::entry::Common;
use crate::core::parse::number;
use crate::core::parse::parser::is_space;

/// Bytes of the longest definition, its end included.
pub const DEFINITION_MAX: usize = 512;
/// Bytes of the longest array.
const ARRAY_MAX: u64 = 1024;
/// Bytes of the longest text between the brackets of an array, and what follows it.
const BRACKET_MAX: usize = 7;
/// Bytes of an entry, at most.
const ENTRY_MAX: usize = i32::MAX as usize;

/// A definition that cannot be understood. The write or `ioctl(2)` of it is `EINVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

/// A definition, but for the look at its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// The event's name.
    pub name: &'a [u8],
    arguments: &'a [u8],
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its type, with the words `unsigned`, `struct`, `__data_loc` and `__rel_loc` that it begins
    /// with.
    pub ty: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its offset in an entry.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
}

/// Words of two and more that a type begins with; the next word is part of it.
const HEADS: [&[u8]; 6] = [
    b"unsigned ",
    b"struct ",
    b"__data_loc unsigned ",
    b"__data_loc ",
    b"__rel_loc unsigned ",
    b"__rel_loc ",
];

impl<'a> Definition<'a> {
    /// Reads a definition.
    ///
    /// # Errors
    ///
    /// For one with flags after the name: none are known.
    pub fn parse(text: &'a [u8]) -> Result<Self, Invalid> {
        let end = text.iter().position(|&byte| byte == b' ');
        let (name, rest) = text
            .split_at_checked(end.unwrap_or(text.len()))
            .ok_or(Invalid)?;
        if name.contains(&b':') {
            return Err(Invalid);
        }
        Ok(Self {
            name,
            arguments: rest.get(1..).unwrap_or(&[]),
        })
    }

    /// Whether the name can be that of an event: of a directory, and of a word of `set_event`.
    pub fn has_good_name(&self) -> bool {
        let is_bad = |byte: &u8| matches!(byte, b'/' | 0x7f | ..=b' ');
        !matches!(self.name, b"" | b"." | b"..") && !self.name.iter().any(is_bad)
    }

    /// Its fields, up to the first that is wrong.
    pub fn fields(&self) -> impl Iterator<Item = Result<Field<'a>, Invalid>> + Clone {
        let mut offset = Common::SIZE;
        let mut has_ended = false;
        self.arguments
            .split(|&byte| byte == b';')
            .map(trim_start)
            .filter(|text| !text.is_empty())
            .map_while(move |text| {
                if has_ended {
                    return None;
                }
                let field = Field::parse(text, offset);
                match field {
                    Ok(field) => offset = field.end(),
                    Err(Invalid) => has_ended = true,
                }
                Some(field)
            })
    }

    /// The words of its fields, for [`same_fields`]. A semicolon ends a word.
    pub fn words(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.arguments
            .split_inclusive(|&byte| byte == b';')
            .flat_map(words)
    }
}

fn trim_start(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_space(**byte)).count();
    text.get(blanks..).unwrap_or(&[])
}

/// Whether `text` has `part`.
pub(super) fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|found| found == part)
}

impl<'a> Field<'a> {
    /// Where it ends in an entry.
    pub const fn end(&self) -> usize {
        self.offset.wrapping_add(self.size)
    }

    /// Whether `format` calls it signed.
    pub fn is_signed(&self) -> bool {
        self.ty.first() != Some(&b'u')
    }

    /// Whether its definition says how long it is.
    pub fn is_struct(&self) -> bool {
        self.ty.starts_with(b"struct ")
    }

    fn parse(text: &'a [u8], offset: usize) -> Result<Self, Invalid> {
        let begins = |head: &&&[u8]| text.starts_with(head);
        let head = HEADS.iter().find(begins).map_or(0, |head| head.len());
        let behind = text.get(head..).ok_or(Invalid)?;
        let blank = behind.iter().position(|&byte| byte == b' ');
        let end = blank.ok_or(Invalid)?.wrapping_add(head);
        let (ty, rest) = text.split_at_checked(end).ok_or(Invalid)?;
        let mut rest = rest.get(1..).ok_or(Invalid)?.split(|&byte| byte == b' ');
        let name = rest.next().ok_or(Invalid)?;
        let own_size = rest.next();
        if name.is_empty() || rest.next().is_some() {
            return Err(Invalid);
        }
        let size = match own_size {
            None => size_of_type(ty)?,
            Some(digits) if ty.starts_with(b"struct ") => {
                let size = number::unsigned(digits, 10).map_err(|_| Invalid)?;
                usize::try_from(size).map_err(|_| Invalid)?
            }
            Some(_) => return Err(Invalid),
        };
        let end = offset.checked_add(size).filter(|&end| end <= ENTRY_MAX);
        if size == 0 || end.is_none() {
            return Err(Invalid);
        }
        Ok(Self {
            ty,
            name,
            offset,
            size,
        })
    }
}

/// Bytes of a field of this type; 0 for an array without elements. `long` is none: its size is not the
/// same in all programs.
fn size_of_type(ty: &[u8]) -> Result<usize, Invalid> {
    Ok(match ty {
        b"s64" | b"u64" => 8,
        b"s32" | b"u32" | b"int" | b"unsigned int" => 4,
        b"s16" | b"u16" | b"short" | b"unsigned short" => 2,
        b"s8" | b"u8" | b"char" | b"unsigned char" => 1,
        _ if ty.starts_with(b"__data_loc ") || ty.starts_with(b"__rel_loc ") => 4,
        _ => array_size(ty)?,
    })
}

fn array_size(ty: &[u8]) -> Result<usize, Invalid> {
    let rest = ty.strip_prefix(b"unsigned ").unwrap_or(ty);
    let rest = rest.strip_prefix(b"char[").ok_or(Invalid)?;
    if rest.len() > BRACKET_MAX {
        return Err(Invalid);
    }
    let end = rest.iter().position(|&byte| byte == b']').ok_or(Invalid)?;
    let digits = rest.get(..end).ok_or(Invalid)?;
    match number::unsigned(digits, 0) {
        Ok(size) if size <= ARRAY_MAX => Ok(size as usize),
        _ => Err(Invalid),
    }
}

/// Whether `words` define `fields`. A semicolon belongs to the last word of a field, and only the last
/// field may lack it.
pub fn same_fields<'f, 'w>(
    fields: impl Iterator<Item = Field<'f>>,
    words: impl Iterator<Item = &'w [u8]>,
) -> bool {
    let mut words = words.peekable();
    for field in fields {
        let mut expected = field.ty.split(|&byte| byte == b' ');
        if !expected.all(|part| words.next() == Some(part)) {
            return false;
        }
        let mut last = words.next();
        if field.is_struct() {
            if last != Some(field.name) {
                return false;
            }
            last = words.next();
        }
        let Some(last) = last else {
            return false;
        };
        let bare = last.strip_suffix(b";");
        if bare.is_none() && words.peek().is_some() {
            return false;
        }
        let bare = bare.unwrap_or(last);
        let is_same = match field.is_struct() {
            true => is_decimal(bare, field.size),
            false => bare == field.name,
        };
        if !is_same {
            return false;
        }
    }
    words.next().is_none()
}

/// Whether `text` is `number` as it is printed.
fn is_decimal(text: &[u8], number: usize) -> bool {
    let canonical = text.first() != Some(&b'0') && text.iter().all(u8::is_ascii_digit);
    canonical && number::unsigned(text, 10) == Ok(number as u64)
}
