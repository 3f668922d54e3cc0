// SPDX-License-Identifier: GPL-2.0

//! Saved names and thread groups of tasks, so that output shows more than a pid.
//!
//! While a tracer ([`start`]) or an event ([`start_for_events`]) records, a probe in the scheduler
//! saves the name and the thread group of both tasks of each switch and wake-up. Names for events
//! depend on option `record-cmd` of the events' instance; thread groups are saved while any instance
//! has option `record-tgid`. The probe saves only if this CPU has recorded an entry since the last
//! save ([`EntryMade`]). Otherwise names of other tasks would replace those that the buffer needs.
//!
//! All instances share the tables, which `saved_cmdlines` and `saved_tgids` show.
//!
//! Lock order: the mutex of `Users`, then tracepoint code; `NAMES` is innermost. Probes only try
//! it.

use crate::kernel::context::PreemptCount;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::tracepoint::{pid_max, Point, Probes, TaskProbe, TaskView, COMM};
use crate::trace::buffer::entry::{CpuFlag, EntryMade};
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};

/// A name with its NUL.
pub(crate) type Comm = [u8; COMM];

/// The size of the table from pid to name. The index is the pid modulo this size.
const PIDS: usize = if cfg!(CONFIG_BASE_SMALL) {
    0x1000
} else {
    0x8000
};

/// The default number of saved names.
const DEFAULT_NAMES: usize = 128;
/// The bytes of C's table besides the names. Only the value of `saved_cmdlines_size` depends on it.
const C_TABLE: usize = (PIDS + 1) * 4 + 4 + 16;
/// The bytes of one name in C's table.
const C_NAME: usize = COMM + 4;

/// The saved names.
struct Names {
    /// For each pid modulo [`PIDS`]: an index into `kept`, or [`NOWHERE`].
    places: KVVec<u32>,
    /// Pids and names. The pid is [`NOBODY`] in an unused slot.
    kept: KVVec<(i32, Comm)>,
    last: usize,
}

const NOWHERE: u32 = u32::MAX;
const NOBODY: i32 = -1;

static NAMES: RawLock<Names> = RawLock::new(Names {
    places: KVVec::new(),
    kept: KVVec::new(),
    last: 0,
});

impl Names {
    /// An empty table for `names` names. Task context, may sleep. `ENOMEM`.
    fn new(names: usize) -> Result<Self> {
        Ok(Self {
            places: KVVec::from_elem(NOWHERE, PIDS, GFP_KERNEL)?,
            kept: KVVec::from_elem((NOBODY, [0; COMM]), names, GFP_KERNEL)?,
            last: 0,
        })
    }

    fn place(&mut self, pid: i32) -> Option<&mut u32> {
        self.places.get_mut(pid as usize % PIDS)
    }

    fn save(&mut self, pid: i32, name: Comm) {
        let next = self.last.wrapping_add(1);
        let next = if next < self.kept.len() { next } else { 0 };
        let Some(place) = self.place(pid) else { return };
        let old = *place;
        if old == NOWHERE {
            *place = next as u32;
            self.last = next;
        }
        let index = if old == NOWHERE { next } else { old as usize };
        if let Some(kept) = self.kept.get_mut(index) {
            *kept = (pid, name);
        }
    }

    fn find(&self, pid: i32) -> Option<Comm> {
        let index = *self.places.get(pid as usize % PIDS)?;
        self.kept
            .get(index as usize)
            .filter(|kept| kept.0 == pid)
            .map(|kept| kept.1)
    }
}

/// Allocates the table of names with C's first size. Once, at boot. `ENOMEM`.
pub(crate) fn init() -> Result {
    resize(DEFAULT_NAMES)?;
    let users = pin_init!(Users { state <- new_mutex!(State::default()) });
    USERS.populate(Arc::pin_init(users, GFP_KERNEL)?);
    Ok(())
}

/// The number of names in the table (`saved_cmdlines_size`). Task context.
pub(crate) fn size() -> usize {
    NAMES.lock().kept.len()
}

/// Drops all names and makes room for `names` names. The number is rounded up as C does: C rounds
/// the size of its table up to 2^n pages. Task context, may sleep.
///
/// # Errors
///
/// `EINVAL` for 0 or a number above the largest pid, `ENOMEM`.
pub(crate) fn resize(names: usize) -> Result {
    if names == 0 || names > PIDS {
        return Err(EINVAL);
    }
    let bytes = (C_TABLE + names * C_NAME)
        .max(kernel::page::PAGE_SIZE)
        .next_power_of_two();
    let new = Names::new((bytes - C_TABLE) / C_NAME)?;
    let old = core::mem::replace(&mut *NAMES.lock(), new);
    drop(old);
    Ok(())
}

