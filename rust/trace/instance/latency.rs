// SPDX-License-Identifier: GPL-2.0

//! The longest latency of an instance, its task, and the threshold. The latency tracers share
//! these.
//!
//! A latency tracer measures again and again how long a state lasts: interrupts off, or a woken
//! task waiting for a CPU. When it finds a new longest latency, the trace up to there becomes the
//! snapshot. The file `trace` then shows the snapshot, under a header with the data of [`Worst`].
//!
//! `Documentation/latency-tracers.md` describes the whole.

use super::feature::Feature;
use super::Instance;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use super::Side;
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use crate::kernel::fs::watched::{Announcer, Watched};
use crate::kernel::raw_lock::RawLock;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use crate::kernel::tracepoint::TaskView;
use crate::kernel::tracepoint::COMM;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use crate::trace::buffer::Rings;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
use crate::trace::tasks::cmdlines;
#[cfg(any(CONFIG_TRACER_MAX_TRACE, CONFIG_FUNCTION_TRACER))]
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// See [`threshold`].
static THRESHOLD: Atomic<u64> = Atomic::new(0);

/// `tracing_thresh` in nanoseconds. If it is not 0, every latency of at least this length is
/// recorded, longest or not. Any context.
pub(crate) fn threshold() -> u64 {
    THRESHOLD.load(Relaxed)
}

/// Sets [`threshold`]. The tracers of all instances are to be told. Any context.
pub(crate) fn set_threshold(nanoseconds: u64) {
    THRESHOLD.store(nanoseconds, Relaxed);
}

/// The feature that keeps the latencies of an instance.
pub(crate) struct Latencies(Arc<Latency>);

impl Feature for Latencies {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        let latency = Arc::new(Latency::new()?, GFP_KERNEL)?;
        Ok(Arc::new(Self(latency), GFP_KERNEL)?)
    }
}

impl Instance {
    /// The latencies that the instance's tracer has found. Errors as [`Instance::feature`].
    pub(crate) fn latency(&self) -> Result<&Arc<Latency>> {
        Ok(&self.feature::<Latencies>()?.0)
    }
}

/// The latencies of one instance.
pub(crate) struct Latency {
    longest: Atomic<u64>,
    worst: RawLock<Worst>,
    /// See [`Latency::note_start`].
    started_on: Atomic<u32>,
    /// The file `tracing_max_latency`.
    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    file: Arc<Watched>,
    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    announcer: Announcer,
}

/// The latency whose trace is in the snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Worst {
    /// The CPU.
    pub(crate) cpu: u32,
    /// The length in nanoseconds.
    pub(crate) latency: u64,
    /// The addresses where the section began and ended, for tracers of sections.
    pub(crate) section: Option<(usize, usize)>,
    /// The name of the task.
    pub(crate) comm: [u8; COMM],
    /// The pid of the task.
    pub(crate) pid: i32,
    /// The user of the task.
    pub(crate) uid: u32,
    /// The nice value of the task.
    pub(crate) nice: i64,
    /// The scheduling policy of the task.
    pub(crate) policy: u64,
    /// The real-time priority of the task.
    pub(crate) rt_priority: u64,
}

impl Latency {
    /// No latency yet. Task context, may sleep. `ENOMEM`.
    fn new() -> Result<Self> {
        #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
        let file = Watched::new()?;
        Ok(Self {
            longest: Atomic::new(0),
            worst: RawLock::new(Worst::NONE),
            started_on: Atomic::new(0),
            #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
            announcer: Announcer::new(file.clone())?,
            #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
            file,
        })
    }

    /// The file `tracing_max_latency`, whose watchers are told of each new longest latency.
    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    pub(crate) fn file(&self) -> &Arc<Watched> {
        &self.file
    }

    /// `tracing_max_latency`, in nanoseconds. Any context.
    pub(crate) fn longest(&self) -> u64 {
        self.longest.load(Relaxed)
    }

