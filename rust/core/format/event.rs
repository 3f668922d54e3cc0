// SPDX-License-Identifier: GPL-2.0

//! The text of an event's `format` file, and the numbers that replace enum names in it.

use super::Out;
use core::fmt;

/// A field, as the code of `TRACE_EVENT()` describes it.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The C type. It may contain `__attribute__((…))`.
    pub ctype: &'a [u8],
    /// The name.
    pub name: &'a [u8],
    /// The offset in an entry, in bytes.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
    /// Whether it is signed.
    pub signed: bool,
    /// The number of elements of an array of fixed length; 0 otherwise.
    pub len: usize,
}

impl Field<'_> {
    /// Writes the line of the field.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"\tfield:")?;
        // The brackets of an array type are written after the name.
        let is_dynamic = self.ctype.starts_with(b"__data_loc");
        let bracket = self.ctype.iter().position(|&byte| byte == b'[');
        match bracket.filter(|_| !is_dynamic) {
            None => {
                write_type(self.ctype, out)?;
                out.bytes(b" ")?;
                out.bytes(self.name)?;
            }
            Some(at) => {
                write_type(self.ctype.get(..at).unwrap_or(&[]), out)?;
                out.bytes(b" ")?;
                out.bytes(self.name)?;
                match self.len {
                    0 => out.bytes(b"[]")?,
                    len => write!(out, "[{len}]")?,
                }
            }
        }
        writeln!(
            out,
            ";\toffset:{};\tsize:{};\tsigned:{};",
            self.offset,
            self.size,
            u8::from(self.signed)
        )
    }
}

const ATTRIBUTE: &[u8] = b"__attribute__(";

/// Writes a type without its attributes.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_type(mut ctype: &[u8], out: &mut dyn Out) -> fmt::Result {
    let mut before = b' ';
    while !ctype.is_empty() {
        let attribute = ctype
            .strip_prefix(ATTRIBUTE)
            .filter(|_| before.is_ascii_whitespace())
            .and_then(behind_parentheses);
        if let Some(rest) = attribute {
            ctype = rest.trim_ascii_start();
            continue;
        }
        let Some((&byte, rest)) = ctype.split_first() else {
            break;
        };
        out.bytes(&[byte])?;
        (before, ctype) = (byte, rest);
    }
    Ok(())
}

/// The text after the parenthesis that closes the one before `text`.
fn behind_parentheses(text: &[u8]) -> Option<&[u8]> {
    let mut depth = 1usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth = depth.checked_add(1)?,
            b')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return text.get(at.checked_add(1)?..);
        }
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Replaces enum names by numbers in the text of a `print fmt`, outside of strings. Calls `find` at
/// each word that is not the name of a member; `find` returns the length of an enum name there and
/// its number. Returns the length of the result. A number that is longer than its name is not
/// inserted.
pub fn replace_evals(text: &mut [u8], find: impl Fn(&[u8]) -> Option<(usize, i64)>) -> usize {
    let (mut from, mut to) = (0usize, 0usize);
    let mut quoted = false;
    // Copies `count` bytes unchanged.
    fn keep(text: &mut [u8], from: &mut usize, to: &mut usize, count: usize) {
        let count = count.min(text.len().saturating_sub(*from));
        text.copy_within(*from..from.saturating_add(count), *to);
        *from = from.saturating_add(count);
        *to = to.saturating_add(count);
    }
    while let Some(&byte) = text.get(from) {
        let rest = text.get(from..).unwrap_or(&[]);
        let word = rest.iter().take_while(|&&byte| is_word(byte)).count();
        match byte {
            b'\\' => keep(text, &mut from, &mut to, 2),
            b'"' => {
                quoted = !quoted;
                keep(text, &mut from, &mut to, 1);
            }
            _ if quoted || word == 0 => keep(text, &mut from, &mut to, 1),
            b'0'..=b'9' => keep(text, &mut from, &mut to, word),
            _ => {
                let mut digits = [0; 20];
                let found = find(rest).and_then(|(length, value)| {
                    let is_whole = !rest.get(length).copied().is_some_and(is_word);
                    let number = decimal(value, &mut digits);
                    (is_whole && length > 0 && number.len() <= length).then_some((length, number))
                });
                if let Some((length, number)) = found {
                    let end = to.saturating_add(number.len());
                    for (place, digit) in text.iter_mut().skip(to).zip(number) {
                        *place = *digit;
                    }
                    from = from.saturating_add(length);
                    to = end;
                    continue;
                }
                keep(text, &mut from, &mut to, word);
                // The name of a member follows.
                loop {
                    let rest = text.get(from..).unwrap_or(&[]);
                    let link = match rest {
                        [b'.', ..] => 1,
                        [b'-', b'>', ..] => 2,
                        _ => break,
                    };
                    let member = rest.iter().skip(link).take_while(|&&byte| is_word(byte));
                    let length = link.saturating_add(member.count());
                    keep(text, &mut from, &mut to, length);
                }
            }
        }
    }
    to
}

