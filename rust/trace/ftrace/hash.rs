// SPDX-License-Identifier: GPL-2.0

//! Sets of sites: the filter and the notrace set of an ops.
//!
//! C code sees `struct ftrace_hash` as an opaque pointer in `struct ftrace_ops_hash`; here it is a
//! [`SiteSet`]. A set does not change once an ops has it: changes make a copy, which replaces it;
//! walkers of the list of ops may look into the old one until a grace period has passed.
//!
//! A site takes 4 bytes (text lies within 4 GiB, see [`Arch::TEXT_UPPER_HALF`]), in an open table
//! that is at most three quarters full: 5.3 to 10.7 bytes; 8 bytes more per place where sites have
//! direct callers of their own.

use super::arch::{Arch, Machine, Target};
use kernel::prelude::*;

/// A module pattern that waits for its module: `PATTERN:mod:MODULE` as written.
pub(crate) struct Pending {
    /// The functions' pattern, its `!` included.
    pub(crate) functions: KVec<u8>,
    /// The name of the module.
    pub(crate) module: KVec<u8>,
}

impl Pending {
    /// Keeps a rule. `ENOMEM`.
    pub(crate) fn new(functions: &[u8], module: &[u8]) -> Result<Self> {
        let copy = |text: &[u8]| -> Result<KVec<u8>> {
            let mut v = KVec::new();
            v.extend_from_slice(text, GFP_KERNEL)?;
            Ok(v)
        };
        Ok(Pending {
            functions: copy(functions)?,
            module: copy(module)?,
        })
    }
}

/// A set of sites, by address.
///
/// # Invariants
///
/// `keys` is empty or has a power of two places, at least a quarter of them [`FREE`]; `count` is
/// the number of the others. `direct`, if there, has as many places.
#[derive(Default)]
pub(crate) struct SiteSet {
    keys: KVVec<u32>,
    count: usize,
    direct: KVVec<usize>,
    pending: KVec<Pending>,
    /// It lost sites with their module: empty or not, it never means everything.
    emptied: bool,
}

const FREE: u32 = 0;

impl SiteSet {
    /// An empty set.
    pub(crate) const fn new() -> Self {
        SiteSet {
            keys: KVVec::new(),
            count: 0,
            direct: KVVec::new(),
            pending: KVec::new(),
            emptied: false,
        }
    }

    /// A copy. `ENOMEM`.
    pub(crate) fn try_clone(&self) -> Result<Self> {
        let mut copy = SiteSet::new();
        copy.emptied = self.emptied;
        copy.reserve(self.count)?;
        for (addr, direct) in self.iter() {
            copy.insert_with(addr, direct)?;
        }
        for p in self.pending.iter() {
            copy.pending
                .push(Pending::new(&p.functions, &p.module)?, GFP_KERNEL)?;
        }
        Ok(copy)
    }

