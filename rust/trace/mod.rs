// SPDX-License-Identifier: GPL-2.0

//! The tracing subsystem, divided into rooms. Each room uses only those before it, in the order of
//! `scripts/rooms.py`.
//!
//! It is safe Rust, except the modules that say `allow(unsafe_code)` and give the reason.

#![deny(unsafe_code)]

pub(crate) mod boot;
pub(crate) mod buffer;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod commands;
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) mod events;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod fgraph;
pub(crate) mod files;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod ftrace;
pub(crate) mod instance;
pub(crate) mod output;
pub(crate) mod profilers;
pub(crate) mod tasks;
pub(crate) mod tracers;

#[cfg(not(CONFIG_FUNCTION_TRACER))]
mod unpatched;
