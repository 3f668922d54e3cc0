// SPDX-License-Identifier: GPL-2.0

//! Definitions of probes in programs, but for their arguments:
//!
//! ```text
//!   p|r[:[GROUP/][EVENT]] PATH:OFFSET[%return][(COUNTER)] [ARGUMENT…]
//! ```
//!
//! The file is looked for before the rest of its word is read, so there are two steps: [`Head`] and
//! [`Definition`].

use super::argument::ARGUMENTS_MAX;
use super::command::{event_name, DefinitionError};
use super::error::{Errno, Reason, Refused};
use crate::core::format::{self, Out};
use crate::core::parse::number;
use core::fmt;

/// A definition of which the file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    is_return: bool,
    name: Option<&'a [u8]>,
    /// The path of the file.
    pub path: &'a [u8],
    place: &'a [u8],
}

/// A definition, but for its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// Whether it probes the return of a function.
    pub is_return: bool,
    /// The group, if it has one.
    pub group: Option<&'a [u8]>,
    /// The event's name, if it has one.
    pub event: Option<&'a [u8]>,
    /// The path of the file.
    pub path: &'a [u8],
    /// Where in the file the instruction is.
    pub offset: u64,
    /// Where in the file the count of users is, or 0.
    pub counter: u64,
}

impl<'a> Head<'a> {
    /// Reads the first two words of a definition, and counts the others.
    ///
    /// # Errors
    ///
    /// Whether it is one, and too many arguments.
    pub fn parse(mut words: impl Iterator<Item = &'a [u8]>) -> Result<Self, DefinitionError> {
        let (Some(head), Some(place)) = (words.next(), words.next()) else {
            return Err(DefinitionError::OtherKind);
        };
        let (is_return, head) = match head {
            [b'p', head @ ..] => (false, head),
            [b'r', head @ ..] => (true, head),
            _ => return Err(DefinitionError::OtherKind),
        };
        if words.count() > ARGUMENTS_MAX {
            let refused = Refused::new(Reason::TooManyArguments, 0).in_word(2);
            return Err(refused.with(Errno::TooLong).into());
        }
        // A path may have colons, too.
        let colon = place.iter().rposition(|&byte| byte == b':');
        let parts = colon.and_then(|at| place.split_at_checked(at));
        let (path, place) = match parts {
            Some((path, [b':', rest @ ..])) if place.contains(&b'/') => (path, rest),
            _ => return Err(DefinitionError::OtherKind),
        };
        if !place.first().is_some_and(u8::is_ascii_digit) {
            return Err(DefinitionError::OtherKind);
        }
        Ok(Self {
            is_return,
            name: head.strip_prefix(b":"),
            path,
            place,
        })
    }

    /// Reads the rest.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn finish(&self) -> Result<Definition<'a>, Refused> {
        let start = self.path.len().saturating_add(1);
        let refused = |reason, at: usize| Refused::new(reason, start.saturating_add(at)).in_word(1);
        let find = |text: &[u8], byte| text.iter().position(|&other| other == byte);
        let (place, counter) = match find(self.place, b'(') {
            None => (self.place, 0),
            Some(at) => {
                let (place, rest) = self.place.split_at(at);
                let digits = rest.get(1..).unwrap_or(&[]);
                let inside = at.saturating_add(1);
                let Some(end) = find(digits, b')') else {
                    return Err(refused(Reason::CounterOpen, self.place.len()));
                };
                let behind = end.saturating_add(1);
                if digits.len() != behind {
                    let at = inside.saturating_add(behind);
                    return Err(refused(Reason::BadCounterSuffix, at));
                }
                let digits = digits.get(..end).unwrap_or(&[]);
                let bad =
                    |error: format::Error| refused(Reason::BadCounter, inside).with(error.into());
                (place, number::unsigned(digits, 0).map_err(bad)?)
            }
        };
        let (digits, is_return) = match find(place, b'%') {
            None => (place, self.is_return),
            Some(at) => match place.split_at(at) {
                (digits, b"%return") => (digits, true),
                _ => return Err(refused(Reason::BadAddressSuffix, at)),
            },
        };
        let offset = number::unsigned(digits, 0)
            .map_err(|error| refused(Reason::BadFilePlace, 0).with(error.into()))?;
        let (group, event) = match self.name {
            // Behind `p` or `r`, and the colon.
            Some(name) => event_name(name, 2)?,
            None => (None, None),
        };
        Ok(Definition {
            is_return,
            group,
            event,
            path: self.path,
            offset,
            counter,
        })
    }
}

impl Definition<'_> {
    /// Writes the name that the event has if the definition gives none.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_name(&self, out: &mut dyn Out) -> fmt::Result {
        let file = self.path.rsplit(|&byte| byte == b'/').next();
        let is_end = |byte: &u8| matches!(byte, b'.' | b'-' | b'_');
        let stem = file.and_then(|file| file.split(is_end).next());
        out.bytes(b"p_")?;
        out.bytes(stem.unwrap_or(&[]))?;
        write!(out, "_0x{:x}", self.offset)
    }
}

/// Writes a place as a definition has it.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_place(path: &[u8], offset: u64, counter: u64, out: &mut dyn Out) -> fmt::Result {
    out.bytes(path)?;
    write!(out, ":0x{offset:016x}")?;
    match counter {
        0 => Ok(()),
        counter => write!(out, "(0x{counter:x})"),
    }
}
