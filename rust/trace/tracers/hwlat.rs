// SPDX-License-Identifier: GPL-2.0

//! `hwlat`: time that hardware or firmware takes from a CPU. A thread reads the clock of its CPU again
//! and again with interrupts off: where too much time has passed between two readings, nothing that
//! the kernel knows of has taken it, but for NMIs, which are counted.
//!
//! One instance has the tracer at a time. There is one thread, which goes from CPU to CPU or stays
//! where the scheduler puts it, or a thread on each CPU ([`Mode`]).
//!
//! Lock order: an instance's state mutex, that of [`State`], the lock against CPU hotplug, that of the
//! threads of CPUs. A thread takes none of them: whoever holds one may be waiting for it to end.

use crate::core::format::entry;
use crate::core::parse::options::Flag;
use crate::kernel::clock;
use crate::kernel::cpus::{self, CpuSet};
use crate::kernel::hotplug::{self, Follower, Hold};
use crate::kernel::kthread::{Place, ThisThread, Thread, Work};
use crate::kernel::nmi_callback::{self, Callee};
use crate::kernel::percpu::PerCpu;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::this_task::{self, HeldOff, Kind};
use crate::trace::buffer::entry::Context;
use crate::trace::instance::latency::{self, Latency};
use crate::trace::instance::tracer::{BootStep, Running, Tracer};
use crate::trace::instance::Instance;
use kernel::cpu::CpuId;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};

/// A setting in microseconds.
#[derive(Clone, Copy)]
pub(crate) enum Setting {
    /// How long a CPU is sampled.
    Width,
    /// How often: from one start to the next.
    Window,
}

static WIDTH: Atomic<u64> = Atomic::new(500_000);
static WINDOW: Atomic<u64> = Atomic::new(1_000_000);

/// Held while one of the two is checked and changed.
static CHANGING: RawLock<()> = RawLock::new(());

impl Setting {
    /// Its value. Any context.
    pub(crate) fn get(self) -> u64 {
        match self {
            Self::Width => WIDTH.load(Relaxed),
            Self::Window => WINDOW.load(Relaxed),
        }
    }

    /// Changes it. Task context. `EINVAL` for a width that exceeds the window.
    pub(crate) fn set(self, value: u64) -> Result {
        let _changing = CHANGING.lock();
        let (width, window) = match self {
            Self::Width => (value, Self::Window.get()),
            Self::Window => (Self::Width.get(), value),
        };
        if width > window {
            return Err(EINVAL);
        }
        WIDTH.store(width, Relaxed);
        WINDOW.store(window, Relaxed);
        Ok(())
    }
}

/// What threads there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One, which the scheduler may move.
    None = 0,
    /// One, which goes on to the next CPU after each sample.
    RoundRobin = 1,
    /// One on each CPU.
    PerCpu = 2,
}

/// The modes by their names, in the order of the file.
pub(crate) const MODES: [(&str, Mode); 3] = [
    ("none", Mode::None),
    ("round-robin", Mode::RoundRobin),
    ("per-cpu", Mode::PerCpu),
];

static MODE: Atomic<u32> = Atomic::new(Mode::RoundRobin as u32);

/// The mode. Any context.
pub(crate) fn mode() -> Mode {
    let mode = MODE.load(Relaxed);
    let found = MODES.iter().find(|(_, row)| *row as u32 == mode);
    found.map_or(Mode::None, |(_, mode)| *mode)
}

/// Changes the mode, and the threads if there are any. Task context, sleeps. `ENODEV`.
pub(crate) fn set_mode(mode: Mode) -> Result {
    let mut state = state()?.lock();
    let was_running = state.is_running;
    state.stop();
    MODE.store(mode as u32, Relaxed);
    if was_running {
        state.start()?;
    }
    Ok(())
}

/// NMIs on a CPU.
struct Nmis {
    /// Whether they count.
    sampling: Atomic<bool>,
    start: Atomic<u64>,
    total: Atomic<u64>,
    count: Atomic<u32>,
}

static NMIS: SetOnce<PerCpu<Nmis>> = SetOnce::new();

/// An NMI begins or ends. Only in NMIs.
#[inline(always)]
pub(crate) fn nmi(begins: bool) {
    let nmis = NMIS.as_ref().map(PerCpu::this);
    let Some(nmis) = nmis.filter(|nmis| nmis.sampling.load(Relaxed)) else {
        return;
    };
    if begins {
        nmis.start.store(clock::sched(), Relaxed);
        let count = nmis.count.load(Relaxed).wrapping_add(1);
        return nmis.count.store(count, Relaxed);
    }
    let length = clock::sched().wrapping_sub(nmis.start.load(Relaxed));
    let total = nmis.total.load(Relaxed).wrapping_add(length);
    nmis.total.store(total, Relaxed);
}

