// SPDX-License-Identifier: GPL-2.0

//! Definitions of synthetic events, and their removal:
//!
//! ```text
//!   NAME FIELD[;FIELD…]                    in synthetic_events
//!   !NAME …
//!   s:[synthetic/]NAME FIELD[;FIELD…]      in dynamic_events
//!   FIELD: [unsigned] TYPE NAME[[LENGTH]]
//! ```
//!
//! Fields need no semicolon between them, since older kernels knew none.

use super::types::{Kind, TypeText};
use crate::core::event::probe::command::is_name;
use crate::core::event::refusal::reasons;
use crate::core::parse::parser::is_space;

/// Fields of an event.
pub const FIELDS_MAX: usize = 64;

reasons! {
    BadName "Illegal name",
    BadCommand "Command must be of the form: <name> field[;field] ...",
    BadDynamicCommand "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...",
    EventExists "Event already exists",
    TooManyFields "Too many fields",
    IncompleteType "Incomplete type",
    BadType "Invalid type",
    BadField "Invalid field",
    BadArray "Invalid array specification",
}

/// A refused definition. The write of it is `EINVAL`, but for [`Reason::EventExists`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<'a> {
    /// What is wrong with it.
    pub reason: Reason,
    /// The text that is wrong; empty for the whole command.
    pub text: &'a [u8],
}

impl<'a> Refused<'a> {
    const fn whole(reason: Reason) -> Self {
        Self { reason, text: b"" }
    }

    /// A refusal of `text`.
    pub const fn at(reason: Reason, text: &'a [u8]) -> Self {
        Self { reason, text }
    }

    /// Where the caret stands below `command`: as in C, where the text is found first.
    pub fn column(&self, command: &[u8]) -> u16 {
        let mut places = command.windows(self.text.len().max(1));
        let found = places.position(|place| place == self.text);
        u16::try_from(found.unwrap_or(0)).unwrap_or(u16::MAX)
    }
}

/// A definition, but for the look at its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// The event's name.
    pub name: &'a [u8],
    fields: &'a [u8],
}

/// A line of `synthetic_events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// A definition.
    Define(Definition<'a>),
    /// The removal of the event of this name.
    Remove(&'a [u8]),
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn split_at_blank(text: &[u8]) -> Option<(&[u8], &[u8])> {
    text.split_at_checked(text.iter().position(is_blank)?)
}

/// The next word of `text`.
fn next_word<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let start = text.iter().position(|&byte| !is_space(byte))?;
    let from = text.get(start..)?;
    let end = from.iter().position(|&byte| is_space(byte));
    let (word, rest) = from.split_at_checked(end.unwrap_or(from.len()))?;
    *text = rest;
    Some(word)
}

/// Whether there are a name, a type and the name of a field before the first semicolon.
fn has_a_field(text: &[u8]) -> bool {
    let mut first = text.split(|&byte| byte == b';').next().unwrap_or(&[]);
    (0..3).all(|_| next_word(&mut first).is_some())
}

impl<'a> Command<'a> {
    /// Reads a line of `synthetic_events`, which begins with a word.
    ///
    /// # Errors
    ///
    /// For a line that is no command.
    pub fn parse(line: &'a [u8]) -> Result<Self, Refused<'a>> {
        let parted = split_at_blank(line);
        if let Some(rest) = line.strip_prefix(b"!") {
            let name = split_at_blank(rest).map_or(rest, |(name, _)| name);
            return Ok(Self::Remove(name));
        }
        let bad = Refused::whole(Reason::BadCommand);
        if !has_a_field(line) {
            return Err(bad);
        }
        let (name, fields) = parted.ok_or(bad)?;
        Definition::new(name, fields).map(Self::Define)
    }
}

impl<'a> Definition<'a> {
    fn new(name: &'a [u8], fields: &'a [u8]) -> Result<Self, Refused<'a>> {
        if name.is_empty() {
            return Err(Refused::whole(Reason::BadCommand));
        }
        if !is_name(name) {
            return Err(Refused::at(Reason::BadName, name));
        }
        Ok(Self { name, fields })
    }

    /// Reads a line of `dynamic_events`, which begins with a word; none if it is of another kind.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(line: &'a [u8]) -> Result<Option<Self>, Refused<'a>> {
        let Some(rest) = line.strip_prefix(b"s:") else {
            return Ok(None);
        };
        let bad = Refused::whole(Reason::BadCommand);
        if !line.iter().any(is_blank) {
            return Err(bad);
        }
        let rest = match rest.strip_prefix(b"synthetic/") {
            Some(rest) => rest,
            None if rest.contains(&b'/') => {
                return Err(Refused::whole(Reason::BadDynamicCommand));
            }
            None => rest,
        };
        if !rest.starts_with(b"!") && !has_a_field(rest) {
            return Err(bad);
        }
        let (name, fields) = split_at_blank(rest).ok_or(bad)?;
        Self::new(name, fields).map(Some)
    }

    /// Its fields, up to the first that is wrong.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            piece: &[],
            rest: Some(self.fields),
            count: 0,
            has_ended: false,
        }
    }
}

/// A field of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its type, as a text.
    pub ty: TypeText<'a>,
    /// What it holds.
    pub kind: Kind,
}

/// [`Definition::fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    piece: &'a [u8],
    rest: Option<&'a [u8]>,
    count: usize,
    has_ended: bool,
}

impl<'a> Fields<'a> {
    fn next_in_pieces(&mut self) -> Option<&'a [u8]> {
        loop {
            if let Some(word) = next_word(&mut self.piece) {
                return Some(word);
            }
            let rest = self.rest?;
            let end = rest.iter().position(|&byte| byte == b';');
            self.piece = rest.get(..end.unwrap_or(rest.len()))?;
            self.rest = end.and_then(|end| rest.get(end.wrapping_add(1)..));
        }
    }

    fn field(&mut self, first: &'a [u8]) -> Result<Field<'a>, Refused<'a>> {
        let is_unsigned = first == b"unsigned";
        let word = match is_unsigned {
            false => first,
            true => {
                let incomplete = Refused::at(Reason::IncompleteType, first);
                next_word(&mut self.piece).ok_or(incomplete)?
            }
        };
        let Some(named) = next_word(&mut self.piece) else {
            return Err(match is_unsigned {
                true => Refused::at(Reason::IncompleteType, first),
                false => Refused::at(Reason::BadField, word),
            });
        };
        let bracket = named.iter().position(|&byte| byte == b'[');
        let (name, array) = named
            .split_at_checked(bracket.unwrap_or(named.len()))
            .unwrap_or((named, &[]));
        if !is_name(name) {
            return Err(Refused::at(Reason::BadName, named));
        }
        let ty = TypeText {
            is_unsigned,
            word,
            array,
        };
        let kind = match ty.kind() {
            Ok(Some(kind)) => kind,
            Err(_) if !array.is_empty() => return Err(Refused::at(Reason::BadArray, named)),
            Ok(None) | Err(_) => return Err(Refused::at(Reason::BadType, word)),
        };
        self.count = self.count.wrapping_add(1);
        if self.count > FIELDS_MAX {
            return Err(Refused::whole(Reason::TooManyFields));
        }
        Ok(Field { name, ty, kind })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Refused<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let result = match self.next_in_pieces() {
            Some(word) => self.field(word),
            // The name is followed by no field.
            None if self.count == 0 => Err(Refused::whole(Reason::BadCommand)),
            None => return None,
        };
        self.has_ended = result.is_err();
        Some(result)
    }
}
