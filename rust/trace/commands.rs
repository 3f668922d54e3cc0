// SPDX-License-Identifier: GPL-2.0

//! Function commands: what a filter file's `NAME:COMMAND` does when a function of that name runs.
//!
//! [`COMMANDS`] says what exists. To add a command: a file with its [`Command`](command::Command),
//! and a row here.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`command`] | the trait |
//! | [`probes`] | commands at functions: adding, removing, listing, hits |
//! | the others | a command or a pair of them each |

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
use super::instance::Instance;
use crate::core::parse::command::split;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The commands there are.
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

/// Is there a command called `name`?
pub(crate) fn is_known(name: &[u8]) -> bool {
    find(name).is_some()
}

fn find(name: &[u8]) -> Option<&'static dyn Command> {
    COMMANDS
        .iter()
        .copied()
        .find(|command| command.name().as_bytes() == name)
}

/// Applies one token of `set_ftrace_filter` that has a command: adds it for `instance`, or removes
/// it after `!`. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` for an unknown command, and those of [`Probes::add`] and [`Probes::remove`].
pub(crate) fn apply(instance: &Arc<Instance>, token: &[u8]) -> Result {
    let (pattern, rest) = split(token);
    let (name, params) = split(rest.ok_or(EINVAL)?);
    let command = find(name).ok_or(EINVAL)?;
    let probes = Probes::of(instance)?;
    match pattern.strip_prefix(b"!") {
        Some(pattern) => probes.remove(command, command.counted(params), pattern),
        None => probes.add(instance, command, params, pattern),
    }
}
