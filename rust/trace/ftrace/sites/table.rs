// SPDX-License-Identifier: GPL-2.0

//! Tables of sites: one for the kernel's text, one for its init text, up to two for each module.
//!
//! They hang in one list, in the order of site numbers. Readers walk it under RCU or under the
//! ftrace lock; only holders of the ftrace lock change it, and free a table after a grace period.
//! Offsets never change, so what changes while readers look is the words, and those only by holders
//! of the lock.

use super::word::Word;
use crate::trace::ftrace::arch::{Arch, Machine};
use kernel::{
    bindings,
    prelude::*,
    sync::atomic::{Acquire, Atomic, Relaxed, Release},
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
    next: Atomic<*mut Table>,
    base: usize,
    module: *const bindings::module,
    /// Number of the first site.
    first: Atomic<usize>,
    /// May its sites be patched? A module's only after its text is final.
    live: Atomic<bool>,
    entries: KVVec<Entry>,
}

static HEAD: Atomic<*mut Table> = Atomic::new(core::ptr::null_mut());

impl Table {
    /// A table of the sites at `addrs`, which ascend strictly and number at least one; `module` is
    /// only compared, never looked into. `ENOMEM`; `ERANGE` if they are further apart than 2 GiB.
    pub(crate) fn new(module: *const bindings::module, addrs: &[usize]) -> Result<KBox<Table>> {
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
        Ok(KBox::new(
            Table {
                next: Atomic::new(core::ptr::null_mut()),
                base,
                module,
                first: Atomic::new(0),
                live: Atomic::new(false),
                entries,
            },
            GFP_KERNEL,
        )?)
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

    /// The module of its sites, null for the kernel. To be compared only.
    pub(crate) fn module(&self) -> *const bindings::module {
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

/// Walks the tables.
pub(crate) struct Tables<'a> {
    at: *mut Table,
    _guard: core::marker::PhantomData<&'a ()>,
}

impl<'a> Iterator for Tables<'a> {
    type Item = &'a Table;

    fn next(&mut self) -> Option<&'a Table> {
        // SAFETY: By the promise made to `walk`, no table of the list is freed for `'a`; a table
        // that is taken out keeps its `next`.
        let table = unsafe { self.at.as_ref() }?;
        self.at = table.next.load(Acquire);
        Some(table)
    }
}

/// # Safety
///
/// For `'a`, RCU must be read-locked or the ftrace lock held.
unsafe fn walk<'a>() -> Tables<'a> {
    // Pairs with the release store in `append`.
    Tables {
        at: HEAD.load(Acquire),
        _guard: core::marker::PhantomData,
    }
}

/// All tables, for a reader under RCU.
pub(crate) fn under_rcu(_guard: &rcu::Guard) -> Tables<'_> {
    // SAFETY: The guard outlives the walk.
    unsafe { walk() }
}

/// All tables, for a holder of the ftrace lock, which `_key` proves.
pub(crate) fn under_lock(_key: &crate::trace::ftrace::ops::Key) -> Tables<'_> {
    // SAFETY: A reference to the one `Key` is a held lock.
    unsafe { walk() }
}

/// Puts a table at the end.
pub(crate) fn append(key: &crate::trace::ftrace::ops::Key, table: KBox<Table>) {
    let mut first = 0usize;
    let mut last = None;
    for t in under_lock(key) {
        first = first.wrapping_add(t.len());
        last = Some(t);
    }
    table.first.store(first, Relaxed);
    let new = KBox::into_raw(table);
    // Pairs with the acquire loads in `walk` and `Tables::next`.
    match last {
        Some(t) => t.next.store(new, Release),
        None => HEAD.store(new, Release),
    }
}

/// Takes out the first table for which `which` is true; it is freed when the answer is dropped.
pub(crate) fn take_out(
    key: &crate::trace::ftrace::ops::Key,
    which: impl Fn(&Table) -> bool,
) -> Option<Removed> {
    let mut link: &Atomic<*mut Table> = &HEAD;
    let mut found = None;
    let mut first = 0usize;
    for t in under_lock(key) {
        match found {
            None if which(t) => {
                link.store(t.next.load(Relaxed), Release);
                found = Some(t as *const Table as *mut Table);
            }
            None => {
                link = &t.next;
                first = first.wrapping_add(t.len());
            }
            Some(_) => {
                t.first.store(first, Relaxed);
                first = first.wrapping_add(t.len());
            }
        }
    }
    found.map(Removed)
}

/// A table out of the list that readers may still look into.
#[must_use]
pub(crate) struct Removed(*mut Table);

impl Removed {
    /// The table.
    pub(crate) fn table(&self) -> &Table {
        // SAFETY: Freed only by `drop`.
        unsafe { &*self.0 }
    }
}

impl Drop for Removed {
    /// Waits for readers. May sleep; not under locks that RCU readers' progress needs.
    fn drop(&mut self) {
        rcu::synchronize_rcu();
        // SAFETY: It came from `KBox::into_raw` in `append`, it is in no list, and its readers are
        // gone.
        drop(unsafe { KBox::from_raw(self.0) });
    }
}
