// SPDX-License-Identifier: GPL-2.0

//! `events/` and the files that list events: which events exist, their format, which of them are
//! enabled, and for which tasks.
//!
//! | module | what it has |
//! | --- | --- |
//! | [`directories`] | the directory itself; its entries are created at lookup |
//! | [`systems`] | the directories of systems and of events |
//! | [`layout`] | `header_event`, `header_page`, and the files of the built-in entries in `ftrace/` |
//! | [`numbers`] | the numbers of all entries, of which inode numbers are made |
//! | [`enable`] | `enable` of an event, of a system, and of all events |
//! | [`describe`] | `format` and `id` |
//! | [`rules`] | `filter`, `trigger` and `inject`, `show_event_filters`, `show_event_triggers` |
//! | [`event_list`] | what files that list events have in common |
//! | [`set_event`] | `set_event`, `available_events` |
//! | [`pids`] | `set_event_pid`, `set_event_notrace_pid` |
//!
//! The files in the directory of an event are rows of [`EVENT_FILES`]. The files in the directory
//! of a system are rows of [`SYSTEM_FILES`]. To add a file, add a row and an
//! [`EventNode`](node::EventNode) that opens it.
//!
//! Lock order: the inode lock of a directory, then the event mutex.

#[cfg(CONFIG_EVENT_TRACING)]
mod describe;
mod directories;
#[cfg(CONFIG_EVENT_TRACING)]
mod enable;
#[cfg(CONFIG_EVENT_TRACING)]
mod event_list;
#[cfg(CONFIG_HIST_TRIGGERS)]
mod hist;
mod layout;
#[cfg(CONFIG_EVENT_TRACING)]
mod node;
mod numbers;
#[cfg(CONFIG_EVENT_TRACING)]
mod pids;
#[cfg(CONFIG_EVENT_TRACING)]
mod rules;
#[cfg(CONFIG_EVENT_TRACING)]
mod set_event;
#[cfg(CONFIG_EVENT_TRACING)]
mod systems;

use super::{Place, Row, Scope};
use crate::kernel::fs::tracefs::Dir;
#[cfg(CONFIG_BPF_EVENTS)]
use describe::BtfIds;
#[cfg(CONFIG_EVENT_TRACING)]
use describe::{Format, Id};
use directories::EventsDir;
#[cfg(CONFIG_EVENT_TRACING)]
use enable::{EnableAll, EnableEvent, EnableSystem};
#[cfg(CONFIG_HIST_TRIGGERS)]
use hist::Hist;
#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
use hist::HistDebug;
use kernel::prelude::*;
use layout::{HeaderEvent, HeaderPage};
#[cfg(CONFIG_EVENT_TRACING)]
use node::{EventPlace, FileRow, SystemPlace};

#[cfg(CONFIG_TRACE_EVENT_INJECT)]
use rules::Inject;
#[cfg(CONFIG_EVENT_TRACING)]
use rules::{EventFilter, EventTrigger, SystemFilter};

#[cfg(CONFIG_HIST_TRIGGERS)]
pub(super) use hist::SYNTAX as HIST_SYNTAX;
#[cfg(CONFIG_EVENT_TRACING)]
pub(super) use pids::EventPidFile;
#[cfg(CONFIG_EVENT_TRACING)]
pub(super) use rules::{ShowFilters, ShowTriggers};
#[cfg(CONFIG_EVENT_TRACING)]
pub(super) use set_event::{AvailableEvents, SetEvent};

/// The files directly in `events/`. The index of a row is the number of its file.
#[rustfmt::skip]
static FILES: &[Row] = &[
    super::row(c"header_page", 0o440, Scope::Instance, &HeaderPage, "the head of a sub-buffer"),
    super::row(c"header_event", 0o440, Scope::Instance, &HeaderEvent, "the header of a record in the ring buffer"),
    #[cfg(CONFIG_EVENT_TRACING)]
    super::row(c"enable", 0o640, Scope::Recorder, &EnableAll, "switches all events"),
];

/// The files of a system. The index of a row is the number of its file.
#[cfg(CONFIG_EVENT_TRACING)]
static SYSTEM_FILES: &[FileRow<SystemPlace>] = &[
    FileRow::new(b"filter", 0o640, &SystemFilter),
    FileRow::new(b"enable", 0o640, &EnableSystem),
];

/// The files of an event. The index of a row is the number of its file.
#[cfg(CONFIG_EVENT_TRACING)]
static EVENT_FILES: &[FileRow<EventPlace>] = &[
    FileRow::new(b"format", 0o440, &Format),
    FileRow::new(b"id", 0o440, &Id),
    #[cfg(CONFIG_BPF_EVENTS)]
    FileRow::new(b"btf_ids", 0o440, &BtfIds),
    FileRow::new(b"enable", 0o640, &EnableEvent),
    FileRow::new(b"filter", 0o640, &EventFilter),
    FileRow::new(b"trigger", 0o640, &EventTrigger),
    #[cfg(CONFIG_HIST_TRIGGERS)]
    FileRow::new(b"hist", 0o440, &Hist),
    #[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
    FileRow::new(b"hist_debug", 0o440, &HistDebug),
    #[cfg(CONFIG_TRACE_EVENT_INJECT)]
    FileRow::new(b"inject", 0o200, &Inject),
];

/// Creates the directory. Task context, may sleep. Errors as [`Dir::create_lazy_dir`].
pub(super) fn create(parent: &Dir, at: &Place) -> Result {
    let top = KBox::new(EventsDir(at.clone()), GFP_KERNEL)?;
    parent.create_lazy_dir(c"events", top, directories::is_there)
}
