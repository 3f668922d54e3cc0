// SPDX-License-Identifier: GPL-2.0

//! Prints an event's entry field by field (option `fields`), without its print format.

use super::symbol::Symbols;
use super::Out;
use core::fmt;

/// How a field is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// A number, by its size.
    Number,
    /// A location word: offset and length of bytes.
    Array {
        /// Whether the offset counts from the end of the field, not from the start of the entry.
        relative: bool,
    },
    /// Characters.
    Text,
    /// A location word: offset and length of characters.
    DynText {
        /// Whether the offset counts from the end of the field, not from the start of the entry.
        relative: bool,
    },
    /// A pointer to a string.
    Pointer,
    /// The address of a function.
    Function,
    /// A field that cannot be printed.
    Invalid,
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The offset in the entry, in bytes.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
    /// How it is printed.
    pub shown: Shown,
}

/// Texts in memory.
pub trait Texts {
    /// Writes `:TEXT` for the text at `addr`, as the event was recorded with that address. Writes
    /// nothing if there is none.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write(&self, addr: usize, out: &mut dyn Out) -> fmt::Result;
}

/// Printed for a field that is outside the entry.
const OVERFLOW: &[u8] = b"<OVERFLOW>";

/// Writes ` NAME=VALUE`. `text` is the offset in the kernel's text that fields called `caller_offs`
/// and `parent_offs` count from.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write(
    field: &Field<'_>,
    entry: &[u8],
    text: usize,
    symbols: &dyn Symbols,
    texts: &dyn Texts,
    out: &mut dyn Out,
) -> fmt::Result {
    out.bytes(b" ")?;
    out.bytes(field.name)?;
    out.bytes(b"=")?;
    let end = field.offset.checked_add(field.size);
    let Some(bytes) = end.and_then(|end| entry.get(field.offset..end)) else {
        return out.bytes(OVERFLOW);
    };
    let dynamic = |relative: bool| {
        let word = u32::from_ne_bytes(*bytes.first_chunk()?);
        let start = (word & 0xffff) as usize;
        let base = if relative {
            field.offset.checked_add(4)?
        } else {
            0
        };
        let start = start.checked_add(base)?;
        entry.get(start..start.checked_add((word >> 16) as usize)?)
    };
    let word = bytes
        .first_chunk()
        .map_or(0, |word| u64::from_ne_bytes(*word) as usize);
    match field.shown {
        Shown::Text => out.bytes(until_nul(bytes)),
        Shown::DynText { relative } => match dynamic(relative) {
            Some(text) => write_text(text, out),
            None => out.bytes(OVERFLOW),
        },
        Shown::Array { relative } => match dynamic(relative) {
            Some(bytes) => write_bytes(bytes, b",", out),
            None => out.bytes(OVERFLOW),
        },
        Shown::Pointer => {
            write!(out, "(0x{word:016x}")?;
            texts.write(word, out)?;
            out.bytes(b")")
        }
        Shown::Function => write_symbol(symbols, word, out),
        Shown::Number => write_number(field.name, bytes, text, symbols, out),
        Shown::Invalid => out.bytes(b"<INVALID-TYPE>"),
    }
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0);
    end.and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

fn is_print(byte: u8) -> bool {
    byte.is_ascii_graphic() || byte == b' '
}

/// Writes printable characters as they are. If there are others, all bytes follow in hexadecimal
/// digits.
fn write_text(text: &[u8], out: &mut dyn Out) -> fmt::Result {
    if text.iter().all(|&byte| byte == 0 || is_print(byte)) {
        return out.bytes(until_nul(text));
    }
    for &byte in text {
        out.bytes(&[if is_print(byte) { byte } else { b'.' }])?;
    }
    out.bytes(b" (")?;
    write_bytes(text, b":", out)?;
    out.bytes(b")")
}

fn write_bytes(bytes: &[u8], between: &[u8], out: &mut dyn Out) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            out.bytes(between)?;
        }
        write!(out, "{byte:02x}")?;
    }
    Ok(())
}

fn write_symbol(symbols: &dyn Symbols, addr: usize, out: &mut dyn Out) -> fmt::Result {
    symbols
        .write_symbol(symbols.current_addr(addr), true, out)
        .map(drop)
}

