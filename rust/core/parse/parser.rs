// SPDX-License-Identifier: GPL-2.0

//! Parses writes to filter files: one token per `write()`.
//!
//! A write skips leading white space and takes one token with the separator after it. The caller of
//! `write()` writes the rest again. A token at the end of a write is *held*: the next write may
//! continue it, and closing the file ends it. A NUL separates like white space. Answers to
//! `trace_get_user()`. The states are
//!
//! ```text
//!   empty --token + separator--> ready --take()--> empty
//!     |  \--token, no separator--> held --rest + separator--> ready
//!     |                             \--finish(), at close--> ready
//!     \--too long--> refused (an error; stays until the file is opened again)
//! ```

use crate::core::format::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Empty,
    Held,
    Ready,
    Refused,
}

/// Collects one token of at most `N - 1` bytes from successive writes.
pub struct Parser<const N: usize> {
    token: [u8; N],
    len: usize,
    state: State,
}

impl<const N: usize> Default for Parser<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Parser<N> {
    /// A parser in the empty state.
    pub const fn new() -> Self {
        Self {
            token: [0; N],
            len: 0,
            state: State::Empty,
        }
    }

    /// Drops a held token, for a write at file offset 0. A refused parser stays refused.
    pub fn clear(&mut self) {
        self.len = 0;
        if self.state != State::Refused {
            self.state = State::Empty;
        }
    }

    /// Takes the bytes of `text` up to the separator after the first token, separator included.
    ///
    /// Returns the number of bytes taken, which is the result of `write()`. Afterwards
    /// [`take`](Self::take) returns the token if it is complete.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a token that is too long. The parser stays refused.
    pub fn feed(&mut self, text: &[u8]) -> Result<usize> {
        let blank = match self.state {
            State::Held => 0,
            _ => {
                self.len = 0;
                text.iter().take_while(|&&c| is_space(c)).count()
            }
        };
        let rest = text.get(blank..).unwrap_or(&[]);
        let size = rest.iter().take_while(|&&c| !is_separator(c)).count();
        let ended = size < rest.len();

        if size == 0 && self.state != State::Held {
            // White space only, or an empty token before a NUL.
            self.set(State::Empty);
            return Ok(blank.saturating_add(ended.into()));
        }
        self.append(rest.get(..size).unwrap_or(&[]))?;
        if !rest.is_empty() {
            self.set(if ended { State::Ready } else { State::Held });
        }
        Ok(blank.saturating_add(size).saturating_add(ended.into()))
    }

    /// Whether [`take`](Self::take) has a token.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Completes a held token when the file is closed. An error in it cannot be reported.
    pub fn finish(&mut self) {
        if self.state == State::Held {
            self.state = State::Ready;
        }
    }

    /// The token, if it is complete and not empty. The parser is then ready for the next one.
    pub fn take(&mut self) -> Option<&[u8]> {
        if !self.is_ready() {
            return None;
        }
        self.state = State::Empty;
        let len = core::mem::take(&mut self.len);
        self.token.get(..len).filter(|token| !token.is_empty())
    }

    fn set(&mut self, state: State) {
        if self.state != State::Refused {
            self.state = state;
        }
    }

    fn append(&mut self, part: &[u8]) -> Result {
        // C needs one byte for the NUL, so the token may fill all other bytes.
        let room = self.token.get_mut(self.len..N.saturating_sub(1));
        let Some(room) = room.and_then(|rest| rest.get_mut(..part.len())) else {
            self.state = State::Refused;
            return Err(Error::Invalid);
        };
        room.copy_from_slice(part);
        self.len = self.len.wrapping_add(part.len());
        Ok(())
    }
}

/// Whether the kernel's `isspace()` accepts `c`. Its Latin-1 table includes the no-break space.
pub const fn is_space(c: u8) -> bool {
    matches!(c, b'\t'..=b'\r' | b' ' | 0xa0)
}

/// Whether the kernel's `isalpha()` accepts `c`. Its Latin-1 table has letters with accents.
pub const fn is_letter(c: u8) -> bool {
    c.is_ascii_alphabetic() || (c >= 0xc0 && c != 0xd7 && c != 0xf7)
}

/// Whether the kernel's `isalnum()` accepts `c`.
pub const fn is_alnum(c: u8) -> bool {
    is_letter(c) || c.is_ascii_digit()
}

const fn is_separator(c: u8) -> bool {
    is_space(c) || c == 0
}

/// `text` without white space at both ends, as after `strstrip()`. A NUL ends it.
pub fn trim(text: &[u8]) -> &[u8] {
    let text = until_nul(text);
    let start = text
        .iter()
        .position(|&c| !is_space(c))
        .unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|&c| !is_space(c))
        .map_or(start, |last| last.saturating_add(1));
    text.get(start..end).unwrap_or(&[])
}