/// The name of the task `pid`: the saved one, `<idle>`, or `<...>` if it is unknown. Any context.
/// If the table is locked and waiting could deadlock (NMI), the name counts as unknown.
pub(crate) fn find(pid: i32) -> Comm {
    match pid {
        0 => return *b"<idle>\0\0\0\0\0\0\0\0\0\0",
        ..0 => return *b"<XXX>\0\0\0\0\0\0\0\0\0\0\0",
        _ => {}
    }
    let names = if PreemptCount::read().in_nmi() {
        NAMES.try_lock()
    } else {
        Some(NAMES.lock())
    };
    names
        .and_then(|names| names.find(pid))
        .unwrap_or(*b"<...>\0\0\0\0\0\0\0\0\0\0\0")
}

/// A copy of the saved names, for `saved_cmdlines`. Task context, may sleep. `ENOMEM`.
pub(crate) fn snapshot() -> Result<KVVec<(i32, Comm)>> {
    let mut copy = KVVec::with_capacity(size(), GFP_KERNEL)?;
    for kept in NAMES.lock().kept.iter().filter(|kept| kept.0 != NOBODY) {
        if copy.push_within_capacity(*kept).is_err() {
            break;
        }
    }
    Ok(copy)
}

/// Thread groups by pid. 0 means unknown.
static TGIDS: SetOnce<KVVec<Atomic<i32>>> = SetOnce::new();

/// The thread group of the task `pid`, if it is known. Any context.
pub(crate) fn find_tgid(pid: i32) -> Option<i32> {
    let tgid = TGIDS
        .as_ref()?
        .get(usize::try_from(pid).ok()?)?
        .load(Relaxed);
    (tgid != 0).then_some(tgid)
}

/// The known thread groups as `(pid, tgid)`, for `saved_tgids`. Any context.
pub(crate) fn tgids() -> impl Iterator<Item = (i32, i32)> {
    let map = TGIDS.as_ref().map_or(&[][..], |map| &map[..]);
    map.iter()
        .enumerate()
        .map(|(pid, tgid)| (pid as i32, tgid.load(Relaxed)))
        .filter(|pair| pair.1 != 0)
}

/// The number of instances with option `record-tgid`.
static WANT_TGIDS: Atomic<usize> = Atomic::new(0);
/// The number of users that want names.
static WANT_NAMES: Atomic<usize> = Atomic::new(0);

/// The probe that saves names and thread groups.
struct Saver;

impl Saver {
    /// Saves `task`, its name if `named`. Returns false if the table was locked; the caller then
    /// tries again later.
    fn save(task: TaskView<'_>, named: bool) -> bool {
        let pid = task.pid();
        if pid == 0 {
            return true;
        }
        if WANT_TGIDS.load(Relaxed) != 0 {
            Self::save_tgid(task);
        }
        !named || Self::save_name(task)
    }

    /// Saves the thread group of `task`. Returns false if there is no place for it.
    #[inline(always)]
    fn save_tgid(task: TaskView<'_>) -> bool {
        let place = TGIDS.as_ref().and_then(|map| map.get(task.pid() as usize));
        place
            .map(|known| known.store(task.tgid(), Relaxed))
            .is_some()
    }

    /// Saves the name of `task`. Returns false if the table was locked.
    #[inline(always)]
    fn save_name(task: TaskView<'_>) -> bool {
        NAMES
            .try_lock()
            .map(|mut names| names.save(task.pid(), task.comm()))
            .is_some()
    }

    #[inline]
    fn save_both(one: TaskView<'_>, other: TaskView<'_>, named: bool) {
        if EntryMade::get() && Self::save(one, named) & Self::save(other, named) {
            EntryMade::set(false);
        }
    }

    /// Whether a user of the probe wants names.
    fn saves_names() -> bool {
        WANT_NAMES.load(Relaxed) != 0
    }
}

/// Saves the name of `task`, if the table is not locked. Any context but NMI.
#[cfg(any(CONFIG_TRACER_MAX_TRACE, CONFIG_BLK_DEV_IO_TRACE))]
pub(crate) fn remember(task: TaskView<'_>) {
    Saver::save(task, true);
}

