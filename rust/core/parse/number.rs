// SPDX-License-Identifier: GPL-2.0

//! Parses numbers as the kernel does.
//!
//! [`unsigned`] and [`signed`] answer to `kstrtoull()` and `kstrtoll()`: a sign, a prefix if base 0
//! or 16 allows one, digits, and at most one newline. Anything else is refused, blanks included.
//! Files of numbers (`tracing_on`, `buffer_size_kb`, `options/` …) use base 10, so `010` is ten and
//! `0x10` is refused. Filter indexes, pids, counts and boot parameters use base 0.

use super::parser::until_nul;
use crate::core::format::{Error, Result};

/// Parses an unsigned number. A leading `+` is allowed.
///
/// `base` is 8, 10, 16, or 0 for C's prefixes (`0x` hexadecimal, `0` octal).
///
/// # Errors
///
/// [`Error::Range`] if it does not fit into 64 bits, [`Error::Invalid`] for other errors.
#[inline(never)]
pub fn unsigned(text: &[u8], base: u32) -> Result<u64> {
    let text = until_nul(text);
    magnitude(text.strip_prefix(b"+").unwrap_or(text), base)
}

/// Parses a signed number. Otherwise as [`unsigned`].
///
/// # Errors
///
/// [`Error::Range`] if it does not fit into 64 bits, [`Error::Invalid`] for other errors.
pub fn signed(text: &[u8], base: u32) -> Result<i64> {
    let text = until_nul(text);
    match text.strip_prefix(b"-") {
        Some(digits) => {
            let size = magnitude(digits, base)?;
            0i64.checked_sub_unsigned(size).ok_or(Error::Range)
        }
        None => i64::try_from(unsigned(text, base)?).map_err(|_| Error::Range),
    }
}

/// Parses a switch that takes any number, such as `tracing_on`. Every number but 0 means on.
///
/// # Errors
///
/// As [`unsigned`] in base 10.
pub fn nonzero(text: &[u8]) -> Result<bool> {
    Ok(unsigned(text, 10)? != 0)
}

/// Parses a write to a file of `options/`, which takes only 0 or 1.
///
/// # Errors
///
/// As [`unsigned`] in base 10. Other numbers are [`Error::Invalid`].
pub fn zero_or_one(text: &[u8]) -> Result<bool> {
    match unsigned(text, 10)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::Invalid),
    }
}

/// Parses a size in bytes with an optional binary suffix `K M G T P E` in upper or lower case, as
/// `memparse()` does for boot parameters. Returns it with the rest of the text.
///
/// A size that is too large becomes [`u64::MAX`]. Without digits the result is 0 and the whole
/// text.
pub fn size(text: &[u8]) -> (u64, &[u8]) {
    let (base, digits) = radix(text, 0);
    let (value, rest, overflow) = accumulate(digits, base);
    if rest.len() == digits.len() {
        return (0, text);
    }
    let value = if overflow { u64::MAX } else { value };
    let shift = match rest.first().map(u8::to_ascii_uppercase) {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        Some(b'P') => 50,
        Some(b'E') => 60,
        _ => return (value, rest),
    };
    let rest = rest.get(1..).unwrap_or(&[]);
    (value.saturating_mul(1 << shift), rest)
}

fn magnitude(text: &[u8], base: u32) -> Result<u64> {
    let (base, digits) = radix(text, base);
    let (value, rest, overflow) = accumulate(digits, base);
    if overflow {
        return Err(Error::Range);
    }
    match rest {
        _ if rest.len() == digits.len() => Err(Error::Invalid),
        [] | [b'\n'] => Ok(value),
        _ => Err(Error::Invalid),
    }
}

/// The base to use, and the digits without their prefix.
fn radix(text: &[u8], base: u32) -> (u32, &[u8]) {
    match text {
        [b'0', b'x' | b'X', digits @ ..] if base == 16 => (16, digits),
        [b'0', b'x' | b'X', digits @ ..]
            if base == 0 && digits.first().is_some_and(u8::is_ascii_hexdigit) =>
        {
            (16, digits)
        }
        [b'0', ..] if base == 0 => (8, text),
        _ if base == 0 => (10, text),
        _ => (base, text),
    }
}

