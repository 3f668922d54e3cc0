// SPDX-License-Identifier: GPL-2.0

//! Parsers for texts from users: tokens, numbers, globs, commands, options, pids.
//!
//! The input is a `&[u8]` that the caller has copied from user space. Nothing here allocates,
//! sleeps, locks or keeps state outside its arguments, so every function may run in any context.
//!
//! | module | parses |
//! | --- | --- |
//! | [`parser`] | one token per `write()`, as in the filter files |
//! | [`number`] | numbers and sizes, as the kernel's parsers read them |
//! | [`cpumask`], [`cpulist`] | sets of CPUs, as masks and as lists |
//! | [`glob`], [`command`] | patterns and function commands of `set_ftrace_filter` |
//! | [`pids`] | `set_ftrace_pid` and the other pid files |
//! | [`options`] | `trace_options` and `options/` |
//! | [`boot_instance`] | `trace_instance=` |
//!
//! Words: a *token* is the result of one write. A *rule* is a parsed token of a filter file.

#![forbid(unsafe_code)]

pub mod boot_instance;
pub mod command;
pub mod cpulist;
pub mod cpumask;
pub mod glob;
pub mod number;
pub mod options;
pub mod parser;
pub mod pids;
