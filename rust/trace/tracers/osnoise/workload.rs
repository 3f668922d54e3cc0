// SPDX-License-Identifier: GPL-2.0

//! The workload: the probes that keep the accounts, and what runs on each CPU.
//!
//! It goes on as long as an instance records it. CPUs that come up get a thread from a work item, as
//! hotplug itself must not wait for the mutex of the workload, whose holders wait for hotplug.

use super::account::{self, Accountant};
use super::recorders::{self, Recorder};
use super::sampling;
use super::settings::Choice;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use super::timerlat;
use crate::kernel::cpus::{self, CpuSet};
use crate::kernel::hotplug::{self, Follower, Hold};
use crate::kernel::kthread::{Place, ThisThread, Thread, Work};
use crate::kernel::nmi_callback::{self, Callee};
use crate::kernel::osnoise::ArchInterrupts;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use crate::kernel::this_task;
use crate::kernel::tracepoint::{Point, Probes};
use crate::trace::instance::Instance;
use kernel::cpu::CpuId;
use kernel::new_mutex;
use kernel::prelude::*;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use kernel::sync::aref::ARef;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};
#[cfg(CONFIG_TIMERLAT_TRACER)]
use kernel::task::Task;

/// Which of the two tracers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `osnoise`.
    Osnoise,
    /// `timerlat`.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    Timerlat,
}

impl Kind {
    /// The name of the tracer, and of its threads.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Osnoise => "osnoise",
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Self::Timerlat => "timerlat",
        }
    }

    fn thread_name(self) -> &'static CStr {
        match self {
            Self::Osnoise => c"osnoise",
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Self::Timerlat => c"timerlat",
        }
    }
}

/// What there is of the workload.
struct Workload {
    /// The tracer of those instances that have one of the two, and how many they are.
    kind: Kind,
    users: usize,
    /// The CPUs it is for.
    cpus: CpuSet,
    /// There while it goes on.
    hooks: Option<Hooks>,
}

static WORKLOAD: SetOnce<Pin<KBox<Mutex<Workload>>>> = SetOnce::new();

/// What runs on each CPU, by its number.
static WORKERS: SetOnce<Pin<KBox<Mutex<KVec<Option<Worker>>>>>> = SetOnce::new();

/// Whether [`Workload::kind`] is `timerlat` and there are users.
static IS_TIMERLAT: Atomic<bool> = Atomic::new(false);

/// Whether the workload is that of `timerlat`. Any context, by one load.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(super) fn is_timerlat() -> bool {
    IS_TIMERLAT.load(Relaxed)
}

/// Prepares for users. Once, at boot, before a tracer is set. `ENOMEM`.
pub(crate) fn init() -> Result {
    account::init()?;
    let mut workers = KVec::new();
    for cpu in cpus::possible() {
        while workers.len() <= cpu.as_u32() as usize {
            workers.push(None, GFP_KERNEL)?;
        }
    }
    WORKERS.populate(KBox::pin_init(new_mutex!(workers), GFP_KERNEL)?);
    let workload = Workload {
        kind: Kind::Osnoise,
        users: 0,
        cpus: CpuSet::all(),
        hooks: None,
    };
    WORKLOAD.populate(KBox::pin_init(new_mutex!(workload), GFP_KERNEL)?);
    Ok(())
}

/// The rest, when there are tasks. Once.
pub(crate) fn late_init() {
    if let Err(error) = hotplug::follow::<Hotplug>() {
        pr_warn!("osnoise: CPUs that come up have no thread: {:?}\n", error);
    }
}

fn workload() -> Result<&'static Mutex<Workload>> {
    WORKLOAD.as_ref().map(|workload| &**workload).ok_or(ENODEV)
}

/// An instance whose tracer is one of the two.
pub(super) struct User {
    recorder: Recorder,
}

impl User {
    /// Task context, sleeps. `EBUSY` while an instance has the other tracer.
    pub(super) fn new(kind: Kind, instance: &Arc<Instance>) -> Result<Self> {
        let recorder = Recorder::new(instance)?;
        let mut workload = workload()?.lock();
        if workload.users != 0 && workload.kind != kind {
            return Err(EBUSY);
        }
        workload.kind = kind;
        workload.users += 1;
        IS_TIMERLAT.store(kind != Kind::Osnoise, Relaxed);
        Ok(Self { recorder })
    }

    /// The instance records from now on. Task context, sleeps. `ENOMEM`, and errors of tracepoints.
    pub(super) fn start(&mut self) -> Result {
        let mut workload = workload()?.lock();
        if recorders::contains(&self.recorder) {
            return Ok(());
        }
        workload.begin()?;
        recorders::add(&self.recorder).inspect_err(|_| workload.end_if_unused())
    }

