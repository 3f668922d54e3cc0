// SPDX-License-Identifier: GPL-2.0

//! Everything of tracefs that is text: what users write is parsed here, what they read is formatted here.
//!
//! Input comes as `&[u8]` that the caller has copied from user space; output goes to an [`Out`], which is
//! [`core::fmt::Write`] plus raw bytes, because markers and task names need not be UTF-8. Nothing here
//! allocates, sleeps, locks or keeps state outside its arguments, so every function may run in any context
//! that may spend the time; none is meant for the recording path.
//!
//! | module | answers to |
//! | --- | --- |
//! | [`parser`] | one token per `write()`, as in the filter files |
//! | [`number`], [`cpumask`] | numbers, sizes and masks as the kernel's parsers read them |
//! | [`glob`], [`command`] | patterns and function commands of `set_ftrace_filter` |
//! | [`pids`] | `set_ftrace_pid` and its like |
//! | [`options`] | `trace_options` and `options/` |
//! | [`entry`] | the built-in records: layout and `format` file from one description |
//! | [`symbol`], [`mod@line`], [`header`], [`print`] | addresses, prefixes, headers and events of `trace` |
//! | [`graph`] | the call graph of `function_graph` |
//! | [`boot_instance`] | `trace_instance=` |
//! | [`stack_depth`] | `stack_trace` |
//! | [`branch`] | `trace_stat/branch_annotated`, `branch_all`, the branch tracer's records |
//! | [`stats`], [`error_log`] | `per_cpu/cpuN/stats`, buffer sizes, saved names, `error_log` |
//!
//! Words: a *token* is what one write yields; a *rule* is a parsed token of a filter file; a *prefix* is
//! the part of a line before the event; a *record* is one entry of the ring buffer with its common header.

#![forbid(unsafe_code)]

mod error;
mod out;

pub mod boot_instance;
pub mod branch;
pub mod command;
pub mod cpumask;
pub mod entry;
pub mod error_log;
pub mod glob;
pub mod graph;
pub mod header;
pub mod line;
pub mod number;
pub mod options;
pub mod parser;
pub mod printk_formats;
pub mod pids;
pub mod print;
pub mod stack_depth;
pub mod stats;
pub mod symbol;

pub use self::error::{Error, Result};
pub use self::out::{LineBuf, Out};
