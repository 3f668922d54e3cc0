// SPDX-License-Identifier: GPL-2.0

//! The account of each CPU: how often and for how long NMIs, interrupts, softirqs and tasks have run
//! there while the CPU was sampled.
//!
//! A disturbance notes its start, and at its end tells its length by an event. What interrupts it
//! moves its start ahead by its own length, so that the length is net: the CPU's own contexts do that,
//! nested in each other, and each at most once at a time. A reading of the clock that an interrupt
//! may have come between is made again ([`Account::now`]): [`Account::interrupts`] tells.

#[cfg(not(CONFIG_PREEMPT_RT))]
use super::places::SoftirqExit;
use super::places::{IrqExit, Switch};
use super::recorders;
use super::settings::Choice;
use crate::kernel::clock;
use crate::kernel::osnoise::{self, Name};
use crate::kernel::percpu::PerCpu;
use crate::kernel::tracepoint::{TaskProbe, TaskView};
use crate::trace::instance::message::EntryFunction;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::SetOnce;

/// The accounts of all CPUs.
static ACCOUNTS: SetOnce<PerCpu<Account>> = SetOnce::new();

/// Prepares the accounts. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    ACCOUNTS.populate(PerCpu::new(|_| Account::new())?);
    Ok(())
}

/// The account of the CPU that this runs on. None before boot has come so far. Any context.
#[inline(always)]
pub(super) fn this() -> Option<&'static Account> {
    ACCOUNTS.as_ref().map(PerCpu::this)
}

/// The account of `cpu`. Any context.
pub(super) fn of(cpu: CpuId) -> Option<&'static Account> {
    ACCOUNTS.as_ref()?.get(cpu)
}

/// All accounts. Any context.
pub(super) fn all() -> impl Iterator<Item = &'static Account> {
    ACCOUNTS
        .as_ref()
        .into_iter()
        .flat_map(|all| all.iter().map(|(_, account)| account))
}

/// Disturbances of one kind.
pub(super) struct Source {
    /// How many there were.
    pub(super) count: Atomic<u64>,
    /// When the one that runs has begun; 0 if none does.
    arrival: Atomic<u64>,
    /// The same, later by what has interrupted it since. 0: it is not measured.
    pub(super) start: Atomic<u64>,
}

impl Source {
    const fn new() -> Self {
        Self {
            count: Atomic::new(0),
            arrival: Atomic::new(0),
            start: Atomic::new(0),
        }
    }

    fn reset(&self) {
        self.count.store(0, Relaxed);
        self.forget();
    }

    /// The one that runs is not measured.
    fn forget(&self) {
        self.arrival.store(0, Relaxed);
        self.start.store(0, Relaxed);
    }

