// SPDX-License-Identifier: GPL-2.0

//! What users read, formatted: entries, lines, headers, symbols, counts.
//!
//! Output goes to an [`Out`], which is [`core::fmt::Write`] plus raw bytes, because markers and
//! task names need not be UTF-8. Nothing here allocates, sleeps, locks or keeps state outside its
//! arguments, so every function may run in any context that may spend the time; none is meant for
//! the recording path.
//!
//! | module | answers to |
//! | --- | --- |
//! | [`entry`] | the built-in records: layout and `format` file from one description |
//! | [`event`] | the `format` files of other events |
//! | [`symbol`], [`mod@line`], [`header`], [`print`] | addresses, prefixes, headers and events of `trace` |
//! | [`graph`] | the call graph of `function_graph` |
//! | [`stack_depth`] | `stack_trace` |
//! | [`branch`] | `trace_stat/branch_annotated`, `branch_all`, the branch tracer's records |
//! | [`values`] | values of events' fields: flags, symbols, arrays, masks |
//! | [`stats`], [`error_log`] | `per_cpu/cpuN/stats`, buffer sizes, saved names, `error_log` |
//!
//! Words: a *prefix* is the part of a line before the event; a *record* is one entry of the ring
//! buffer with its common header.

#![forbid(unsafe_code)]

mod error;
mod out;

#[cfg(any(CONFIG_TRACE_BRANCH_PROFILING, not(CONFIG_RTRACE)))]
pub mod branch;
pub mod entry;
pub mod error_log;
pub mod event;
pub mod fields;
pub mod graph;
pub mod header;
pub mod line;
pub mod print;
pub mod printk_formats;
pub mod stack_depth;
pub mod stats;
pub mod symbol;
pub mod syscall;
pub mod values;

pub use self::error::{Error, Result};
pub use self::out::{LineBuf, Out};
