// SPDX-License-Identifier: GPL-2.0

//! The tasks that an instance traces: `set_ftrace_pid` and `set_ftrace_notrace_pid`.
//!
//! A probe at each context switch decides for the next task and stores the result in a per-CPU
//! word: the traced pid, or [`NOBODY`]. The callback of a traced function compares that word with
//! the current pid ([`PidFilter::traces_current`]). Once a tracer knows that there are no pids, its
//! callback does not read the word at all.
//!
//! Lock order: the mutex of [`PidFilter`], tracepoint code, then [`PidLists`], a raw lock that the
//! probes of forks and deaths take, too. The switch probe takes no lock.

use super::pid_set::PidSet;
use crate::core::parse;
use crate::kernel::percpu::PerCpu;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::sort::sort_by;
use crate::kernel::tracepoint::{Point, Probes, TaskProbe, TaskView};
use crate::kernel::{context, cpus};
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex};

/// Which of the two lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PidListKind {
    /// Only these tasks are traced. Without a list that is all tasks, but if all listed tasks have
    /// ended ([`PidLists::forget`]), no task is traced.
    Only,
    /// These tasks are not traced.
    Not,
}

/// No task is traced on this CPU now.
const NOBODY: i32 = -1;

/// Pids in ascending order without duplicates.
type List = KVVec<i32>;

struct Lists {
    only: List,
    not: List,
}

impl Lists {
    const EMPTY: Self = Self {
        only: List::new(),
        not: List::new(),
    };

    fn list(&mut self, which: PidListKind) -> &mut List {
        match which {
            PidListKind::Only => &mut self.only,
            PidListKind::Not => &mut self.not,
        }
    }
}

fn has(list: &List, pid: i32) -> bool {
    list.binary_search(&pid).is_ok()
}

/// So many pids are looked at while the lists are locked, and with that interrupts are off.
const AT_ONCE: usize = 256;

/// Both lists of pids: sorted lists for writers, and sets for probes.
pub(crate) struct PidLists {
    lists: RawLock<Lists>,
    only: PidSet,
    not: PidSet,
}

impl PidLists {
    /// Empty lists.
    pub(crate) fn new() -> Self {
        Self {
            lists: RawLock::new(Lists::EMPTY),
            only: PidSet::new(),
            not: PidSet::new(),
        }
    }

    fn set(&self, which: PidListKind) -> &PidSet {
        match which {
            PidListKind::Only => &self.only,
            PidListKind::Not => &self.not,
        }
    }

    /// Whether the task `pid` is traced. Any context.
    #[inline]
    pub(crate) fn traces(&self, pid: i32) -> bool {
        (!self.only.is_in_force() || self.only.has(pid)) && !self.not.has(pid)
    }

    /// Whether a switch or wake-up between two tasks is traced. It is not if one list excludes both
    /// tasks. Any context.
    pub(crate) fn traces_either(&self, one: i32, other: i32) -> bool {
        let is_in = |pid| !self.only.is_in_force() || self.only.has(pid);
        let is_out = |pid| self.not.has(pid);
        !(is_out(one) && is_out(other)) && (is_in(one) || is_in(other))
    }

    /// Whether there is neither list. Any context.
    pub(crate) fn is_empty(&self) -> bool {
        !self.only.is_in_force() && !self.not.is_in_force()
    }

    /// Whether there is such a list. Any context.
    pub(crate) fn is_in_force(&self, which: PidListKind) -> bool {
        self.set(which).is_in_force()
    }

    /// A copy of a list, ascending. Task context, may sleep. `ENOMEM`.
    pub(crate) fn pids(&self, which: PidListKind) -> Result<List> {
        let length = self.lists.lock().list(which).len();
        let mut copy = List::with_capacity(length, GFP_KERNEL)?;
        self.for_each(which, |pid| {
            // A fork may have made the list longer than the copy's capacity. The last pids are left
            // out then.
            let _there_may_be_room = copy.push_within_capacity(pid);
        });
        Ok(copy)
    }

    /// Calls `f` with each pid of a list, ascending, with the lists locked: now and then they are not,
    /// and may change. Task context.
    fn for_each(&self, which: PidListKind, mut f: impl FnMut(i32)) {
        let mut next = Some(i32::MIN);
        while let Some(from) = next {
            let mut lists = self.lists.lock();
            let list = lists.list(which);
            let rest = list.get(list.partition_point(|pid| *pid < from)..);
            let some = rest.unwrap_or(&[]).iter().take(AT_ONCE);
            next = None;
            for pid in some {
                f(*pid);
                next = pid.checked_add(1);
            }
        }
    }

    /// The first pid of a list that is `from` or more. Task context.
    pub(crate) fn next(&self, which: PidListKind, from: i32) -> Option<i32> {
        let mut lists = self.lists.lock();
        let list = lists.list(which);
        let (Ok(at) | Err(at)) = list.binary_search(&from);
        list.get(at).copied()
    }

