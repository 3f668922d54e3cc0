// SPDX-License-Identifier: GPL-2.0

//! Definitions of probes of functions and of tracepoints, but for their arguments:
//!
//! ```text
//!   f[:[GROUP/][EVENT]] FUNCTION[%return] [ARGUMENT…]
//!   t[:[GROUP/][EVENT]] TRACEPOINT [ARGUMENT…]
//! ```
//!
//! A function may be a glob. With `$retval` among the arguments its return is probed.

use super::command::{check_arguments, event_name, in_name, DefinitionError, Spot, NAME_ROOM};
use super::error::{Reason, Refused};
use crate::core::format::Out;
use crate::core::parse::glob::is_path;
use crate::core::parse::parser::is_alnum;
use core::fmt;

/// A definition, but for its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// Whether it probes a tracepoint.
    pub is_tracepoint: bool,
    /// Whether it probes the return of a function.
    pub is_return: bool,
    /// The group, if it has one.
    pub group: Option<&'a [u8]>,
    /// The event's name, if it has one.
    pub event: Option<&'a [u8]>,
    /// The function, or the tracepoint.
    pub target: &'a [u8],
}

impl<'a> Definition<'a> {
    /// Reads a definition.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and whether it is one.
    pub fn parse<W>(words: W) -> Result<Self, DefinitionError>
    where
        W: Iterator<Item = &'a [u8]> + Clone,
    {
        let mut rest = words.clone();
        let (Some(head), Some(place)) = (rest.next(), rest.next()) else {
            return Err(DefinitionError::OtherKind);
        };
        let (is_tracepoint, name) = match head {
            [b'f', name @ ..] => (false, name),
            [b't', name @ ..] => (true, name),
            _ => return Err(DefinitionError::OtherKind),
        };
        let name = match name {
            [] => None,
            [b':', name @ ..] => Some(name),
            _ => return Err(Refused::new(Reason::BadMaxActive, 1).into()),
        };
        let (target, is_return) = read_target(place, is_tracepoint, rest.clone())?;
        let (group, event) = match name {
            Some(name) => event_name(name, 2)?,
            None => (None, None),
        };
        let definition = Self {
            is_tracepoint,
            is_return,
            group,
            event,
            target,
        };
        check_arguments(rest, definition.spot())?;
        Ok(definition)
    }

    /// What its arguments may ask for.
    pub fn spot(&self) -> Spot {
        match self.is_return {
            true => Spot::Return,
            false => Spot::Entry,
        }
    }

    /// Writes the name that the event has if the definition gives none.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_name(&self, out: &mut dyn Out) -> fmt::Result {
        let mut room = NAME_ROOM.wrapping_sub(1);
        if self.is_tracepoint && self.target.first().is_some_and(u8::is_ascii_digit) {
            out.bytes(b"_")?;
            room = room.wrapping_sub(1);
        }
        let behind: &[u8] = match (self.is_tracepoint, self.is_return) {
            (true, _) => b"",
            (false, true) => b"__exit",
            (false, false) => b"__entry",
        };
        let is_path = is_path(self.target);
        let bytes = self.target.iter().chain(behind);
        for (at, byte) in bytes.take(room).enumerate() {
            // C leaves the first one as it is.
            let byte = match at {
                0 if !is_path => *byte,
                _ => in_name(*byte, is_path),
            };
            out.bytes(&[byte])?;
        }
        Ok(())
    }
}

/// The target without its suffix, and whether its return is probed.
fn read_target<'a>(
    word: &'a [u8],
    is_tracepoint: bool,
    arguments: impl Iterator<Item = &'a [u8]>,
) -> Result<(&'a [u8], bool), Refused> {
    let refused = |reason, at, word| Err(Refused::new(reason, at).in_word(word));
    if let Some(at) = word.iter().position(|&byte| byte == b'%') {
        return match word.split_at_checked(at) {
            Some((function, b"%return")) if !is_tracepoint => Ok((function, true)),
            _ => refused(Reason::BadAddressSuffix, at, 1),
        };
    }
    if is_tracepoint {
        let is_bad = |byte: &u8| !is_alnum(*byte) && *byte != b'_';
        if let Some(at) = word.iter().position(is_bad) {
            return refused(Reason::BadTracepointName, at, 1);
        }
    }
    for (at, argument) in arguments.enumerate() {
        let Some(start) = returned_at(argument) else {
            continue;
        };
        if is_tracepoint {
            return refused(Reason::ReturnedAtEntry, start, at.saturating_add(2));
        }
        return Ok((word, true));
    }
    Ok((word, false))
}

/// Where `$retval` is in an argument. As in C, only the first `$retval` counts, and it must not be
/// the beginning of a longer name.
fn returned_at(argument: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"$retval";
    let at = argument.windows(NAME.len()).position(|part| part == NAME)?;
    let next = argument.get(at.wrapping_add(NAME.len()));
    let is_longer = next.is_some_and(|byte| is_alnum(*byte) || *byte == b'_');
    (!is_longer).then_some(at)
}
