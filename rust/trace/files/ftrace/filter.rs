// SPDX-License-Identifier: GPL-2.0

//! `set_ftrace_filter` and `set_ftrace_notrace`: which functions are traced.
//!
//! An open file for writing holds a private copy of the hash. Each write takes one token and
//! changes the copy. Closing the file takes the last token and makes the copy current. Errors at
//! the close cannot be reported.

use super::token_file::{self, TokenFile};
use crate::core::format::Out;
use crate::core::parse::command::{self, Rule};
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::trace::commands::{self, Probes};
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::ops::{Edit, FilterKind, List, Ops};
use crate::trace::instance::Instance;
use crate::trace::tracers::function_filter::FunctionFilter;
use core::fmt;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// The file of one of the two hashes.
pub(super) struct FilterFile(pub(super) FilterKind);

impl Node for FilterFile {
    /// `O_TRUNC` starts with an empty hash.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        let owner = match self.0 {
            FilterKind::Filter => Owner::Instance(at.instance.clone()),
            FilterKind::NoTrace => Owner::Silent,
        };
        open(FunctionFilter::of(&at.instance)?, self.0, owner, how)
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

/// Opens a file for one of the hashes of `ops`. Task context, may sleep. `ENOMEM`.
pub(in crate::trace::files) fn open(
    ops: &Arc<Ops>,
    which: FilterKind,
    owner: Owner,
    how: &OpenFlags,
) -> Result<Opening> {
    let writing = match how.write {
        true => Some(TokenFile::new(ops.edit(which, how.trunc)?)?),
        false => None,
    };
    let list = if how.read {
        Some(ops.list(which)?)
    } else {
        None
    };
    Opening::pin_init(
        try_pin_init!(OpenFilter { which, owner, list, writing <- new_mutex!(writing) }? Error),
    )
}

#[pin_data(PinnedDrop)]
struct OpenFilter {
    which: FilterKind,
    owner: Owner,
    /// The hash at the time of the open. `None` if the file is not open for reading.
    list: Option<List>,
    #[pin]
    writing: Mutex<Option<TokenFile<Edit>>>,
}

impl OpenFilter {
    /// The first line for an empty hash. Patterns for modules that are not loaded count as entries
    /// of `set_ftrace_filter`, but not of `set_ftrace_notrace`.
    fn headline(&self, list: &List) -> Option<&'static [u8]> {
        match self.which {
            FilterKind::Filter if list.is_default() => Some(b"#### all functions enabled ####\n"),
            FilterKind::NoTrace if list.sites().is_empty() => {
                Some(b"#### no functions disabled ####\n")
            }
            _ => None,
        }
    }

    /// Applies one token: a pattern for the hash, or a function command.
    fn apply(&self, edit: &mut Edit, token: &[u8]) -> Result {
        if let (Owner::Nobody, Some(rest)) = (&self.owner, command::split(token).1) {
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
            Some(site) => site.write_name(&mut out)?,
            None => list.write_pattern(line.saturating_sub(list.sites().len()), &mut out)?,
        }
        out.bytes(b"\n")
    }
}

impl OpenFile for OpenFilter {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let text = token_file::read(call)?;
        let mut writing = self.writing.lock();
        let Some(writing) = &mut *writing else {
            return Err(EINVAL);
        };
        writing.take(call, &text, |edit, token| self.apply(edit, token))
    }

    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

#[allow(unsafe_code, reason = "what the macro makes of it")]
#[pinned_drop]
impl PinnedDrop for OpenFilter {
    fn drop(self: Pin<&mut Self>) {
        let Some(writing) = self.writing.lock().take() else {
            return;
        };
        let edit = writing.end(|edit, token| self.apply(edit, token));
        let _ = edit.commit();
    }
}

impl Rows for OpenFilter {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        listing::rows(self, at)
    }
}

impl Lines for OpenFilter {
    fn seek(&self, at: u64) -> Option<u64> {
        let list = self.list.as_ref()?;
        let lines = self.rules(list) + self.commands();
        (at < lines as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        match (&self.list, usize::try_from(at)) {
            (Some(list), Ok(line)) => match line.checked_sub(self.rules(list)) {
                Some(command) => match &self.owner {
                    Owner::Instance(instance) => Probes::of(instance)
                        .map_or(Ok(()), |probes| probes.write(command, out).map(drop)),
                    Owner::Silent | Owner::Nobody => Ok(()),
                },
                None => self.show_rule(list, line, out),
            },
            _ => Ok(()),
        }
    }
}
