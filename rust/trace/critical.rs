// SPDX-License-Identifier: GPL-2.0

//! Sections with interrupts or preemption off: what happens where they begin and end.
//!
//! At most one [`Critical`] is [current](Critical::current), that of the tracer at work, in whichever instance. A section
//! of a CPU is *open* from where interrupts (or preemption, whichever the tracer looks at) go off to where both are on
//! again. Its ends are recorded as function entries, under the addresses where they happen; if it was longer than any
//! before, [`Critical::report`] keeps the trace.
//!
//! This is the hot path of every `local_irq_save()` and `preempt_disable()` while such a tracer is at work: no lock, no
//! callee that is traced. Nothing of it nests on a CPU, as who comes second finds the section open already, except for
//! NMIs, which open none.

use super::entry::{kind, Context};
use super::instance::Instance;
use super::latency::Found;
use super::stack;
use crate::kapi::context::{self, PreemptCount, PreemptOff};
use crate::kapi::percpu::PerCpu;
use crate::kapi::raw_lock::RawLock;
use crate::kapi::rcu_slot::{Filled, RcuSlot};
use crate::kapi::tracepoint::TaskView;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

static CURRENT: RcuSlot<Critical> = RcuSlot::empty();

/// What makes a section.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    /// Interrupts off.
    pub(crate) irqs: bool,
    /// Preemption off.
    pub(crate) preemption: bool,
}

/// The section of one CPU; only that CPU looks at it.
struct Section {
    open: Atomic<bool>,
    /// When it was opened, by the buffer's clock.
    since: Atomic<u64>,
    /// Where.
    start: Atomic<usize>,
    /// [`Critical::reports`] at that time.
    reports: Atomic<u64>,
}

/// The measurement at work.
pub(crate) struct Critical {
    instance: Arc<Instance>,
    kinds: Kinds,
    sections: PerCpu<Section>,
    /// How many sections were reported. One that was open while another CPU's was being reported is not: it was, if only
    /// by the report, not left in peace.
    reports: Atomic<u64>,
    /// Held while one is reported. Innermost but for the locks of the buffer and of saved names.
    reporting: RawLock<()>,
}

