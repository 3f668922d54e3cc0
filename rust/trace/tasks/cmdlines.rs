// SPDX-License-Identifier: GPL-2.0

//! Names and thread groups of tasks that made entries, so that output can say more than a pid.
//!
//! While a tracer records ([`start`]), a probe in the scheduler saves the name (option
//! `record-cmd`) and the thread group (option `record-tgid`) of the tasks around each switch and
//! wake-up, but only after this CPU has made an entry since it last did ([`EntryMade`]): otherwise
//! tasks of no interest would push out those in the buffer.
//!
//! The tables are shared by all instances, as in `saved_cmdlines` and `saved_tgids`.
//!
//! Lock order: the mutex of `Users`, then tracepoint code; `NAMES` is innermost and is only tried
//! in probes.

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

/// Slots of the table from pid to name; pids are taken modulo this.
const PIDS: usize = if cfg!(CONFIG_BASE_SMALL) {
    0x1000
} else {
    0x8000
};

/// How many names are kept unless `saved_cmdlines_size` says otherwise.
const DEFAULT_NAMES: usize = 128;
/// Bytes that C's table takes beside its names; only `saved_cmdlines_size` tells.
const C_TABLE: usize = (PIDS + 1) * 4 + 4 + 16;
/// Bytes a name takes in C's table.
const C_NAME: usize = COMM + 4;

/// The saved names.
struct Names {
    /// By pid modulo [`PIDS`]: index in `kept`, or [`NOWHERE`].
    places: KVVec<u32>,
    /// Pid and name; pid [`NOBODY`] where nothing was saved yet.
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
    /// A table of `names` names. Task context, may sleep. `ENOMEM`.
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

/// A text as a name, cut and closed with a NUL.
fn comm(text: &[u8]) -> Comm {
    let mut comm = [0; COMM];
    comm.iter_mut()
        .take(COMM - 1)
        .zip(text)
        .for_each(|(to, from)| *to = *from);
    comm
}

/// Makes the table of names, of C's first size. Once, at boot. `ENOMEM`.
pub(crate) fn init() -> Result {
    resize(DEFAULT_NAMES)?;
    let users = pin_init!(Users { state <- new_mutex!(State::default()) });
    USERS.populate(Arc::pin_init(users, GFP_KERNEL)?);
    Ok(())
}

/// How many names are kept (`saved_cmdlines_size`). Task context.
pub(crate) fn size() -> usize {
    NAMES.lock().kept.len()
}

/// Starts over with room for `names` names and as many more as C's table would have with its memory
/// rounded up to a power of two of pages. Task context, may sleep.
///
/// # Errors
///
/// `EINVAL` for 0 or more than there can be pids, `ENOMEM`.
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

/// The name of the task `pid`: saved, or `<idle>`, or `<...>` when it is not known. Any context:
/// where the table is busy and waiting could deadlock (NMI) it is not known.
pub(crate) fn find(pid: i32) -> Comm {
    match pid {
        0 => return comm(b"<idle>"),
        ..0 => return comm(b"<XXX>"),
        _ => {}
    }
    let names = if PreemptCount::read().in_nmi() {
        NAMES.try_lock()
    } else {
        Some(NAMES.lock())
    };
    names
        .and_then(|names| names.find(pid))
        .unwrap_or_else(|| comm(b"<...>"))
}

/// A copy of what is saved, for `saved_cmdlines`. Task context, may sleep. `ENOMEM`.
pub(crate) fn snapshot() -> Result<KVVec<(i32, Comm)>> {
    let mut copy = KVVec::with_capacity(size(), GFP_KERNEL)?;
    for kept in NAMES.lock().kept.iter().filter(|kept| kept.0 != NOBODY) {
        if copy.push_within_capacity(*kept).is_err() {
            break;
        }
    }
    Ok(copy)
}

/// Thread groups by pid; 0 where unknown.
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

/// Options `record-cmd` and `record-tgid` of the top instance.
static WANT_NAMES: Atomic<bool> = Atomic::new(true);
static WANT_TGIDS: Atomic<bool> = Atomic::new(false);

/// The probe that saves.
struct Saver;

impl Saver {
    /// Saves `task`; false if the table was busy and it should be tried again.
    fn save(task: TaskView<'_>) -> bool {
        let pid = task.pid();
        if pid == 0 {
            return true;
        }
        if WANT_TGIDS.load(Relaxed) {
            if let Some(known) = TGIDS.as_ref().and_then(|map| map.get(pid as usize)) {
                known.store(task.tgid(), Relaxed);
            }
        }
        if !WANT_NAMES.load(Relaxed) {
            return true;
        }
        NAMES
            .try_lock()
            .map(|mut names| names.save(pid, task.comm()))
            .is_some()
    }

    fn save_both(one: TaskView<'_>, other: TaskView<'_>) {
        if EntryMade::get() && Self::save(one) & Self::save(other) {
            EntryMade::set(false);
        }
    }
}

/// Saves the name of `task`, if names are wanted and the table is free. Any context but NMI.
#[cfg(CONFIG_TRACER_MAX_TRACE)]
pub(crate) fn remember(task: TaskView<'_>) {
    Saver::save(task);
}

/// Saves the names of both, if this CPU has made an entry since it last did. Any context but NMI.
#[cfg(CONFIG_SCHED_TRACER)]
pub(crate) fn remember_both(one: TaskView<'_>, other: TaskView<'_>) {
    Saver::save_both(one, other);
}

impl TaskProbe for Saver {
    fn switched(&self, prev: TaskView<'_>, next: TaskView<'_>) {
        Self::save_both(prev, next);
    }

    fn woken(&self, task: TaskView<'_>) {
        TaskView::with_current(|current| Self::save_both(current, task));
    }
}

/// Who wants names saved, and the probes while somebody does.
#[pin_data]
struct Users {
    #[pin]
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    count: usize,
    /// Kept from the first use on, in place or not: to wait until none runs would make the end of
    /// each tracer dear.
    probes: Option<Probes<Saver>>,
}

static USERS: SetOnce<Arc<Users>> = SetOnce::new();

impl Users {
    fn get() -> Result<&'static Self> {
        USERS.as_ref().map(|users| &**users).ok_or(ENODEV)
    }
}

/// While it lives, names and thread groups are saved as the options say.
pub(crate) struct Saving(());

/// Begins to save. Task context, may sleep. `ENOMEM`.
pub(crate) fn start() -> Result<Saving> {
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
    Ok(Saving(()))
}

impl Drop for Saving {
    fn drop(&mut self) {
        let Ok(users) = Users::get() else { return };
        let mut state = users.state.lock();
        state.count = state.count.saturating_sub(1);
        if state.count == 0 {
            state.probes.iter_mut().for_each(Probes::pause);
        }
    }
}

/// Option `record-cmd`.
pub(crate) fn save_names(on: bool) {
    WANT_NAMES.store(on, Relaxed);
}

/// Option `record-tgid`. Task context, may sleep. `ENOMEM`.
pub(crate) fn save_tgids(on: bool) -> Result {
    if on && TGIDS.as_ref().is_none() {
        let mut map = KVVec::with_capacity(pid_max() + 1, GFP_KERNEL)?;
        while map.push_within_capacity(Atomic::new(0)).is_ok() {}
        // If another task was faster, its map is used.
        TGIDS.populate(map);
    }
    WANT_TGIDS.store(on, Relaxed);
    Ok(())
}