/// The value of the leading digits, the text after them, and whether the value has wrapped.
fn accumulate(text: &[u8], base: u32) -> (u64, &[u8], bool) {
    let digit = |&c: &u8| char::from(c).to_digit(base.clamp(2, 16));
    let mut value = Some(0u64);
    let mut rest = text;
    while let Some((d, tail)) = rest
        .split_first()
        .and_then(|(c, tail)| Some((digit(c)?, tail)))
    {
        value = value.and_then(|v| v.checked_mul(base.into())?.checked_add(d.into()));
        rest = tail;
    }
    (value.unwrap_or(0), rest, value.is_none())
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;

    #[test]
    fn bases() {
        assert_eq!(unsigned(b"0x1F\n", 0), Ok(31));
        assert_eq!(unsigned(b"010", 0), Ok(8));
        assert_eq!(unsigned(b"+7", 0), Ok(7));
        assert_eq!(unsigned(b"0", 0), Ok(0));
        assert_eq!(unsigned(b"0x1f", 16), Ok(31));
        assert_eq!(unsigned(b"010", 10), Ok(10));
        assert_eq!(unsigned(b"7\0x", 10), Ok(7));
    }

    #[test]
    fn refusals() {
        for text in [
            "", "\n", "-1", "+", "x", "0x", "08", "1 ", " 1", "1\n\n", "1a", "++1", "+-1",
        ] {
            assert_eq!(
                unsigned(text.as_bytes(), 0),
                Err(Error::Invalid),
                "{text:?}"
            );
        }
        assert_eq!(unsigned(b"0x10", 10), Err(Error::Invalid));
        assert_eq!(unsigned(b"18446744073709551615", 0), Ok(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616", 0), Err(Error::Range));
        // As in C, an overflow is detected before the text after the digits is checked.
        assert_eq!(unsigned(b"99999999999999999999zz", 0), Err(Error::Range));
        assert_eq!(signed(b"-9223372036854775808", 0), Ok(i64::MIN));
        assert_eq!(signed(b"-9223372036854775809", 0), Err(Error::Range));
        assert_eq!(signed(b"9223372036854775808", 0), Err(Error::Range));
        assert_eq!(signed(b"-+1", 0), Err(Error::Invalid));
    }

    #[test]
    fn switches() {
        assert_eq!(nonzero(b"2\n"), Ok(true));
        assert_eq!(nonzero(b"0"), Ok(false));
        assert_eq!(nonzero(b""), Err(Error::Invalid));
        assert_eq!(zero_or_one(b"1\n"), Ok(true));
        assert_eq!(zero_or_one(b"2"), Err(Error::Invalid));
    }

    #[test]
    fn sizes() {
        assert_eq!(size(b"64K"), (65536, &b""[..]));
        assert_eq!(size(b"0x10m,rest"), (16 << 20, &b",rest"[..]));
        assert_eq!(size(b"1g"), (1 << 30, &b""[..]));
        assert_eq!(size(b"20E"), (u64::MAX, &b""[..]));
        assert_eq!(size(b"99999999999999999999"), (u64::MAX, &b""[..]));
        assert_eq!(size(b"12q"), (12, &b"q"[..]));
        assert_eq!(size(b"K"), (0, &b"K"[..]));
    }

    proptest! {
        #[test]
        fn round_trip(v: u64, w: i64) {
            prop_assert_eq!(unsigned(format!("{v}").as_bytes(), 10), Ok(v));
            prop_assert_eq!(unsigned(format!("{v:#x}\n").as_bytes(), 0), Ok(v));
            prop_assert_eq!(unsigned(format!("0{v:o}").as_bytes(), 0), Ok(v));
            prop_assert_eq!(signed(format!("{w}").as_bytes(), 0), Ok(w));
        }

        #[test]
        fn never_panics(text in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = (unsigned(&text, 0), signed(&text, 16), size(&text));
        }
    }
}
