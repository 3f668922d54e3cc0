// SPDX-License-Identifier: GPL-2.0

//! One token of `set_ftrace_filter` and `set_ftrace_notrace`: a pattern, a module rule or a
//! function command.
//!
//! ```text
//!   PATTERN                      functions by name, glob or index
//!   [PATTERN]:mod:MODULE         the same, limited to a module
//!   PATTERN:COMMAND[:PARAM…]     act when the functions are called
//! ```
//!
//! Two colons are no separator but a part of a Rust path: `kernel::f:traceoff`.
//!
//! The caller has the table of commands and knows their parameters. [`split`], [`count`] and
//! [`EventParams`] parse the parameters that ftrace's own commands share.

use super::glob::{Kind, Pattern};
use super::number;
use crate::core::format::{Error, Result};

/// A parsed token. Its names are not looked up yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule<'a> {
    /// A pattern alone. It is `EINVAL` if no function matches.
    Functions(Pattern<'a>),
    /// A pattern with a module.
    Module(ModuleRule<'a>),
    /// A pattern with a command. An unknown command is `EINVAL`, and so is any command in
    /// set_ftrace_notrace.
    Command(CommandRule<'a>),
}

/// `[PATTERN]:mod:MODULE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleRule<'a> {
    /// The functions. An empty pattern means all functions of the module. A
    /// [`super::glob::Kind::Index`] pattern is a line number whatever the module is; the caller
    /// handles that.
    pub functions: Pattern<'a>,
    /// The pattern as the user wrote it, with its `!`. A rule for an unloaded module is shown like
    /// this.
    pub written: &'a [u8],
    /// The module as the user wrote it.
    pub module: &'a [u8],
}

impl<'a> ModuleRule<'a> {
    /// The pattern of the module. Negated, it means every function outside the module. Empty, it
    /// means every module.
    pub fn module_pattern(&self) -> Pattern<'a> {
        Pattern::parse(self.module)
    }

    /// The name of the module that the rule waits for, if none matches now. A module that comes is
    /// compared with it exactly. A star at the end is not a part of it; other characters of patterns
    /// are, as in C.
    pub fn awaited(&self) -> &'a [u8] {
        match self.module_pattern().kind {
            Kind::Front | Kind::Middle => self.module.strip_suffix(b"*").unwrap_or(self.module),
            _ => self.module,
        }
    }

    /// Whether the rule matches a function of `module` (`None` for the kernel image), which `is` asks
    /// about the functions' pattern. The negation of that pattern is ignored, since it decides
    /// between adding and removing.
    pub fn matches(&self, module: Option<&[u8]>, is: impl FnOnce(&Pattern<'_>) -> bool) -> bool {
        self.is_for(module) && (self.functions.is_empty() || is(&self.functions))
    }

    fn is_for(&self, module: Option<&[u8]>) -> bool {
        let wanted = self.module_pattern();
        let inside = match module {
            Some(module) => wanted.is_empty() || wanted.matches(module),
            None => false,
        };
        inside != wanted.negated
    }
}

/// `PATTERN:COMMAND[:PARAM…]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRule<'a> {
    /// Whether the token begins with `!`, which removes the command.
    pub remove: bool,
    /// The functions, without the `!`.
    pub functions: Pattern<'a>,
    /// The name of the command. The caller looks it up.
    pub name: &'a [u8],
    /// The text after the colon behind the name. `None` without a colon. Several commands treat
    /// `None` and an empty text differently.
    pub params: Option<&'a [u8]>,
}

impl<'a> Rule<'a> {
    /// Parses a token.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a command whose pattern is negated twice.
    pub fn parse(token: &'a [u8]) -> Result<Self> {
        let (written, rest) = split_pattern(token);
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
                // `f:mod` has no effect on `f`.
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

/// `text` up to the first colon that stands alone, and the text after it. `None` if there is none.
/// Of three colons the third stands alone.
pub fn split_pattern(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut at = 0usize;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match rest {
            [b':', b':', ..] => at = at.saturating_add(2),
            [b':', after @ ..] => return (text.get(..at).unwrap_or(&[]), Some(after)),
            _ => at = at.saturating_add(1),
        }
    }
    (text, None)
}

/// `text` up to the first colon, and the text after it. `None` if there is no colon.
pub fn split(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |&c| c == b':');
    (parts.next().unwrap_or(&[]), parts.next())
}