    /// Sets when the one that runs has begun, as its event will say.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    pub(super) fn set_arrival(&self, time: u64) {
        self.arrival.store(time, Relaxed);
    }

    /// Takes `length` off the one that runs, if one is measured.
    fn discount(&self, length: u64) {
        let start = self.start.load(Relaxed);
        if start != 0 {
            self.start.store(start.wrapping_add(length), Relaxed);
        }
    }

    fn add_one(&self) {
        self.count
            .store(self.count.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

/// The account of a CPU. That CPU alone changes it, while no workload starts.
pub(super) struct Account {
    /// Whether disturbances count.
    pub(super) sampling: Atomic<bool>,
    /// The task that is disturbed. 0: none.
    pub(super) pid: Atomic<i32>,
    pub(super) nmi: Source,
    pub(super) irq: Source,
    pub(super) softirq: Source,
    pub(super) thread: Source,
    /// Disturbances that have begun.
    interrupts: Atomic<u64>,
    /// Whether the workload's thread has left before its time.
    left: Atomic<bool>,
    /// What `timerlat` needs besides.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    pub(super) timer: super::timerlat::Activation,
}

impl Account {
    fn new() -> Self {
        Self {
            sampling: Atomic::new(false),
            pid: Atomic::new(0),
            nmi: Source::new(),
            irq: Source::new(),
            softirq: Source::new(),
            thread: Source::new(),
            interrupts: Atomic::new(0),
            left: Atomic::new(false),
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            timer: super::timerlat::Activation::new(),
        }
    }

    /// A new account. No workload runs.
    pub(super) fn reset(&self) {
        self.sampling.store(false, Relaxed);
        self.pid.store(0, Relaxed);
        let sources = [&self.nmi, &self.irq, &self.softirq, &self.thread];
        sources.into_iter().for_each(Source::reset);
        self.interrupts.store(0, Relaxed);
        self.left.store(false, Relaxed);
        #[cfg(CONFIG_TIMERLAT_TRACER)]
        self.timer.reset();
    }

    /// What runs now is not measured. Disturbances do not count.
    pub(super) fn forget(&self) {
        let sources = [&self.irq, &self.softirq, &self.thread];
        sources.into_iter().for_each(Source::forget);
    }

    /// The thread of the workload ends, though nobody has stopped it.
    pub(super) fn leave(&self) {
        self.sampling.store(false, Relaxed);
        self.pid.store(0, Relaxed);
        self.left.store(true, Relaxed);
    }

    /// Whether there was a [`Account::leave`] since the last time that this was asked.
    pub(super) fn take_left(&self) -> bool {
        self.left.xchg(false, Relaxed)
    }

    /// Whether disturbances count now.
    #[inline(always)]
    pub(super) fn is_sampling(&self) -> bool {
        self.sampling.load(Relaxed)
    }

    /// What `read` gives, and how many disturbances had begun; nothing has interrupted it.
    #[inline(always)]
    pub(super) fn undisturbed<T>(&self, read: impl Fn() -> T) -> (T, u64) {
        loop {
            let before = self.interrupts.load(Relaxed);
            let value = read();
            if self.interrupts.load(Relaxed) == before {
                return (value, before);
            }
        }
    }

    /// The time, and how many disturbances had begun then.
    #[inline(always)]
    pub(super) fn now(&self) -> (u64, u64) {
        self.undisturbed(clock::sched)
    }

    #[inline]
    fn begin(&self, source: &Source) {
        source.arrival.store(clock::sched(), Relaxed);
        // An interrupt before the store is none that it can discount itself from.
        self.undisturbed(|| source.start.store(clock::sched(), Relaxed));
        source.add_one();
        // An NMI may come between a load and a store.
        self.interrupts.fetch_add(1, Relaxed);
    }

    /// When the one that ends now, in the function `F`, has begun, and its length. None where its
    /// begin was not seen.
    #[inline]
    fn end<F: EntryFunction>(&self, source: &Source) -> Option<(u64, u64)> {
        if source.start.load(Relaxed) == 0 {
            return None;
        }
        let read = || clock::sched().wrapping_sub(source.start.load(Relaxed));
        let (length, _) = self.undisturbed(read);
        if (length as i64) < 0 {
            // More was taken off than there was.
            recorders::taint(F::address(), "Negative duration!\n");
        }
        source.start.store(0, Relaxed);
        Some((source.arrival.load(Relaxed), length))
    }

    /// An NMI begins or ends. Only in NMIs.
    #[inline(always)]
    pub(super) fn nmi(&self, begins: bool) {
        if !self.is_sampling() {
            return;
        }
        if begins {
            self.nmi.start.store(clock::sched(), Relaxed);
            self.interrupts.fetch_add(1, Relaxed);
            return self.nmi.add_one();
        }
        let start = self.nmi.start.load(Relaxed);
        let length = clock::sched().wrapping_sub(start);
        osnoise::nmi_noise(start, length);
        self.irq.discount(length);
        self.discount_of_irq(length);
    }

    /// Takes `length` off what an interrupt has interrupted. With `PREEMPT_RT` softirqs are tasks.
    fn discount_of_irq(&self, length: u64) {
        if cfg!(not(CONFIG_PREEMPT_RT)) {
            self.softirq.discount(length);
        }
        self.thread.discount(length);
    }

    /// An interrupt begins.
    #[inline(always)]
    pub(super) fn irq_begins(&self) {
        if self.is_sampling() {
            self.begin(&self.irq);
        }
    }

    /// The interrupt called `name` ends.
    #[inline(always)]
    pub(super) fn irq_ends(&self, vector: i32, name: Name<'_>) {
        if !self.is_sampling() {
            return;
        }
        let Some((arrival, length)) = self.end::<IrqExit>(&self.irq) else {
            return;
        };
        osnoise::irq_noise(vector, name, arrival, length);
        self.irq.arrival.store(0, Relaxed);
        self.discount_of_irq(length);
    }

    #[cfg(not(CONFIG_PREEMPT_RT))]
    fn softirq_ends(&self, vector: u32) {
        if !self.is_sampling() {
            return;
        }
        if !self.is_measured() {
            return self.softirq.forget();
        }
        let Some((arrival, length)) = self.end::<SoftirqExit>(&self.softirq) else {
            return;
        };
        osnoise::softirq_noise(vector, arrival, length);
        self.thread.discount(length);
        self.softirq.arrival.store(0, Relaxed);
    }

    #[inline]
    fn thread_ends(&self, task: TaskView<'_>) {
        if !self.is_sampling() {
            return;
        }
        if !self.is_measured() {
            return self.thread.forget();
        }
        let Some((arrival, length)) = self.end::<Switch>(&self.thread) else {
            return;
        };
        osnoise::thread_noise(task, arrival, length);
        self.thread.arrival.store(0, Relaxed);
    }

    /// `timerlat` is interested in softirqs and tasks from the timer's interrupt on.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    fn is_measured(&self) -> bool {
        !super::workload::is_timerlat() || self.timer.is_active()
    }

    #[cfg(not(CONFIG_TIMERLAT_TRACER))]
    fn is_measured(&self) -> bool {
        true
    }
}

/// An NMI begins or ends. Only in NMIs.
#[inline(always)]
pub(crate) fn nmi(begins: bool) {
    if let Some(account) = this() {
        account.nmi(begins);
    }
}

/// An interrupt begins. In its handler.
#[inline(always)]
pub(crate) fn irq_begins() {
    if let Some(account) = this() {
        account.irq_begins();
    }
}

/// An interrupt ends. In its handler.
#[inline(always)]
pub(crate) fn irq_ends(vector: i32, name: Name<'_>) {
    if let Some(account) = this() {
        account.irq_ends(vector, name);
    }
}

/// Keeps the accounts by tracepoints.
pub(super) struct Accountant;

impl TaskProbe for Accountant {
    fn switched(&self, prev: TaskView<'_>, next: TaskView<'_>) {
        let Some(account) = this() else {
            return;
        };
        let own = account.pid.load(Relaxed);
        let all = !Choice::Workload.is_on();
        if all || prev.pid() != own {
            account.thread_ends(prev);
        }
        if (all || next.pid() != own) && account.is_sampling() {
            account.begin(&account.thread);
        }
    }

    fn irq_entered(&self, _irq: i32) {
        irq_begins();
    }

    fn irq_left(&self, irq: i32, name: Name<'_>) {
        irq_ends(irq, name);
    }

    #[cfg(not(CONFIG_PREEMPT_RT))]
    fn softirq_entered(&self, _vector: u32) {
        if let Some(account) = this().filter(|account| account.is_sampling()) {
            account.begin(&account.softirq);
        }
    }

    #[cfg(not(CONFIG_PREEMPT_RT))]
    fn softirq_left(&self, vector: u32) {
        if let Some(account) = this() {
            account.softirq_ends(vector);
        }
    }

    #[cfg(CONFIG_TIMERLAT_TRACER)]
    fn migrated(&self, task: TaskView<'_>, cpu: u32) {
        super::timerlat::migrated(task, cpu);
    }
}