/// Who has the tracer.
struct Target {
    instance: Arc<Instance>,
    latency: Arc<Latency>,
    /// Samples with a latency.
    found: Atomic<u64>,
}

struct State {
    target: Option<Arc<Target>>,
    is_running: bool,
    /// The thread, unless each CPU has one.
    single: Option<Thread<Sampler>>,
    /// `tracing_thresh` without the tracer, and what it was last with it, in nanoseconds.
    threshold_without: u64,
    threshold_with: u64,
}

static STATE: SetOnce<Pin<KBox<Mutex<State>>>> = SetOnce::new();

/// The threads of CPUs, by number.
static THREADS: SetOnce<Pin<KBox<Mutex<KVec<Option<Thread<Sampler>>>>>>> = SetOnce::new();

/// The threshold with which the tracer begins, in nanoseconds.
const THRESHOLD: u64 = 10_000;

fn state() -> Result<&'static Mutex<State>> {
    STATE.as_ref().map(|state| &**state).ok_or(ENODEV)
}

/// Prepares for users. Once, at boot, before a tracer is set. `ENOMEM`.
pub(crate) fn init() -> Result {
    NMIS.populate(PerCpu::new(|_| Nmis {
        sampling: Atomic::new(false),
        start: Atomic::new(0),
        total: Atomic::new(0),
        count: Atomic::new(0),
    })?);
    let mut threads = KVec::new();
    for cpu in cpus::possible() {
        while threads.len() <= cpu.as_u32() as usize {
            threads.push(None, GFP_KERNEL)?;
        }
    }
    THREADS.populate(KBox::pin_init(new_mutex!(threads), GFP_KERNEL)?);
    let state = State {
        target: None,
        is_running: false,
        single: None,
        threshold_without: 0,
        threshold_with: THRESHOLD,
    };
    STATE.populate(KBox::pin_init(new_mutex!(state), GFP_KERNEL)?);
    Ok(())
}

/// The rest, when there are tasks. Once.
pub(crate) fn late_init() {
    if let Err(error) = hotplug::follow::<Hotplug>() {
        pr_warn!("hwlat: CPUs that come up have no thread: {:?}\n", error);
    }
}

/// The tracer.
pub(super) struct Hwlat;

impl Tracer for Hwlat {
    fn name(&self) -> &'static str {
        "hwlat"
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        let latency = instance.latency()?;
        let target = Target {
            instance: instance.clone(),
            latency: latency.clone(),
            found: Atomic::new(0),
        };
        let target = Arc::new(target, GFP_KERNEL)?;
        let mut state = state()?.lock();
        if state.target.is_some() {
            return Err(EBUSY);
        }
        state.target = Some(target);
        latency.set_longest(0);
        state.threshold_without = latency::threshold();
        if state.threshold_without == 0 {
            latency::set_threshold(state.threshold_with);
        }
        let started = match instance.tracing_on() {
            true => state.start(),
            false => Ok(()),
        };
        drop(state);
        // From here on its drop undoes all.
        let detecting = Detecting;
        started?;
        Ok(KBox::new(detecting, GFP_KERNEL)?)
    }

    /// It has threads, and follows CPUs that come up.
    fn boot_step(&self) -> BootStep {
        BootStep::Late
    }
}

/// The tracer at work.
struct Detecting;

impl Running for Detecting {
    fn switched(&mut self, on: bool) {
        let Ok(state) = state() else {
            return;
        };
        let mut state = state.lock();
        if !on {
            return state.stop();
        }
        if let Err(error) = state.start() {
            pr_err!("hwlat: the tracer did not go on: {:?}\n", error);
        }
    }
}

impl Drop for Detecting {
    fn drop(&mut self) {
        if let Ok(state) = state() {
            let mut state = state.lock();
            state.stop();
            state.threshold_with = latency::threshold();
            latency::set_threshold(state.threshold_without);
            state.target = None;
        }
    }
}

