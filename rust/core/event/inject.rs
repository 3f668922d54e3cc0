// SPDX-License-Identifier: GPL-2.0

//! Parses writes to `inject` files: `field=value` pairs become an entry of the event.
//!
//! A value is a number with C's prefixes, or a text in single or double quotes. Fields without a
//! pair are 0 or empty.

use super::field::{Field, Kind, GENERIC};
use crate::core::format;
use crate::core::parse::number;
use crate::core::parse::parser::{is_alnum, is_space, until_nul};

/// A text has fewer bytes than this.
const TEXT_MAX: usize = 256;

/// Why a text was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A syntax error, or a value that the field cannot have: `EINVAL`.
    Invalid,
    /// A number that needs more than 64 bits: `ERANGE`.
    Range,
    /// An unknown field: `ENOENT`.
    NoField,
    /// The entry is too long: `E2BIG`.
    TooLong,
}

impl From<format::Error> for Error {
    fn from(error: format::Error) -> Self {
        match error {
            format::Error::Range => Self::Range,
            _ => Self::Invalid,
        }
    }
}

/// The fields of an event, without the common ones.
pub trait Layout {
    /// Calls `f` with each field.
    fn each(&self, f: &mut dyn FnMut(Field));

    /// The field called `name`.
    fn find(&self, name: &[u8]) -> Option<Field>;

    /// Whether the field called `name` says where in the entry a value lies.
    fn is_location(&self, name: &[u8]) -> bool;
}

/// The values of a field that holds a pointer to a text.
#[derive(Clone, Copy)]
pub struct Addresses {
    /// The address of an empty text.
    pub empty: u64,
    /// The address of a text that says that no text can be injected.
    pub refused: u64,
}

/// Writes the entry that `text` describes to `entry` and returns its length. `entry` is zero except
/// for the common fields at its start.
///
/// # Errors
///
/// The error in the text.
pub fn write(
    text: &[u8],
    layout: &dyn Layout,
    addresses: Addresses,
    entry: &mut [u8],
) -> Result<usize, Error> {
    let mut fixed = 0;
    layout.each(&mut |field| {
        let end = usize::from(field.offset) + usize::from(field.size);
        fixed = fixed.max(end);
    });
    layout.each(&mut |field| match field.kind {
        // If `text` sets no string, the missing room is detected below.
        Kind::DataLoc | Kind::RelLoc => {
            let _ = put(entry, field, u64::from(location(field, fixed, 0)));
        }
        Kind::Pointer => {
            let _ = put(entry, field, addresses.empty);
        }
        _ => {}
    });
    // Room for a NUL of empty texts.
    let mut length = fixed + 1;
    if length > entry.len() {
        return Err(Error::TooLong);
    }

    let mut rest = skip_space(until_nul(text));
    while !rest.is_empty() {
        let (name, behind) = split(rest, |byte| !(is_alnum(*byte) || *byte == b'_'));
        if name.is_empty() {
            return Err(Error::Invalid);
        }
        // A field outside the entry is known, but no value fits it.
        let outside = || GENERIC.iter().find(|shared| shared.name.as_bytes() == name);
        let field = layout.find(name).or_else(|| Some(outside()?.field));
        let field = field.ok_or(Error::NoField)?;
        let value = skip_space(behind).strip_prefix(b"=");
        let value = skip_space(value.ok_or(Error::Invalid)?);
        rest = match value {
            [quote @ (b'"' | b'\''), behind @ ..] => {
                let (text, behind) = quoted(behind, *quote)?;
                put_text(entry, &mut length, field, text, addresses)?;
                behind
            }
            _ => {
                let (digits, behind) = number_text(value)?;
                let number = value_of(field, digits)?;
                if layout.is_location(name) {
                    // Who prints the entry would follow it to where the entry is not.
                    return Err(Error::Invalid);
                }
                put(entry, field, number)?;
                behind
            }
        };
        rest = skip_space(rest);
    }
    Ok(length)
}

fn skip_space(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !is_space(*byte));
    text.get(end.unwrap_or(text.len())..).unwrap_or(&[])
}

/// The bytes before the first byte that `is_end` accepts, and the rest.
fn split(text: &[u8], is_end: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(is_end).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}