    /// A list with the added pids of one write, all or none, and the number of bytes taken. Task
    /// context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a text that is not a number, `EPERM` for a number that cannot be a pid,
    /// `ENOMEM`.
    pub(crate) fn with(&self, which: PidListKind, text: &[u8]) -> Result<(List, usize)> {
        let mut added = List::new();
        let set = self.set(which);
        let used = parse::pids::parse::<PidError>(text, |pid| {
            let pid = pid as i32;
            if let Some(mut growth) = set.growth(pid, GFP_KERNEL)? {
                let _alone = self.lists.lock();
                set.grow(pid, &mut growth);
            }
            Ok(added.push(pid, GFP_KERNEL).map_err(Error::from)?)
        })?;
        if !added.is_sorted() {
            sort_by(&mut added, |one: &i32, other| one.cmp(other));
        }
        let before = self.pids(which)?;
        let longest = before.len().saturating_add(added.len());
        let mut new = List::with_capacity(longest, GFP_KERNEL)?;
        for pid in parse::pids::merged(&before, &added) {
            let _there_is_room = new.push_within_capacity(pid);
        }
        Ok((new, used))
    }

    /// Replaces a list by `new`; an empty one is none. Returns whether there is neither list now.
    /// Task context.
    pub(crate) fn replace(&self, which: PidListKind, new: List) -> bool {
        let set = self.set(which);
        let is_in_force = !new.is_empty();
        let old = core::mem::replace(self.lists.lock().list(which), new);
        self.for_each(which, |pid| set.insert(pid));
        set.put_in_force(is_in_force);
        for some in old.chunks(AT_ONCE) {
            let mut lists = self.lists.lock();
            let list = lists.list(which);
            some.iter()
                .filter(|pid| !has(list, **pid))
                .for_each(|pid| set.remove(*pid));
        }
        self.is_empty()
    }

    /// Adds `child` to the lists that have `parent`. Without memory the child is not added, since
    /// tracing must not make a fork fail. Any context but NMI.
    pub(crate) fn follow(&self, parent: i32, child: i32) {
        for which in [PidListKind::Only, PidListKind::Not] {
            self.follow_in(which, parent, child);
        }
    }

    /// Removes a pid from both lists. A list without tasks stays in force: who asked for one task and
    /// its children does not want all others when they have ended. Any context but NMI.
    pub(crate) fn forget(&self, pid: i32) {
        let mut lists = self.lists.lock();
        for which in [PidListKind::Only, PidListKind::Not] {
            let list = lists.list(which);
            if let Ok(place) = list.binary_search(&pid) {
                let _ = list.remove(place);
                self.set(which).remove(pid);
            }
        }
    }

    /// Adds `child` to a list that has `parent`.
    fn follow_in(&self, which: PidListKind, parent: i32, child: i32) {
        let set = self.set(which);
        if !set.has(parent) {
            return;
        }
        let Ok(mut growth) = set.growth(child, GFP_NOWAIT) else {
            return;
        };
        let mut longer = List::new();
        loop {
            let length = {
                let mut lists = self.lists.lock();
                let list = lists.list(which);
                let Err(place) = list.binary_search(&child) else {
                    return;
                };
                if !has(list, parent) {
                    return;
                }
                if list.len() == list.capacity() && longer.capacity() > list.len() {
                    for pid in list.iter() {
                        let _there_is_room = longer.push_within_capacity(*pid);
                    }
                    core::mem::swap(list, &mut longer);
                }
                if list.len() < list.capacity() {
                    let _there_is_room = list.insert_within_capacity(place, child);
                    if let Some(growth) = &mut growth {
                        set.grow(child, growth);
                    }
                    set.insert(child);
                    return;
                }
                list.len()
            };
            // The allocation is outside the lock: the allocator may wake a task, and a CPU that
            // switches tasks waits for the lists with its run queue locked.
            let Ok(list) = List::with_capacity(length + length / 2 + 1, GFP_NOWAIT) else {
                return;
            };
            longer = list;
        }
    }
}

/// Data shared by probes and callbacks.
struct Shared {
    lists: PidLists,
    /// For each CPU, the pid that is traced there, or [`NOBODY`].
    here: PerCpu<Atomic<i32>>,
}

impl Shared {
    fn decide(&self, task: TaskView<'_>) {
        let pid = task.pid();
        let pid = if self.lists.traces(pid) { pid } else { NOBODY };
        self.here.this().store(pid, Relaxed);
    }
}

impl TaskProbe for Shared {
    fn switched(&self, _prev: TaskView<'_>, next: TaskView<'_>) {
        self.decide(next);
    }

    fn forked(&self, parent: TaskView<'_>, child: TaskView<'_>) {
        self.lists.follow(parent.pid(), child.pid());
    }