    /// It records no more. Task context, sleeps.
    pub(super) fn stop(&mut self) {
        let Ok(workload) = workload() else {
            return;
        };
        let mut workload = workload.lock();
        if recorders::contains(&self.recorder) {
            recorders::remove(&self.recorder);
            workload.end_if_unused();
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.stop();
        if let Ok(workload) = workload() {
            let mut workload = workload.lock();
            workload.users = workload.users.saturating_sub(1);
            if workload.users == 0 {
                // No program comes after this; those that came while nothing was recorded go.
                IS_TIMERLAT.store(false, Relaxed);
                stop_workers();
            }
        }
    }
}

/// The probes. Dropping it: task context, sleeps.
struct Hooks {
    _probes: Probes<Accountant>,
    _interrupts: ArchInterrupts,
}

impl Hooks {
    const POINTS: &'static [Point] = &[
        Point::IrqEntry,
        Point::IrqExit,
        #[cfg(not(CONFIG_PREEMPT_RT))]
        Point::SoftirqEntry,
        #[cfg(not(CONFIG_PREEMPT_RT))]
        Point::SoftirqExit,
        Point::Switch,
        // A thread of the workload does not leave its CPU, but a program's task may.
        #[cfg(CONFIG_TIMERLAT_TRACER)]
        Point::Migrate,
    ];

    fn new(kind: Kind) -> Result<Self> {
        let points = match kind {
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Kind::Osnoise => Self::POINTS
                .split_last()
                .map_or(Self::POINTS, |(_, rest)| rest),
            _ => Self::POINTS,
        };
        Ok(Self {
            _probes: Probes::register(points, Arc::new(Accountant, GFP_KERNEL)?)?,
            _interrupts: ArchInterrupts::new()?,
        })
    }
}

impl Workload {
    fn begin(&mut self) -> Result {
        if self.hooks.is_some() {
            return Ok(());
        }
        reset_accounts()?;
        #[cfg(CONFIG_TIMERLAT_TRACER)]
        timerlat::begin();
        self.hooks = Some(Hooks::new(self.kind)?);
        nmi_callback::set(Callee::Osnoise, true);
        self.start_workers().inspect_err(|_| self.end())
    }

    fn end_if_unused(&mut self) {
        if recorders::is_empty() {
            self.end();
        }
    }

    fn end(&mut self) {
        if self.hooks.is_none() {
            return;
        }
        account::all().for_each(|account| account.sampling.store(false, Relaxed));
        nmi_callback::set(Callee::Osnoise, false);
        stop_workers();
        self.hooks = None;
    }

    /// Starts a worker on each CPU.
    fn start_workers(&self) -> Result {
        let _hold = Hold::new();
        let here = |cpu: &CpuId| self.cpus.contains(*cpu);
        let started = cpus::online()
            .filter(here)
            .try_for_each(|cpu| self.start_worker(cpu));
        started.inspect_err(|_| cpus::possible().for_each(stop_worker))
    }

    /// Starts the worker of `cpu`. Hotplug is held up.
    fn start_worker(&self, cpu: CpuId) -> Result {
        let account = account::of(cpu).ok_or(EINVAL)?;
        if !Choice::Workload.is_on() {
            // The others are all there is to tell of; and `timerlat` waits for programs.
            if self.kind == Kind::Osnoise {
                account.forget();
                account.sampling.store(true, Relaxed);
            }
            return Ok(());
        }
        let mut workers = WORKERS.as_ref().ok_or(ENODEV)?.lock();
        let slot = workers.get_mut(cpu.as_u32() as usize).ok_or(EINVAL)?;
        if account.take_left() {
            *slot = None;
        }
        if slot.is_none() {
            let job = Job {
                kind: self.kind,
                cpu,
            };
            let thread = Thread::run(self.kind.thread_name(), Place::On(cpu), job);
            let thread =
                thread.inspect_err(|_| pr_err!("osnoise: could not start sampling thread\n"));
            *slot = Some(Worker::Thread(thread?));
        }
        Ok(())
    }

    /// Stops the workers, and starts those there are to be.
    fn restart(&self) {
        if self.hooks.is_none() {
            // Programs may have come, but not in the place of threads.
            if Choice::Workload.is_on() {
                stop_workers();
            }
            return;
        }
        stop_workers();
        if let Err(error) = self.start_workers() {
            pr_err!("osnoise: the tracer did not go on: {:?}\n", error);
        }
    }
}

/// What runs on a CPU. Dropping it stops that: task context, sleeps; a thread takes none of the locks
/// of this module.
enum Worker {
    Thread(#[expect(dead_code, reason = "runs until it is dropped")] Thread<Job>),
    /// A program's task, which waits for a timer. It is killed.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    User(Guest),
}

/// A program's task. Dropping it kills the program.
#[cfg(CONFIG_TIMERLAT_TRACER)]
struct Guest(Option<ARef<Task>>);

#[cfg(CONFIG_TIMERLAT_TRACER)]
impl Guest {
    fn is(&self, task: &Task) -> bool {
        self.0
            .as_deref()
            .is_some_and(|own| core::ptr::eq(own, task))
    }

