// SPDX-License-Identifier: GPL-2.0

//! fprobes: functions of C callers, called at the entry and the return of traced functions.
//! `include/linux/fprobe.h`.
//!
//! A *probe* is a `struct fprobe`. Those without a function for returns are behind one ops, the
//! others behind one graph user ([`Kind`]), whose sites are those of all its probes. A hit looks up
//! the probes of its site in a [`Table`]; a probe that is to hear of the return has a header and
//! its data on the task's shadow stack ([`hit`]).
//!
//! Headers name a registration by its number, so what was entered before a probe went is not shown
//! to one that has come in its memory since.
//!
//! Sites go with their module, or with init text: [`forget`]. As that waits for `FPROBES`, and text
//! is freed after it, no site that was found under the lock can become another's.
//!
//! Lock order: `FPROBES`, then the lock of [`crate::trace::fgraph`] and those of
//! [`crate::trace::ftrace::ops`]. Hits take none.

#[allow(unsafe_code, reason = "what hooks pass")]
pub(crate) mod hit;
#[allow(unsafe_code, reason = "C's structure")]
mod probe;
mod table;

use super::user::{self, StaticUser};
use super::EntryPath;
use crate::kernel::rcu_slot::{wait_for_readers, RcuSlot, Readers};
use crate::trace::fgraph as graph;
use crate::trace::ftrace::hash::SiteSet;
use crate::trace::ftrace::ops::{self, FilterKind, Func, OpsRef, Shared, StaticOps};
use crate::trace::ftrace::sites;
use core::ops::Range;
use kernel::prelude::*;
use kernel::sync::Arc;
use probe::List;
pub(crate) use probe::Probe;
use table::{Entry, Table};

/// How a probe is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// At entries, by an ops.
    Entry,
    /// At entries and returns, by a graph user.
    Return,
}

/// The tables that hits look into.
struct Tables {
    entry: RcuSlot<Table>,
    ret: RcuSlot<Table>,
}

impl Tables {
    fn of(&self, kind: Kind) -> &RcuSlot<Table> {
        match kind {
            Kind::Entry => &self.entry,
            Kind::Return => &self.ret,
        }
    }
}

static TABLES: Tables = Tables {
    entry: RcuSlot::new(),
    ret: RcuSlot::new(),
};

/// In kernel data: the ops keeps its trampoline, and ends without waiting for the hits, which
/// `Side::stopped` is for.
static OPS: StaticOps = StaticOps::new();
static USER: StaticUser = StaticUser::new(Symbols::ENTERED, Symbols::RETURNED);

/// The functions that hits call, by their C names: the C interface has them.
pub(crate) struct Symbols;

/// What [`Symbols`] are.
pub(crate) trait ProbeSymbols {
    /// Calls [`hit::entry_alone`].
    const ENTRY_ALONE: Func;
    /// Calls [`hit::entered`].
    const ENTERED: user::Entry;
    /// Calls [`hit::returned`].
    const RETURNED: user::Return;
}

impl Kind {
    /// The ops whose sets say where, ready for use.
    fn ops(self) -> OpsRef {
        match self {
            Kind::Entry => OPS.get(),
            Kind::Return => USER.get().ops(),
        }
    }

    fn start(self) -> Result {
        if self == Kind::Entry {
            let op = self.ops();
            op.set_func(Some(Symbols::ENTRY_ALONE));
            return ops::register(op);
        }
        graph::register(USER.get(), EntryPath::Shared, &|_| {})
    }

    fn stop(self) -> Result {
        match self {
            Kind::Entry => ops::unregister(self.ops())?,
            Kind::Return => graph::unregister(USER.get()),
        }
        ops::free_sets(self.ops());
        Ok(())
    }
}

/// A registered probe.
pub(crate) struct Registered {
    id: u64,
    probe: Probe,
    words: usize,
    /// As its owner named them: one that is there twice is reported twice, as in C.
    sites: KVVec<usize>,
    /// What its owner's structure points to.
    _list: List,
}

/// The probes of a kind.
pub(crate) struct Side {
    /// By their numbers.
    probes: KVVec<Registered>,
    /// Whether it is started. So while there are sites.
    on: bool,
    /// Whose hits may still walk past what has stopped. It does not start again before they are out.
    stopped: Option<Readers>,
}

/// What `FPROBES` protects, besides [`OPS`] and [`USER`].
pub(crate) struct State {
    entry: Side,
    ret: Side,
    /// The number of the latest registration.
    latest: u64,
}

kernel::sync::global_lock! {
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static FPROBES: Mutex<State> = State { entry: Side::new(), ret: Side::new(), latest: 0 };
}

impl State {
    fn side(&mut self, kind: Kind) -> &mut Side {
        match kind {
            Kind::Entry => &mut self.entry,
            Kind::Return => &mut self.ret,
        }
    }

    fn has(&self, probe: Probe) -> bool {
        [&self.entry, &self.ret]
            .iter()
            .any(|side| side.probes.iter().any(|r| r.probe == probe))
    }
}

