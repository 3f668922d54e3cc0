// SPDX-License-Identifier: GPL-2.0

//! Sections with interrupts or preemption off: what happens where they begin and end.
//!
//! At most one [`CriticalTimings`] is [`CURRENT`], that of the running tracer, in one of the
//! instances. A section of a CPU is *open* from where interrupts (or preemption, whichever the
//! tracer looks at) go off to where both are on again. Its ends are recorded as function entries,
//! under the addresses where they happen; if it was longer than any before,
//! [`CriticalTimings::report`] keeps the trace.
//!
//! This is the hot path of every `local_irq_save()` and `preempt_disable()` while such a tracer is
//! at work: no lock, no callee that is traced. Nothing of it nests on a CPU: while a section begins
//! or ends, its [`State`] is busy, and what comes then, from an interrupt or from what is called to
//! keep the trace, does nothing. NMIs open no section.

use super::functions::{record_mark, Measures};
use crate::core::format::entry::Function;
use crate::core::parse::options::Flag;
use crate::kernel::context::{self, LentOff, PreemptCount, PreemptOff};
use crate::kernel::percpu::PerCpu;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::rcu_slot::{Claim, RcuSlot};
use crate::kernel::trace_export::Export;
use crate::kernel::tracepoint::TaskView;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use crate::trace::fgraph::measured::Measurement;
use crate::trace::instance::latency::{Found, Latency};
use crate::trace::instance::Instance;
use crate::trace::output::export;
use crate::trace::tasks::stack;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The current one.
pub(crate) static CURRENT: RcuSlot<CriticalTimings> = RcuSlot::new();

/// What makes a section.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    /// Interrupts off.
    pub(crate) irqs: bool,
    /// Preemption off.
    pub(crate) preemption: bool,
}

/// Where a CPU is with its section: `CLOSED` to `BUSY` to `OPEN`, and by way of `BUSY` back again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State(u32);

impl State {
    /// There is none.
    const CLOSED: Self = Self(0);
    /// It begins or ends just now.
    const BUSY: Self = Self(1);
    /// It is open.
    const OPEN: Self = Self(2);
}

/// The section of one CPU; only that CPU looks at it.
struct Section {
    state: Atomic<u32>,
    /// When it was opened, by the buffer's clock.
    since: Atomic<u64>,
    /// Where.
    start: Atomic<usize>,
    /// [`CriticalTimings::reports`] at that time.
    reports: Atomic<u64>,
}

impl Section {
    #[inline(always)]
    fn is(&self, state: State) -> bool {
        self.state.load(Relaxed) == state.0
    }

    #[inline(always)]
    fn set(&self, state: State) {
        self.state.store(state.0, Relaxed);
    }
}

/// The measurement at work.
pub(crate) struct CriticalTimings {
    instance: Arc<Instance>,
    latency: Arc<Latency>,
    kinds: Kinds,
    /// Are ends of sections recorded as in a call graph?
    graph: Atomic<bool>,
    /// Are they recorded as functions, and not exported?
    plain: Atomic<bool>,
    sections: PerCpu<Section>,
    /// How many sections were reported. One that was open while another CPU's was being reported is
    /// not reported, as the report may have made it longer. Turning to a call graph and back counts
    /// as a report.
    reports: Atomic<u64>,
    /// Held while one is reported. Innermost but for the locks of the buffer and of saved names.
    reporting: RawLock<()>,
}