    /// It goes by itself.
    fn leave(mut self) {
        self.0 = None;
    }
}

#[cfg(CONFIG_TIMERLAT_TRACER)]
impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            this_task::kill(task);
        }
    }
}

/// What a thread does.
struct Job {
    kind: Kind,
    cpu: CpuId,
}

impl Work for Job {
    fn run(&self, thread: &ThisThread) {
        match self.kind {
            Kind::Osnoise => sampling::run(thread, self.cpu),
            #[cfg(CONFIG_TIMERLAT_TRACER)]
            Kind::Timerlat => timerlat::run(thread, self.cpu),
        }
    }
}

/// New accounts for all CPUs, but for those where a program waits already: it has come while nothing
/// was recorded. `ENODEV`.
fn reset_accounts() -> Result {
    let workers = WORKERS.as_ref().ok_or(ENODEV)?.lock();
    for cpu in cpus::possible() {
        let worker = workers.get(cpu.as_u32() as usize).and_then(Option::as_ref);
        if let Some(account) = account::of(cpu).filter(|_| worker.is_none()) {
            account.reset();
        }
    }
    Ok(())
}

fn stop_workers() {
    let _hold = Hold::new();
    cpus::possible().for_each(stop_worker);
}

/// Stops the worker of `cpu`. Hotplug is held up.
fn stop_worker(cpu: CpuId) {
    let worker = WORKERS.as_ref().and_then(|workers| {
        let mut workers = workers.lock();
        workers.get_mut(cpu.as_u32() as usize)?.take()
    });
    drop(worker);
    if let Some(account) = account::of(cpu) {
        account.sampling.store(false, Relaxed);
    }
}

/// The current task, `task`, becomes the worker of `cpu` if `admit` succeeds, which runs under the
/// mutex of the workers. Task context, sleeps. `EINVAL` unless `timerlat` waits for programs, and
/// errors of `admit`.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(super) fn admit(cpu: CpuId, task: &ARef<Task>, admit: impl FnOnce() -> Result) -> Result {
    let mut workers = WORKERS.as_ref().ok_or(EINVAL)?.lock();
    if !is_timerlat() || Choice::Workload.is_on() {
        return Err(EINVAL);
    }
    let slot = workers.get_mut(cpu.as_u32() as usize).ok_or(EINVAL)?;
    admit()?;
    *slot = Some(Worker::User(Guest(Some(task.clone()))));
    Ok(())
}

/// `task` is no longer that of `cpu`, if it still was. `dismiss` is called under the mutex of the
/// workers. Task context, sleeps.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(super) fn dismiss(cpu: CpuId, task: &ARef<Task>, dismiss: impl FnOnce()) {
    let Some(workers) = WORKERS.as_ref() else {
        return;
    };
    let mut workers = workers.lock();
    dismiss();
    if let Some(slot) = workers.get_mut(cpu.as_u32() as usize) {
        let is_it = |worker: &mut Worker| matches!(worker, Worker::User(guest) if guest.is(task));
        if let Some(Worker::User(guest)) = slot.take_if(is_it) {
            guest.leave();
        }
    }
}

/// The CPUs that the workload is for. Task context. `ENODEV`.
pub(crate) fn cpus() -> Result<CpuSet> {
    Ok(workload()?.lock().cpus)
}

/// Changes them. Task context, sleeps. `ENODEV`.
pub(crate) fn set_cpus(cpus: CpuSet) -> Result {
    let mut workload = workload()?.lock();
    workload.cpus = cpus;
    workload.restart();
    Ok(())
}

/// Changes an option. Task context, sleeps. Errors as [`Choice::set`].
///
/// The option changes first: a program that comes afterwards is refused, and one that has come before
/// is found and stopped.
pub(crate) fn set_option(option: Choice, on: bool) -> Result {
    let workload = workload()?.lock();
    option.set(on)?;
    workload.restart();
    Ok(())
}

struct Hotplug;

impl Follower for Hotplug {
    const NAME: &'static CStr = c"trace/osnoise:online";

    fn came_up(cpu: CpuId) {
        let Ok(workload) = workload() else {
            return;
        };
        let workload = workload.lock();
        let _hold = Hold::new();
        let is_wanted = workload.hooks.is_some() && workload.cpus.contains(cpu);
        if is_wanted && cpus::is_online(cpu) {
            // The message is in the log.
            let _ = workload.start_worker(cpu);
        }
    }

    fn goes_down(cpu: CpuId) {
        stop_worker(cpu);
    }
}
