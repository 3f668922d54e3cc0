// SPDX-License-Identifier: GPL-2.0

//! The header that every entry starts with, and where it was made.
//!
//! Eight bytes, common to all types: `u16` type, `u8` flags, `u8` preempt_count, `s32` pid. In the
//! buffer they are one 64-bit word, built and stored as such.

use crate::core::bits::fields;
use crate::core::format::line::flag;
use crate::kernel::context::{self, PreemptCount, PreemptOff};

/// Whether this CPU has made an entry since the names of its tasks were last saved.
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

/// An entry's header as one word.
#[derive(Clone, Copy)]
struct Word(u64);

fields!(Word: u64 {
    /// The type's number.
    kind / with_kind: 0, 16;
    /// What [`flag`] names.
    flags / with_flags: 16, 8;
    /// How often preemption was disabled; in complete headers 15 for more.
    preempt_depth / with_preempt_depth: 24, 8;
    /// How often migration was, where the depth above takes four bits.
    migrate_depth / with_migrate_depth: 28, 4;
    /// The task.
    pid / with_pid: 32, 32;
});

/// The context in which an entry is made: its header but for the type. It stays in that context, as its
/// [`PreemptCount`] does.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    word: Word,
    count: PreemptCount,
}

impl Context {
    /// Reads what is all there is to say of a plain task ([`Context::is_plain_task`]); for others
    /// [`Context::rest`] adds the rest. Any context; before the recorder itself disables preemption.
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

    /// The complete context as it was before `stay`. Any context.
    pub(crate) fn capture_before(stay: &PreemptOff) -> Self {
        Self::of_count(PreemptCount::read().before(stay)).rest()
    }

    /// The complete context of what was hit, in a callback around which the recursion guard is taken.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn capture_in_callback() -> Self {
        Self::of_count(PreemptCount::read().before_recursion_guard()).rest()
    }

    #[inline(always)]
    fn of_count(count: PreemptCount) -> Self {
        let irqs = if context::irqs_off() {
            flag::IRQS_OFF
        } else {
            0
        };
        Self {
            word: Word(0)
                .with_pid(u64::from(context::current_pid() as u32))
                .with_flags(irqs.into())
                .with_preempt_depth(count.depth()),
            count,
        }
    }

    /// The complete context. Any context; before the recorder itself disables preemption.
    #[inline]
    pub(crate) fn capture_all() -> Self {
        Self::capture().rest()
    }

    /// Whether this is task context with nothing to say beyond what [`Context::capture`] reads.
    #[inline(always)]
    pub(crate) fn is_plain_task(self) -> bool {
        PlainCount::of(self.count).is_some()
    }

    /// It, if it [is](Context::is_plain_task) such a task.
    #[inline(always)]
    pub(crate) fn plain_task(self) -> Option<PlainTask> {
        match self.is_plain_task() {
            true => Some(PlainTask(self)),
            false => None,
        }
    }

    /// With all that can be said.
    #[inline]
    pub(crate) fn rest(self) -> Self {
        let count = self.count.without_borrow();
        let resched = context::resched_flags();
        let when = |on: bool, flag: u8| if on { flag } else { 0 };
        let flags = when(resched.lazy(), flag::NEED_RESCHED_LAZY)
            | when(resched.now(), flag::NEED_RESCHED)
            | when(count.in_hardirq(), flag::HARDIRQ)
            | when(count.in_softirq(), flag::SOFTIRQ)
            | when(count.need_resched(), flag::PREEMPT_RESCHED)
            | when(count.in_nmi(), flag::NMI)
            | when(count.bh_off(), flag::BH_OFF);
        let word = Word(0)
            .with_kind(self.word.kind())
            .with_pid(self.word.pid())
            .with_flags(self.word.flags() | u64::from(flags))
            .with_preempt_depth(count.depth().min(0xf))
            .with_migrate_depth(u64::from(context::migrate_disabled()).min(0xf));
        Self { word, count }
    }

    /// The context of an entry of type `kind`: its word is the entry's header.
    #[inline(always)]
    pub(crate) fn of_kind(self, kind: u16) -> Self {
        Self {
            word: self.word.with_kind(kind.into()),
            ..self
        }
    }

    /// The header of an entry of [`the type`](Context::of_kind) it is for.
    #[inline(always)]
    pub(crate) fn word(self) -> u64 {
        self.word.0
    }

    /// The header of an entry of type `kind`.
    #[inline(always)]
    pub(crate) fn header(self, kind: u16) -> u64 {
        self.word.with_kind(kind.into()).0
    }

    /// Whether this is an NMI handler.
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
pub(crate) struct PlainTask(Context);

impl PlainTask {
    /// The header of an entry of type `kind`.
    #[inline(always)]
    pub(crate) fn header(self, kind: u16) -> u64 {
        self.0.header(kind)
    }
}

/// The preemption count of a plain task: all of its context that may change before an entry is
/// written. The rest of the header is read then. It stays within that task, as long as that turns
/// interrupts neither on nor off.
#[derive(Clone, Copy)]
pub(crate) struct PlainCount(PreemptCount);

impl PlainCount {
    /// The `count` of the task that runs this, if there is nothing to say of it beyond what
    /// [`Context::capture`] reads.
    #[inline(always)]
    pub(crate) fn of(count: PreemptCount) -> Option<Self> {
        let is_plain = count.is_plain_task()
            && context::resched_flags().none()
            && context::migrate_disabled() == 0
            && context::task_softirqs() == 0;
        match is_plain {
            true => Some(Self(count)),
            false => None,
        }
    }

    /// The header of an entry of type `kind`, as its parts are stored.
    #[inline(always)]
    pub(crate) fn header(self, kind: u16) -> Parts {
        const { assert!(flag::IRQS_OFF == 1) };
        Parts {
            kind_and_flags: (u64::from(kind) | context::irqs_off_bit() << u16::BITS) as u32,
            preempt_depth: self.0.depth() as u8,
        }
    }
}

/// The header of a plain task's entry, but for the pid.
pub(crate) struct Parts {
    /// For the first four bytes.
    pub(crate) kind_and_flags: u32,
    /// For the last of them.
    pub(crate) preempt_depth: u8,
}
