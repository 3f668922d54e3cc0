// SPDX-License-Identifier: GPL-2.0

//! The tracing core's interface for Rust code: drivers, subsystems, loadable modules.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`function::FunctionProbe`] | a callback at the entry of functions |
//! | [`fprobe::Fprobe`] | callbacks at entry and return, with data of one call |
//! | [`ring_buffer::RingBuffer`] | a ring buffer of one's own, of records of one type |
//! | [`instance::Instance`] | an instance of the trace, to write to |
//! | [`synthetic::SyntheticEvent`] | an event of one's own, with fields that are numbers |
//! | [`tracepoint::TracepointProbe`] | a callback at a tracepoint |
//!
//! A value is registered as long as it exists. Dropping it ends the registration and waits until no
//! callback of it runs. So a module that keeps its values in its own structure can be unloaded at
//! any time. A value that is never dropped stays registered: one that is leaked (`mem::forget`,
//! `KBox::leak`, a cycle of `Arc`s), and one in a `static`, as those are not dropped when a module is
//! unloaded. A module must have none, since its callbacks go with it.
//!
//! This crate has no object code of its own, and so no statics. Its functions become part of the
//! code that uses them, and call the C functions that the kernel exports. `Documentation/
//! rust-interface.md` says how a module is built with it.

#![warn(missing_docs)]

#[cfg(CONFIG_FUNCTION_TRACER)]
mod call;
#[cfg(CONFIG_FPROBE)]
pub mod fprobe;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub mod function;
pub mod instance;
pub mod ring_buffer;
#[cfg(CONFIG_SYNTH_EVENTS)]
pub mod synthetic;
#[cfg(CONFIG_TRACEPOINTS)]
pub mod tracepoint;

#[cfg(CONFIG_FUNCTION_TRACER)]
pub use call::{Call, Return};
