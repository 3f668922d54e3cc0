// SPDX-License-Identifier: GPL-2.0

//! The tasks whose events an instance records: `set_event_pid` and `set_event_notrace_pid`.
//!
//! A per-CPU word says whether events of the CPU's current task are recorded. Probes change it at
//! each context switch. One runs before the events of the switch are recorded: they are recorded if
//! either task is traced. Another runs after them and sets the word for the next task. The same is
//! done for a wake-up by a task that is not traced.
//!
//! Lock order: the event mutex, tracepoint code, then the lists, a raw lock that probes take, too.

use super::file::HotFile;
use super::registry::{self, InstanceEvents, Registry};
use crate::core::parse::options::Flag;
use crate::kernel::cpus;
use crate::kernel::percpu::PerCpu;
use crate::kernel::rcu_slot::RcuSlot;
use crate::kernel::trace_event::flag;
use crate::kernel::tracepoint::{Point, Probes, TaskProbe, TaskView, BEFORE_EVENTS, BEHIND_EVENTS};
use crate::trace::instance::feature::{Feature, OptionEffect};
use crate::trace::instance::{list, Instance};
use crate::trace::tasks::pids::{PidListKind, PidLists};
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex};

/// The tracepoints where the word changes.
const POINTS: &[Point] = &[
    Point::Switch,
    Point::Wakeup,
    Point::WakeupNew,
    Point::Waking,
];

/// The pid lists of an instance, in the form that its events use.
pub(crate) struct EventPids {
    lists: PidLists,
    /// Whether each CPU ignores events now.
    ignores: PerCpu<Atomic<bool>>,
}

/// The state of an instance for its events besides the files: the pid lists, the probes that follow
/// forks, and the file of `ftrace:print` for whoever hits it.
#[pin_data]
pub(crate) struct EventsFeature {
    pids: Arc<EventPids>,
    print: RcuSlot<HotFile>,
    /// See [`EventsFeature::events_before`].
    events_before: Option<u32>,
    #[pin]
    forks: Mutex<Option<Probes<Forks>>>,
}

impl Feature for EventsFeature {
    fn new(name: Option<&CStr>) -> Result<Arc<Self>> {
        let is_late = name.is_some() && list::has_directory();
        let registry = is_late.then(registry::lock).and_then(Result::ok);
        let events_before = registry.map(|registry| registry.next_id());
        let pids = EventPids {
            lists: PidLists::new(),
            ignores: PerCpu::new(|_| Atomic::new(false))?,
        };
        let pids = Arc::new(pids, GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self { pids, print: RcuSlot::new(), events_before, forks <- new_mutex!(None) }),
            GFP_KERNEL,
        )
    }

    fn options(&self) -> &'static [OptionEffect] {
        &[(Flag::EventFork, |instance, on| {
            instance.feature::<EventsFeature>()?.follow_forks(on)
        })]
    }

    fn option_changed(&self, instance: &Arc<Instance>, flag: Flag) {
        // Without a registry there are no files.
        match flag {
            Flag::StackTrace | Flag::UserStackTrace => {
                if let Ok(registry) = registry::lock() {
                    registry.follow_options(instance);
                }
            }
            Flag::RecordCmd => {
                if let Ok(mut registry) = registry::lock() {
                    registry.of_mut(instance).map(InstanceEvents::follow_names);
                }
            }
            _ => {}
        }
    }

    fn retire(&self, instance: &Arc<Instance>) {
        registry::retire(instance);
        // Removing pids cannot fail.
        let _ = self.follow_forks(false);
    }
}

impl EventsFeature {
    /// The pid lists.
    pub(crate) fn pids(&self) -> &Arc<EventPids> {
        &self.pids
    }

    /// The events with a smaller number were there when the instance was made. `None` for the top
    /// instance and those of the command line.
    pub(super) fn events_before(&self) -> Option<u32> {
        self.events_before
    }

    /// The file of `ftrace:print`, as long as it has triggers.
    pub(super) fn print(&self) -> &RcuSlot<HotFile> {
        &self.print
    }

    /// Handles option `event-fork`: a child is listed if its parent is, and a dead task is removed.
    /// Task context, sleeps. `ENOMEM`.
    fn follow_forks(&self, on: bool) -> Result {
        let mut forks = self.forks.lock();
        *forks = None;
        if on {
            let data = Arc::new(Forks(self.pids.clone()), GFP_KERNEL)?;
            *forks = Some(Probes::register(&[Point::Fork, Point::Free], data)?);
        }
        Ok(())
    }
}

