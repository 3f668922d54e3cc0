// SPDX-License-Identifier: GPL-2.0

//! The actions of a definition: `HANDLER(…).ACTION(…)`.
//!
//! An [`Action`] is the text of one, taken apart. A [`Response`](super::description::Response) is its
//! compiled form, which `compile/actions.rs` makes. [`Evaluation::respond`] runs it.
//!
//! | handler | the action runs |
//! | --- | --- |
//! | `onmatch(SYSTEM.EVENT)` | at each hit whose references to variables are all set |
//! | `onmax($VAR)` | when the variable is greater than ever before in its element |
//! | `onchange($VAR)` | when the variable differs from its last value in its element |

use super::description::{ArrayVec, Effect, Form, TypeName};
use super::error::{Errno, Log, Reason};
use super::evaluate::{Evaluation, Hit};
use super::map::{Element, Map};
use super::{ACTIONS, PARAMETERS};
use crate::core::format::Out;
use crate::core::parse::parser::trim;
use crate::core::sys::Shared;
use core::fmt;
use core::ops::Deref;

/// When an action runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler<'a> {
    /// `onmatch`: another event had a hit with the same key.
    Match {
        /// Its system.
        system: &'a [u8],
        /// Its name.
        event: &'a [u8],
    },
    /// `onmax`, with the text in its parentheses.
    Max(&'a [u8]),
    /// `onchange`, with the text in its parentheses.
    Change(&'a [u8]),
}

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Stores fields in the element.
    Save,
    /// Fires a synthetic event.
    Trace,
    /// Takes a snapshot.
    Snapshot,
}

/// The text of an action, taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// When it runs.
    pub handler: Handler<'a>,
    /// What it does.
    pub kind: Kind,
    /// The word before its parameters.
    pub name: &'a [u8],
    /// The synthetic event: the name, or the first parameter of `trace()`.
    pub event: &'a [u8],
    texts: &'a [u8],
    /// The parameters that are not its own.
    skipped: u8,
    count: u8,
}

/// All actions of a definition.
pub type Actions<'a> = ArrayVec<Action<'a>, ACTIONS>;

/// `text` up to the first `end`, and what follows it.
pub(super) fn cut(text: &[u8], end: u8) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |c| *c == end);
    (parts.next().unwrap_or(&[]), parts.next())
}

impl<'a> Action<'a> {
    /// An action that is not used.
    pub const NONE: Self = Self {
        handler: Handler::Max(&[]),
        kind: Kind::Save,
        name: &[],
        event: &[],
        texts: &[],
        skipped: 0,
        count: 0,
    };

    /// Takes the texts of actions apart, and appends them to `all`; `is_event` tells whether there
    /// is such an event.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a text that is no action, and for a handler that does not have the action.
    pub fn parse_all(
        texts: &[&'a [u8]],
        is_event: &dyn Fn(&[u8], &[u8]) -> bool,
        log: &mut dyn Log,
        all: &mut Actions<'a>,
    ) -> Result<(), Errno> {
        for text in texts {
            let action = Self::parse(text, is_event, log)?;
            all.push(action).ok_or(Errno::Invalid)?;
        }
        Ok(())
    }

    fn parse(
        text: &'a [u8],
        is_event: &dyn Fn(&[u8], &[u8]) -> bool,
        log: &mut dyn Log,
    ) -> Result<Self, Errno> {
        let mut refuse = |reason, token: &[u8]| {
            log.log(reason, token);
            Err(Errno::Invalid)
        };
        let (word, rest) = cut(text, b'(');
        let (inner, after) = cut(rest.unwrap_or(&[]), b')');
        let handler = match (word, after) {
            (b"onmax", Some(_)) => Handler::Max(inner),
            (b"onchange", Some(_)) => Handler::Change(inner),
            (b"onmatch", None) => return refuse(Reason::NoClosingParenthesis, inner),
            (b"onmatch", Some(_)) => {
                let (system, event) = cut(inner, b'.');
                let Some(event) = event else {
                    return refuse(Reason::NoSubsystem, system);
                };
                if !is_event(system, event) {
                    return refuse(Reason::InvalidEvent, event);
                }
                Handler::Match { system, event }
            }
            _ => return Err(Errno::Invalid),
        };
        let action = cut(after.unwrap_or(&[]), b'.').1;
        let (name, rest) = cut(action.unwrap_or(&[]), b'(');
        let Some(rest) = rest else {
            return refuse(Reason::ActionNotFound, &[]);
        };
        let (texts, end) = cut(rest, b')');
        let mut new = Self {
            handler,
            kind: Kind::Trace,
            name,
            event: name,
            texts,
            ..Self::NONE
        };
        if name.starts_with(b"save") {
            new.kind = Kind::Save;
        } else if name.starts_with(b"snapshot") {
            new.kind = Kind::Snapshot;
            if end.is_none() {
                return refuse(Reason::NoClosingParenthesis, texts);
            }
        } else if name.starts_with(b"trace") {
            new.skipped = 1;
        }
        if new.kind != Kind::Snapshot {
            new.check_parameters(log)?;
        }
        if new.kind != Kind::Trace && matches!(handler, Handler::Match { .. }) {
            log.log(Reason::ActionMismatch, name);
            return Err(Errno::Invalid);
        }
        Ok(new)
    }

    fn check_parameters(&mut self, log: &mut dyn Log) -> Result<(), Errno> {
        for (at, text) in self.texts.split(|c| *c == b',').map(trim).enumerate() {
            let reason = match usize::from(self.count) == PARAMETERS {
                true => Reason::TooManyParameters,
                false => Reason::InvalidParameter,
            };
            if reason == Reason::TooManyParameters || text.len() < 2 {
                let token = match reason {
                    Reason::InvalidParameter => text,
                    _ => &[],
                };
                log.log(reason, token);
                return Err(Errno::Invalid);
            }
            match at < usize::from(self.skipped) {
                true => self.event = text,
                false => self.count = self.count.wrapping_add(1),
            }
        }
        Ok(())
    }

    /// The parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &'a [u8]> {
        let texts = self.texts.split(|c| *c == b',').map(trim);
        texts.skip(self.skipped.into()).take(self.count.into())
    }

