// SPDX-License-Identifier: GPL-2.0

//! Tables of sites: one for the kernel's text, one for its init text, up to two for each module.
//!
//! They hang in one list, in the order of site numbers. Readers walk it under RCU or under the
//! ftrace lock; only holders of the ftrace lock change it, and free a table after a grace period.
//! Offsets never change, so what changes while readers look is the words, and those only by holders
//! of the lock.

use super::word::Word;
use crate::kernel::module::ModuleId;
use crate::kernel::rcu_list::{Iter, Node, RcuList, Removed};
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::ftrace::ops::Key;
use kernel::{
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
    sync::rcu,
};

/// One site: 8 bytes.
struct Entry {
    /// From [`Table::base`].
    offset: i32,
    word: Atomic<u32>,
}

/// A sorted table of sites.
///
/// # Invariants
///
/// Entries are sorted by offset, without duplicates; there is at least one.
pub(crate) struct Table {
    base: usize,
    module: ModuleId,
    /// Number of the first site.
    first: Atomic<usize>,
    /// May its sites be patched? A module's only after its text is final.
    live: Atomic<bool>,
    entries: KVVec<Entry>,
}

impl Table {
    /// A table of the sites at `addrs`, which ascend strictly and number at least one. Task context,
    /// may sleep. `ENOMEM`; `EINVAL` without sites, `ERANGE` if they are further apart than 2 GiB.
    pub(crate) fn new(module: ModuleId, addrs: &[usize]) -> Result<KBox<Node<Table>>> {
        let base = *addrs.first().ok_or(EINVAL)?;
        let mut entries = KVVec::with_capacity(addrs.len(), GFP_KERNEL)?;
        for addr in addrs {
            let offset = i32::try_from(addr.wrapping_sub(base)).map_err(|_| ERANGE)?;
            entries.push(
                Entry {
                    offset,
                    word: Atomic::new(0),
                },
                GFP_KERNEL,
            )?;
        }
        // INVARIANT: As `addrs` ascend, so do the offsets.
        Node::new(Table {
            base,
            module,
            first: Atomic::new(0),
            live: Atomic::new(false),
            entries,
        })
    }

    /// Number of its sites.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries
            .len()
            .wrapping_mul(core::mem::size_of::<Entry>())
    }

    /// The module of its sites.
    pub(crate) fn module(&self) -> ModuleId {
        self.module
    }

    /// Number of its first site, counted over all tables.
    pub(crate) fn first(&self) -> usize {
        self.first.load(Relaxed)
    }

    /// May its sites be patched?
    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Relaxed)
    }

    /// From now on its sites may be patched.
    pub(crate) fn go_live(&self) {
        self.live.store(true, Relaxed);
    }

    /// Address of site `i`.
    pub(crate) fn addr(&self, i: usize) -> Option<usize> {
        let entry = self.entries.get(i)?;
        Some(self.base.wrapping_add_signed(entry.offset as isize))
    }

    /// State of site `i`.
    pub(crate) fn word(&self, i: usize) -> Word {
        Word::from_bits(self.entries.get(i).map_or(0, |e| e.word.load(Relaxed)))
    }

    /// Sets the state of site `i`. For holders of the ftrace lock.
    pub(crate) fn set_word(&self, i: usize, word: Word) {
        if let Some(entry) = self.entries.get(i) {
            entry.word.store(word.bits(), Relaxed);
        }
    }

    /// The first site whose instruction ends after `start` and begins at or before `end`.
    pub(crate) fn find(&self, start: usize, end: usize) -> Option<usize> {
        let first_end = self.addr(0)?.wrapping_add(Machine::SITE_SIZE);
        let last = self.addr(self.len().checked_sub(1)?)?;
        if end < self.base || start >= last.wrapping_add(Machine::SITE_SIZE) || first_end == 0 {
            return None;
        }
        let i = self.entries.partition_point(|e| {
            self.base
                .wrapping_add_signed(e.offset as isize)
                .wrapping_add(Machine::SITE_SIZE)
                <= start
        });
        self.addr(i).filter(|&addr| addr <= end).map(|_| i)
    }

    /// The site at exactly `addr`.
    pub(crate) fn exact(&self, addr: usize) -> Option<usize> {
        self.find(addr, addr)
            .filter(|&i| self.addr(i) == Some(addr))
    }

    /// Does all of it lie in `start..end`?
    pub(crate) fn within(&self, start: usize, end: usize) -> bool {
        self.base >= start
            && self
                .len()
                .checked_sub(1)
                .and_then(|i| self.addr(i))
                .is_some_and(|a| a < end)
    }
}

static TABLES: RcuList<Table, Key> = RcuList::new();

/// All tables, for a reader under RCU.
pub(crate) fn under_rcu(guard: &rcu::Guard) -> Iter<'_, Table> {
    TABLES.under_rcu(guard)
}

/// All tables, for a holder of the ftrace lock.
pub(crate) fn under_lock(key: &Key) -> Iter<'_, Table> {
    TABLES.under_lock(key)
}

/// Puts a table at the end.
pub(crate) fn append(key: &Key, table: KBox<Node<Table>>) {
    TABLES.push_back(key, table);
    number(key);
}

/// Takes out the first table for which `which` is true; it is freed when the answer is dropped.
pub(crate) fn take_out(key: &mut Key, which: impl Fn(&Table) -> bool) -> Option<Removed<Table>> {
    let removed = TABLES.take_out(key, which);
    number(key);
    removed
}

/// Numbers the first sites, in the order of the tables.
fn number(key: &Key) {
    under_lock(key).fold(0usize, |first, table| {
        table.first.store(first, Relaxed);
        first.wrapping_add(table.len())
    });
}