    /// Number of sites.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Neither sites nor waiting patterns, nor sites that went with their module: as a filter it
    /// means everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.pending.is_empty() && !self.emptied
    }

    /// Whether sites went with their module.
    pub(crate) fn has_lost(&self) -> bool {
        self.emptied
    }

    /// Takes out the sites whose text goes, or has gone: those for which `stays` is false. If there were
    /// any, the set does not mean everything from then on. `ENOMEM`, the set is then as it was.
    pub(crate) fn lose(&mut self, stays: impl Fn(usize) -> bool) -> Result {
        let before = self.count;
        self.retain(stays)?;
        self.emptied |= self.count != before;
        Ok(())
    }

    /// Is the site at `addr` in it? Any context, NMI included.
    #[inline]
    pub(crate) fn contains(&self, addr: usize) -> bool {
        self.place(addr).is_some()
    }

    /// Adds `addr`; no change if it is in already. `ENOMEM`; `EINVAL` for an address that no text
    /// can have.
    pub(crate) fn insert(&mut self, addr: usize) -> Result {
        if self.contains(addr) {
            return Ok(());
        }
        self.insert_with(addr, Target::OFF)
    }

    /// Adds `addr` with a direct caller of its own ([`Target::OFF`]: none). Errors as
    /// [`Self::insert`].
    pub(crate) fn insert_with(&mut self, addr: usize, direct: Target) -> Result {
        if addr & Machine::TEXT_UPPER_HALF != Machine::TEXT_UPPER_HALF || addr as u32 == FREE {
            return Err(EINVAL);
        }
        if !self.contains(addr) {
            self.reserve(self.count.checked_add(1).ok_or(ENOMEM)?)?;
            self.put(addr as u32);
        }
        if !direct.is_off() && self.direct.is_empty() {
            self.direct.resize(self.keys.len(), 0, GFP_KERNEL)?;
        }
        let place = self.place(addr);
        if let Some(d) = place.and_then(|i| self.direct.get_mut(i)) {
            *d = direct.0;
        }
        Ok(())
    }

    /// Takes `addr` out; false if it was not in.
    pub(crate) fn remove(&mut self, addr: usize) -> bool {
        let Some(mut free) = self.place(addr) else {
            return false;
        };
        let mask = self.keys.len().wrapping_sub(1);
        let mut i = free;
        // What follows up to the next free place moves up where its search passes the freed one.
        loop {
            i = i.wrapping_add(1) & mask;
            let Some(key) = self.keys.get(i).copied().filter(|key| *key != FREE) else {
                break;
            };
            let passed = i.wrapping_sub(self.start(key)) & mask;
            if passed >= i.wrapping_sub(free) & mask {
                self.copy_place(i, free);
                free = i;
            }
        }
        if let Some(key) = self.keys.get_mut(free) {
            *key = FREE;
        }
        if let Some(direct) = self.direct.get_mut(free) {
            *direct = 0;
        }
        self.count = self.count.wrapping_sub(1);
        true
    }

    fn copy_place(&mut self, from: usize, to: usize) {
        if let (Some(key), Some(place)) = (self.keys.get(from).copied(), self.keys.get_mut(to)) {
            *place = key;
        }
        if let (Some(target), Some(place)) =
            (self.direct.get(from).copied(), self.direct.get_mut(to))
        {
            *place = target;
        }
    }

    /// Keeps the sites for which `keep` is true, and all patterns. `ENOMEM`, the set is then as it
    /// was.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) -> Result {
        let mut new = SiteSet::new();
        new.reserve(self.iter().filter(|(a, _)| keep(*a)).count())?;
        for (addr, direct) in self.iter().filter(|(a, _)| keep(*a)) {
            new.insert_with(addr, direct)?;
        }
        self.keys = new.keys;
        self.direct = new.direct;
        self.count = new.count;
        Ok(())
    }

    /// Its sites in no particular order, with their own direct callers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, Target)> + '_ {
        self.keys
            .iter()
            .enumerate()
            .filter(|(_, &key)| key != FREE)
            .map(|(i, &key)| {
                let direct = self.direct.get(i).copied().unwrap_or(0);
                (Machine::TEXT_UPPER_HALF | key as usize, Target(direct))
            })
    }

    /// The direct caller that the site at `addr` has of its own; off if none. Any context.
    pub(crate) fn direct(&self, addr: usize) -> Target {
        Target(
            self.place(addr)
                .and_then(|i| self.direct.get(i))
                .copied()
                .unwrap_or(0),
        )
    }

    /// The patterns that wait for a module.
    pub(crate) fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// Adds a pattern that waits. `ENOMEM`.
    pub(crate) fn push_pending(&mut self, pending: Pending) -> Result {
        Ok(self.pending.push(pending, GFP_KERNEL)?)
    }

    /// Forgets the waiting patterns for which `keep` is false.
    pub(crate) fn retain_pending(&mut self, keep: impl Fn(&Pending) -> bool) {
        self.pending.retain(|p| keep(p));
    }

    /// Makes room for `count` sites in all. Keeps what is in, and is a no-op when there is room.
    /// `ENOMEM`.
    fn reserve(&mut self, count: usize) -> Result {
        let places = self.keys.len();
        if count == 0 || count <= places - places / 4 && places != 0 {
            return Ok(());
        }
        let places = count
            .checked_add(count / 3 + 1)
            .ok_or(ENOMEM)?
            .next_power_of_two()
            .max(4);
        let mut new = SiteSet::new();
        new.keys.resize(places, FREE, GFP_KERNEL)?;
        if !self.direct.is_empty() {
            new.direct.resize(places, 0, GFP_KERNEL)?;
        }
        for (addr, direct) in self.iter() {
            let i = new.put(addr as u32);
            if let Some(d) = i.and_then(|i| new.direct.get_mut(i)) {
                *d = direct.0;
            }
        }
        self.keys = new.keys;
        self.direct = new.direct;
        Ok(())
    }

    /// Puts a key that is not in into the first free place, which the invariant says there is.
    fn put(&mut self, key: u32) -> Option<usize> {
        let mask = self.keys.len().wrapping_sub(1);
        let mut i = self.start(key);
        for _ in 0..self.keys.len() {
            let place = self.keys.get_mut(i)?;
            if *place == FREE {
                *place = key;
                self.count = self.count.wrapping_add(1);
                return Some(i);
            }
            i = i.wrapping_add(1) & mask;
        }
        None
    }

    /// The place of `addr`.
    #[inline]
    fn place(&self, addr: usize) -> Option<usize> {
        if addr & Machine::TEXT_UPPER_HALF != Machine::TEXT_UPPER_HALF {
            return None;
        }
        let key = addr as u32;
        let mask = self.keys.len().wrapping_sub(1);
        let mut i = self.start(key);
        // Ends, since by the invariant some place is free; without places `get` ends it at once.
        loop {
            match self.keys.get(i).copied() {
                Some(FREE) | None => return None,
                Some(k) if k == key => return Some(i),
                Some(_) => i = i.wrapping_add(1) & mask,
            }
        }
    }

    /// Where the search for a key begins: Fibonacci hashing, upper bits.
    #[inline]
    fn start(&self, key: u32) -> usize {
        let bits = self.keys.len().trailing_zeros();
        let mixed = u64::from(key.wrapping_mul(0x9e37_79b1));
        (mixed.wrapping_shl(bits) >> 32) as usize
    }
}