impl Critical {
    /// A measurement for `instance`, not begun. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(instance: Arc<Instance>, kinds: Kinds) -> Result<Arc<Self>> {
        let closed = || Section {
            open: Atomic::new(false),
            since: Atomic::new(0),
            start: Atomic::new(0),
            reports: Atomic::new(0),
        };
        let sections = PerCpu::new(|_| closed())?;
        let new =
            Self { instance, kinds, sections, reports: Atomic::new(0), reporting: RawLock::new(()) };
        Ok(Arc::new(new, GFP_KERNEL)?)
    }

    /// Makes it the current one until the result is dropped. Task context. `EBUSY` while there is another.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<Filled<Self>> {
        CURRENT.fill(self.clone())
    }

    /// The current one.
    ///
    /// # Safety
    ///
    /// As [`RcuSlot::get`].
    #[inline(always)]
    pub(crate) unsafe fn current<'a>() -> Option<&'a Self> {
        // SAFETY: by the precondition.
        unsafe { CURRENT.get() }
    }

    /// Is a section open on this CPU, in which functions are to be traced? Any context.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        // Where it turns into another CPU's, the rest says no.
        self.sections.this().open.load(Relaxed) && (context::irqs_off() || PreemptCount::read().is_held())
    }

    /// Where it records.
    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Interrupts went off, at `ip`.
    #[inline(always)]
    pub(crate) fn irqs_off(&self, ip: usize) {
        if self.kinds.irqs && !self.holds(PreemptCount::read()) {
            self.open(ip, 0);
        }
    }

    /// Interrupts are about to come on, at `ip`; `own` is the address of the function that says so.
    #[inline(always)]
    pub(crate) fn irqs_on(&self, ip: usize, own: usize) {
        if self.kinds.irqs && !self.holds(PreemptCount::read()) {
            self.close(ip, 0, own);
        }
    }

    /// Preemption went off, at `ip`, on behalf of `parent` if that is not 0.
    #[inline(always)]
    pub(crate) fn preempt_off(&self, ip: usize, parent: usize) {
        if self.kinds.preemption && !(self.kinds.irqs && context::irqs_off()) {
            self.open(ip, parent);
        }
    }

    /// Preemption is about to come on; otherwise as [`Critical::preempt_off`] and [`Critical::irqs_on`].
    #[inline(always)]
    pub(crate) fn preempt_on(&self, ip: usize, parent: usize, own: usize) {
        if self.kinds.preemption && !(self.kinds.irqs && context::irqs_off()) {
            self.close(ip, parent, own);
        }
    }

    /// Measures again, after [`Critical::suspend`]; `count` is the preemption count of the caller.
    pub(crate) fn go_on(&self, count: PreemptCount, ip: usize) {
        if self.holds(count) || self.kinds.irqs && context::irqs_off() {
            self.open(ip, 0);
        }
    }

    /// Ends the section that is open on this CPU, if there is one, until [`Critical::go_on`].
    pub(crate) fn suspend(&self, count: PreemptCount, ip: usize, own: usize) {
        if self.holds(count) || self.kinds.irqs && context::irqs_off() {
            self.close(ip, 0, own);
        }
    }

    /// Does preemption keep a section open, with that count?
    #[inline(always)]
    fn holds(&self, count: PreemptCount) -> bool {
        self.kinds.preemption && count.is_held()
    }

    #[inline(always)]
    fn open(&self, ip: usize, parent: usize) {
        let here = self.sections.this();
        let buffer = self.instance.buffer();
        if here.open.load(Relaxed) || !buffer.is_on() || PreemptCount::read().in_nmi() {
            return;
        }
        here.start.store(if parent != 0 { parent } else { ip }, Relaxed);
        here.reports.store(self.reports.load(Relaxed), Relaxed);
        here.since.store(buffer.now_here(&PreemptOff::new()), Relaxed);
        buffer.record(kind::FUNCTION, ip as u64, parent as u64);
        here.open.store(true, Relaxed);
    }

    #[inline(always)]
    fn close(&self, ip: usize, parent: usize, own: usize) {
        let here = self.sections.this();
        if !here.open.load(Relaxed) {
            return;
        }
        here.open.store(false, Relaxed);
        let buffer = self.instance.buffer();
        if !buffer.is_on() {
            return;
        }
        buffer.record(kind::FUNCTION, ip as u64, parent as u64);
        let end = if parent != 0 { parent } else { ip };
        let latency = buffer.now_here(&PreemptOff::new()).wrapping_sub(here.since.load(Relaxed));
        if self.instance.latency().is_worse(latency) {
            self.report(here, latency, ip, end, own);
        }
        buffer.record(kind::FUNCTION, own as u64, end as u64);
    }

    /// The section that has just ended, at `ip` on behalf of `end`, was the longest so far: its trace is kept, with the
    /// stack from the caller of the function of `ip` on.
    #[cold]
    #[inline(never)]
    fn report(&self, here: &Section, latency: u64, ip: usize, end: usize, own: usize) {
        let context = Context::capture_all();
        let _alone = self.reporting.lock();
        if !self.instance.latency().is_worse(latency) {
            return;
        }
        let buffer = self.instance.buffer();
        buffer.record_in(context, kind::FUNCTION, own as u64, end as u64);
        stack::record_after(buffer, context, ip);
        let reports = self.reports.load(Relaxed);
        if here.reports.load(Relaxed) != reports {
            return;
        }
        let cpu = CpuId::current();
        TaskView::with_current(|task| {
            let section = Some((here.start.load(Relaxed), end));
            self.instance.keep_worst(&Found { cpu, task, since: here.since.load(Relaxed), latency, section }, Some(cpu));
        });
        self.reports.store(reports.wrapping_add(1), Relaxed);
    }
}
