// SPDX-License-Identifier: GPL-2.0

//! `timerlat`: on each CPU a timer expires once in a period and wakes a task. Both measure how late
//! they are. The task is a thread of the workload, or one of a program that waits in a `read(2)` of
//! `timerlat_fd`.

use super::account::{self, Account};
use super::places::{Migration, TimerlatIrq, TimerlatMain, TimerlatRead};
use super::recorders;
use super::settings::{Choice, Setting};
use super::workload;
use crate::core::format::entry::Timerlat;
use crate::kernel::clock;
use crate::kernel::context::current_pid;
use crate::kernel::kthread::ThisThread;
use crate::kernel::osnoise;
use crate::kernel::pinned_timer::{caller_of, Expire, PinnedTimer};
use crate::kernel::raw_lock::RawLock;
use crate::kernel::this_task::{self, Staying};
use crate::kernel::tracepoint::TaskView;
use crate::trace::instance::message::EntryFunction;
use crate::trace::tasks::stack;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::task::Task;

/// The priority of the threads.
const PRIORITY: i32 = 95;

/// The most frames of a saved stack.
const DEPTH: usize = 256;

/// The first activation of the CPU that asked last, with option `TIMERLAT_ALIGN`. 0: none has asked.
static ALIGNED: Atomic<u64> = Atomic::new(0);

/// Prepares for a new workload.
pub(super) fn begin() {
    ALIGNED.store(0, Relaxed);
}

/// The state of a CPU's timer.
pub(super) struct Activation {
    /// From the timer's interrupt until its task has told its latency.
    is_active: Atomic<bool>,
    /// When the timer was to expire last, by the clock of timers.
    time: Atomic<u64>,
    /// How often it has expired.
    count: Atomic<u64>,
    /// Whether the program's task has left the CPU.
    migrated: Atomic<bool>,
    /// The stack at the last interrupt, as far as it was saved; 0 if it was not.
    depth: Atomic<usize>,
    calls: [Atomic<usize>; DEPTH],
}

impl Activation {
    pub(super) fn new() -> Self {
        Self {
            is_active: Atomic::new(false),
            time: Atomic::new(0),
            count: Atomic::new(0),
            migrated: Atomic::new(false),
            depth: Atomic::new(0),
            calls: [const { Atomic::new(0) }; DEPTH],
        }
    }

    pub(super) fn reset(&self) {
        self.is_active.store(false, Relaxed);
        self.time.store(0, Relaxed);
        self.count.store(0, Relaxed);
        self.migrated.store(false, Relaxed);
    }

    #[inline(always)]
    pub(super) fn is_active(&self) -> bool {
        self.is_active.load(Relaxed)
    }

    /// How late it is, in nanoseconds; none before its time.
    fn latency(&self) -> Option<u64> {
        let late = clock::timers().wrapping_sub(self.time.load(Relaxed));
        Some(late).filter(|late| *late as i64 >= 0)
    }

    /// Records `latency`, measured in `context`.
    fn record(&self, context: i32, latency: u64) {
        let seqnum = self.count.load(Relaxed) as u32;
        osnoise::timerlat_sample(seqnum, context, latency);
        recorders::record(Timerlat {
            seqnum,
            context,
            timer_latency: latency,
        });
    }

    /// Keeps the stack that the timer's interrupt was taken on.
    fn save_stack(&self) {
        stack::with_caller(caller_of::<Alarm>(), |calls| {
            let places = self.calls.iter().zip(calls);
            self.depth.store(places.len(), Relaxed);
            places.for_each(|(place, call)| place.store(*call, Relaxed));
        });
    }

    /// Records the kept stack, if `latency` is one that asks for it.
    fn record_stack(&self, latency: u64) {
        if Setting::PrintStack
            .limit()
            .is_none_or(|least| least > latency / 1000)
        {
            return;
        }
        // Not that of an earlier interrupt, where none was asked for at this one.
        let depth = self.depth.load(Relaxed).min(DEPTH);
        if depth == 0 {
            return;
        }
        recorders::with_buffers(|buffer, context| {
            let calls = self.calls.iter().take(depth);
            stack::record_saved(buffer, context, calls.map(|call| call.load(Relaxed)));
        });
    }

    /// The next time at which the timer expires.
    fn next(&self) -> u64 {
        let period = Setting::TimerlatPeriod.nanoseconds().max(1);
        let mut next = self.time.load(Relaxed).wrapping_add(period);
        if Choice::TimerlatAlign.is_on() && self.count.load(Relaxed) == 0 {
            // The first CPU decides, and those that follow go by it.
            if ALIGNED.cmpxchg(0, next, Relaxed).is_err() {
                let gap = Setting::TimerlatAlign.nanoseconds();
                next = ALIGNED.fetch_add(gap, Relaxed).wrapping_add(gap);
            }
        }
        // Activations in the past are left out.
        let late = clock::timers().wrapping_sub(next);
        if late as i64 > 0 {
            next = next.wrapping_add(late.div_ceil(period).wrapping_mul(period));
        }
        self.time.store(next, Relaxed);
        next
    }
}

