// SPDX-License-Identifier: GPL-2.0

//! Triggers: parses writes to an event's `trigger` file, and writes its text.
//!
//! ```text
//!   [!]NAME[:COUNT] [if FILTER]                    traceon traceoff snapshot stacktrace
//!   [!]NAME:SYSTEM:EVENT[:COUNT] [if FILTER]       enable_event disable_event
//! ```
//!
//! [`Command::parse`] finds the name, which the caller looks up in its table. The other functions
//! parse the text after it. A removal needs neither count nor filter, so these are parsed only on
//! request.

use crate::core::format::{Error, Out, Result};
use crate::core::parse::command::Count;
use crate::core::parse::number;
use crate::core::parse::parser::{is_space, trim};
use core::fmt;

/// One write to a `trigger` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Whether the command begins with `!`, which removes the trigger.
    pub remove: bool,
    /// The name of the trigger.
    pub name: &'a [u8],
    /// The text after the name and a colon or blank. `None` if there is none.
    pub rest: Option<&'a [u8]>,
}

impl<'a> Command<'a> {
    /// Finds the name. It may be empty; no table has an empty name.
    pub fn parse(text: &'a [u8]) -> Self {
        let text = trim(text);
        let (name, rest) = split(text, |c| matches!(c, b':' | b' ' | b'\t'));
        let (remove, name) = match name.strip_prefix(b"!") {
            Some(name) => (true, name),
            None => (false, name),
        };
        Self {
            remove,
            name,
            rest: rest.and_then(filled),
        }
    }

    /// The parameters of a trigger that needs none.
    pub fn optional(&self) -> Params<'a> {
        match self.rest {
            // The only possible parameter is a count.
            Some([b'0'..=b'9', ..]) => Params::of(self.rest),
            filter => Params {
                param: None,
                filter,
            },
        }
    }

    /// The parameters of a trigger that enables or disables another event.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] without system and event.
    pub fn target(&self) -> Result<Target<'a>> {
        let Params { param, filter } = Params::of(Some(self.rest.ok_or(Error::Invalid)?));
        let (system, rest) = split(param.unwrap_or(&[]), |c| c == b':');
        let (event, count) = split(rest.ok_or(Error::Invalid)?, |c| c == b':');
        Ok(Target {
            system,
            event,
            params: Params {
                param: count,
                filter,
            },
        })
    }
}

/// The event that a trigger enables or disables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The system.
    pub system: &'a [u8],
    /// The event.
    pub event: &'a [u8],
    /// The text after it.
    pub params: Params<'a>,
}

/// A count and a filter that are not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params<'a> {
    param: Option<&'a [u8]>,
    filter: Option<&'a [u8]>,
}

impl<'a> Params<'a> {
    /// A word, and the text after it and blanks.
    fn of(text: Option<&'a [u8]>) -> Self {
        let Some(text) = text else {
            return Self {
                param: None,
                filter: None,
            };
        };
        let (param, filter) = split(text, |c| matches!(c, b' ' | b'\t'));
        Self {
            param: Some(param),
            filter: filter.and_then(filled),
        }
    }

    /// How often the trigger acts. Text after another colon is ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for an empty count. Otherwise as [`number::unsigned`] in base 0.
    pub fn count(&self) -> Result<Count> {
        match self.param.map(|param| split(param, |c| c == b':').0) {
            None => Ok(Count::Unlimited),
            Some([]) => Err(Error::Invalid),
            // A count is a C long, where the largest number means no limit.
            Some(text) => match number::unsigned(text, 0)? {
                u64::MAX => Ok(Count::Unlimited),
                count => Ok(Count::Times(count as i64)),
            },
        }
    }

    /// The filter after `if`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for anything but `if` and a filter.
    pub fn filter(&self) -> Result<Option<&'a [u8]>> {
        let Some(text) = self.filter else {
            return Ok(None);
        };
        match split(text, |c| matches!(c, b' ' | b'\t')) {
            (b"if", Some(filter)) => Ok(Some(filter)),
            _ => Err(Error::Invalid),
        }
    }
}

/// Writes the text of a trigger after its name and target, with the newline: `:count=3 if …`.
///
/// # Errors
///
/// Only `out`'s own.
pub fn write(out: &mut dyn Out, count: Count, filter: Option<&[u8]>) -> fmt::Result {
    match count {
        Count::Unlimited => out.write_str(":unlimited")?,
        Count::Times(left) => write!(out, ":count={left}")?,
    }
    if let Some(filter) = filter {
        out.bytes(b" if ")?;
        out.bytes(filter)?;
    }
    out.bytes(b"\n")
}