impl EventPids {
    /// Whether there is a list. Any context.
    pub(crate) fn is_active(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Whether an event of the current task must not be recorded now. Any context, preemption off.
    #[inline]
    pub(crate) fn ignores(&self) -> bool {
        self.ignores.this().load(Relaxed)
    }

    /// The first pid of a list that is `from` or more. Task context.
    pub(crate) fn next(&self, which: PidListKind, from: i32) -> Option<i32> {
        self.lists.next(which, from)
    }

    fn decide(&self, task: TaskView<'_>) {
        let ignored = !self.lists.traces(task.pid());
        self.ignores.this().store(ignored, Relaxed);
    }
}

/// Probes that run before the events of a switch or a wake-up are recorded.
struct Before(Arc<EventPids>);

impl TaskProbe for Before {
    fn switched(&self, prev: TaskView<'_>, next: TaskView<'_>) {
        let pids = &self.0;
        let ignored = !pids.lists.traces_either(prev.pid(), next.pid());
        pids.ignores.this().store(ignored, Relaxed);
    }

    fn woken(&self, task: TaskView<'_>) {
        if self.0.ignores() {
            self.0.decide(task);
        }
    }
}

/// Probes that run after the events of a switch or a wake-up are recorded.
struct Behind(Arc<EventPids>);

impl TaskProbe for Behind {
    fn switched(&self, _prev: TaskView<'_>, next: TaskView<'_>) {
        self.0.decide(next);
    }

    fn woken(&self, _task: TaskView<'_>) {
        if !self.0.ignores() {
            TaskView::with_current(|task| self.0.decide(task));
        }
    }
}

/// Probes for the fork and the death of a task, with option `event-fork`.
struct Forks(Arc<EventPids>);

impl TaskProbe for Forks {
    fn forked(&self, parent: TaskView<'_>, child: TaskView<'_>) {
        self.0.lists.follow(parent.pid(), child.pid());
    }

    fn freed(&self, task: TaskView<'_>) {
        self.0.lists.forget(task.pid());
    }
}

/// The registered probes.
#[derive(Default)]
pub(super) struct PidProbes {
    around: Option<(Probes<Before>, Probes<Behind>)>,
}

impl InstanceEvents {
    /// Replaces a list of pids.
    fn install(&mut self, which: PidListKind, new: KVVec<i32>) -> Result {
        if self.probes.around.is_none() && !new.is_empty() {
            let (before, behind) = (Before(self.pids.clone()), Behind(self.pids.clone()));
            let before = Probes::register_at(POINTS, Arc::new(before, GFP_KERNEL)?, BEFORE_EVENTS)?;
            let behind = Probes::register_at(POINTS, Arc::new(behind, GFP_KERNEL)?, BEHIND_EVENTS)?;
            self.probes.around = Some((before, behind));
        }
        let empty = self.pids.lists.replace(which, new);
        if empty {
            self.files.iter().for_each(|file| {
                file.hot().set(flag::PID_FILTER, false);
            });
            self.probes.around = None;
        } else {
            // The tasks that run now were switched to before the probes existed.
            let pids = &self.pids;
            cpus::on_each(|| TaskView::with_current(|task| pids.decide(task)));
            self.files.iter().for_each(|file| {
                file.hot().set(flag::PID_FILTER, true);
            });
        }
        Ok(())
    }

    pub(super) fn clear_pids(&mut self) {
        // Removing pids allocates nothing, so it cannot fail.
        let _ = self.install(PidListKind::Only, KVVec::new());
        let _ = self.install(PidListKind::Not, KVVec::new());
    }
}

impl Registry {
    /// Adds the pids of one write to a list of `instance`, all or none. Returns the number of bytes
    /// taken. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a text that is not a number or a number that is too large; `ENOMEM`.
    pub(crate) fn write_pids(
        &mut self,
        instance: &Arc<Instance>,
        which: PidListKind,
        text: &[u8],
    ) -> Result<usize> {
        let at = self.of_made(instance)?;
        let (new, used) = at.pids.lists.with(which, text)?;
        at.install(which, new)?;
        Ok(used)
    }

    /// Clears a pid list of `instance`. Task context, sleeps.
    pub(crate) fn clear_pids(&mut self, instance: &Instance, which: PidListKind) {
        if let Some(at) = self.of_mut(instance) {
            // Removing pids cannot fail.
            let _ = at.install(which, KVVec::new());
        }
    }
}
