// SPDX-License-Identifier: GPL-2.0

//! `set_ftrace_filter` and `set_ftrace_notrace`: which functions are traced.
//!
//! An open file for writing holds a private copy of the hash. Each write takes one token and
//! changes the copy. Closing the file takes the last token and makes the copy current. Errors at
//! the close cannot be reported.

use super::token_file::{self, TokenSet};
use crate::core::format::Out;
use crate::core::parse::command::{self, Rule};
use crate::core::parse::options::Flag;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::commands::{self, Probes};
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::ops::{Edit, FilterKind, List, Ops};
use crate::trace::instance::Instance;
use crate::trace::tracers::function_filter::FunctionFilter;
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// The file of one of the two hashes.
pub(super) struct FilterFile(pub(super) FilterKind);

impl Node for FilterFile {
    /// `O_TRUNC` starts with an empty hash.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        let owner = match self.0 {
            FilterKind::Filter => Owner::Instance(at.instance.clone()),
            FilterKind::NoTrace => Owner::Silent,
        };
        let ops = FunctionFilter::of(&at.instance)?;
        open(ops, self.0, owner, &at.instance, how)
    }
}

/// What the hash belongs to.
pub(in crate::trace::files) enum Owner {
    /// An instance. The file also takes and shows its function commands.
    Instance(Arc<Instance>),
    /// An instance. The file takes no function commands.
    Silent,
    /// No instance. The file takes no function commands and no module names.
    #[cfg_attr(not(CONFIG_STACK_TRACER), expect(dead_code))]
    Nobody,
}

/// Opens a file for one of the hashes of `ops`, which shows names as the options of `instance` say.
/// Task context, may sleep. `ENOMEM`.
pub(in crate::trace::files) fn open(
    ops: &Arc<Ops>,
    which: FilterKind,
    owner: Owner,
    instance: &Instance,
    how: &OpenFlags,
) -> Result<Opening> {
    let edit = match how.write {
        true => Some(ops.edit(which, how.trunc)?),
        false => None,
    };
    let list = match edit {
        Some(_) => None,
        None => Some(ops.list(which)?),
    };
    let set = FilterSet {
        which,
        owner,
        list,
        demangle: instance.options().has(Flag::RustPaths),
    };
    token_file::open(set, edit, how)
}

/// The hash of an open file.
struct FilterSet {
    which: FilterKind,
    owner: Owner,
    /// The hash at the time of the open. `None` if the file is not only open for reading.
    list: Option<List>,
    /// Rust functions are shown as paths.
    demangle: bool,
}

/// What a read shows of a hash: as it was at the open, or the private copy as it is now.
enum Shown<'a> {
    Opened(&'a List),
    Edited(List),
}

impl Shown<'_> {
    fn list(&self) -> &List {
        match self {
            Self::Opened(list) => list,
            Self::Edited(list) => list,
        }
    }
}

impl FilterSet {
    /// The first line for an empty hash. Functions that went with their module count as entries. So do
    /// patterns for modules that are not loaded in `set_ftrace_filter`, but not in `set_ftrace_notrace`.
    fn headline(&self, list: &List) -> Option<&'static [u8]> {
        match self.which {
            FilterKind::Filter if list.is_default() => Some(b"#### all functions enabled ####\n"),
            FilterKind::NoTrace if list.sites().is_empty() && !list.has_lost() => {
                Some(b"#### no functions disabled ####\n")
            }
            _ => None,
        }
    }

    /// The number of lines before those of the function commands.
    fn rules(&self, list: &List) -> usize {
        usize::from(self.headline(list).is_some()) + list.sites().len() + list.patterns()
    }

    /// The number of lines of function commands.
    fn commands(&self) -> usize {
        match &self.owner {
            Owner::Instance(instance) => Probes::of(instance).map_or(0, |probes| probes.count()),
            Owner::Silent | Owner::Nobody => 0,
        }
    }

    fn show_rule(&self, list: &List, line: usize, mut out: &mut dyn Out) -> fmt::Result {
        let line = match (self.headline(list), line) {
            (Some(headline), 0) => return out.bytes(headline),
            (Some(_), line) => line.saturating_sub(1),
            (None, line) => line,
        };
        match list.sites().get(line) {
            // A function that has gone since has no line.
            Some(site) => match site.while_there(|| site.write_name(self.demangle, &mut out)) {
                Some(written) => written?,
                None => return Ok(()),
            },
            None => list.write_pattern(line.saturating_sub(list.sites().len()), &mut out)?,
        }
        out.bytes(b"\n")
    }
}

impl TokenSet for FilterSet {
    type Edit = Edit;

    /// Applies one token: a pattern for the hash, or a function command.
    fn apply(&self, edit: &mut Edit, token: &[u8]) -> Result {
        if let (Owner::Nobody, Some(rest)) = (&self.owner, command::split_pattern(token).1) {
            let (name, _) = command::split(rest);
            return Err(if name == b"mod" || commands::is_known(name) {
                ENODEV
            } else {
                EINVAL
            });
        }
        match (
            Rule::parse(token).map_err(crate::trace::files::control::errno)?,
            &self.owner,
        ) {
            (Rule::Command(_), Owner::Instance(instance)) => commands::apply(instance, token),
            (Rule::Command(_), _) => Err(EINVAL),
            (Rule::Functions(_) | Rule::Module(_), _) => edit.apply(token),
        }
    }

    fn commit(&self, edit: Edit) -> Result {
        edit.commit()
    }

    type Shown<'a> = Shown<'a>;

    fn shown(&self, edit: Option<&Edit>) -> Result<Shown<'_>> {
        match (edit, &self.list) {
            (Some(edit), _) => edit.list().map(Shown::Edited),
            (None, Some(list)) => Ok(Shown::Opened(list)),
            (None, None) => Err(EBADF),
        }
    }

    fn count(&self, shown: &Shown<'_>) -> usize {
        self.rules(shown.list()).saturating_add(self.commands())
    }

    fn show(&self, shown: &Shown<'_>, line: usize, out: &mut dyn Out) -> fmt::Result {
        let list = shown.list();
        match (line.checked_sub(self.rules(list)), &self.owner) {
            (None, _) => self.show_rule(list, line, out),
            (Some(command), Owner::Instance(instance)) => {
                Probes::of(instance).map_or(Ok(()), |probes| probes.write(command, out).map(drop))
            }
            (Some(_), Owner::Silent | Owner::Nobody) => Ok(()),
        }
    }
}