/// `text` up to the first byte that `ends` accepts, and the text after that byte.
fn split(text: &[u8], ends: impl Fn(u8) -> bool) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |&c| ends(c));
    (parts.next().unwrap_or(&[]), parts.next())
}

/// `text` without blanks at its start. `None` if nothing else is in it.
fn filled(text: &[u8]) -> Option<&[u8]> {
    let start = text.iter().position(|&c| !is_space(c))?;
    text.get(start..)
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use crate::core::format::LineBuf;
    use proptest::prelude::*;
    use std::string::String;

    fn simple(text: &str) -> Result<(Count, Option<&[u8]>)> {
        let params = Command::parse(text.as_bytes()).optional();
        Ok((params.count()?, params.filter()?))
    }

    #[test]
    fn names() {
        let command = Command::parse(b" !traceoff:5 if x == 1\n");
        assert_eq!((command.remove, command.name), (true, &b"traceoff"[..]));
        assert_eq!(command.rest, Some(&b"5 if x == 1"[..]));
        assert_eq!(Command::parse(b"traceon: \n").rest, None);
        assert_eq!(Command::parse(b"\n").name, b"");
        assert_eq!(Command::parse(b"!").name, b"");
    }

    #[test]
    fn counts_and_filters() {
        assert_eq!(simple("traceon"), Ok((Count::Unlimited, None)));
        assert_eq!(simple("traceon:5"), Ok((Count::Times(5), None)));
        assert_eq!(simple("traceon:0x10:z"), Ok((Count::Times(16), None)));
        assert_eq!(simple("traceon 5"), Ok((Count::Times(5), None)));
        assert_eq!(
            simple("traceon if a == 1"),
            Ok((Count::Unlimited, Some(&b"a == 1"[..])))
        );
        assert_eq!(
            simple("traceon:if a == 1"),
            Ok((Count::Unlimited, Some(&b"a == 1"[..])))
        );
        assert_eq!(
            simple("traceon:3\t if  a == 1"),
            Ok((Count::Times(3), Some(&b" a == 1"[..])))
        );
        assert_eq!(
            simple("traceon:18446744073709551615"),
            Ok((Count::Unlimited, None))
        );
        for text in [
            "traceon:5x",
            "traceon:-1",
            "traceon:x",
            "traceon iff a",
            "traceon if",
            "traceon:1 a == 1",
        ] {
            assert_eq!(simple(text), Err(Error::Invalid), "{text:?}");
        }
        assert_eq!(simple("traceon:18446744073709551616"), Err(Error::Range));
    }

    #[test]
    fn targets() {
        let target = |text: &'static str| Command::parse(text.as_bytes()).target();
        let found = target("enable_event:sched:sched_switch:2 if a == 1").unwrap();
        assert_eq!(
            (found.system, found.event),
            (&b"sched"[..], &b"sched_switch"[..])
        );
        assert_eq!(found.params.count(), Ok(Count::Times(2)));
        assert_eq!(found.params.filter(), Ok(Some(&b"a == 1"[..])));
        let found = target("enable_event:sched:sched_switch").unwrap();
        assert_eq!(found.params.count(), Ok(Count::Unlimited));
        assert_eq!(found.params.filter(), Ok(None));
        let found = target("enable_event:a:b:").unwrap();
        assert_eq!(found.params.count(), Err(Error::Invalid));
        for text in [
            "enable_event",
            "enable_event:",
            "enable_event:sched",
            "enable_event:a if b",
        ] {
            assert_eq!(target(text), Err(Error::Invalid), "{text:?}");
        }
    }

    #[test]
    fn reading_back() {
        let shown = |count, filter| {
            let mut memory = [0; 64];
            let mut out = LineBuf::new(&mut memory);
            write(&mut out, count, filter).unwrap();
            String::from_utf8(out.as_bytes().to_vec()).unwrap()
        };
        assert_eq!(shown(Count::Unlimited, None), ":unlimited\n");
        assert_eq!(
            shown(Count::Times(3), Some(b"a == 1")),
            ":count=3 if a == 1\n"
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "[!a-z0-9: \tif]{0,30}") {
            let command = Command::parse(text.as_bytes());
            let _ = (command.optional().count(), command.optional().filter());
            if let Ok(target) = command.target() {
                let _ = (target.params.count(), target.params.filter());
            }
        }
    }
}