/// What is before the first such `byte`, and what is behind it.
pub fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&other| other == byte)?;
    Some((text.get(..at)?, text.get(at.wrapping_add(1)..)?))
}

/// `text` up to the first NUL, as C reads it.
pub fn until_nul(text: &[u8]) -> &[u8] {
    text.split(|&c| c == 0).next().unwrap_or(&[])
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn one_write_takes_one_token() {
        let mut p = Parser::<16>::new();
        assert_eq!(p.feed(b"1 2\n"), Ok(2));
        assert_eq!(p.take(), Some(&b"1"[..]));
        assert_eq!(p.take(), None);
        assert_eq!(p.feed(b"2\n"), Ok(2));
        assert_eq!(p.take(), Some(&b"2"[..]));
    }

    #[test]
    fn blanks_are_skipped_and_alone_are_nothing() {
        let mut p = Parser::<16>::new();
        assert_eq!(p.feed(b" \t\n"), Ok(3));
        assert_eq!(p.take(), None);
        assert_eq!(p.feed(b" \t\nab\r"), Ok(6));
        assert_eq!(p.take(), Some(&b"ab"[..]));
        assert_eq!(p.feed(b" \0ab"), Ok(2));
        assert_eq!(p.take(), None);
        assert_eq!(p.feed(b"ab\0c"), Ok(3));
        assert_eq!(p.take(), Some(&b"ab"[..]));
    }

    #[test]
    fn an_open_token_is_held() {
        let mut p = Parser::<16>::new();
        assert_eq!(p.feed(b"sche"), Ok(4));
        assert_eq!(p.take(), None);
        assert_eq!(p.feed(b"dule"), Ok(4));
        assert_eq!(p.feed(b" x"), Ok(1));
        assert_eq!(p.take(), Some(&b"schedule"[..]));
        assert_eq!(p.feed(b"x"), Ok(1));
        p.finish();
        assert_eq!(p.take(), Some(&b"x"[..]));
        p.feed(b"y").unwrap();
        p.clear();
        p.finish();
        assert_eq!(p.take(), None);
    }

    #[test]
    fn too_long_is_refused_for_good() {
        let mut p = Parser::<5>::new();
        assert_eq!(p.feed(b"abcd "), Ok(5));
        assert_eq!(p.take(), Some(&b"abcd"[..]));
        assert_eq!(p.feed(b"abcd"), Ok(4));
        assert_eq!(p.feed(b"e "), Err(Error::Invalid));
        assert_eq!(p.feed(b"a "), Ok(2));
        assert_eq!(p.take(), None);
        p.clear();
        p.feed(b"a ").unwrap();
        assert_eq!(p.take(), None);
    }

    #[test]
    fn letters_have_accents() {
        for c in [b'a', b'Z', 0xc0, 0xd6, 0xe9, 0xff] {
            assert!(is_letter(c) && is_alnum(c), "{c:#x}");
        }
        for c in [b'_', b'-', 0xa9, 0xbf, 0xd7, 0xf7] {
            assert!(!is_letter(c) && !is_alnum(c), "{c:#x}");
        }
        assert!(!is_letter(b'0') && is_alnum(b'0'));
    }

    #[test]
    fn trimming() {
        assert_eq!(trim(b" \tab c\n"), b"ab c");
        assert_eq!(trim(b"  "), b"");
        assert_eq!(trim(b"ab\0c"), b"ab");
    }

    #[test]
    fn splitting() {
        let split = |text| split_at_byte(text, b':');
        assert_eq!(split(b"a:b:c"), Some((&b"a"[..], &b"b:c"[..])));
        assert_eq!(split(b":"), Some((&b""[..], &b""[..])));
        assert_eq!(split(b"abc"), None);
    }

    proptest! {
        /// The tokens do not depend on how a text is split into writes.
        #[test]
        fn cuts_do_not_matter(text in "[ab \n]{0,60}", cut in 1usize..7) {
            let mut p = Parser::<80>::new();
            let mut got: Vec<Vec<u8>> = Vec::new();
            for mut part in text.as_bytes().chunks(cut) {
                while !part.is_empty() {
                    let n = p.feed(part).unwrap();
                    prop_assert!(n > 0 && n <= part.len());
                    part = &part[n..];
                    got.extend(p.take().map(Vec::from));
                }
            }
            p.finish();
            got.extend(p.take().map(Vec::from));
            let want: Vec<Vec<u8>> = text.split_whitespace().map(|t| t.as_bytes().to_vec()).collect();
            prop_assert_eq!(got, want);
        }

        #[test]
        fn any_bytes_are_consumed(text in proptest::collection::vec(any::<u8>(), 1..40)) {
            let mut p = Parser::<8>::new();
            if let Ok(n) = p.feed(&text) {
                prop_assert!(n >= 1 && n <= text.len());
            }
            prop_assert!(p.take().is_none_or(|t| t.len() < 8));
        }
    }
}