impl State {
    /// Starts the threads. `ENOMEM`: then there is none.
    fn start(&mut self) -> Result {
        if self.is_running {
            return Ok(());
        }
        nmi_callback::set(Callee::Hwlat, true);
        self.is_running = true;
        let _hold = Hold::new();
        let started = match mode() {
            Mode::PerCpu => self
                .cpus()
                .and_then(|cpus| cpus.iter().try_for_each(|cpu| self.start_on(cpu))),
            mode => self.start_single(mode),
        };
        started.inspect_err(|_| {
            pr_err!("hwlat_detector: could not start sampling thread\n");
            self.stop_all();
        })
    }

    fn stop(&mut self) {
        if self.is_running {
            let _hold = Hold::new();
            self.stop_all();
        }
    }

    /// Stops the threads. Hotplug is held up.
    fn stop_all(&mut self) {
        self.single = None;
        cpus::possible().for_each(stop_on);
        self.is_running = false;
        nmi_callback::set(Callee::Hwlat, false);
    }

    fn target(&self) -> Result<&Arc<Target>> {
        self.target.as_ref().ok_or(ENODEV)
    }

    /// The CPUs to be sampled.
    fn cpus(&self) -> Result<CpuSet> {
        Ok(self.target()?.cpus())
    }

    fn start_single(&mut self, mode: Mode) -> Result {
        let mut cpus = self.cpus()?;
        if mode == Mode::RoundRobin {
            let first = cpus.iter().next();
            cpus = CpuSet::EMPTY;
            first.into_iter().for_each(|cpu| cpus.insert(cpu));
        }
        let sampler = Sampler {
            target: self.target()?.clone(),
            cpus: Some(cpus),
        };
        self.single = Some(Thread::run(c"hwlatd", Place::Any, sampler)?);
        Ok(())
    }

    /// Starts the thread of `cpu`. Hotplug is held up.
    fn start_on(&self, cpu: CpuId) -> Result {
        let mut threads = THREADS.as_ref().ok_or(ENODEV)?.lock();
        let slot = threads.get_mut(cpu.as_u32() as usize).ok_or(EINVAL)?;
        if slot.is_none() {
            let sampler = Sampler {
                target: self.target()?.clone(),
                cpus: None,
            };
            *slot = Some(Thread::run(c"hwlatd", Place::On(cpu), sampler)?);
        }
        Ok(())
    }
}

/// Stops the thread of `cpu`. Hotplug is held up.
fn stop_on(cpu: CpuId) {
    let thread = THREADS.as_ref().and_then(|threads| {
        let mut threads = threads.lock();
        threads.get_mut(cpu.as_u32() as usize)?.take()
    });
    drop(thread);
}

struct Hotplug;

impl Follower for Hotplug {
    const NAME: &'static CStr = c"trace/hwlat:online";

    fn came_up(cpu: CpuId) {
        let Ok(state) = state() else {
            return;
        };
        let state = state.lock();
        let _hold = Hold::new();
        let is_wanted = state.is_running && mode() == Mode::PerCpu;
        if is_wanted && state.cpus().is_ok_and(|cpus| cpus.contains(cpu)) {
            if let Err(error) = state.start_on(cpu) {
                pr_warn!("hwlat: CPU {} has no thread: {:?}\n", cpu.as_u32(), error);
            }
        }
    }

    fn goes_down(cpu: CpuId) {
        stop_on(cpu);
    }
}

/// What a thread does.
struct Sampler {
    target: Arc<Target>,
    /// Where the thread is to be, unless it is that of a CPU.
    cpus: Option<CpuSet>,
}

impl Work for Sampler {
    fn run(&self, thread: &ThisThread) {
        let mut cpus = self.cpus;
        if let Some(cpus) = &cpus {
            // A new thread has the CPUs of all threads, whatever it was given before. If none of these
            // is up, it keeps them.
            let _ = this_task::move_to(cpus);
        }
        while !thread.should_stop() {
            if let Some(cpus) = &mut cpus {
                if mode() == Mode::RoundRobin && self.target.move_on(cpus).is_none() {
                    MODE.store(Mode::None as u32, Relaxed);
                    pr_info!(
                        "hwlat_detector: cpumask changed while in round-robin mode, switching to mode none\n"
                    );
                }
            }
            self.target.sample();
            let rest = Setting::Window.get().saturating_sub(Setting::Width.get());
            let milliseconds = (rest / 1000).max(1);
            thread.sleep(u32::try_from(milliseconds).unwrap_or(u32::MAX));
        }
    }
}

/// The longest gaps of a sample, in microseconds.
#[derive(Default)]
struct Gaps {
    inner: u64,
    outer: u64,
    /// The loops in which one exceeded the threshold, and when the first was.
    count: u32,
    first: (i64, i64),
}