/// How often a command acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// At every call.
    Unlimited,
    /// This many times per function. Negative for a colon without a number (`f:traceon:`), as in C.
    Times(i64),
}

/// Parses the count of traceon, traceoff, stacktrace and snapshot. Text after another colon is
/// ignored. (dump has the count 1 and cpudump is unlimited, whatever their parameters are.)
///
/// # Errors
///
/// As [`number::unsigned`] in base 0.
pub fn count(params: Option<&[u8]>) -> Result<Count> {
    match params.map(|params| split(params).0) {
        None => Ok(Count::Unlimited),
        Some([]) => Ok(Count::Times(-1)),
        // A count is a C long, so numbers in the upper half are negative.
        Some(text) => number::unsigned(text, 0).map(|n| Count::Times(n as i64)),
    }
}

/// `system:event[:count]`: the parameters of enable_event and disable_event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventParams<'a> {
    /// The system of the event.
    pub system: &'a [u8],
    /// The event.
    pub event: &'a [u8],
    /// The text of the count after the event. [`count`](Self::count) parses it.
    pub count: Option<&'a [u8]>,
}

impl<'a> EventParams<'a> {
    /// Splits the parameters. The count is not parsed yet, since a removal ignores it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the system or the event is missing.
    pub fn parse(params: Option<&'a [u8]>) -> Result<Self> {
        let (system, rest) = split(params.ok_or(Error::Invalid)?);
        let (event, count) = split(rest.ok_or(Error::Invalid)?);
        Ok(Self {
            system,
            event,
            count,
        })
    }

    /// How often the event is enabled or disabled.
    ///
    /// # Errors
    ///
    /// As [`count`]. Here an empty count is [`Error::Invalid`], too.
    pub fn count(&self) -> Result<Count> {
        match self.count.map(|text| split(text).0) {
            Some([]) => Err(Error::Invalid),
            _ => count(self.count),
        }
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
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

    fn has(rule: &ModuleRule<'_>, name: &[u8], module: Option<&[u8]>) -> bool {
        rule.matches(module, |functions| functions.matches(name))
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
        assert!(has(&m, b"vfs_read", Some(b"bogus")));
        assert!(!has(&m, b"vfs_read", Some(b"other")) && !has(&m, b"vfs_read", None));
        assert!(!has(&m, b"read", Some(b"bogus")));

        let all = module(":mod:b*");
        assert!(has(&all, b"x", Some(b"bogus")) && !has(&all, b"x", None));

        let outside = module("*:mod:!bogus");
        assert!(has(&outside, b"x", Some(b"other")) && has(&outside, b"x", None));
        assert!(!has(&outside, b"x", Some(b"bogus")));

        let any = module(":mod:");
        assert!(has(&any, b"x", Some(b"bogus")) && !has(&any, b"x", None));
        let none = module(":mod:!");
        assert!(has(&none, b"x", None) && !has(&none, b"x", Some(b"bogus")));
        let awaited = |token| module(token).awaited();
        assert_eq!(awaited("x:mod:bogus"), b"bogus");
        assert_eq!(awaited("x:mod:bo*"), b"bo");
        assert_eq!(awaited("x:mod:*og*"), b"*og");
        assert_eq!(awaited("x:mod:*us"), b"*us");
        assert_eq!(awaited("x:mod:b*s"), b"b*s");
        assert_eq!(awaited("x:mod:!bogus"), b"!bogus");

        // In C, too, a module name that starts with a digit is an index.
        assert!(!has(&module(":mod:9p"), b"x", Some(b"9p")));
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
    fn paths() {
        let c = command("!<a::B~as~c::D>::f:traceoff:3");
        assert!(c.remove);
        assert_eq!(
            (c.functions.text, c.name, c.params),
            (&b"<a::B~as~c::D>::f"[..], &b"traceoff"[..], Some(&b"3"[..]))
        );
        let Ok(Rule::Functions(p)) = Rule::parse(b"kernel::workqueue::*") else {
            panic!()
        };
        assert_eq!((p.kind, p.text), (Kind::Front, &b"kernel::workqueue::"[..]));
        let m = module("a::*:mod:b");
        assert_eq!((m.written, m.module), (&b"a::*"[..], &b"b"[..]));
        assert_eq!(module("a:::mod:b").written, b"a::");
        assert_eq!(
            split_pattern(b"f:traceon::4"),
            (&b"f"[..], Some(&b"traceon::4"[..]))
        );
        assert_eq!(split_pattern(b"a::"), (&b"a::"[..], None));
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
