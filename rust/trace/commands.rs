// SPDX-License-Identifier: GPL-2.0

//! Function commands: the `NAME:COMMAND` of a filter file acts when the function `NAME` runs.
//!
//! [`COMMANDS`] lists all commands. To add one, add a file with its [`Command`](command::Command),
//! and a row to the table.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`command`] | the traits |
//! | [`probes`] | commands at functions: adding, removing, listing, hits |
//! | the others | one command or a pair of commands each |

mod command;
mod dump;
mod on_off;
mod probes;
mod snapshot;
mod stack_trace;
#[cfg(CONFIG_EVENT_TRACING)]
mod switch_event;

use self::command::Command;
pub(crate) use self::probes::{Probe, Probes};
use super::instance::{list, Instance};
use crate::core::parse::command::{split, split_pattern};
use core::ops::Range;
use kernel::prelude::*;
use kernel::sync::Arc;

/// All commands.
static COMMANDS: &[&dyn Command] = &[
    &on_off::TRACE_ON,
    &on_off::TRACE_OFF,
    &dump::DUMP,
    &dump::CPU_DUMP,
    &stack_trace::StackTrace,
    &snapshot::TakeSnapshot,
    #[cfg(CONFIG_EVENT_TRACING)]
    &switch_event::SwitchEvent {
        name: "enable_event",
        on: true,
    },
    #[cfg(CONFIG_EVENT_TRACING)]
    &switch_event::SwitchEvent {
        name: "disable_event",
        on: false,
    },
];

/// Whether there is a command called `name`.
pub(crate) fn is_known(name: &[u8]) -> bool {
    find(name).is_some()
}

/// The sites in `text` are gone: no command acts there any more. Task context, sleeps.
pub(crate) fn forget(text: &Range<usize>) {
    for instance in list::all() {
        if let Ok(probes) = Probes::of(&instance) {
            probes.forget(text);
        }
    }
}

fn find(name: &[u8]) -> Option<&'static dyn Command> {
    COMMANDS
        .iter()
        .copied()
        .find(|command| command.name().as_bytes() == name)
}

/// Applies one token of `set_ftrace_filter` that has a command: adds the command to `instance`, or
/// with `!` removes it. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` for an unknown command, and the errors of [`Probes::add`] and [`Probes::remove`].
pub(crate) fn apply(instance: &Arc<Instance>, token: &[u8]) -> Result {
    let (pattern, rest) = split_pattern(token);
    let (name, params) = split(rest.ok_or(EINVAL)?);
    let command = find(name).ok_or(EINVAL)?;
    let probes = Probes::of(instance)?;
    match pattern.strip_prefix(b"!") {
        Some(pattern) => probes.remove(instance, command, params, pattern),
        None => probes.add(instance, command, params, pattern),
    }
}
