// SPDX-License-Identifier: GPL-2.0

//! The header that every entry starts with, and where it was made.
//!
//! Eight bytes, common to all types: `u16` type, `u8` flags, `u8` preempt_count, `s32` pid. In the
//! buffer they are one 64-bit word, built and stored as such.

use crate::kernel::context::{self, PreemptCount};
use kernel::types::NotThreadSafe;

/// Has this CPU made an entry since the names of its tasks were last saved?
///
/// Rust cannot define static per-CPU data: the flag is C's, and `rust/abi` implements [`CpuFlag`].
pub(crate) struct EntryMade;

/// A flag that each CPU has. Any context; a task that moves meanwhile means a CPU that it ran on.
pub(crate) trait CpuFlag {
    /// Changes it, by one instruction.
    fn set(to: bool);

    /// Reads it.
    fn get() -> bool;
}

/// Where and by whom an entry is made: its header but for the type.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    word: u64,
    count: PreemptCount,
}

impl Context {
    const IRQS_OFF: u64 = 0x01 << 16;
    const NEED_RESCHED_LAZY: u64 = 0x02 << 16;
    const NEED_RESCHED: u64 = 0x04 << 16;
    const HARDIRQ: u64 = 0x08 << 16;
    const SOFTIRQ: u64 = 0x10 << 16;
    const PREEMPT_RESCHED: u64 = 0x20 << 16;
    const NMI: u64 = 0x40 << 16;
    const BH_OFF: u64 = 0x80 << 16;
    const PREEMPT_SHIFT: u32 = 24;
    const MIGRATE_SHIFT: u32 = 28;
    const PID_SHIFT: u32 = 32;

    /// Takes down what holds for tasks in peace ([`Context::is_plain_task`]); others need
    /// [`Context::rest`]. Any context; before the recorder itself disables preemption.
    #[inline(always)]
    pub(crate) fn capture() -> Self {
        Self::of_count(PreemptCount::read())
    }

    /// [`Context::capture`] in the probe of an event: what counts is where the event was.
    #[cfg(CONFIG_EVENT_TRACING)]
    #[inline(always)]
    pub(crate) fn capture_in_probe() -> Self {
        Self::of_count(PreemptCount::read().before_probe())
    }

    #[inline(always)]
    fn of_count(count: PreemptCount) -> Self {
        let pid = u64::from(context::current_pid() as u32) << Self::PID_SHIFT;
        let irqs = if context::irqs_off() {
            Self::IRQS_OFF
        } else {
            0
        };
        Self {
            word: pid | irqs | count.depth() << Self::PREEMPT_SHIFT,
            count,
        }
    }

    /// The complete context. Any context; before the recorder itself disables preemption.
    pub(crate) fn capture_all() -> Self {
        Self::capture().rest()
    }

    /// A task with no more to its name than [`Context::capture`] takes down?
    #[inline(always)]
    pub(crate) fn is_plain_task(self) -> bool {
        self.count.is_plain_task()
            && context::resched_flags().none()
            && context::migrate_disabled() == 0
    }

    /// It, if it [is](Context::is_plain_task) such a task.
    #[inline(always)]
    pub(crate) fn plain_task(self) -> Option<PlainTask> {
        match self.is_plain_task() {
            true => Some(PlainTask(self, NotThreadSafe)),
            false => None,
        }
    }

    /// With all that can be said.
    pub(crate) fn rest(self) -> Self {
        let count = self.count;
        let resched = context::resched_flags();
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        let word = self.word & !(0xff << Self::PREEMPT_SHIFT)
            | flag(resched.lazy(), Self::NEED_RESCHED_LAZY)
            | flag(resched.now(), Self::NEED_RESCHED)
            | flag(count.in_hardirq(), Self::HARDIRQ)
            | flag(count.in_softirq(), Self::SOFTIRQ)
            | flag(count.need_resched(), Self::PREEMPT_RESCHED)
            | flag(count.in_nmi(), Self::NMI)
            | flag(count.bh_off(), Self::BH_OFF)
            | count.depth().min(0xf) << Self::PREEMPT_SHIFT
            | u64::from(context::migrate_disabled()).min(0xf) << Self::MIGRATE_SHIFT;
        Self { word, count }
    }

    /// The context of an entry of type `kind`: its word is the entry's header.
    #[inline(always)]
    pub(crate) fn of_kind(self, kind: u16) -> Self {
        Self {
            word: self.header(kind),
            ..self
        }
    }

    /// The header of an entry of [`the type`](Context::of_kind) it is for.
    #[inline(always)]
    pub(crate) fn word(self) -> u64 {
        self.word
    }

    /// The header of an entry of type `kind`.
    #[inline(always)]
    pub(crate) fn header(self, kind: u16) -> u64 {
        self.word | u64::from(kind)
    }

    /// Is this an NMI handler?
    #[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
    #[inline(always)]
    pub(crate) fn in_nmi(self) -> bool {
        self.count.in_nmi()
    }

    /// How contexts nest on a CPU; see [`PreemptCount::level`].
    pub(crate) fn level(self) -> u32 {
        self.count.level()
    }
}

/// The context of a task that [`Context::capture`] says all of. It stays within that task.
#[derive(Clone, Copy)]
pub(crate) struct PlainTask(Context, NotThreadSafe);

impl PlainTask {
    /// The header of an entry of type `kind`.
    #[inline(always)]
    pub(crate) fn header(self, kind: u16) -> u64 {
        self.0.header(kind)
    }
}
