// SPDX-License-Identifier: GPL-2.0

//! One token of `set_ftrace_filter` and `set_ftrace_notrace`: a pattern, a module rule or a
//! function command.
//!
//! ```text
//!   PATTERN                      functions by name, glob or index
//!   [PATTERN]:mod:MODULE         the same, limited to a module
//!   PATTERN:COMMAND[:PARAM…]     do something when they are called
//! ```
//!
//! Which commands exist, and what their parameters mean, is the caller's table; [`split`],
//! [`count`] and [`EventParams`] read the parameters that ftrace's own commands share.

use super::glob::Pattern;
use super::number;
use crate::core::format::{Error, Result};

/// A token, taken apart but not yet looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule<'a> {
    /// A pattern alone. Nothing found is `EINVAL`.
    Functions(Pattern<'a>),
    /// A pattern with a module.
    Module(ModuleRule<'a>),
    /// A pattern with a command. An unknown command, and any command in set_ftrace_notrace, is
    /// `EINVAL`.
    Command(CommandRule<'a>),
}

/// `[PATTERN]:mod:MODULE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleRule<'a> {
    /// The functions; an empty pattern means all of the module's. A [`super::glob::Kind::Index`]
    /// pattern counts lines whatever the module is, which is for the caller to see to.
    pub functions: Pattern<'a>,
    /// The pattern as written, its `!` included, which is how a rule for an absent module reads
    /// back.
    pub written: &'a [u8],
    /// The module as written.
    pub module: &'a [u8],
}

impl<'a> ModuleRule<'a> {
    /// The module's pattern: negated means every function outside it, empty means every module.
    pub fn module_pattern(&self) -> Pattern<'a> {
        Pattern::parse(self.module)
    }

    /// Whether a function `name` of `module` (`None` for the kernel proper) is meant; the negation
    /// of the functions' pattern, which is about adding or removing, is left aside.
    pub fn matches(&self, name: &[u8], module: Option<&[u8]>) -> bool {
        let wanted = self.module_pattern();
        let inside = match module {
            Some(module) => wanted.is_empty() || wanted.matches(module),
            None => false,
        };
        inside != wanted.negated && (self.functions.is_empty() || self.functions.matches(name))
    }
}

/// `PATTERN:COMMAND[:PARAM…]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRule<'a> {
    /// Whether a `!` came first: the command is taken off instead.
    pub remove: bool,
    /// The functions, without that `!`.
    pub functions: Pattern<'a>,
    /// The command's name, to be looked up by the caller.
    pub name: &'a [u8],
    /// What follows the name after a colon; `None` without colon, which several commands tell from
    /// empty.
    pub params: Option<&'a [u8]>,
}

impl<'a> Rule<'a> {
    /// Takes a token apart.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a command whose pattern is negated twice.
    pub fn parse(token: &'a [u8]) -> Result<Self> {
        let (written, rest) = split(token);
        let Some(rest) = rest else {
            return Ok(Self::Functions(Pattern::parse(written)));
        };
        let (name, params) = split(rest);
        if name == b"mod" {
            let functions = Pattern::parse(written);
            return Ok(match params {
                Some(module) => Self::Module(ModuleRule {
                    functions,
                    written,
                    module,
                }),
                // `f:mod` limits nothing.
                None => Self::Functions(functions),
            });
        }
        let (remove, body) = match written.strip_prefix(b"!") {
            Some(body) => (true, body),
            None => (false, written),
        };
        let functions = Pattern::parse(body);
        if functions.negated {
            return Err(Error::Invalid);
        }
        Ok(Self::Command(CommandRule {
            remove,
            functions,
            name,
            params,
        }))
    }
}

/// `text` up to the first colon, and what follows it; `None` without colon.
pub fn split(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |&c| c == b':');
    (parts.next().unwrap_or(&[]), parts.next())
}

/// How often a command acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Whenever one of its functions is called.
    Unlimited,
    /// So many times per function. Negative for a colon without a number (`f:traceon:`), as in C.
    Times(i64),
}

/// Reads the count parameter of traceon, traceoff, stacktrace and snapshot; what follows a further
/// colon is ignored. (dump counts 1 and cpudump is unlimited, whatever parameter they get.)
///
/// # Errors
///
/// As [`number::unsigned`] in base 0.
pub fn count(params: Option<&[u8]>) -> Result<Count> {
    match params.map(|params| split(params).0) {
        None => Ok(Count::Unlimited),
        Some([]) => Ok(Count::Times(-1)),
        // Counts live in a C long, so the upper half is negative.
        Some(text) => number::unsigned(text, 0).map(|n| Count::Times(n as i64)),
    }
}

/// `system:event[:count]`, the parameters of enable_event and disable_event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventParams<'a> {
    /// The event's system.
    pub system: &'a [u8],
    /// The event.
    pub event: &'a [u8],
    /// The count, as written after the event; [`count`](Self::count) reads it.
    pub count: Option<&'a [u8]>,
}

