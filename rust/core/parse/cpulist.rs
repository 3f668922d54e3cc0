// SPDX-License-Identifier: GPL-2.0

//! Parses CPU lists: `0,2-5,8-15:2/4,N`, as `cpulist_parse()` does.
//!
//! Commas and white space separate regions. A region is a number, a range, or `all`. A range may
//! select some CPUs of each group (`:used/group`). `N` is the last CPU.

use super::parser::{is_space, until_nul};
use crate::core::format::{Error, Result};

/// Parses a list of CPUs below `bits` into `mask`, which is cleared first.
///
/// A newline behind a region without a pattern ends the text; elsewhere it separates. An empty list is valid and sets no bit.
///
/// # Errors
///
/// [`Error::Invalid`] for a text that is not a list, [`Error::Range`] for a CPU that is not below
/// `bits` or has no bit in `mask`, [`Error::Overflow`] for a number above 32 bits. The content of
/// `mask` is unspecified then.
pub fn parse(text: &[u8], mask: &mut [u64], bits: usize) -> Result {
    mask.fill(0);
    let text = until_nul(text);
    let last = u32::try_from(bits.saturating_sub(1)).map_err(|_| Error::Range)?;
    let mut rest = skip_separators(text);
    while !rest.is_empty() {
        let (region, after) = Region::parse(rest, last)?;
        region.check(bits)?;
        region.set(mask)?;
        if !region.has_pattern && after.starts_with(b"\n") {
            break;
        }
        rest = skip_separators(after);
    }
    Ok(())
}

/// Writes the CPUs of `mask` below `bits` as a list, `0,2-5`, without a newline: as `%*pbl` prints them.
///
/// # Errors
///
/// Only the errors of `out`.
#[cfg(any(CONFIG_OSNOISE_TRACER, not(CONFIG_RTRACE)))]
pub fn write(
    out: &mut dyn crate::core::format::Out,
    mask: &[u64],
    bits: usize,
) -> core::fmt::Result {
    let has = |cpu: usize| {
        cpu < bits
            && mask
                .get(cpu / 64)
                .is_some_and(|word| word >> (cpu % 64) & 1 != 0)
    };
    let mut gap = "";
    let mut cpu = 0;
    while let Some(start) = (cpu..bits).find(|cpu| has(*cpu)) {
        let end = (start..bits).find(|cpu| !has(*cpu)).unwrap_or(bits);
        write!(out, "{gap}{start}")?;
        match end.saturating_sub(1) {
            last if last > start => write!(out, "-{last}")?,
            _ => {}
        }
        (gap, cpu) = (",", end);
    }
    Ok(())
}

/// `start-end:used/group`, both ends included.
struct Region {
    start: u32,
    end: u32,
    used: u32,
    group: u32,
    has_pattern: bool,
}

impl Region {
    fn parse(text: &[u8], last: u32) -> Result<(Self, &[u8])> {
        let whole = text
            .split_at_checked(3)
            .filter(|(word, _)| word.eq_ignore_ascii_case(b"all"));
        let (start, end, rest) = match whole {
            Some((_, rest)) => (0, last, rest),
            None => {
                let (start, rest) = number(text, last)?;
                match rest {
                    [b'-', rest @ ..] => {
                        let (end, rest) = number(rest, last)?;
                        (start, end, rest)
                    }
                    // Only a range can have a group.
                    [b':', ..] => return Err(Error::Invalid),
                    _ => (start, start, rest),
                }
            }
        };
        let (pattern, rest) = match rest {
            [b':', rest @ ..] => {
                let (used, rest) = number(rest, last)?;
                let rest = rest.strip_prefix(b"/").ok_or(Error::Invalid)?;
                let (group, rest) = number(rest, last)?;
                (Some((used, group)), rest)
            }
            [] => (None, rest),
            [c, ..] if is_separator(*c) => (None, rest),
            _ => return Err(Error::Invalid),
        };
        // Without a pattern all of one group. As in C that is invalid of the highest number there is.
        let (used, group) = pattern.unwrap_or((end.wrapping_add(1), end.wrapping_add(1)));
        let region = Self {
            start,
            end,
            used,
            group,
            has_pattern: pattern.is_some(),
        };
        Ok((region, rest))
    }

    fn check(&self, bits: usize) -> Result {
        if self.start > self.end || self.group == 0 || self.used > self.group {
            return Err(Error::Invalid);
        }
        match usize::try_from(self.end) {
            Ok(end) if end < bits => Ok(()),
            _ => Err(Error::Range),
        }
    }

    fn set(&self, mask: &mut [u64]) -> Result {
        for cpu in self.start..=self.end {
            if cpu.wrapping_sub(self.start) % self.group < self.used {
                let word = mask.get_mut(cpu as usize / 64).ok_or(Error::Range)?;
                *word |= 1 << (cpu % 64);
            }
        }
        Ok(())
    }
}

