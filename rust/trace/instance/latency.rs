// SPDX-License-Identifier: GPL-2.0

//! The longest latency of an instance, whose it was, and the threshold: what the tracers of
//! latencies share.
//!
//! Such a tracer measures, over and over, how long something lasts: interrupts off, a woken task
//! waiting for a CPU. When it finds a new longest, the trace up to there becomes the snapshot, which
//! is what the file `trace` then shows, under a header that tells the [`Worst`].
//!
//! `Documentation/latency-tracers.md` has the whole picture.

use super::feature::Feature;
use super::Instance;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use super::Side;
use crate::kernel::raw_lock::RawLock;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use crate::kernel::tracepoint::TaskView;
use crate::kernel::tracepoint::COMM;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use crate::trace::tasks::cmdlines;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// See [`threshold`].
static THRESHOLD: Atomic<u64> = Atomic::new(0);

/// `tracing_thresh`: where it is not 0, every latency of at least that much is recorded, longest or
/// not. In nanoseconds. Any context.
pub(crate) fn threshold() -> u64 {
    THRESHOLD.load(Relaxed)
}

/// Sets [`threshold`]. Any context.
pub(crate) fn set_threshold(nanoseconds: u64) {
    THRESHOLD.store(nanoseconds, Relaxed);
}

/// The feature: the latencies of an instance, to be kept by whoever measures some.
pub(crate) struct Latencies(Arc<Latency>);

impl Feature for Latencies {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        let latency = Arc::new(Latency::new(), GFP_KERNEL)?;
        Ok(Arc::new(Self(latency), GFP_KERNEL)?)
    }
}

impl Instance {
    /// The latencies that its tracer has found. Errors as [`Instance::feature`].
    pub(crate) fn latency(&self) -> Result<&Arc<Latency>> {
        Ok(&self.feature::<Latencies>()?.0)
    }
}

/// The latencies of one instance.
pub(crate) struct Latency {
    longest: Atomic<u64>,
    worst: RawLock<Worst>,
}

/// Of the latency whose trace is in the snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Worst {
    /// The CPU it was on.
    pub(crate) cpu: u32,
    /// How long it was, in nanoseconds.
    pub(crate) latency: u64,
    /// Where the section began and ended, for tracers of sections.
    pub(crate) section: Option<(usize, usize)>,
    /// The task: its name,
    pub(crate) comm: [u8; COMM],
    /// its pid,
    pub(crate) pid: i32,
    /// its user,
    pub(crate) uid: u32,
    /// its nice value,
    pub(crate) nice: i64,
    /// its scheduling policy,
    pub(crate) policy: u64,
    /// its real-time priority.
    pub(crate) rt_priority: u64,
}

impl Latency {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self {
            longest: Atomic::new(0),
            worst: RawLock::new(Worst::NONE),
        }
    }

    /// `tracing_max_latency`, in nanoseconds. Any context.
    pub(crate) fn longest(&self) -> u64 {
        self.longest.load(Relaxed)
    }

    /// Sets what a latency must exceed to be recorded. Any context.
    pub(crate) fn set_longest(&self, nanoseconds: u64) {
        self.longest.store(nanoseconds, Relaxed);
    }

    /// Is a latency of `nanoseconds` to be recorded? Any context.
    #[cfg(CONFIG_TRACER_MAX_TRACE)]
    #[inline(always)]
    pub(crate) fn is_worse(&self, nanoseconds: u64) -> bool {
        match threshold() {
            0 => nanoseconds > self.longest(),
            threshold => nanoseconds >= threshold,
        }
    }

    /// Whose trace is in the snapshot. Any context but NMI.
    pub(crate) fn worst(&self) -> Worst {
        *self.worst.lock()
    }
}

impl Worst {
    /// None was recorded.
    pub(crate) const NONE: Self = Self {
        cpu: 0,
        latency: 0,
        section: None,
        comm: [0; COMM],
        pid: 0,
        uid: 0,
        nice: 0,
        policy: 0,
        rt_priority: 0,
    };

    /// What is known of `task`.
    #[cfg(CONFIG_TRACER_MAX_TRACE)]
    fn of(task: TaskView<'_>) -> Self {
        Self {
            comm: task.comm(),
            pid: task.pid(),
            uid: task.uid(),
            nice: i64::from(task.nice()),
            policy: u64::from(task.policy()),
            rt_priority: u64::from(task.rt_priority()),
            ..Self::NONE
        }
    }
}

#[cfg(CONFIG_TRACER_MAX_TRACE)]
/// A latency that is over.
pub(crate) struct Found<'a> {
    /// The CPU it was measured on.
    pub(crate) cpu: CpuId,
    /// Whose it was.
    pub(crate) task: TaskView<'a>,
    /// When it began, by the buffer's clock.
    pub(crate) since: u64,
    /// How long it was, in nanoseconds.
    pub(crate) latency: u64,
    /// Where the section began and ended, for tracers of sections.
    pub(crate) section: Option<(usize, usize)>,
}

#[cfg(CONFIG_TRACER_MAX_TRACE)]
impl Latency {
    /// `found` is the longest now of `instance`, whose latencies these are: the trace of `cpu`, or of
    /// all CPUs, becomes the snapshot. Nothing happens while somebody has recording paused, such as a
    /// reader of the worst so far. Interrupts are off; any context but NMI.
    pub(crate) fn keep_worst(&self, instance: &Instance, found: &Found<'_>, cpu: Option<CpuId>) {
        let live = instance.side(Side::Live);
        if live.is_paused() {
            return;
        }
        self.set_longest(found.latency);
        // Where a buffer is just emptied or resized, the record below still tells how long it was.
        let _ = instance.snapshot().take(live, cpu);
        instance.snapshot().buffer().set_time_start(found.since);
        *self.worst.lock() = Worst {
            cpu: found.cpu.as_u32(),
            latency: found.latency,
            section: found.section,
            ..Worst::of(found.task)
        };
        cmdlines::remember(found.task);
    }
}