impl Side {
    const fn new() -> Self {
        Self {
            probes: KVVec::new(),
            on: false,
            stopped: None,
        }
    }

    /// Shows later hits the probes there are. `ENOMEM`.
    fn publish(&self, kind: Kind) -> Result {
        let rows = self
            .probes
            .iter()
            .map(|r| (Entry::new(r), r.sites.as_slice()));
        let table = Arc::new(Table::new(rows)?, GFP_KERNEL)?;
        TABLES.of(kind).exchange(Some(table)).leave();
        Ok(())
    }

    /// Traces the sites there are, and no others. `ENOMEM`, and the errors of registrations.
    fn trace(&mut self, kind: Kind) -> Result {
        let mut set = SiteSet::new();
        for &site in self.probes.iter().flat_map(|r| r.sites.iter()) {
            set.insert(site)?;
        }
        if set.len() == 0 {
            if self.on {
                kind.stop()?;
                self.on = false;
                self.stopped = Some(Readers::now());
            }
            return Ok(());
        }
        if let Some(readers) = self.stopped.take() {
            readers.wait();
        }
        ops::change_set(
            &mut ops::FTRACE.lock(),
            kind.ops(),
            FilterKind::Filter,
            set,
            Shared::Ask,
        )?;
        if !self.on {
            let op = kind.ops();
            kind.start().inspect_err(|_| ops::free_sets(op))?;
            self.on = true;
        }
        Ok(())
    }

    /// Both, after sites went. Without memory for less there stays more, in which hits find
    /// nothing.
    fn shrink(&mut self, kind: Kind) {
        if let Err(error) = self.publish(kind).and(self.trace(kind)) {
            pr_warn!(
                "fprobe: functions stay traced that are no longer probed: {:?}\n",
                error
            );
        }
    }

    /// Takes registration `id` out. Nobody looks at its probe any more once readers were waited for.
    fn end(&mut self, kind: Kind, id: u64) {
        TABLES
            .of(kind)
            .with(|table| table.into_iter().for_each(|table| table.forget(id)));
        self.probes.retain(|r| r.id != id);
        self.shrink(kind);
    }
}

/// Registers a probe at the functions whose addresses `find` gives. Task context, sleeps.
///
/// # Errors
///
/// Those of `find`; `EEXIST` when it is registered, `EINVAL` without addresses, `E2BIG` for too
/// much data, `ENOENT` for an address where nothing can be traced, `ENOMEM`, and those of
/// [`graph::register`] and [`ops::register`].
pub(crate) fn register(probe: Probe, find: impl FnOnce() -> Result<KVVec<usize>>) -> Result {
    let mut state = FPROBES.lock();
    let mut sites = find()?;
    if state.has(probe) {
        return Err(EEXIST);
    }
    if sites.is_empty() {
        return Err(EINVAL);
    }
    let words = probe.prepare()?;
    for addr in sites.iter_mut() {
        *addr = sites::lookup(*addr).ok_or(ENOENT)?.addr();
    }
    let (kind, id) = (probe.kind(), state.latest.wrapping_add(1));
    let list = List::new(probe)?;
    let mark = list.as_ptr();
    state.latest = id;
    let side = state.side(kind);
    side.probes.push(
        Registered {
            id,
            probe,
            words,
            sites,
            _list: list,
        },
        GFP_KERNEL,
    )?;
    if let Err(error) = side.publish(kind).and_then(|()| side.trace(kind)) {
        side.end(kind, id);
        drop(state);
        wait_for_readers();
        return Err(error);
    }
    probe.mark(mark);
    Ok(())
}

/// Ends a registration; none of its functions is called any more once readers were waited for, and
/// its owner neither changes nor registers it before that. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` when it is not registered.
pub(crate) fn unregister_async(probe: Probe) -> Result {
    let mut state = FPROBES.lock();
    for kind in [Kind::Entry, Kind::Return] {
        let side = state.side(kind);
        if let Some(id) = side.probes.iter().find(|r| r.probe == probe).map(|r| r.id) {
            probe.mark(core::ptr::null_mut());
            side.end(kind, id);
            return Ok(());
        }
    }
    Err(EINVAL)
}

/// [`unregister_async`]; none of its functions is called any more when this returns.
pub(crate) fn unregister(probe: Probe) -> Result {
    unregister_async(probe)?;
    wait_for_readers();
    Ok(())
}

/// The sites in `text` are gone: probes lose them. Task context, sleeps.
pub(crate) fn forget(text: &Range<usize>) {
    let mut state = FPROBES.lock();
    for kind in [Kind::Entry, Kind::Return] {
        let side = state.side(kind);
        let mut lost = false;
        for r in side.probes.iter_mut() {
            let count = r.sites.len();
            r.sites.retain(|site| !text.contains(site));
            lost |= r.sites.len() != count;
        }
        if lost {
            side.shrink(kind);
        }
    }
}