    /// Writes it as definitions are printed, with the colon before it.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out) -> fmt::Result {
        self.write_handler(out)?;
        out.bytes(b").")?;
        let event = (self.skipped != 0).then_some(self.event);
        self.write_call(out, self.name, event)
    }

    /// Writes what counts for what is the same: `trace(EVENT,…)` is as `EVENT(…)`.
    pub(super) fn write_same(&self, out: &mut dyn Out) -> fmt::Result {
        self.write_handler(out)?;
        write!(out, ").{:?} ", self.kind)?;
        self.write_call(out, self.event, None)
    }

    /// Writes `NAME(…)`, with `first` before the parameters.
    fn write_call(&self, out: &mut dyn Out, name: &[u8], first: Option<&[u8]>) -> fmt::Result {
        out.bytes(name)?;
        out.bytes(b"(")?;
        for (at, text) in first.into_iter().chain(self.parameters()).enumerate() {
            if at > 0 {
                out.bytes(b",")?;
            }
            out.bytes(text)?;
        }
        out.bytes(b")")
    }

    /// Writes the handler, without its closing parenthesis.
    fn write_handler(&self, out: &mut dyn Out) -> fmt::Result {
        let (word, variable): (&[u8], &[u8]) = match self.handler {
            Handler::Match { system, event } => {
                out.bytes(b":onmatch(")?;
                out.bytes(system)?;
                out.bytes(b".")?;
                return out.bytes(event);
            }
            Handler::Max(variable) => (b":onmax(", variable),
            Handler::Change(variable) => (b":onchange(", variable),
        };
        out.bytes(word)?;
        out.bytes(variable)
    }
}

/// A field of a synthetic event, as the parameter for it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What it is.
    pub form: Form,
    /// Whether a text may have any length.
    pub dynamic: bool,
    /// Its type.
    pub ty: TypeName,
    /// Bytes.
    pub size: usize,
    /// Whether it is signed.
    pub signed: bool,
}

/// What actions do besides storing fields. Called in the context of the hit.
pub trait Effects {
    /// Fires a synthetic event. Its values are those of `references` that `parameters` says.
    fn trace(&self, event: u8, parameters: &[u8], references: &[u64]);

    /// Takes a snapshot, unless an earlier one had a greater `value`, or with `change` the same.
    fn snapshot(&self, element: Element, value: u64, change: bool);
}

impl<H: Hit> Evaluation<'_, H> {
    /// Runs the actions. The references are those of the hit, own ones included. Any context.
    pub fn respond<S: Deref<Target = [Shared]>>(
        &self,
        map: &Map<S>,
        element: Element,
        effects: &impl Effects,
    ) {
        for response in self.description.responses.as_slice() {
            let mut tracked = (0, false);
            if let Some(track) = &response.track {
                let value = self.references.get(usize::from(track.reference));
                let value = value.copied().unwrap_or(0);
                if !map.track(element, track.slot.into(), value, track.change) {
                    continue;
                }
                tracked = (value, track.change);
            }
            match &response.effect {
                Effect::Save => self.save(map, element),
                Effect::Trace { event, values } => {
                    effects.trace(*event, values.as_slice(), self.references);
                }
                Effect::Snapshot => effects.snapshot(element, tracked.0, tracked.1),
            }
        }
    }
}
