// SPDX-License-Identifier: GPL-2.0

//! Events: the `TRACE_EVENT()`s of the kernel, their recording in instances, and their output.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`registry`] | all events, and their files in the instances, behind the event mutex |
//! | [`file`] | one event in one instance: the data that its probe reads |
//! | [`enable`] | enabling and disabling events |
//! | [`recording`] | the recording of an entry |
//! | [`filter`] | filters, which reject entries |
//! | [`trigger`] | triggers, which act at a hit |
//! | `waiting` | events to enable when a module is loaded |
//! | [`pids`] | the tasks whose events are recorded |
//! | [`format`] | the text of `format` files |
//! | [`printer`] | entries as text |
//! | [`console`] | entries in the kernel log |
//! | [`systems`] | the systems whose events an instance has |
//! | [`inject`] | entries from user space |
//! | [`print`] | the triggers of `ftrace:print`, which `trace_marker` hits |
//! | `own` | the core's own entries, described as events |
//! | `dynamic` | events that users define |
//! | `declared` | events that Rust code declares |
//! | [`syscalls`] | events of single system calls |
//! | [`boot`] | events of the command line, and of modules |
//! | [`added`] | events that C code makes while the kernel runs |
//! | `refusal` | the errors of refused commands |
//! | `evals` | the names in formats, for `eval_map` |
//!
//! Words: a *file* is an event in an instance; it is created when something is set for the event. A
//! *hit* is a call of the event's probe. A *soft-disabled* event is hit but not recorded. A *soft
//! user* needs the hits, but not the recording.
//!
//! Lock order: the mutex of the instances' directories, the event mutex ([`registry::lock`]), then
//! the locks that a class takes to enable an event (those of tracepoints and static keys).
//! `Documentation/events.md` has the details.

pub(crate) mod added;
pub(crate) mod boot;
mod check;
pub(crate) mod console;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) mod declared;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) mod dynamic;
pub(crate) mod enable;
#[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
pub(crate) mod evals;
pub(crate) mod file;
pub(crate) mod filter;
pub(crate) mod format;
#[cfg(CONFIG_TRACE_EVENT_INJECT)]
mod inject;
pub(crate) mod matching;
mod own;
#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) mod perf;
pub(crate) mod pids;
pub(crate) mod print;
pub(crate) mod printer;
#[allow(unsafe_code, reason = "the recording path")]
pub(crate) mod recording;
mod refusal;
pub(crate) mod registry;
#[allow(unsafe_code, reason = "memory that a context has for itself")]
mod scratch;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(crate) mod syscalls;
pub(crate) mod systems;
pub(crate) mod trigger;
mod waiting;
