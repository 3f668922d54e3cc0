// SPDX-License-Identifier: GPL-2.0

//! Values of event fields as text: flags and symbols by name, bytes, arrays, bit masks.
//!
//! The functions implement `__print_flags()`, `__print_symbolic()`, `__print_hex()`,
//! `__print_array()` and `__print_bitmask()` of `TRACE_EVENT()`.

use super::Out;
use crate::core::parse::cpumask;
use core::fmt;

/// The number of bytes per row in [`write_hex`] with blanks.
const HEX_ROW: usize = 16;

/// Writes the names of the bits that are set in `value`, separated by `delimiter`. Bits without a
/// name follow as a number. A name is used if all of its bits are set and no earlier name has used
/// one of them.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_flags<T: AsRef<[u8]>>(
    out: &mut dyn Out,
    delimiter: &[u8],
    value: u64,
    names: impl Iterator<Item = (u64, T)>,
) -> fmt::Result {
    let (mut rest, mut first) = (value, true);
    for (mask, name) in names {
        if rest == 0 {
            break;
        }
        if rest & mask == mask {
            rest &= !mask;
            if !first {
                out.bytes(delimiter)?;
            }
            first = false;
            out.bytes(name.as_ref())?;
        }
    }
    if rest != 0 {
        if !first {
            out.bytes(delimiter)?;
        }
        write!(out, "{rest:#x}")?;
    }
    Ok(())
}

/// Writes the first name of `value`, or the number if it has no name.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_symbol<T: AsRef<[u8]>>(
    out: &mut dyn Out,
    value: u64,
    mut names: impl Iterator<Item = (u64, T)>,
) -> fmt::Result {
    let found = names.find(|&(number, _)| number == value);
    match found.as_ref().map(|(_, name)| name.as_ref()) {
        Some(name) if !name.is_empty() => out.bytes(name),
        _ => write!(out, "{value:#x}"),
    }
}

/// Writes bytes in hexadecimal digits, with blanks between them unless `joined`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_hex(out: &mut dyn Out, bytes: &[u8], joined: bool) -> fmt::Result {
    let mut line = [0; 3 * HEX_ROW];
    for (index, row) in bytes.chunks(HEX_ROW).enumerate() {
        let mut row_text = super::LineBuf::new(&mut line);
        for (column, byte) in row.iter().enumerate() {
            if !joined && (index, column) != (0, 0) {
                fmt::Write::write_str(&mut row_text, " ")?;
            }
            fmt::Write::write_fmt(&mut row_text, format_args!("{byte:02x}"))?;
        }
        out.bytes(row_text.as_bytes())?;
    }
    Ok(())
}

/// Writes `{0x1,0x2}` for an array with elements of `size` bytes in native byte order. For a size
/// other than 1, 2, 4 or 8 it writes that size, and the array byte by byte.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_array(out: &mut dyn Out, array: &[u8], size: usize) -> fmt::Result {
    out.bytes(b"{")?;
    match size {
        1 | 2 | 4 | 8 => {
            let mut separator: &[u8] = b"";
            for element in array.chunks_exact(size) {
                out.bytes(separator)?;
                separator = b",";
                write!(out, "{:#x}", number(element))?;
            }
        }
        _ => {
            for (index, byte) in array.iter().enumerate() {
                match index {
                    0 => write!(out, "BAD SIZE:{size} ")?,
                    _ => out.bytes(b",")?,
                }
                write!(out, "{byte:#x}")?;
            }
        }
    }
    out.bytes(b"}")
}

/// The number that 1, 2, 4 or 8 bytes hold. 0 for other lengths.
fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [byte] => byte.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => bytes.try_into().map_or(0, u64::from_ne_bytes),
    }
}

/// Writes the first `bits` bits of a mask of `unsigned long`s as `%*pb` does: hexadecimal groups of
/// 32 bits. Missing words of `mask` are 0. `mask` need not be aligned.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_bitmask(out: &mut dyn Out, mask: &[u8], bits: usize) -> fmt::Result {
    cpumask::write_groups(out, bits, |group| {
        let word = word(mask, group / 2);
        // The truncation keeps the half that is in the low bits after the shift.
        if group % 2 == 0 {
            word as u32
        } else {
            (word >> 32) as u32
        }
    })
}

/// Writes the set bits among the first `bits` as `%*pbl` does: `0-3,7`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_bitmask_list(out: &mut dyn Out, mask: &[u8], bits: usize) -> fmt::Result {
    let is_set = |bit: usize| bit < bits && word(mask, bit / 64) >> (bit % 64) & 1 != 0;
    let mut separator: &[u8] = b"";
    let mut next = 0;
    while let Some(first) = (next..bits).find(|&bit| is_set(bit)) {
        let end = (first..bits).find(|&bit| !is_set(bit)).unwrap_or(bits);
        let last = end.saturating_sub(1);
        out.bytes(separator)?;
        separator = b",";
        write!(out, "{first}")?;
        if last > first {
            write!(out, "-{last}")?;
        }
        next = end;
    }
    Ok(())
}

/// Word `index` of a mask of 64-bit `unsigned long`s.
fn word(mask: &[u8], index: usize) -> u64 {
    mask.chunks_exact(8).nth(index).map_or(0, number)
}

