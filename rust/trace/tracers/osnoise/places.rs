// SPDX-License-Identifier: GPL-2.0

//! What the lines of texts begin with: the functions in which C finds what the texts tell. So the text
//! of a stop says which of the conditions was met.

/// A sample of `osnoise` or its runtime.
pub(crate) struct OsnoiseMain;

/// The end of an interrupt.
pub(crate) struct IrqExit;

/// The end of a softirq.
#[cfg(not(CONFIG_PREEMPT_RT))]
pub(crate) struct SoftirqExit;

/// A switch of tasks.
pub(crate) struct Switch;

/// The timer's interrupt.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) struct TimerlatIrq;

/// The thread that the timer wakes.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) struct TimerlatMain;

/// A program in the thread's place.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) struct TimerlatRead;

/// A program's task that leaves its CPU.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) struct Migration;
