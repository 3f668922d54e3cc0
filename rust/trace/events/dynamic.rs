// SPDX-License-Identifier: GPL-2.0

//! Events that users define: the list of them, oldest first.
//!
//! Each kind is a row of [`KINDS`], and a file here. A definition is a [`Dynamic`]; several
//! definitions may be of one event. `Documentation/dynamic-events.md` has the details.
//!
//! | module | what it has |
//! | --- | --- |
//! | [`arguments`] | what probes record, and how it is printed |
//! | `eprobe` | events of other events' entries |
//! | `expanded` | arguments in place of words that stand for others |
//! | `fprobe` | probes of functions and tracepoints |
//! | `hit` | the registers and the memory at a hit |
//! | `kprobe` | kprobes and kretprobes |
//! | `probe_event` | what events of all probes have in common |
//! | `probe_kind` | how the commands of all kinds of probes are read |
//! | `synthetic` | events of given fields, which histograms and kernel code fire |
//! | `list` | the list, and what a kind of events has to be |
//! | `uprobe` | uprobes and uretprobes |
//! | `user` | events of programs, which write their entries |
//! | `types` | what is known of types where a probe is |
//! | `words` | a definition's words, and what is said of them in `error_log` |
//!
//! Lock order: the mutex of the list, the event mutex, then the locks that a kind takes to enable
//! probes.

pub(crate) mod arguments;
#[cfg(CONFIG_EPROBE_EVENTS)]
mod eprobe;
#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_FPROBE_EVENTS))]
mod expanded;
#[cfg(CONFIG_FPROBE_EVENTS)]
pub(crate) mod fprobe;
#[cfg(CONFIG_PROBE_EVENTS)]
mod hit;
#[cfg(CONFIG_KPROBE_EVENTS)]
pub(crate) mod kprobe;
mod list;
#[cfg(CONFIG_PROBE_EVENTS)]
mod probe_event;
#[cfg(CONFIG_PROBE_EVENTS)]
mod probe_kind;
#[cfg(CONFIG_SYNTH_EVENTS)]
pub(crate) mod synthetic;
mod types;
#[cfg(CONFIG_UPROBE_EVENTS)]
pub(crate) mod uprobe;
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) mod user;
#[cfg(CONFIG_PROBE_EVENTS)]
mod words;

#[cfg(CONFIG_FUNCTION_TRACER)]
use super::registry;
use kernel::prelude::*;

#[cfg(CONFIG_FPROBE_EVENTS)]
pub(crate) use list::Change;

pub(crate) use list::{command, lock, Dynamic, Kind, List};

/// The kinds.
static KINDS: &[&'static dyn Kind] = &[
    #[cfg(CONFIG_KPROBE_EVENTS)]
    &kprobe::Kprobes,
    #[cfg(CONFIG_UPROBE_EVENTS)]
    &uprobe::Uprobes,
    #[cfg(CONFIG_SYNTH_EVENTS)]
    &synthetic::Synthetics,
    #[cfg(CONFIG_FPROBE_EVENTS)]
    &fprobe::Fprobes,
    #[cfg(CONFIG_EPROBE_EVENTS)]
    &eprobe::Eprobes,
    #[cfg(CONFIG_USER_EVENTS)]
    &user::Users,
];

/// Makes an empty list. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    list::init(KINDS)?;
    #[cfg(CONFIG_SYNTH_EVENTS)]
    synthetic::init()?;
    #[cfg(CONFIG_USER_EVENTS)]
    user::init()?;
    #[cfg(CONFIG_FPROBE_EVENTS)]
    crate::kernel::tracepoint_stub::init();
    Ok(())
}

/// Registers the probes that wait for the module `name`, which is being loaded. Task context,
/// sleeps.
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) fn module_comes(name: &[u8]) {
    let Ok(list) = lock() else {
        return;
    };
    // Nobody switches an event meanwhile.
    let Ok(_registry) = registry::lock() else {
        return;
    };
    list.iter().for_each(|one| one.module_comes(name));
}

/// Tells the probes of tracepoints that a module has come or goes. Task context, sleeps.
#[cfg(CONFIG_FPROBE_EVENTS)]
pub(crate) fn tracepoints_change(change: &Change) {
    let Ok(list) = lock() else {
        return;
    };
    // Nobody switches an event meanwhile.
    let Ok(_registry) = registry::lock() else {
        return;
    };
    list.iter().for_each(|one| one.tracepoints_change(change));
}