/// A decimal number, or `N` for `last`, and the text after it.
fn number(text: &[u8], last: u32) -> Result<(u32, &[u8])> {
    if let [b'N', rest @ ..] = text {
        return Ok((last, rest));
    }
    let size = text.iter().take_while(|c| c.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(size).ok_or(Error::Invalid)?;
    if digits.is_empty() {
        return Err(Error::Invalid);
    }
    let value = digits.iter().try_fold(0u32, |value, digit| {
        value
            .checked_mul(10)?
            .checked_add(u32::from(digit.wrapping_sub(b'0')))
    });
    Ok((value.ok_or(Error::Overflow)?, rest))
}

fn is_separator(c: u8) -> bool {
    c == b',' || is_space(c)
}

fn skip_separators(text: &[u8]) -> &[u8] {
    let start = text.iter().take_while(|&&c| is_separator(c)).count();
    text.get(start..).unwrap_or(&[])
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn read(text: &str, bits: usize) -> Result<Vec<usize>> {
        let mut mask = [u64::MAX; 2];
        parse(text.as_bytes(), &mut mask, bits)?;
        Ok((0..128)
            .filter(|n| mask[n / 64] >> (n % 64) & 1 == 1)
            .collect())
    }

    #[test]
    fn lists() {
        assert_eq!(read("0", 8), Ok(Vec::from([0])));
        assert_eq!(read(" 1, 3-5 ,\t7\n9", 8), Ok(Vec::from([1, 3, 4, 5, 7])));
        assert_eq!(read("N", 8), Ok(Vec::from([7])));
        assert_eq!(read("6-N", 8), Ok(Vec::from([6, 7])));
        assert_eq!(read("ALL", 4), Ok(Vec::from([0, 1, 2, 3])));
        assert_eq!(read("0-15:2/8", 70), Ok(Vec::from([0, 1, 8, 9])));
        assert_eq!(read("all:1/32", 70), Ok(Vec::from([0, 32, 64])));
        assert_eq!(read("63-65", 70), Ok(Vec::from([63, 64, 65])));
        assert_eq!(read("", 8), Ok(Vec::new()));
        assert_eq!(read(",,\n", 8), Ok(Vec::new()));
        assert_eq!(read("1\0x", 8), Ok(Vec::from([1])));
    }

    #[test]
    fn newlines() {
        assert_eq!(read("\n1\n", 8), Ok(Vec::from([1])));
        assert_eq!(read("0,\n2\n", 8), Ok(Vec::from([0, 2])));
        assert_eq!(read("0 \n2\n", 8), Ok(Vec::from([0, 2])));
        assert_eq!(read("0-3:1/2\n5\n", 8), Ok(Vec::from([0, 2, 5])));
        assert_eq!(read("0\n2\n", 8), Ok(Vec::from([0])));
        assert_eq!(read("0,\nx", 8), Err(Error::Invalid));
    }

    #[test]
    fn written() {
        let show = |mask: [u64; 2], bits| {
            let mut memory = [0; 200];
            let mut out = crate::core::format::LineBuf::new(&mut memory);
            write(&mut out, &mask, bits).unwrap();
            String::from_utf8(out.as_bytes().to_vec()).unwrap()
        };
        assert_eq!(show([0, 0], 128), "");
        assert_eq!(show([1, 0], 128), "0");
        assert_eq!(show([0b1011_1011, 0], 128), "0-1,3-5,7");
        assert_eq!(show([u64::MAX, u64::MAX], 100), "0-99");
        assert_eq!(show([1 << 63, 1], 128), "63-64");
        assert_eq!(show([0, 1 << 63], 128), "127");
    }

    #[test]
    fn refused() {
        for text in [
            "x",
            "-1",
            "1-",
            "1x",
            "3-2",
            "1:1/2",
            "0-3:1",
            "0-3:1/",
            "0-3:1/0",
            "0-3:3/2",
            "all1",
            "0-3:0/1x",
            "4294967295",
            "0-4294967295",
        ] {
            assert_eq!(read(text, 8), Err(Error::Invalid), "{text:?}");
        }
        assert_eq!(read("8", 8), Err(Error::Range));
        assert_eq!(read("0-8", 8), Err(Error::Range));
        assert_eq!(read("4294967296", 8), Err(Error::Overflow));
    }

    proptest! {
        #[test]
        fn every_set_has_its_list(set in proptest::collection::btree_set(0usize..128, 0..40)) {
            let text: Vec<String> = set.iter().map(|n| format!("{n}")).collect();
            prop_assert_eq!(read(&text.join(","), 128), Ok(set.into_iter().collect()));
        }

        #[test]
        fn never_panics(text in "[0-9Nal:/, -]{0,20}", bits in 0usize..140) {
            let _ = read(&text, bits);
        }
    }
}
