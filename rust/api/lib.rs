// SPDX-License-Identifier: GPL-2.0

//! The tracing core's interface for Rust code: drivers, subsystems, loadable modules.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`function::FunctionProbe`] | a callback at the entry of functions |
//! | [`fprobe::Fprobe`] | callbacks at entry and return, with data of one call |
//! | [`graph::GraphProbe`] | the same, of the functions of several patterns |
//! | [`ring_buffer::RingBuffer`] | a ring buffer of one's own, of records of one type |
//! | [`instance::Instance`] | an instance of the trace, to write to |
//! | [`event::Event`] | an event of one's own, as C's `TRACE_EVENT()` makes them |
//! | [`synthetic::SyntheticEvent`] | a synthetic event, which histograms can fire as well |
//! | [`tracepoint::TracepointProbe`] | a callback at a tracepoint |
//! | [`tracer::TracerRegistration`] | a tracer of one's own, for `current_tracer` |
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
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub mod event;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod filter;
#[cfg(CONFIG_FPROBE)]
pub mod fprobe;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub mod function;
#[cfg(CONFIG_FUNCTION_GRAPH_TRACER)]
pub mod graph;
pub mod instance;
mod lock_order;
pub mod ring_buffer;
#[cfg(CONFIG_SYNTH_EVENTS)]
pub mod synthetic;
#[cfg(CONFIG_TRACEPOINTS)]
pub mod tracepoint;
pub mod tracer;

#[cfg(CONFIG_FUNCTION_TRACER)]
pub use call::{Call, EntryExitCallback, Hit, Return};

/// Nanoseconds of this CPU's scheduler clock, which is the trace's default clock. Those of two CPUs
/// may differ, so a difference can be negative if the task was moved. Any context, NMIs too.
#[inline]
pub fn now() -> u64 {
    // SAFETY: no preconditions.
    unsafe { kernel::bindings::trace_clock_local() }
}