/// Whether `latency` is one to stop at, by `limit`.
fn is_too_long(latency: u64, limit: Setting) -> bool {
    limit.limit().is_some_and(|limit| latency / 1000 >= limit)
}

/// What the timer of a CPU does.
struct Alarm {
    cpu: CpuId,
    /// The task whose account the CPU's is while the timer counts.
    pid: i32,
    sleeper: RawLock<Option<ARef<Task>>>,
}

type Timer = Pin<KBox<PinnedTimer<Alarm>>>;

impl Alarm {
    /// That of the current task on `cpu`.
    fn new(cpu: CpuId) -> Result<Timer> {
        let alarm = Self {
            cpu,
            pid: current_pid(),
            sleeper: RawLock::new(None),
        };
        Ok(KBox::pin_init(PinnedTimer::new(alarm), GFP_KERNEL)?)
    }

    /// Has the timer wake the current task.
    fn set_sleeper(&self) {
        let task = this_task::share();
        // A reference is given back without the lock.
        let before = self.sleeper.lock().replace(task);
        drop(before);
    }

    fn wake(&self) {
        // It is woken, which is traced, without the lock.
        let task = self.sleeper.lock().clone();
        if let Some(task) = task {
            task.wake_up();
        }
    }
}

impl Expire for Alarm {
    fn expired(&self) {
        let (Some(here), Some(own)) = (account::this(), account::of(self.cpu)) else {
            return;
        };
        if own.pid.load(Relaxed) != self.pid {
            // That of a program which was killed, and has not gone yet.
            return self.wake();
        }
        let timer = &own.timer;
        let latency = timer.latency().unwrap_or(0);
        timer.is_active.store(true, Relaxed);
        timer.depth.store(0, Relaxed);
        pass_on_starts(here);
        timer
            .count
            .store(timer.count.load(Relaxed).wrapping_add(1), Relaxed);
        timer.record(Timerlat::IRQ, latency);
        let stops = is_too_long(latency, Setting::StopTracing);
        let stack = Setting::PrintStack.get();
        if stops {
            if Setting::StopTracing.get() <= stack {
                timer.save_stack();
                timer.record_stack(latency);
            }
            recorders::raise_latency(latency);
            recorders::stop_tracing(TimerlatIrq::address(), None);
        }
        self.wake();
        if !stops && stack != 0 {
            timer.save_stack();
        }
    }
}

/// What this interrupt has interrupted is of interest from now on, as it delays the task: its start is
/// that of the interrupt. At the interrupt's end that becomes the time of its end, as the interrupt's
/// length is taken off. A task under a softirq waits for that, so it gets the softirq's start.
fn pass_on_starts(here: &Account) {
    here.thread.set_arrival(clock::sched());
    let copy = |to: &Atomic<u64>, from: &Atomic<u64>| {
        here.undisturbed(|| to.store(from.load(Relaxed), Relaxed));
    };
    if cfg!(not(CONFIG_PREEMPT_RT)) && here.softirq.start.load(Relaxed) != 0 {
        copy(&here.thread.start, &here.softirq.start);
        copy(&here.softirq.start, &here.irq.start);
    } else {
        copy(&here.thread.start, &here.irq.start);
    }
}

/// Sleeps until the next activation, a signal, or anybody else's wake-up; not if `stop` says so.
fn wait(timer: &Timer, activation: &Activation, stop: impl Fn() -> bool) {
    timer.data().set_sleeper();
    let next = activation.next();
    this_task::wait(|| {
        timer.start(next);
        !stop()
    });
}

/// What the thread of `cpu` does.
pub(super) fn run(thread: &ThisThread, cpu: CpuId) {
    let Some(account) = account::of(cpu) else {
        return;
    };
    thread.be_urgent(PRIORITY);
    let staying = Staying::for_good();
    let activation = &account.timer;
    let Ok(timer) = Alarm::new(cpu) else {
        pr_err!("osnoise: no memory for the timer of a CPU\n");
        return account.leave();
    };
    // The thread may follow another one of the same workload.
    activation.reset();
    account.pid.store(current_pid(), Relaxed);
    activation.time.store(clock::timers(), Relaxed);
    wait(&timer, activation, || thread.should_stop());
    account.sampling.store(true, Relaxed);
    while !thread.should_stop() {
        if let Some(latency) = activation.latency() {
            activation.record(Timerlat::THREAD, latency);
            recorders::raise_latency(latency);
            activation.record_stack(latency);
            activation.is_active.store(false, Relaxed);
            if is_too_long(latency, Setting::StopTracingTotal) {
                recorders::stop_tracing(TimerlatMain::address(), None);
            }
        }
        if staying.is_in_the_way() {
            recorders::taint(
                TimerlatMain::address(),
                "migration requested to osnoise threads, leaving.",
            );
            return account.leave();
        }
        wait(&timer, activation, || thread.should_stop());
    }
    account.sampling.store(false, Relaxed);
    // A program may come in its place.
    account.pid.store(0, Relaxed);
}