    fn freed(&self, task: TaskView<'_>) {
        self.lists.forget(task.pid());
    }
}

/// The registered probes.
#[derive(Default)]
struct State {
    switch: Option<Probes<Shared>>,
    fork: Option<Probes<Shared>>,
}

/// The pid lists of an instance, with their probes.
#[pin_data]
pub(crate) struct PidFilter {
    shared: Arc<Shared>,
    #[pin]
    state: Mutex<State>,
}

impl PidFilter {
    /// Empty lists. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            shared: {
                let here = PerCpu::new(|_| Atomic::new(NOBODY))?;
                Arc::new(Shared { lists: PidLists::new(), here }, GFP_KERNEL)?
            },
            state <- new_mutex!(State::default()),
        }? Error)
    }

    /// Whether there is a list. Any context.
    pub(crate) fn is_active(&self) -> bool {
        !self.shared.lists.is_empty()
    }

    /// Whether the current task is traced, from the first list on until [`PidFilter::rest`] after
    /// the last one. Any context, preemption off.
    #[inline(always)]
    pub(crate) fn traces_current(&self) -> bool {
        self.shared.here.this().load(Relaxed) == context::current_pid()
    }

    /// The same, whether the filter is active or not. Any context, preemption off.
    pub(crate) fn traces_here(&self) -> bool {
        self.shared.lists.is_empty() || self.traces_current()
    }

    /// Adds the pids of one write, all or none. Returns the number of bytes taken. Task context,
    /// may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a text that is not a number, `EPERM` for a number that cannot be a pid,
    /// `ENOMEM`.
    pub(crate) fn write(&self, which: PidListKind, text: &[u8]) -> Result<usize> {
        let mut state = self.state.lock();
        let (new, used) = self.shared.lists.with(which, text)?;
        self.install(&mut state, which, new)?;
        Ok(used)
    }

    /// Undoes a [`PidFilter::write`]: the list is `before` again. Task context, may sleep.
    pub(crate) fn restore(&self, which: PidListKind, before: List) {
        let mut state = self.state.lock();
        // The probes are there, unless somebody else has cleared the list meanwhile. So nothing is
        // allocated.
        let _ = self.install(&mut state, which, before);
    }

    /// Clears one list. [`PidFilter::rest`] is to follow. Task context, may sleep.
    pub(crate) fn clear(&self, which: PidListKind) {
        let mut state = self.state.lock();
        // Removing pids allocates nothing, so it cannot fail.
        let _ = self.install(&mut state, which, List::new());
    }

    /// Nothing looks at switches of tasks any more if there is no list. Callbacks that ask
    /// [`PidFilter::traces_current`] are gone then. Task context, may sleep.
    pub(crate) fn rest(&self) {
        let mut state = self.state.lock();
        if !self.is_active() {
            state.switch = None;
        }
    }

    /// A copy of a list, ascending; `None` if there is none. Task context, may sleep. `ENOMEM`.
    pub(crate) fn pids(&self, which: PidListKind) -> Result<Option<List>> {
        let lists = &self.shared.lists;
        let pids = lists.pids(which)?;
        Ok(lists.is_in_force(which).then_some(pids))
    }

    /// Whether there is such a list. Any context.
    pub(crate) fn is_in_force(&self, which: PidListKind) -> bool {
        self.shared.lists.is_in_force(which)
    }

    /// The first pid of a list that is `from` or more. Task context.
    pub(crate) fn next(&self, which: PidListKind, from: i32) -> Option<i32> {
        self.shared.lists.next(which, from)
    }

    /// Handles option `function-fork`: a child is listed if its parent is, and a dead task is
    /// removed. Task context, may sleep. `ENOMEM`.
    pub(crate) fn follow_forks(&self, on: bool) -> Result {
        let mut state = self.state.lock();
        state.fork = None;
        if on {
            state.fork = Some(Probes::register(
                &[Point::Fork, Point::Free],
                self.shared.clone(),
            )?);
        }
        Ok(())
    }

    fn install(&self, state: &mut State, which: PidListKind, new: List) -> Result {
        if state.switch.is_none() && !new.is_empty() {
            state.switch = Some(Probes::register(&[Point::Switch], self.shared.clone())?);
        }
        self.shared.lists.replace(which, new);
        // The tasks that run now were switched to before the probes existed. Without a list all are
        // traced by who still asks.
        cpus::on_each(|| TaskView::with_current(|task| self.shared.decide(task)));
        Ok(())
    }
}

/// The errors of a write: in the text, or no memory.
struct PidError(Error);

impl From<crate::core::format::Error> for PidError {
    fn from(error: crate::core::format::Error) -> Self {
        Self(Error::from_errno(-error.errno()))
    }
}

impl From<Error> for PidError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<PidError> for Error {
    fn from(error: PidError) -> Self {
        error.0
    }
}