/// Saves the names of both tasks, if this CPU has recorded an entry since the last save. Any
/// context but NMI.
#[cfg(CONFIG_SCHED_TRACER)]
pub(crate) fn remember_both(one: TaskView<'_>, other: TaskView<'_>) {
    Saver::save_both(one, other, true);
}

/// Saves of `tasks` the names, if `names`, and the thread groups, if `tgids` and an instance had option
/// `record-tgid`, when this CPU has recorded an entry since the last save. Any context but NMI.
pub(crate) fn record(tasks: &[TaskView<'_>], names: bool, tgids: bool) {
    if !names && !tgids || !EntryMade::get() {
        return;
    }
    let mut saved = true;
    for &task in tasks.iter().filter(|task| task.pid() != 0) {
        saved &= !names || Saver::save_name(task);
        saved &= !tgids || Saver::save_tgid(task);
    }
    if saved {
        EntryMade::set(false);
    }
}

impl TaskProbe for Saver {
    fn switched(&self, prev: TaskView<'_>, next: TaskView<'_>) {
        Self::save_both(prev, next, Self::saves_names());
    }

    fn woken(&self, task: TaskView<'_>) {
        TaskView::with_current(|current| Self::save_both(current, task, Self::saves_names()));
    }
}

/// The number of users of saved names, and the probes while there is a user.
#[pin_data]
struct Users {
    #[pin]
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    count: usize,
    /// The probes. They are kept after the first use, registered or not, since waiting for running
    /// probes would slow down the end of each tracer.
    probes: Option<Probes<Saver>>,
}

static USERS: SetOnce<Arc<Users>> = SetOnce::new();

impl Users {
    fn get() -> Result<&'static Self> {
        USERS.as_ref().map(|users| &**users).ok_or(ENODEV)
    }
}

/// While it exists, thread groups are saved, and names if it wants them.
pub(crate) struct Saving {
    names: bool,
}

impl Saving {
    /// Saves names from now on, or no longer. Any context.
    #[cfg(CONFIG_EVENT_TRACING)]
    pub(crate) fn set_names(&mut self, names: bool) {
        if core::mem::replace(&mut self.names, names) != names {
            // OVERFLOW: at most one for each.
            let _ = match names {
                true => WANT_NAMES.fetch_add(1, Relaxed),
                false => WANT_NAMES.fetch_sub(1, Relaxed),
            };
        }
    }
}

/// Starts saving for a tracer. Task context, may sleep. `ENOMEM`.
pub(crate) fn start() -> Result<Saving> {
    begin(true)
}

/// Starts saving for the events of an instance; `names` is its option `record-cmd`. Task context, may
/// sleep. `ENOMEM`.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) fn start_for_events(names: bool) -> Result<Saving> {
    begin(names)
}

fn begin(names: bool) -> Result<Saving> {
    let mut state = Users::get()?.state.lock();
    if state.count == 0 {
        match &mut state.probes {
            Some(probes) => probes.resume()?,
            none => {
                *none = Some(Probes::register(
                    &[Point::Wakeup, Point::WakeupNew, Point::Switch],
                    Arc::new(Saver, GFP_KERNEL)?,
                )?);
            }
        }
    }
    state.count += 1;
    if names {
        WANT_NAMES.fetch_add(1, Relaxed);
    }
    Ok(Saving { names })
}

impl Drop for Saving {
    fn drop(&mut self) {
        if self.names {
            WANT_NAMES.fetch_sub(1, Relaxed);
        }
        let Ok(users) = Users::get() else { return };
        let mut state = users.state.lock();
        state.count = state.count.saturating_sub(1);
        if state.count == 0 {
            state.probes.iter_mut().for_each(Probes::pause);
        }
    }
}

/// Handles option `record-tgid` of an instance. Task context, may sleep. `ENOMEM`.
pub(crate) fn save_tgids(on: bool) -> Result {
    if on && TGIDS.as_ref().is_none() {
        let mut map = KVVec::with_capacity(pid_max() + 1, GFP_KERNEL)?;
        while map.push_within_capacity(Atomic::new(0)).is_ok() {}
        // If another task was faster, its table is used.
        TGIDS.populate(map);
    }
    count_tgids(on);
    Ok(())
}

/// Counts an instance that is made with option `record-tgid`, as another one has it, or uncounts one
/// that goes with it. Any context.
pub(crate) fn count_tgids(on: bool) {
    // OVERFLOW: at most one for each instance.
    let _ = match on {
        true => WANT_TGIDS.fetch_add(1, Relaxed),
        false => WANT_TGIDS.fetch_sub(1, Relaxed),
    };
}
