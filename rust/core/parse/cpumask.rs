// SPDX-License-Identifier: GPL-2.0

//! CPU masks as hexadecimal text: `%*pb` and `bitmap_parse()`.
//!
//! A mask is a slice of `u64` words. Bit `n` of the whole stands for CPU `n`. The text has groups
//! of 32 bits, the most significant first.

use super::parser::{is_space, until_nul};
use crate::core::format::{Error, Out, Result};
use core::fmt;

/// Writes the first `bits` bits of `mask` as `%*pb` does, without newline: `00000000,00000003` for
/// 64 bits.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write(out: &mut dyn Out, mask: &[u64], bits: usize) -> fmt::Result {
    write_groups(out, bits, |group| get(mask, group))
}

/// As [`write()`], for a mask whose groups of 32 bits come from `word`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_groups(out: &mut dyn Out, bits: usize, word: impl Fn(usize) -> u32) -> fmt::Result {
    let groups = bits.div_ceil(32);
    for group in (0..groups).rev() {
        let wide = if group.wrapping_add(1) == groups {
            top_bits(bits)
        } else {
            32
        };
        let value = word(group) & (u32::MAX >> 32usize.saturating_sub(wide).min(31));
        write!(out, "{:0width$x}", value, width = wide.div_ceil(4))?;
        if group != 0 {
            out.bytes(b",")?;
        }
    }
    Ok(())
}

/// Parses a mask of `bits` bits into `mask`, which is cleared first. Words above `bits` stay 0.
///
/// Commas or white space separate the groups. A group has at most eight digits and may be empty. A
/// newline ends the text.
///
/// # Errors
///
/// [`Error::Overflow`] for a group of more than 32 bits, too many groups for `bits`, or a set bit
/// above `bits` or above `mask`; [`Error::Invalid`] for anything but hexadecimal digits. The
/// content of `mask` is unspecified then.
pub fn parse(text: &[u8], mask: &mut [u64], bits: usize) -> Result {
    mask.fill(0);
    let text = until_nul(text);
    let line = text.split(|&c| c == b'\n').next().unwrap_or(&[]);
    let groups = line
        .rsplit(|&c| c == b',' || is_space(c))
        .filter(|digits| !digits.is_empty());
    let expected = bits.div_ceil(32);
    for (index, digits) in groups.enumerate() {
        let wide = match expected.checked_sub(index) {
            None | Some(0) => return Err(Error::Overflow),
            Some(1) => top_bits(bits),
            Some(_) => 32,
        };
        let value = group(digits, index.wrapping_add(1) < expected)?;
        if wide < 32 && value >> wide != 0 {
            return Err(Error::Overflow);
        }
        let shift = if index % 2 == 0 { 0 } else { 32 };
        match mask.get_mut(index / 2) {
            Some(word) => *word |= u64::from(value) << shift,
            None if value == 0 => {}
            None => return Err(Error::Overflow),
        }
    }
    Ok(())
}

/// The number of bits in the most significant group of `bits`: 1 to 32.
fn top_bits(bits: usize) -> usize {
    match bits % 32 {
        0 => 32,
        some => some,
    }
}

fn get(mask: &[u64], group: usize) -> u32 {
    let word = mask.get(group / 2).copied().unwrap_or(0);
    // The truncation keeps the half that is in the low bits after the shift.
    if group % 2 == 0 {
        word as u32
    } else {
        (word >> 32) as u32
    }
}

/// Parses one group from the right, as C does. A ninth digit is an overflow. Any other ninth
/// character starts another group. That is an overflow unless `more` groups may come; if they may,
/// it is invalid.
fn group(digits: &[u8], more: bool) -> Result<u32> {
    let (too_many, digits) = match digits.split_last_chunk::<8>() {
        Some((rest, last)) => (rest.last(), &last[..]),
        None => (None, digits),
    };
    let mut value = 0;
    for &c in digits {
        value = value << 4 | char::from(c).to_digit(16).ok_or(Error::Invalid)?;
    }
    match too_many {
        None => Ok(value),
        Some(c) if more && !c.is_ascii_hexdigit() => Err(Error::Invalid),
        Some(_) => Err(Error::Overflow),
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use crate::core::format::LineBuf;
    use proptest::prelude::*;
    use std::string::String;

    fn show(mask: &[u64], bits: usize) -> String {
        let mut mem = [0; 128];
        let mut out = LineBuf::new(&mut mem);
        write(&mut out, mask, bits).unwrap();
        String::from_utf8(out.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn printing() {
        assert_eq!(show(&[3], 2), "3");
        assert_eq!(show(&[0x1f], 5), "1f");
        assert_eq!(show(&[3], 64), "00000000,00000003");
        assert_eq!(show(&[u64::MAX, u64::MAX], 72), "ff,ffffffff,ffffffff");
        assert_eq!(show(&[u64::MAX], 33), "1,ffffffff");
        assert_eq!(show(&[], 4), "0");
    }

    fn read(text: &str, bits: usize) -> Result<[u64; 2]> {
        let mut mask = [u64::MAX; 2];
        parse(text.as_bytes(), &mut mask, bits).map(|()| mask)
    }

    #[test]
    fn parsing() {
        assert_eq!(read("3\n", 64), Ok([3, 0]));
        assert_eq!(read("0", 2), Ok([0, 0]));
        assert_eq!(read("", 2), Ok([0, 0]));
        assert_eq!(read("1,,5", 64), Ok([0x1_0000_0005, 0]));
        assert_eq!(read(" 1 , 5 \n7", 64), Ok([0x1_0000_0005, 0]));
        assert_eq!(read("DEADbeef", 32), Ok([0xdead_beef, 0]));
        assert_eq!(read("7,0,0", 72), Ok([0, 7]));
        assert_eq!(read("g", 64), Err(Error::Invalid));
        assert_eq!(read("0x3", 64), Err(Error::Invalid));
        assert_eq!(read("-1", 64), Err(Error::Invalid));
        assert_eq!(read("4", 2), Err(Error::Overflow));
        assert_eq!(read("123456789", 64), Err(Error::Overflow));
        assert_eq!(read("g12345678", 64), Err(Error::Invalid));
        assert_eq!(read("1,0,0", 64), Err(Error::Overflow));
    }

    /// Results of Linux 7.3.4 on two CPUs.
    #[test]
    fn two_cpus() {
        for text in [
            "4",
            "f",
            "ffffffff",
            "0,3",
            "00000000,00000003",
            "3 3",
            "123456789",
            "g12345678",
        ] {
            assert_eq!(read(text, 2), Err(Error::Overflow), "{text:?}");
        }
        for (text, want) in [
            ("3 ", 3),
            (" 3", 3),
            ("\n3", 0),
            ("3\n4", 3),
            ("3\0zz", 3),
            ("0", 0),
            ("1,,", 1),
        ] {
            assert_eq!(read(text, 2), Ok([want, 0]), "{text:?}");
        }
        assert_eq!(read("g", 2), Err(Error::Invalid));
    }

    proptest! {
        #[test]
        fn round_trip(a: u64, b: u64, bits in 1usize..=128) {
            let keep = |word: u64, from: usize| match bits.saturating_sub(from) {
                0 => 0,
                n if n >= 64 => word,
                n => word & ((1 << n) - 1),
            };
            let want = [keep(a, 0), keep(b, 64)];
            prop_assert_eq!(read(&show(&want, bits), bits), Ok(want));
        }

        #[test]
        fn never_panics(text in "[0-9a-g, \n]{0,40}", bits in 0usize..140) {
            let _ = read(&text, bits);
        }
    }
}
