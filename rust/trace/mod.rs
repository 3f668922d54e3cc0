// SPDX-License-Identifier: GPL-2.0

//! The tracing subsystem: safe Rust on [`crate::kapi`] and [`crate::rcore`].

#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod arch;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod direct;
#[cfg(CONFIG_FPROBE)]
pub(crate) mod fprobe;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod graph;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod profile;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod hash;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod modules;
#[cfg(CONFIG_BRANCH_TRACER)]
pub(crate) mod branch;
pub(crate) mod error_log;
pub(crate) mod output;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod ops;
pub(crate) mod pids;
pub(crate) mod printk;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod sites;
pub(crate) mod snapshot;
pub(crate) mod stack;
#[cfg(CONFIG_STACK_TRACER)]
pub(crate) mod stack_tracer;
pub(crate) mod boot;
pub(crate) mod buffer;
pub(crate) mod clock;
pub(crate) mod cmdlines;
pub(crate) mod entry;
pub(crate) mod instance;
pub(crate) mod instances;
pub(crate) mod tracers;
pub(crate) mod files;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod commands;
#[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
pub(crate) mod critical;
pub(crate) mod last_boot;
pub(crate) mod latency;
pub(crate) mod dump;

#[cfg(not(CONFIG_FUNCTION_TRACER))]
mod unpatched;
#[cfg(not(CONFIG_FUNCTION_TRACER))]
pub(crate) use unpatched::{commands, graph, ops};
