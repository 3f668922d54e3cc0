// SPDX-License-Identifier: GPL-2.0

//! Events: what the kernel's `TRACE_EVENT()`s record, in which instances, and how that is printed.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`registry`] | all events, and what instances have of them, behind the event mutex |
//! | [`file`] | one event in one instance: what its probe looks at |
//! | [`enable`] | switching events on and off |
//! | [`recording`] | the way of an entry into the buffer |
//! | [`filter`] | what rejects entries |
//! | [`trigger`] | what else happens at a hit |
//! | `waiting` | what is to be enabled when a module comes |
//! | [`pids`] | whose events are recorded |
//! | [`format`] | the text of `format` files |
//! | [`printer`] | entries as text |
//! | [`console`] | entries in the kernel log |
//! | [`systems`] | which systems' events an instance has |
//! | [`inject`] | entries that users make up |
//! | [`syscalls`] | events of single system calls |
//! | [`boot`] | events of the command line, and of modules |
//!
//! Words: an event is *known* from registration on; a *file* is an event in an instance, which has
//! one from the first time that something is set there; a *hit* is a call of the event's probe;
//! *soft-disabled* is an event whose hits are not recorded.
//!
//! Lock order: the directories' mutex of instances, the event mutex ([`registry::lock`]), then
//! what classes take to enable an event (the locks of tracepoints and static keys).
//! `Documentation/events.md` says more.

pub(crate) mod boot;
mod check;
pub(crate) mod console;
pub(crate) mod enable;
pub(crate) mod file;
pub(crate) mod filter;
pub(crate) mod format;
#[cfg(CONFIG_TRACE_EVENT_INJECT)]
mod inject;
pub(crate) mod matching;
#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) mod perf;
pub(crate) mod pids;
pub(crate) mod printer;
#[allow(unsafe_code, reason = "the recording path")]
pub(crate) mod recording;
pub(crate) mod registry;
#[allow(unsafe_code, reason = "memory that a context has for itself")]
mod scratch;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(crate) mod syscalls;
pub(crate) mod systems;
pub(crate) mod trigger;
mod waiting;