/// The text of a number, and the text after it. White space must end it.
fn number_text(text: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let signs = usize::from(text.starts_with(b"-"));
    let digits = text.iter().skip(signs).take_while(|byte| is_alnum(**byte));
    let (number, behind) = text
        .split_at_checked(signs.saturating_add(digits.count()))
        .ok_or(Error::Invalid)?;
    match behind.first() {
        Some(byte) if !is_space(*byte) => Err(Error::Invalid),
        _ => Ok((number, behind)),
    }
}

/// The bytes before `quote`, and the bytes after it. A `quote` after a backslash does not count.
fn quoted(text: &[u8], quote: u8) -> Result<(&[u8], &[u8]), Error> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if at + 1 < text.len() => at += 1,
            _ if byte == quote => {
                let (inside, behind) = text.split_at_checked(at).ok_or(Error::Invalid)?;
                let fits = inside.len() < TEXT_MAX;
                return match behind.split_first() {
                    Some((_, behind)) if fits => Ok((inside, behind)),
                    _ => Err(Error::Invalid),
                };
            }
            _ => {}
        }
        at += 1;
    }
    Err(Error::Invalid)
}

fn value_of(field: Field, digits: &[u8]) -> Result<u64, Error> {
    let begins = digits
        .first()
        .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
    if !begins || field.kind.is_text() {
        return Err(Error::Invalid);
    }
    let value = match field.signed {
        true => number::signed(digits, 0)? as u64,
        false => number::unsigned(digits, 0)?,
    };
    match field.kind {
        Kind::Function => Err(Error::Invalid),
        _ => Ok(value),
    }
}

/// The location word of a text at `at` of an entry, with this length.
fn location(field: Field, at: usize, length: usize) -> u32 {
    let at = match field.kind {
        Kind::RelLoc => at.wrapping_sub(usize::from(field.offset) + usize::from(field.size)),
        _ => at,
    };
    (at as u32 & 0xffff) | (length as u32) << 16
}

/// Writes the low bytes of `value` to the field.
fn put(entry: &mut [u8], field: Field, value: u64) -> Result<(), Error> {
    let (at, size) = (usize::from(field.offset), usize::from(field.size));
    if !matches!(size, 1 | 2 | 4 | 8) {
        return Err(Error::Invalid);
    }
    let place = entry.get_mut(at..).and_then(|rest| rest.get_mut(..size));
    let place = place.ok_or(Error::TooLong)?;
    let bytes = value.to_ne_bytes();
    let low = match cfg!(target_endian = "little") {
        true => bytes.get(..size),
        false => bytes.get(bytes.len() - size..),
    };
    place.copy_from_slice(low.ok_or(Error::Invalid)?);
    Ok(())
}