    /// Sets the latency that a new one must exceed to be recorded. Any context.
    pub(crate) fn set_longest(&self, nanoseconds: u64) {
        self.longest.store(nanoseconds, Relaxed);
    }

    /// Makes `nanoseconds` the longest latency if it is, and says so to those who watch the file. Any
    /// context.
    #[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
    pub(crate) fn raise(&self, nanoseconds: u64) {
        if nanoseconds > self.longest() {
            self.set_longest(nanoseconds);
            #[cfg(CONFIG_FSNOTIFY)]
            self.announcer.announce();
        }
    }

    /// Whether a latency of `nanoseconds` is recorded. Any context.
    #[cfg(CONFIG_TRACER_MAX_TRACE)]
    #[inline(always)]
    pub(crate) fn is_worse(&self, nanoseconds: u64) -> bool {
        match threshold() {
            0 => nanoseconds > self.longest(),
            threshold => nanoseconds >= threshold,
        }
    }

    /// The data of the latency whose trace is in the snapshot, or of who took the snapshot. Any
    /// context but NMI.
    pub(crate) fn worst(&self) -> Worst {
        *self.worst.lock()
    }

    /// The function tracer starts on this CPU, which the latency format shows from now on, as in C.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn note_start(&self) {
        self.started_on.store(CpuId::current().as_u32(), Relaxed);
    }

    /// What the latency format shows where nothing was measured.
    pub(crate) fn unmeasured(&self) -> Worst {
        Worst {
            cpu: self.started_on.load(Relaxed),
            ..Worst::NONE
        }
    }
}

impl Worst {
    /// No latency was recorded.
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

    /// The data of `task`.
    #[cfg(CONFIG_TRACER_MAX_TRACE)]
    #[inline]
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
/// A measured latency.
pub(crate) struct Found<'a> {
    /// The CPU it was measured on.
    pub(crate) cpu: CpuId,
    /// The task.
    pub(crate) task: TaskView<'a>,
    /// When it began, by the buffer's clock.
    pub(crate) since: u64,
    /// The length in nanoseconds.
    pub(crate) latency: u64,
    /// The addresses where the section began and ended, for tracers of sections.
    pub(crate) section: Option<(usize, usize)>,
}

#[cfg(CONFIG_TRACER_MAX_TRACE)]
impl Latency {
    /// The current task has taken a snapshot, whose header shows the task and this CPU. Who watches
    /// the file is told, as in C. Any context but NMI.
    pub(super) fn note_snapshot(&self) {
        let cpu = CpuId::current().as_u32();
        let latency = self.longest();
        TaskView::with_current(|task| {
            *self.worst.lock() = Worst {
                cpu,
                latency,
                ..Worst::of(task)
            };
            cmdlines::remember(task);
        });
        #[cfg(CONFIG_FSNOTIFY)]
        self.announcer.announce();
    }

    /// Makes `found` the longest latency of `instance`, and makes the trace of `cpu`, or of all
    /// CPUs, the snapshot. Nothing happens while recording is paused, for example by a reader of
    /// the current worst trace. Interrupts are off. Any context but NMI.
    pub(crate) fn keep_worst(&self, instance: &Instance, found: &Found<'_>, cpu: Option<CpuId>) {
        let live = instance.side(Side::Live);
        if live.is_paused() {
            return;
        }
        // The swap fails while a buffer is cleared or resized. As in C, the data of the latency of one
        // CPU is recorded anyway. That of all CPUs always has its trace.
        if instance.snapshot().take(live, Rings::of(cpu)).is_err() && cpu.is_none() {
            return;
        }
        self.set_longest(found.latency);
        instance.snapshot().buffer().set_time_start(found.since);
        *self.worst.lock() = Worst {
            cpu: found.cpu.as_u32(),
            latency: found.latency,
            section: found.section,
            ..Worst::of(found.task)
        };
        cmdlines::remember(found.task);
        #[cfg(CONFIG_FSNOTIFY)]
        self.announcer.announce();
    }
}