impl<'a> EventParams<'a> {
    /// Takes the parameters apart; the count is not read yet, because removing a rule does not care
    /// for it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if system or event is missing.
    pub fn parse(params: Option<&'a [u8]>) -> Result<Self> {
        let (system, rest) = split(params.ok_or(Error::Invalid)?);
        let (event, count) = split(rest.ok_or(Error::Invalid)?);
        Ok(Self {
            system,
            event,
            count,
        })
    }

    /// How often the event is switched.
    ///
    /// # Errors
    ///
    /// As [`count`]; here an empty count is [`Error::Invalid`], too.
    pub fn count(&self) -> Result<Count> {
        match self.count.map(|text| split(text).0) {
            Some([]) => Err(Error::Invalid),
            _ => count(self.count),
        }
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::glob::Kind;
    use super::*;
    use proptest::prelude::*;

    fn command(token: &str) -> CommandRule<'_> {
        match Rule::parse(token.as_bytes()) {
            Ok(Rule::Command(c)) => c,
            other => panic!("{other:?}"),
        }
    }

    fn module(token: &str) -> ModuleRule<'_> {
        match Rule::parse(token.as_bytes()) {
            Ok(Rule::Module(m)) => m,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn plain_patterns() {
        let Ok(Rule::Functions(p)) = Rule::parse(b"!vfs_*") else {
            panic!()
        };
        assert_eq!(
            (p.kind, p.negated, p.text),
            (Kind::Front, true, &b"vfs_"[..])
        );
    }

    #[test]
    fn modules() {
        let m = module("vfs_*:mod:bogus");
        assert_eq!((m.written, m.module), (&b"vfs_*"[..], &b"bogus"[..]));
        assert!(m.matches(b"vfs_read", Some(b"bogus")));
        assert!(!m.matches(b"vfs_read", Some(b"other")) && !m.matches(b"vfs_read", None));
        assert!(!m.matches(b"read", Some(b"bogus")));

        let all = module(":mod:b*");
        assert!(all.matches(b"x", Some(b"bogus")) && !all.matches(b"x", None));

        let outside = module("*:mod:!bogus");
        assert!(outside.matches(b"x", Some(b"other")) && outside.matches(b"x", None));
        assert!(!outside.matches(b"x", Some(b"bogus")));

        let any = module(":mod:");
        assert!(any.matches(b"x", Some(b"bogus")) && !any.matches(b"x", None));
        let none = module(":mod:!");
        assert!(none.matches(b"x", None) && !none.matches(b"x", Some(b"bogus")));
        // A module that starts with a digit is an index to C, too.
        assert!(!module(":mod:9p").matches(b"x", Some(b"9p")));
        assert_eq!(Rule::parse(b"x:mod"), Rule::parse(b"x"));
    }

    #[test]
    fn commands() {
        let c = command("!ab*:traceon:3:x");
        assert!(c.remove && !c.functions.negated);
        assert_eq!(
            (c.functions.text, c.name, c.params),
            (&b"ab"[..], &b"traceon"[..], Some(&b"3:x"[..]))
        );
        assert_eq!(count(c.params), Ok(Count::Times(3)));
        assert_eq!(command("f:").name, b"");
        assert_eq!(Rule::parse(b"!!f:traceon"), Err(Error::Invalid));
    }

    #[test]
    fn counts() {
        assert_eq!(count(command("f:traceon").params), Ok(Count::Unlimited));
        assert_eq!(count(command("f:traceon:").params), Ok(Count::Times(-1)));
        assert_eq!(count(command("f:traceon::4").params), Ok(Count::Times(-1)));
        assert_eq!(
            count(command("f:traceon:0x10").params),
            Ok(Count::Times(16))
        );
        assert_eq!(count(command("f:traceon:foo").params), Err(Error::Invalid));
        assert_eq!(count(command("f:traceon:-1").params), Err(Error::Invalid));
        assert_eq!(
            count(command("f:traceon:99999999999999999999").params),
            Err(Error::Range)
        );
    }

    #[test]
    fn events() {
        let e = EventParams::parse(command("f:enable_event:sched:sched_switch:1").params).unwrap();
        assert_eq!(
            (e.system, e.event, e.count()),
            (&b"sched"[..], &b"sched_switch"[..], Ok(Count::Times(1)))
        );
        let e = EventParams::parse(Some(b"sched:sched_switch")).unwrap();
        assert_eq!(e.count(), Ok(Count::Unlimited));
        assert_eq!(EventParams::parse(Some(b"sched")), Err(Error::Invalid));
        assert_eq!(EventParams::parse(None), Err(Error::Invalid));
        assert_eq!(
            EventParams::parse(Some(b"a:b:")).unwrap().count(),
            Err(Error::Invalid)
        );
        assert_eq!(
            EventParams::parse(Some(b"a:b:x")).unwrap().count(),
            Err(Error::Invalid)
        );
    }

    proptest! {
        #[test]
        fn never_panics(token in "[!*:amod1]{0,20}") {
            if let Ok(Rule::Command(c)) = Rule::parse(token.as_bytes()) {
                let _ = (count(c.params), EventParams::parse(c.params).map(|e| e.count()));
            }
        }
    }
}
