// SPDX-License-Identifier: GPL-2.0

//! The settings of the tracers: numbers, each within its bounds, and options ([`Choice`]).
//!
//! They are read one by one in any context; [`Setting::set`] has two that bound each other never cross.

use crate::kernel::raw_lock::RawLock;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// A setting. Times are in microseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// How often noise is looked for: from one start to the next.
    Period,
    /// How long, of that.
    Runtime,
    /// A single noise that is longer, or an interrupt of a timer that is as late, stops the trace.
    /// 0: none does.
    StopTracing,
    /// The same of the noise of a period, and of a thread's latency.
    StopTracingTotal,
    /// The period of `timerlat`.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    TimerlatPeriod,
    /// How far apart its first activations on two CPUs are, with option `TIMERLAT_ALIGN`.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    TimerlatAlign,
    /// A latency as long as this has the stack recorded. 0: none has.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    PrintStack,
}

static PERIOD: Atomic<u64> = Atomic::new(1_000_000);
static RUNTIME: Atomic<u64> = Atomic::new(1_000_000);
static STOP_TRACING: Atomic<u64> = Atomic::new(0);
static STOP_TRACING_TOTAL: Atomic<u64> = Atomic::new(0);
#[cfg(CONFIG_TIMERLAT_TRACER)]
static TIMERLAT_PERIOD: Atomic<u64> = Atomic::new(1000);
#[cfg(CONFIG_TIMERLAT_TRACER)]
static TIMERLAT_ALIGN: Atomic<u64> = Atomic::new(0);
#[cfg(CONFIG_TIMERLAT_TRACER)]
static PRINT_STACK: Atomic<u64> = Atomic::new(0);

/// Held while a setting is checked and changed.
static CHANGING: RawLock<()> = RawLock::new(());

impl Setting {
    fn place(self) -> &'static Atomic<u64> {
        match self {
            Self::Period => &PERIOD,
            Self::Runtime => &RUNTIME,
            Self::StopTracing => &STOP_TRACING,
            Self::StopTracingTotal => &STOP_TRACING_TOTAL,
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Self::TimerlatPeriod => &TIMERLAT_PERIOD,
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Self::TimerlatAlign => &TIMERLAT_ALIGN,
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Self::PrintStack => &PRINT_STACK,
        }
    }

    /// The least and the largest value.
    fn bounds(self) -> (u64, u64) {
        match self {
            Self::Period => (Self::Runtime.get(), u64::MAX),
            Self::Runtime => (0, Self::Period.get()),
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Self::TimerlatPeriod => (100, 1_000_000),
            _ => (0, u64::MAX),
        }
    }

    /// Its value. Any context.
    pub(crate) fn get(self) -> u64 {
        self.place().load(Relaxed)
    }

    /// Its value in nanoseconds. One that is too large for the clock is cut, as in C. Any context.
    pub(super) fn nanoseconds(self) -> u64 {
        self.get().wrapping_mul(1000)
    }

    /// Its value, if it is not 0. Any context.
    pub(super) fn limit(self) -> Option<u64> {
        Some(self.get()).filter(|limit| *limit != 0)
    }

    /// Changes it. Task context. `EINVAL` for a value out of bounds.
    pub(crate) fn set(self, value: u64) -> Result {
        let _changing = CHANGING.lock();
        let (least, most) = self.bounds();
        if value < least || value > most {
            return Err(EINVAL);
        }
        self.place().store(value, Relaxed);
        Ok(())
    }
}

/// An option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All as they are by default. It cannot be cleared.
    Defaults,
    /// The tracer has threads of its own. Without it, `osnoise` tells of all tasks, and `timerlat`
    /// waits for programs.
    Workload,
    /// Where the trace is to stop, the kernel panics.
    PanicOnStop,
    /// Noise is looked for with preemption off.
    PreemptDisable,
    /// Noise is looked for with interrupts off.
    IrqDisable,
    /// The first activations of `timerlat` are as far apart as `timerlat_align_us` says.
    TimerlatAlign,
}

/// The options by their names, in the order of the file.
pub(crate) const OPTIONS: [(&str, Choice); 6] = [
    ("DEFAULTS", Choice::Defaults),
    ("OSNOISE_WORKLOAD", Choice::Workload),
    ("PANIC_ON_STOP", Choice::PanicOnStop),
    ("OSNOISE_PREEMPT_DISABLE", Choice::PreemptDisable),
    ("OSNOISE_IRQ_DISABLE", Choice::IrqDisable),
    ("TIMERLAT_ALIGN", Choice::TimerlatAlign),
];

const DEFAULTS: u32 = Choice::Workload.bit();

static BITS: Atomic<u32> = Atomic::new(DEFAULTS);

impl Choice {
    const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether it is on. Any context.
    pub(crate) fn is_on(self) -> bool {
        let bits = BITS.load(Relaxed);
        match self {
            Self::Defaults => bits == DEFAULTS,
            _ => bits & self.bit() != 0,
        }
    }

    /// Changes it. Task context. `EINVAL` for one that cannot be cleared.
    pub(super) fn set(self, on: bool) -> Result {
        let _changing = CHANGING.lock();
        let bits = BITS.load(Relaxed);
        let bits = match (self, on) {
            (Self::Defaults, true) => DEFAULTS,
            (Self::Defaults, false) => return Err(EINVAL),
            (_, true) => bits | self.bit(),
            (_, false) => bits & !self.bit(),
        };
        BITS.store(bits, Relaxed);
        Ok(())
    }
}