/// Writes a C format in which every plain `%p` becomes `%px`, which prints the address instead of
/// its hash. Other pointer conversions stay. Returns the length, or `None` if `to` has no room for
/// it and a NUL.
pub fn unhash_pointers(format: &[u8], to: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    let mut put = |byte| {
        *to.get_mut(length)? = byte;
        length = length.wrapping_add(1);
        Some(())
    };
    let mut rest = format;
    while let [first, tail @ ..] = rest {
        put(*first)?;
        rest = tail;
        if *first != b'%' {
            continue;
        }
        match tail {
            [b'%', behind @ ..] => {
                put(b'%')?;
                rest = behind;
            }
            [b'p', behind @ ..] if !behind.first().is_some_and(u8::is_ascii_alphanumeric) => {
                put(b'p')?;
                put(b'x')?;
                rest = behind;
            }
            _ => {}
        }
    }
    put(0)?;
    Some(length.wrapping_sub(1))
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::text;
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    const NAMES: [(u64, &[u8]); 4] = [(3, b"both"), (1, b"one"), (2, b"two"), (8, b"eight")];

    fn flags(value: u64) -> String {
        text(|out| write_flags(out, b"|", value, NAMES.into_iter()))
    }

    #[test]
    fn flags_by_name_and_the_rest_as_a_number() {
        assert_eq!(flags(0), "");
        assert_eq!(flags(1), "one");
        assert_eq!(flags(3), "both");
        assert_eq!(flags(0xa), "two|eight");
        assert_eq!(flags(0x19), "one|eight|0x10");
        assert_eq!(flags(u64::MAX << 4), "0xfffffffffffffff0");
    }

    #[test]
    fn a_name_without_bits_stands_for_any_value_but_0() {
        let names = || [(0, &b"none"[..]), (1, b"one")].into_iter();
        assert_eq!(text(|out| write_flags(out, b"", 1, names())), "noneone");
        assert_eq!(text(|out| write_flags(out, b"", 0, names())), "");
    }

    #[test]
    fn symbols() {
        let names = || [(1, &b"one"[..]), (2, b""), (1, b"again")].into_iter();
        let symbol = |value| text(|out| write_symbol(out, value, names()));
        assert_eq!(symbol(1), "one");
        assert_eq!(symbol(2), "0x2", "an empty name is none");
        assert_eq!(symbol(u64::MAX), "0xffffffffffffffff");
    }

    #[test]
    fn bytes_in_rows() {
        let bytes: Vec<u8> = (0..18).collect();
        let hex = |joined| text(|out| write_hex(out, &bytes, joined));
        assert_eq!(
            hex(false),
            "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11"
        );
        assert_eq!(hex(true), "000102030405060708090a0b0c0d0e0f1011");
        assert_eq!(text(|out| write_hex(out, &[], false)), "");
    }

    #[test]
    fn arrays() {
        let array = |bytes: &[u8], size| text(|out| write_array(out, bytes, size));
        assert_eq!(array(&[1, 0xff], 1), "{0x1,0xff}");
        assert_eq!(array(&0x1234u16.to_ne_bytes(), 2), "{0x1234}");
        let words: Vec<u8> = [5u32, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(array(&words, 4), "{0x5,0x0}");
        assert_eq!(array(&u64::MAX.to_ne_bytes(), 8), "{0xffffffffffffffff}");
        assert_eq!(array(&[1, 2, 3], 3), "{BAD SIZE:3 0x1,0x2,0x3}");
        assert_eq!(array(&[], 0), "{}");
    }

    #[test]
    fn masks() {
        let mut mask = 0xf1u64.to_ne_bytes().to_vec();
        mask.extend((1u64 << 63).to_ne_bytes());
        let hex = |bits| text(|out| write_bitmask(out, &mask, bits));
        let list = |bits| text(|out| write_bitmask_list(out, &mask, bits));
        assert_eq!(hex(8), "f1");
        assert_eq!(hex(5), "11");
        assert_eq!(hex(128), "80000000,00000000,00000000,000000f1");
        assert_eq!(hex(0), "");
        assert_eq!(list(128), "0,4-7,127");
        assert_eq!(list(6), "0,4-5");
        assert_eq!(list(0), "");
        assert_eq!(list(256), "0,4-7,127", "words that are not there are 0");
    }

    #[test]
    fn formats_without_hashes() {
        let unhash = |format: &str| {
            let mut room = [0xff; 40];
            let length = unhash_pointers(format.as_bytes(), &mut room).unwrap();
            assert_eq!(room[length], 0);
            String::from_utf8(room[..length].to_vec()).unwrap()
        };
        assert_eq!(unhash("at=%p, %p"), "at=%px, %px");
        assert_eq!(
            unhash("%pS %px %pI4 100%%p %d %"),
            "%pS %px %pI4 100%%p %d %"
        );
        assert_eq!(unhash("%%%p"), "%%%px");
        assert_eq!(unhash_pointers(b"%p", &mut [0; 3]), None);
        assert_eq!(unhash_pointers(b"%p", &mut [0; 4]), Some(3));
    }
}