fn put_text(
    entry: &mut [u8],
    length: &mut usize,
    field: Field,
    text: &[u8],
    addresses: Addresses,
) -> Result<(), Error> {
    match field.kind {
        Kind::Array => {
            let (at, size) = (usize::from(field.offset), usize::from(field.size));
            let place = entry.get_mut(at..).and_then(|rest| rest.get_mut(..size));
            let place = place.ok_or(Error::TooLong)?;
            place.fill(0);
            let room = place.len().saturating_sub(1);
            place
                .iter_mut()
                .zip(text.iter().take(room))
                .for_each(|(place, byte)| *place = *byte);
            Ok(())
        }
        Kind::DataLoc | Kind::RelLoc => {
            let (at, with_end) = (*length, text.len() + 1);
            let place = entry
                .get_mut(at..)
                .and_then(|rest| rest.get_mut(..with_end));
            let (end, place) = place
                .and_then(<[u8]>::split_last_mut)
                .ok_or(Error::TooLong)?;
            place.copy_from_slice(text);
            *end = 0;
            *length = at + with_end;
            put(entry, field, u64::from(location(field, at, with_end)))
        }
        Kind::Pointer => put(entry, field, addresses.refused),
        _ => Err(Error::Invalid),
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use std::{format, vec::Vec};

    const ADDRESSES: Addresses = Addresses {
        empty: 0x1111_2222_3333_4444,
        refused: 0x5555_6666_7777_8888,
    };
    /// The end of the fields of `Event`.
    const FIXED: usize = 56;

    struct Event;

    const fn field(kind: Kind, offset: u16, size: u16, signed: bool) -> Field {
        Field {
            kind,
            offset,
            size,
            signed,
        }
    }

    const FIELDS: &[(&str, Field)] = &[
        ("small", field(Kind::Number, 8, 1, false)),
        ("int", field(Kind::Number, 12, 4, true)),
        ("array", field(Kind::Array, 16, 4, false)),
        ("numbers", field(Kind::Number, 20, 3, false)),
        ("dyn", field(Kind::DataLoc, 24, 4, false)),
        ("rel", field(Kind::RelLoc, 28, 4, false)),
        ("ptr", field(Kind::Pointer, 32, 8, false)),
        ("fn", field(Kind::Function, 40, 8, false)),
        ("words", field(Kind::Number, 48, 4, false)),
        ("mask", field(Kind::CpuMask, 52, 4, false)),
    ];

    impl Layout for Event {
        fn each(&self, f: &mut dyn FnMut(Field)) {
            FIELDS.iter().for_each(|row| f(row.1));
        }

        fn find(&self, name: &[u8]) -> Option<Field> {
            FIELDS
                .iter()
                .find(|row| row.0.as_bytes() == name)
                .map(|row| row.1)
        }

        fn is_location(&self, name: &[u8]) -> bool {
            matches!(name, b"dyn" | b"rel" | b"words" | b"mask")
        }
    }

    fn written(text: &str) -> Result<Vec<u8>, Error> {
        let mut entry = [0; 600];
        let length = write(text.as_bytes(), &Event, ADDRESSES, &mut entry)?;
        Ok(entry[..length].to_vec())
    }

    fn word(entry: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(entry[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn nothing_said() {
        for text in ["", " \n"] {
            let entry = written(text).unwrap();
            assert_eq!(entry.len(), FIXED + 1);
            assert_eq!(word(&entry, 24), FIXED as u32);
            assert_eq!(word(&entry, 28), FIXED as u32 - 32);
            assert_eq!(entry[32..40], ADDRESSES.empty.to_ne_bytes());
        }
    }

    #[test]
    fn values() {
        let entry =
            written("int = -2 small=0x1ff array='abcdef'dyn=\"a\\\"b\" rel=\"xy\" ptr='no'")
                .unwrap();
        assert_eq!(entry[8], 0xff);
        assert_eq!(word(&entry, 12), -2i32 as u32);
        assert_eq!(&entry[16..20], b"abc\0");
        assert_eq!(word(&entry, 24), 5 << 16 | (FIXED as u32 + 1));
        assert_eq!(&entry[FIXED + 1..], b"a\\\"b\0xy\0");
        assert_eq!(word(&entry, 28), 3 << 16 | (FIXED as u32 + 6 - 32));
        assert_eq!(entry[32..40], ADDRESSES.refused.to_ne_bytes());
    }

    #[test]
    fn refused() {
        for (text, error) in [
            ("nosuch=1", Error::NoField),
            ("int", Error::Invalid),
            ("=1", Error::Invalid),
            ("int=", Error::Invalid),
            ("int=x", Error::Invalid),
            ("int=5x", Error::Invalid),
            ("int='5'", Error::Invalid),
            ("small=-1", Error::Invalid),
            ("array=5", Error::Invalid),
            ("array='abc", Error::Invalid),
            ("numbers=1", Error::Invalid),
            ("fn=1", Error::Invalid),
            ("dyn=1", Error::Invalid),
            ("words=0xffffffff", Error::Invalid),
            ("words=0", Error::Invalid),
            ("words=99999999999999999999", Error::Range),
            ("mask=0xffffffff", Error::Invalid),
            ("int=99999999999999999999", Error::Range),
            ("int=99999999999999999999z", Error::Range),
            ("int=99999999999999999999+", Error::Invalid),
            ("int=1+", Error::Invalid),
            ("int\u{e9}=1", Error::NoField),
            ("cpu=1", Error::Invalid),
            ("cpu=99999999999999999999", Error::Range),
            ("COMM='a'", Error::Invalid),
            ("stacktrace=1", Error::Invalid),
        ] {
            assert_eq!(written(text), Err(error), "{text}");
        }
        let long = |length| format!("dyn='{}'", "x".repeat(length));
        assert!(written(&long(255)).is_ok());
        assert_eq!(written(&long(256)), Err(Error::Invalid));
        assert_eq!(written(&long(255).repeat(3)), Err(Error::TooLong));
    }
}
