// SPDX-License-Identifier: GPL-2.0

//! The tracing subsystem, in rooms: each uses only those above its own line here.

pub(crate) mod buffer;
pub(crate) mod tasks;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod ftrace;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod fgraph;
pub(crate) mod instance;
pub(crate) mod output;
pub(crate) mod tracers;
pub(crate) mod profilers;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod commands;
pub(crate) mod files;
pub(crate) mod boot;

#[cfg(not(CONFIG_FUNCTION_TRACER))]
mod unpatched;
#[cfg(not(CONFIG_FUNCTION_TRACER))]
pub(crate) use unpatched::{commands, fgraph, ftrace};