/// `task` is about to go to `cpu`: if it is a program's task that a timer wakes, the figures of its CPU
/// mean nothing any more. Interrupts are off.
pub(super) fn migrated(task: TaskView<'_>, cpu: u32) {
    let from = CpuId::from_u32(task.cpu()).filter(|from| from.as_u32() != cpu);
    let Some(account) = from.and_then(account::of) else {
        return;
    };
    if account.pid.load(Relaxed) == task.pid() {
        account.timer.migrated.store(true, Relaxed);
        let ip = Migration::address();
        recorders::taint(ip, "timerlat user-thread migrated\n");
        recorders::stop_tracing(ip, Some(c"timerlat user-thread migrated"));
    }
}

/// A program's task in the place of the thread of a CPU: an open `timerlat_fd`.
pub(crate) struct UserThread {
    cpu: CpuId,
    account: &'static Account,
    pid: i32,
    task: ARef<Task>,
    timer: Option<Timer>,
}

impl UserThread {
    /// The current task becomes that of `cpu`. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` while `timerlat` is no instance's tracer, or has threads of its own; `EBUSY` if this
    /// CPU has a task; `EPERM` for a task that may run elsewhere than on `cpu`; `ENOMEM`.
    pub(crate) fn open(cpu: CpuId) -> Result<Self> {
        let staying = Staying::new();
        let here = staying.cpu();
        let account = account::of(here).ok_or(EINVAL)?;
        let timer = Alarm::new(cpu)?;
        let task = this_task::share();
        let pid = current_pid();
        workload::admit(here, &task, || {
            if account.pid.load(Relaxed) != 0 {
                return Err(EBUSY);
            }
            if !this_task::is_pinned() || cpu.as_u32() != here.as_u32() {
                return Err(EPERM);
            }
            account.pid.store(pid, Relaxed);
            account.timer.count.store(0, Relaxed);
            Ok(())
        })?;
        Ok(Self {
            cpu,
            account,
            pid,
            task,
            timer: Some(timer),
        })
    }

    /// `EINVAL` once another workload has begun.
    fn check_it_stays(&self) -> Result {
        match self.account.pid.load(Relaxed) == self.pid {
            true => Ok(()),
            false => Err(EINVAL),
        }
    }

    /// The task is back from the last activation, and waits for the next. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` once the task was on another CPU, which stops the trace, and once the tracer has
    /// stopped.
    pub(crate) fn wait(&self) -> Result {
        let staying = Staying::new();
        let activation = &self.account.timer;
        let timer = self.timer.as_ref().ok_or(EINVAL)?;
        self.check_it_stays()?;
        if staying.cpu().as_u32() != self.cpu.as_u32() {
            activation.migrated.store(true, Relaxed);
            recorders::taint(TimerlatRead::address(), "timerlat user thread migrate\n");
            recorders::stop_tracing(TimerlatRead::address(), None);
            return Err(EINVAL);
        }
        if activation.migrated.load(Relaxed) {
            return Err(EINVAL);
        }
        if self.account.is_sampling() {
            // A signal may have ended the last wait before its time.
            let Some(latency) = activation.latency() else {
                return Ok(());
            };
            activation.record(Timerlat::USER_RETURN, latency);
            recorders::raise_latency(latency);
            activation.is_active.store(false, Relaxed);
            if is_too_long(latency, Setting::StopTracingTotal) {
                activation.record_stack(latency);
                recorders::stop_tracing(TimerlatRead::address(), None);
            }
        } else {
            activation.is_active.store(false, Relaxed);
            activation.time.store(clock::timers(), Relaxed);
            self.account.sampling.store(true, Relaxed);
        }
        wait(timer, activation, || false);
        self.check_it_stays()?;
        let Some(latency) = activation.latency() else {
            return Ok(());
        };
        activation.record(Timerlat::THREAD, latency);
        if is_too_long(latency, Setting::StopTracingTotal) {
            activation.record_stack(latency);
            recorders::raise_latency(latency);
            recorders::stop_tracing(TimerlatRead::address(), None);
        }
        Ok(())
    }
}

impl Drop for UserThread {
    fn drop(&mut self) {
        // It may expire until here.
        drop(self.timer.take());
        workload::dismiss(self.cpu, &self.task, || {
            // Another workload may have begun since.
            if self.account.pid.load(Relaxed) == self.pid {
                self.account.timer.reset();
                self.account.sampling.store(false, Relaxed);
                self.account.pid.store(0, Relaxed);
            }
        });
    }
}
