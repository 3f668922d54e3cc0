// SPDX-License-Identifier: GPL-2.0

//! Tracers: what decides which entries an instance records. One tracer is one file with one
//! [`Tracer`].
//!
//! [`TRACERS`] says what exists, and [`OUTPUTS`] which of them print in a way of their own; `boot.rs`
//! hands both over. To add a tracer: a file with its [`Tracer`], and a row here.

#[cfg(CONFIG_BLK_DEV_IO_TRACE)]
pub(crate) mod blk;
#[cfg(CONFIG_BRANCH_TRACER)]
pub(crate) mod branch;
#[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
pub(crate) mod critical_timings;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod function;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod function_filter;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod function_graph;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod function_pids;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
mod functions;
#[cfg(CONFIG_HWLAT_TRACER)]
pub(crate) mod hwlat;
#[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
mod irqsoff;
#[cfg(CONFIG_MMIOTRACE)]
pub(crate) mod mmiotrace;
mod nop;
#[cfg(CONFIG_OSNOISE_TRACER)]
pub(crate) mod osnoise;
#[cfg(CONFIG_SCHED_TRACER)]
mod wakeup;

use super::instance::tracer::Tracer;
use super::output::tracer::Row;

/// The tracers there are, in the order of `available_tracers`. Every instance starts with the last.
pub(crate) static TRACERS: &[&dyn Tracer] = &[
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    &osnoise::Noise(osnoise::workload::Kind::Timerlat),
    #[cfg(CONFIG_OSNOISE_TRACER)]
    &osnoise::Noise(osnoise::workload::Kind::Osnoise),
    #[cfg(CONFIG_HWLAT_TRACER)]
    &hwlat::Hwlat,
    #[cfg(CONFIG_BLK_DEV_IO_TRACE)]
    &blk::Requests,
    #[cfg(CONFIG_MMIOTRACE)]
    &mmiotrace::Accesses,
    #[cfg(CONFIG_BRANCH_TRACER)]
    &branch::Branch,
    #[cfg(CONFIG_FUNCTION_TRACER)]
    &function_graph::FunctionGraph,
    #[cfg(CONFIG_SCHED_TRACER)]
    &wakeup::Wakeups(wakeup::Class::Deadline),
    #[cfg(CONFIG_SCHED_TRACER)]
    &wakeup::Wakeups(wakeup::Class::Urgent),
    #[cfg(CONFIG_SCHED_TRACER)]
    &wakeup::Wakeups(wakeup::Class::Any),
    #[cfg(all(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
    &irqsoff::Off::<true, true>,
    #[cfg(CONFIG_PREEMPT_TRACER)]
    &irqsoff::Off::<false, true>,
    #[cfg(CONFIG_IRQSOFF_TRACER)]
    &irqsoff::Off::<true, false>,
    #[cfg(CONFIG_FUNCTION_TRACER)]
    &function::Function,
    &nop::Nop,
];

/// Those that print in a way of their own.
pub(crate) static OUTPUTS: &[Row] = &[
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    ("timerlat", osnoise::timerlat_output),
    #[cfg(CONFIG_OSNOISE_TRACER)]
    ("osnoise", osnoise::output),
    #[cfg(CONFIG_BLK_DEV_IO_TRACE)]
    ("blk", blk::output),
    #[cfg(CONFIG_MMIOTRACE)]
    ("mmiotrace", mmiotrace::output),
    #[cfg(CONFIG_BRANCH_TRACER)]
    ("branch", branch::output),
    #[cfg(CONFIG_FUNCTION_TRACER)]
    ("function_graph", function_graph::output),
    #[cfg(CONFIG_SCHED_TRACER)]
    ("wakeup_dl", wakeup::output),
    #[cfg(CONFIG_SCHED_TRACER)]
    ("wakeup_rt", wakeup::output),
    #[cfg(CONFIG_SCHED_TRACER)]
    ("wakeup", wakeup::output),
    #[cfg(all(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
    ("preemptirqsoff", irqsoff::output),
    #[cfg(CONFIG_PREEMPT_TRACER)]
    ("preemptoff", irqsoff::output),
    #[cfg(CONFIG_IRQSOFF_TRACER)]
    ("irqsoff", irqsoff::output),
];