/// `value` in decimal digits, at the end of `digits`.
fn decimal(value: i64, digits: &mut [u8; 20]) -> &[u8] {
    let mut left = value.unsigned_abs();
    let mut start = digits.len();
    loop {
        start = start.saturating_sub(1);
        if let Some(place) = digits.get_mut(start) {
            *place = b'0'.wrapping_add((left % 10) as u8);
        }
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        start = start.saturating_sub(1);
        if let Some(place) = digits.get_mut(start) {
            *place = b'-';
        }
    }
    digits.get(start..).unwrap_or(&[])
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::LineBuf;
    use super::*;
    use std::string::String;

    fn line(field: Field<'_>) -> String {
        let mut mem = [0; 200];
        let mut line = LineBuf::new(&mut mem);
        field.write(&mut line).unwrap();
        String::from_utf8(line.as_bytes().to_vec()).unwrap()
    }

    fn field(ctype: &str, len: usize) -> String {
        line(Field {
            ctype: ctype.as_bytes(),
            name: b"it",
            offset: 8,
            size: 16,
            signed: false,
            len,
        })
    }

    #[test]
    fn lines_of_fields() {
        assert_eq!(
            field("char[TASK_COMM_LEN]", 16),
            "\tfield:char it[16];\toffset:8;\tsize:16;\tsigned:0;\n"
        );
        assert_eq!(
            field("__data_loc char[]", 0),
            "\tfield:__data_loc char[] it;\toffset:8;\tsize:16;\tsigned:0;\n"
        );
        assert_eq!(
            field("char __attribute__((x(1), y)) *", 0),
            "\tfield:char * it;\toffset:8;\tsize:16;\tsigned:0;\n"
        );
        assert_eq!(
            field("my__attribute__(x", 0),
            "\tfield:my__attribute__(x it;\toffset:8;\tsize:16;\tsigned:0;\n"
        );
        assert_eq!(
            field("__attribute__((x", 0),
            "\tfield:__attribute__((x it;\toffset:8;\tsize:16;\tsigned:0;\n"
        );
    }

    fn replaced(text: &str) -> String {
        let maps: [(&str, i64); 5] = [
            ("ONE_AND_MORE", 1),
            ("MINUS_LONG", -12),
            ("X", 123),
            ("sizeof(struct x)", 40),
            ("LEAST_NUMBER_OF_ALL_OF_THEM", i64::MIN),
        ];
        let mut text = text.as_bytes().to_vec();
        let length = replace_evals(&mut text, |rest| {
            maps.iter()
                .find(|(name, _)| rest.starts_with(name.as_bytes()))
                .map(|(name, value)| (name.len(), *value))
        });
        text.truncate(length);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_for_names() {
        assert_eq!(
            replaced("\"ONE_AND_MORE %d\", { ONE_AND_MORE, \"MINUS_LONG\" }, MINUS_LONG"),
            "\"ONE_AND_MORE %d\", { 1, \"MINUS_LONG\" }, -12"
        );
        assert_eq!(replaced("REC->ONE_AND_MORE"), "REC->ONE_AND_MORE");
        assert_eq!(
            replaced("a.ONE_AND_MORE.b ONE_AND_MORE"),
            "a.ONE_AND_MORE.b 1"
        );
        assert_eq!(
            replaced("ONE_AND_MORES 0xONE_AND_MORE"),
            "ONE_AND_MORES 0xONE_AND_MORE"
        );
        assert_eq!(replaced("n / sizeof(struct x))"), "n / 40)");
        assert_eq!(
            replaced("X + ONE_AND_MORE"),
            "X + 1",
            "too short a name stays"
        );
        assert_eq!(
            replaced("LEAST_NUMBER_OF_ALL_OF_THEM"),
            "-9223372036854775808"
        );
        assert_eq!(replaced("\"\\\"ONE_AND_MORE\\"), "\"\\\"ONE_AND_MORE\\");
        assert_eq!(replaced(""), "");
    }
}
