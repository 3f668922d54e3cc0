// SPDX-License-Identifier: GPL-2.0

//! Text for users: entries, lines, headers, symbols, counts.
//!
//! Output goes to an [`Out`]. It is [`core::fmt::Write`] plus raw bytes, because markers and task
//! names need not be UTF-8. Nothing here allocates, sleeps, locks or keeps state outside its
//! arguments, so every function may run in any context. None is meant for the recording path.
//!
//! | module | prints |
//! | --- | --- |
//! | [`entry`] | the built-in entries: layout and `format` file from one description |
//! | [`environment`] | nothing: what the built-in entries are printed with |
//! | [`event`] | the `format` files of other events |
//! | [`symbol`], [`mod@line`], [`header`], [`print`] | addresses, prefixes, headers and events in `trace` |
//! | [`rust_name`], [`rust_crate`] | the names of Rust functions as people read them; the crates in them |
//! | [`graph`], [`arguments`] | the call graph of `function_graph`; the arguments of calls |
//! | [`stack_depth`] | `stack_trace` |
//! | [`branch`] | `trace_stat/branch_annotated`, `branch_all`, the branch tracer's entries |
//! | [`values`] | values of event fields: flags, symbols, arrays, masks |
//! | [`printf`] | what C's formats make of their arguments |
//! | [`stats`], [`error_log`] | `per_cpu/cpuN/stats`, buffer sizes, saved names, `error_log` |
//!
//! Words: a *prefix* is the part of a line before the event. A *record* is one event of the ring
//! buffer with its common fields.

#![forbid(unsafe_code)]

mod error;
mod out;

#[cfg(any(CONFIG_FUNCTION_TRACE_ARGS, not(CONFIG_RTRACE)))]
pub mod arguments;
#[cfg(any(CONFIG_TRACE_BRANCH_PROFILING, not(CONFIG_RTRACE)))]
pub mod branch;
pub mod entry;
pub mod environment;
pub mod error_log;
pub mod event;
pub mod fields;
pub mod graph;
pub mod header;
pub mod line;
pub mod print;
pub mod printf;
pub mod printk_formats;
pub mod rust_crate;
pub mod rust_name;
pub mod stack_depth;
pub mod stats;
pub mod symbol;
pub mod syscall;
pub mod values;

pub use self::error::{Error, Result};
pub use self::out::{copy_short, LineBuf, Out};