impl CriticalTimings {
    /// A measurement for `instance`, not begun. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(instance: Arc<Instance>, kinds: Kinds) -> Result<Arc<Self>> {
        let closed = || Section {
            state: Atomic::new(State::CLOSED.0),
            since: Atomic::new(0),
            start: Atomic::new(0),
            reports: Atomic::new(0),
        };
        let sections = PerCpu::new(|_| closed())?;
        let graph = Atomic::new(instance.options().has(Flag::DisplayGraph));
        let latency = instance.latency()?.clone();
        let new = Self {
            instance,
            latency,
            kinds,
            graph,
            plain: Atomic::new(false),
            sections,
            reports: Atomic::new(0),
            reporting: RawLock::new(()),
        };
        new.choose_anew();
        Ok(Arc::new(new, GFP_KERNEL)?)
    }

    /// Chooses how to record: with the option for call graphs, or with exports, or none of them.
    pub(crate) fn choose_anew(&self) {
        let plain = !self.graph.load(Relaxed) && !export::wanted(Export::FUNCTION);
        self.plain.store(plain, Relaxed);
    }

    /// Makes it the current one until the result is dropped. Task context. `EBUSY` while there is
    /// another.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<Claim<Self>> {
        CURRENT.claim(self.clone())
    }

    /// Interrupts went off, at `ip`. Not inline, like the functions beside it, so that the caller
    /// saves no register where there is nothing to measure.
    #[inline(never)]
    pub(crate) fn irqs_off(&self, ip: usize) {
        if self.kinds.irqs && !self.holds(PreemptCount::read()) {
            self.open(ip, 0);
        }
    }

    /// Interrupts are about to come on, at `ip`; `own` is the address of the function that says so.
    #[inline(never)]
    pub(crate) fn irqs_on(&self, ip: usize, own: usize) {
        if self.kinds.irqs && !self.holds(PreemptCount::read()) {
            self.close(ip, 0, own);
        }
    }

    /// Preemption went off, at `ip`, on behalf of `parent` if that is not 0.
    #[cfg(CONFIG_TRACE_PREEMPT_TOGGLE)]
    #[inline(never)]
    pub(crate) fn preempt_off(&self, ip: usize, parent: usize) {
        if self.kinds.preemption && !(self.kinds.irqs && context::irqs_off()) {
            self.open(ip, parent);
        }
    }

    /// Preemption is about to come on; otherwise as [`CriticalTimings::preempt_off`] and
    /// [`CriticalTimings::irqs_on`].
    #[cfg(CONFIG_TRACE_PREEMPT_TOGGLE)]
    #[inline(never)]
    pub(crate) fn preempt_on(&self, ip: usize, parent: usize, own: usize) {
        if self.kinds.preemption && !(self.kinds.irqs && context::irqs_off()) {
            self.close(ip, parent, own);
        }
    }

    /// Measures again, after [`CriticalTimings::suspend`]; `count` is the preemption count of the caller.
    pub(crate) fn go_on(&self, count: PreemptCount, ip: usize) {
        if self.holds(count) || self.kinds.irqs && context::irqs_off() {
            self.open(ip, 0);
        }
    }

    /// Ends the section that is open on this CPU, if there is one, until [`CriticalTimings::go_on`].
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
        if !here.is(State::CLOSED) || !buffer.is_on() {
            return;
        }
        let context = Context::capture();
        if context.in_nmi() {
            return;
        }
        here.set(State::BUSY);
        here.start
            .store(if parent != 0 { parent } else { ip }, Relaxed);
        here.reports.store(self.reports.load(Relaxed), Relaxed);
        let stay = PreemptOff::new();
        let since = self.record(stay.lend(), context, ip, parent);
        here.since.store(since, Relaxed);
        here.set(State::OPEN);
    }

    #[inline(always)]
    fn close(&self, ip: usize, parent: usize, own: usize) {
        let here = self.sections.this();
        if !here.is(State::OPEN) {
            return;
        }
        here.set(State::BUSY);
        if self.instance.buffer().is_on() {
            let context = Context::capture();
            let stay = PreemptOff::new();
            let end = if parent != 0 { parent } else { ip };
            let latency = self
                .record(stay.lend(), context, ip, parent)
                .wrapping_sub(here.since.load(Relaxed));
            if self.latency.is_worse(latency) {
                self.report(here, latency, context.rest(), ip, end, own);
            }
            self.record(stay.lend(), context, own, end);
        }
        here.set(State::CLOSED);
    }

    /// Records that `ip` was entered from `parent`, and says when, which is not after the entry's
    /// time.
    #[inline(always)]
    fn record(&self, stay: LentOff<'_>, context: Context, ip: usize, parent: usize) -> u64 {
        let buffer = self.instance.buffer();
        if self.plain.load(Relaxed) {
            if let Some(task) = context.plain_task() {
                let (left, time) = buffer.record_fast(stay, task, |_| call(ip, parent));
                if left.is_done() || buffer.complete(left).0 {
                    return time;
                }
            }
        }
        self.record_any(context, ip, parent)
    }

    /// [`CriticalTimings::record`] in interrupts, and wherever it takes more than the plain case does.
    #[cold]
    #[inline(never)]
    fn record_any(&self, context: Context, ip: usize, parent: usize) -> u64 {
        let buffer = self.instance.buffer();
        let now = buffer.now();
        let graph = self.graph.load(Relaxed);
        record_mark(buffer, context.rest(), graph, call(ip, parent));
        now
    }

    /// The section that has just ended, at `ip` on behalf of `end`, was the longest so far: its end is
    /// recorded, with the stack from the caller of the function of `ip` on, and its trace is kept.
    #[cold]
    #[inline(never)]
    fn report(
        &self,
        here: &Section,
        latency: u64,
        context: Context,
        ip: usize,
        end: usize,
        own: usize,
    ) {
        // Unwinding may come to code that wants to know from lockdep that interrupts are off.
        context::with_interrupts_off(|| {
            // Unwinding and waking are traced; this CPU's section is neither open nor closed meanwhile,
            // and functions are not looked at.
            let _alone = self.reporting.lock().around_traced();
            // While this waited, another CPU may have reported a longer one.
            if self.latency.is_worse(latency) {
                self.record_any(context, own, end);
                stack::record_after(self.instance.buffer(), context, ip);
                let reports = self.reports.load(Relaxed);
                if here.reports.load(Relaxed) == reports {
                    self.keep(here, latency, end);
                    self.reports.store(reports.wrapping_add(1), Relaxed);
                }
            }
        });
    }

    /// Keeps the trace of this CPU as that of the section `here`, which lasted until `end`.
    fn keep(&self, here: &Section, latency: u64, end: usize) {
        let cpu = CpuId::current();
        TaskView::with_current(|task| {
            let found = Found {
                cpu,
                task,
                since: here.since.load(Relaxed),
                latency,
                section: Some((here.start.load(Relaxed), end)),
            };
            self.latency.keep_worst(&self.instance, &found, Some(cpu));
        });
    }
}

/// The entry that says that `ip` was entered from `parent`.
#[inline(always)]
fn call(ip: usize, parent: usize) -> Function {
    Function {
        ip,
        parent_ip: parent,
    }
}

/// Functions are of interest where a section is open.
impl Measurement for CriticalTimings {
    /// Who is in an open section stays on its CPU. So what another CPU's section says means nothing to
    /// the one who may be there by now: it is in none.
    #[inline(always)]
    fn may_measure(&self) -> bool {
        self.is_measuring()
    }

    #[inline(always)]
    fn is_measuring(&self) -> bool {
        self.sections.this().is(State::OPEN)
    }

    fn buffer(&self) -> &Buffer {
        self.instance.buffer()
    }

    fn set_graph(&self, graph: bool) {
        let _alone = self.reporting.lock();
        self.graph.store(graph, Relaxed);
        self.choose_anew();
        self.reports
            .store(self.reports.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

impl Measures for CriticalTimings {
    fn instance(&self) -> &Instance {
        &self.instance
    }
}