impl Target {
    /// The CPUs to be sampled.
    fn cpus(&self) -> CpuSet {
        let mut cpus = CpuSet::EMPTY;
        let buffer = self.instance.buffer();
        cpus::online()
            .filter(|cpu| buffer.is_allowed(*cpu))
            .for_each(|cpu| cpus.insert(cpu));
        cpus
    }

    /// Goes on to the next CPU, from one of `cpus`, which then is that one. None if somebody else has
    /// moved the thread, or there is no CPU.
    fn move_on(&self, cpus: &mut CpuSet) -> Option<()> {
        if this_task::cpus() != *cpus {
            return None;
        }
        let here = CpuId::current().as_u32();
        let all = self.cpus();
        let behind = all.iter().find(|cpu| cpu.as_u32() > here);
        let next = behind.or_else(|| all.iter().next())?;
        *cpus = CpuSet::EMPTY;
        cpus.insert(next);
        // A CPU that has gone meanwhile is found at the next look.
        let _ = this_task::move_to(cpus);
        Some(())
    }

    /// Samples this CPU, and records what was found.
    fn sample(&self) {
        HeldOff::with(Kind::Interrupts, |_| self.sample_alone());
    }

    /// [`Self::sample`] with interrupts off.
    fn sample_alone(&self) {
        let Some(nmis) = NMIS.as_ref().map(PerCpu::this) else {
            return;
        };
        nmis.total.store(0, Relaxed);
        nmis.count.store(0, Relaxed);
        nmis.sampling.store(true, Relaxed);
        let threshold = latency::threshold() / 1000;
        let gaps = self.look(threshold);
        nmis.sampling.store(false, Relaxed);
        let Some(gaps) = gaps.filter(|gaps| gaps.inner.max(gaps.outer) > threshold) else {
            return;
        };
        let (tv_sec, tv_nsec) = gaps.first;
        // If there is no room, the ring buffer counts the loss.
        let _ = self.instance.buffer().write(
            entry::Hwlat {
                duration: gaps.inner,
                outer_duration: gaps.outer,
                nmi_total_ts: nmis.total.load(Relaxed) / 1000,
                tv_sec,
                tv_nsec,
                nmi_count: nmis.count.load(Relaxed),
                seqnum: self.found.fetch_add(1, Relaxed).wrapping_add(1) as u32,
                count: gaps.count,
                _pad: 0,
            },
            [],
        );
        let longest = gaps.inner.max(gaps.outer);
        self.latency.raise(longest.saturating_mul(1000));
    }

    /// Reads the clock again and again. None where it went backwards. Interrupts are off.
    fn look(&self, threshold: u64) -> Option<Gaps> {
        let width = Setting::Width.get();
        let mut gaps = Gaps::default();
        let (mut last, mut total) = (None, 0);
        let start = clock::sched();
        loop {
            let first = clock::sched();
            let second = clock::sched();
            let outer = last.map_or(Some(0), |last| microseconds(last, first));
            let (Some(outer), Some(inner)) = (outer, microseconds(first, second)) else {
                self.complain(b"hwlat_detector: time running backwards\n");
                return None;
            };
            last = Some(second);
            gaps.outer = gaps.outer.max(outer);
            gaps.inner = gaps.inner.max(inner);
            let before = core::mem::replace(&mut total, second.wrapping_sub(start) / 1000);
            if total < before {
                self.complain(b"Time total overflowed\n");
                return Some(gaps);
            }
            if inner.max(outer) > threshold {
                if gaps.count == 0 {
                    gaps.first = clock::wall();
                }
                gaps.count = gaps.count.wrapping_add(1);
            }
            if total > width {
                return Some(gaps);
            }
        }
    }

    /// Puts a text into the trace, where those of the kernel's code are wanted.
    #[cold]
    fn complain(&self, text: &[u8]) {
        if Instance::top().is_ok_and(|top| top.options().has(Flag::Printk)) {
            let context = Context::capture_all();
            let ip = Self::complain as fn(&Self, &[u8]) as usize;
            let _ = self.instance.record_text(context, ip, text);
        }
    }
}

/// From `from` to `to`, both in nanoseconds; none if that is backwards.
#[inline(always)]
fn microseconds(from: u64, to: u64) -> Option<u64> {
    let passed = to.wrapping_sub(from);
    Some(passed / 1000).filter(|_| passed as i64 >= 0)
}
