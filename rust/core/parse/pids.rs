// SPDX-License-Identifier: GPL-2.0

//! Pid lists of `set_ftrace_pid`, `set_event_pid` and their `notrace` files.
//!
//! Unlike in the filter files, one write takes all its tokens, the last one included. It adds all
//! pids or none.

use super::number;
use super::parser::Parser;
use crate::core::format::{Error, Result};

/// Pids must be below this.
pub const LIMIT: u32 = 1 << 30;

/// A token may have 127 bytes, as in ftrace.
const TOKEN: usize = 128;

/// Parses all pids of `text` and passes each to `add`. Numbers are base 0; bits above 32 are
/// dropped.
///
/// Returns the number of bytes taken, which is the result of `write()`. A NUL ends the list early.
/// The caller keeps the old list if this fails. A text without pids succeeds.
///
/// # Errors
///
/// [`Error::Invalid`] for a token that is not a number or too long, [`Error::Pid`] for a pid of
/// [`LIMIT`] or more, and the errors of `add`.
pub fn parse<E: From<Error>>(
    text: &[u8],
    mut add: impl FnMut(u32) -> core::result::Result<(), E>,
) -> core::result::Result<usize, E> {
    let mut parser = Parser::<TOKEN>::new();
    let mut rest = text;
    while !rest.is_empty() {
        let used = parser.feed(rest)?;
        rest = rest.get(used..).unwrap_or(&[]);
        parser.finish();
        let Some(token) = parser.take() else { break };
        add(pid(token)?)?;
    }
    Ok(text.len().saturating_sub(rest.len()))
}

/// The pids of two lists that ascend, each once, in ascending order.
pub fn merged<'a>(one: &'a [i32], other: &'a [i32]) -> impl Iterator<Item = i32> + 'a {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut last = None;
    core::iter::from_fn(move || loop {
        let next = match (one.peek(), other.peek()) {
            (Some(first), Some(second)) if first > second => other.next(),
            (Some(_), _) => one.next(),
            (None, _) => other.next(),
        };
        let next = *next?;
        if last.replace(next) != Some(next) {
            return Some(next);
        }
    })
}

fn pid(token: &[u8]) -> Result<u32> {
    // C cuts an unsigned long to a pid before it checks the range.
    let value = number::unsigned(token, 0).map_err(|_| Error::Invalid)? as u32;
    if value < LIMIT {
        Ok(value)
    } else {
        Err(Error::Pid)
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn read(text: &str) -> Result<(usize, Vec<u32>)> {
        let mut pids = Vec::new();
        let used = parse::<Error>(text.as_bytes(), |pid| {
            pids.push(pid);
            Ok(())
        })?;
        Ok((used, pids))
    }

    #[test]
    fn lists() {
        assert_eq!(read("1 2\t0x10\n"), Ok((9, [1, 2, 16].to_vec())));
        assert_eq!(read("7"), Ok((1, [7].to_vec())));
        assert_eq!(read(" \n"), Ok((2, Vec::new())));
        assert_eq!(read(""), Ok((0, Vec::new())));
        assert_eq!(read("1 \0 2"), Ok((3, [1].to_vec())));
        assert_eq!(read("4294967297"), Ok((10, [1].to_vec())));
    }

    #[test]
    fn merging() {
        let merged = |one: &[i32], other: &[i32]| merged(one, other).collect::<Vec<_>>();
        assert_eq!(merged(&[], &[]), []);
        assert_eq!(merged(&[1, 2, 4], &[]), [1, 2, 4]);
        assert_eq!(merged(&[], &[0, 0, 7]), [0, 7]);
        assert_eq!(merged(&[1, 3, 9], &[2, 3, 3, 4]), [1, 2, 3, 4, 9]);
        assert_eq!(merged(&[5], &[5, 5]), [5]);
    }

    #[test]
    fn refusals() {
        assert_eq!(read("1 x"), Err(Error::Invalid));
        assert_eq!(read("-1"), Err(Error::Invalid));
        assert_eq!(read("99999999999999999999999"), Err(Error::Invalid));
        assert_eq!(read("1073741824"), Err(Error::Pid));
        assert_eq!(read("1073741823").map(|r| r.0), Ok(10));
        assert_eq!(read(&"0".repeat(127)).map(|r| r.1), Ok([0].to_vec()));
        assert_eq!(read(&"0".repeat(128)), Err(Error::Invalid));
    }
}