fn write_number(
    name: &[u8],
    bytes: &[u8],
    text: usize,
    symbols: &dyn Symbols,
    out: &mut dyn Out,
) -> fmt::Result {
    match *bytes {
        [byte] => {
            // The kernel's `isprint()` goes by Latin-1.
            if is_print(byte) || byte >= 0xa0 {
                out.bytes(&[b'\'', byte, b'\''])?;
            }
            write!(out, "({byte})")
        }
        [_, _] => {
            let value = bytes.first_chunk().map_or(0, |it| u16::from_ne_bytes(*it));
            write!(out, "0x{value:x} ({value})")
        }
        [_, _, _, _] => {
            let value = bytes.first_chunk().map_or(0, |it| u32::from_ne_bytes(*it));
            if name == b"caller_offs" || name == b"parent_offs" {
                write_symbol(symbols, text.wrapping_add(value as usize), out)?;
                out.bytes(b" ")?;
            }
            write!(out, "0x{value:x} ({})", value as i32)
        }
        [_, _, _, _, _, _, _, _] => {
            let value = bytes.first_chunk().map_or(0, |it| u64::from_ne_bytes(*it));
            write_symbol(symbols, value as usize, out)?;
            write!(out, " ({})", symbols.current_addr(value as usize) as i64)
        }
        _ => out.bytes(b"<INVALID-SIZE>"),
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::LineBuf;
    use super::*;
    use std::string::String;
    use std::vec;

    struct Numbers;

    impl Symbols for Numbers {
        fn current_addr(&self, addr: usize) -> usize {
            addr
        }

        fn write_symbol(
            &self,
            addr: usize,
            _offset: bool,
            out: &mut dyn Out,
        ) -> Result<bool, fmt::Error> {
            write!(out, "sym_{addr:x}").map(|()| true)
        }

        fn write_name(&self, _addr: usize, _out: &mut dyn Out) -> fmt::Result {
            Ok(())
        }
    }

    struct Hundred;

    impl Texts for Hundred {
        fn write(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
            match addr {
                100 => out.bytes(b":hundred"),
                _ => Ok(()),
            }
        }
    }

    fn shown(name: &str, size: usize, shown: Shown, entry: &[u8]) -> String {
        let mut mem = [0; 200];
        let mut line = LineBuf::new(&mut mem);
        let field = Field {
            name: name.as_bytes(),
            offset: 8,
            size,
            shown,
        };
        let mut whole = vec![0; 8];
        whole.extend_from_slice(entry);
        write(&field, &whole, 0x100, &Numbers, &Hundred, &mut line).unwrap();
        line.as_bytes()
            .iter()
            .map(|&byte| char::from(byte))
            .collect()
    }

    #[test]
    fn numbers() {
        let number = |name, bytes: &[u8]| shown(name, bytes.len(), Shown::Number, bytes);
        assert_eq!(number("a", b"x"), " a='x'(120)");
        assert_eq!(number("a", &[7]), " a=(7)");
        assert_eq!(number("a", &[0x9f]), " a=(159)");
        assert_eq!(number("a", &[0xe4]), " a='ä'(228)");
        assert_eq!(number("a", &258u16.to_ne_bytes()), " a=0x102 (258)");
        assert_eq!(number("a", &(-1i32).to_ne_bytes()), " a=0xffffffff (-1)");
        assert_eq!(
            number("caller_offs", &2u32.to_ne_bytes()),
            " caller_offs=sym_102 0x2 (2)"
        );
        assert_eq!(number("a", &16u64.to_ne_bytes()), " a=sym_10 (16)");
        assert_eq!(number("a", b"abc"), " a=<INVALID-SIZE>");
    }

    #[test]
    fn pointers() {
        let pointer = |addr: u64| shown("s", 8, Shown::Pointer, &addr.to_ne_bytes());
        assert_eq!(pointer(100), " s=(0x0000000000000064:hundred)");
        assert_eq!(pointer(7), " s=(0x0000000000000007)");
    }

    #[test]
    fn texts_and_arrays() {
        let dynamic = |offset: u32, len: u32, rest: &[u8]| {
            let mut entry = (len << 16 | offset).to_ne_bytes().to_vec();
            entry.extend_from_slice(rest);
            entry
        };
        let text = Shown::DynText { relative: false };
        assert_eq!(shown("s", 4, Shown::Text, b"ab\0c"), " s=ab");
        assert_eq!(shown("s", 4, text, &dynamic(12, 3, b"ab\0")), " s=ab");
        assert_eq!(
            shown("s", 4, text, &dynamic(12, 2, b"a\x01")),
            " s=a. (61:01)"
        );
        assert_eq!(
            shown("s", 4, text, &dynamic(12, 4, b"ab\0")),
            " s=<OVERFLOW>"
        );
        let relative = Shown::DynText { relative: true };
        assert_eq!(shown("s", 4, relative, &dynamic(0, 3, b"ab\0")), " s=ab");
        let array = Shown::Array { relative: false };
        assert_eq!(
            shown("s", 4, array, &dynamic(12, 2, b"\x01\xff")),
            " s=01,ff"
        );
        assert_eq!(shown("s", 4, Shown::Number, b"ab"), " s=<OVERFLOW>");
    }
}
