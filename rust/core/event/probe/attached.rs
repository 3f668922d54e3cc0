// SPDX-License-Identifier: GPL-2.0

//! Definitions of events made of other events' entries, but for their arguments:
//!
//! ```text
//!   e[:[GROUP/][EVENT]] SYSTEM.EVENT [ARGUMENT…] [if FILTER]
//! ```
//!
//! `$FIELD` and `FIELD` are a field of the other event.

use super::argument::ARGUMENTS_MAX;
use super::command::{event_name, DefinitionError};
use super::error::{Errno, Reason, Refused};

/// A definition, but for its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// The group, if it has one.
    pub group: Option<&'a [u8]>,
    /// The event's name; that of the other if it has none.
    pub event: &'a [u8],
    /// The system of the event that it is made of.
    pub of_system: &'a [u8],
    /// The name of the event that it is made of.
    pub of_event: &'a [u8],
    /// How many words are arguments.
    pub arguments: usize,
    /// Which word the filter begins with.
    pub filter: Option<usize>,
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
        let mut rest = words;
        let (Some(head @ [b'e', ..]), Some(place)) = (rest.next(), rest.next()) else {
            return Err(DefinitionError::OtherKind);
        };
        let colon = head.iter().position(|&byte| byte == b':');
        let (group, event) = match colon.map(|at| at.wrapping_add(1)) {
            Some(start) => event_name(head.get(start..).unwrap_or(&[]), start)?,
            None => (None, None),
        };
        let refused = Refused::new(Reason::NoEventInfo, 0).in_word(1);
        let (of_system, of_event) = match event_name(place, 0) {
            Ok((Some(system), Some(event))) => (system, event),
            Ok(_) => return Err(refused.into()),
            Err(cause) => return Err(refused.because(cause).into()),
        };
        let all = rest.clone().count();
        let arguments = rest.position(|word| word == b"if");
        if arguments.unwrap_or(all) > ARGUMENTS_MAX {
            let refused = Refused::new(Reason::TooManyArguments, 0).in_word(2);
            return Err(refused.with(Errno::TooLong).into());
        }
        Ok(Self {
            group,
            event: event.unwrap_or(of_event),
            of_system,
            of_event,
            arguments: arguments.unwrap_or(all),
            filter: arguments.map(|arguments| arguments.saturating_add(3)),
        })
    }
}
