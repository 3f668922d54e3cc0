// SPDX-License-Identifier: GPL-2.0

//! A set of pids that readers use without a lock, for example at every context switch.
//!
//! It is a tree of three levels with one bit per pid in the leaves. Nodes are freed only with the
//! whole set, so a reader only needs loads. The callers exclude concurrent writers.

use kernel::alloc::Flags;
use kernel::prelude::*;
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};
use kernel::sync::SetOnce;

const BRANCHES_BITS: u32 = 9;
const BRANCHES: usize = 1 << BRANCHES_BITS;
/// Pids per leaf, as a power of two.
const LEAF_BITS: u32 = 12;
const WORDS: usize = 1 << (LEAF_BITS - u64::BITS.ilog2());

/// Slots for branches or leaves.
struct Branches<T>(KVec<SetOnce<T>>);

impl<T> Branches<T> {
    fn new(flags: Flags) -> Result<Self> {
        let mut places = KVec::with_capacity(BRANCHES, flags)?;
        for _ in 0..BRANCHES {
            places.push(SetOnce::new(), flags)?;
        }
        Ok(Self(places))
    }

    fn at(&self, i: usize) -> Option<&SetOnce<T>> {
        self.0.get(i)
    }
}

struct Leaf(KVec<Atomic<u64>>);

impl Leaf {
    fn new(flags: Flags) -> Result<Self> {
        let mut words = KVec::with_capacity(WORDS, flags)?;
        for _ in 0..WORDS {
            words.push(Atomic::new(0), flags)?;
        }
        Ok(Self(words))
    }
}

type Tree = Branches<Branches<Leaf>>;

/// The set; see the head of this module.
pub(super) struct PidSet {
    tree: SetOnce<Tree>,
    in_force: Atomic<bool>,
}

/// The nodes that the tree lacks for a pid.
#[derive(Default)]
pub(super) struct Growth {
    tree: Option<Tree>,
    branch: Option<Branches<Leaf>>,
    leaf: Option<Leaf>,
}

fn split(pid: i32) -> (usize, usize, usize) {
    let pid = pid as u32 as usize;
    (
        pid >> (BRANCHES_BITS + LEAF_BITS),
        pid >> LEAF_BITS & (BRANCHES - 1),
        pid & ((1 << LEAF_BITS) - 1),
    )
}

impl PidSet {
    /// An empty set.
    pub(super) const fn new() -> Self {
        Self {
            tree: SetOnce::new(),
            in_force: Atomic::new(false),
        }
    }

    /// Whether there is a list. One whose tasks have all ended is empty and still there. Any
    /// context.
    #[inline]
    pub(super) fn is_in_force(&self) -> bool {
        // Pairs with the release store in `put_in_force`.
        self.in_force.load(Acquire)
    }

    /// Whether `pid` is in the set. Any context.
    #[inline]
    pub(super) fn has(&self, pid: i32) -> bool {
        self.bit(pid)
            .is_some_and(|(word, bit)| word.load(Relaxed) & bit != 0)
    }

    #[inline]
    fn bit(&self, pid: i32) -> Option<(&Atomic<u64>, u64)> {
        let (i, j, rest) = split(pid);
        let leaf = self.tree.as_ref()?.at(i)?.as_ref()?.at(j)?.as_ref()?;
        let word = leaf.0.get(rest / u64::BITS as usize)?;
        Some((word, 1 << (rest % u64::BITS as usize)))
    }

    /// Allocates the nodes that the tree lacks for `pid`. `None` if it lacks nothing. `ENOMEM`.
    pub(super) fn growth(&self, pid: i32, flags: Flags) -> Result<Option<Growth>> {
        if self.bit(pid).is_some() {
            return Ok(None);
        }
        let (i, _, _) = split(pid);
        let mut growth = Growth {
            leaf: Some(Leaf::new(flags)?),
            ..Growth::default()
        };
        let tree = self.tree.as_ref();
        if tree.is_none() {
            growth.tree = Some(Branches::new(flags)?);
        }
        if tree.and_then(|tree| tree.at(i)?.as_ref()).is_none() {
            growth.branch = Some(Branches::new(flags)?);
        }
        Ok(Some(growth))
    }

    /// Adds the nodes of `growth` for `pid`. Nodes that the tree already has stay in `growth`. One
    /// writer at a time.
    pub(super) fn grow(&self, pid: i32, growth: &mut Growth) {
        fn put<T>(place: &SetOnce<T>, new: &mut Option<T>) -> Option<()> {
            if place.as_ref().is_none() {
                place.populate(new.take()?);
            }
            Some(())
        }
        let (i, j, _) = split(pid);
        let _ = (|| {
            put(&self.tree, &mut growth.tree)?;
            let branch = self.tree.as_ref()?.at(i)?;
            put(branch, &mut growth.branch)?;
            put(branch.as_ref()?.at(j)?, &mut growth.leaf)
        })();
    }

    /// Adds a pid whose nodes exist. One writer at a time. The writer calls
    /// [`PidSet::put_in_force`] afterwards.
    pub(super) fn insert(&self, pid: i32) {
        if let Some((word, bit)) = self.bit(pid) {
            word.store(word.load(Relaxed) | bit, Relaxed);
        }
    }

    /// Removes a pid. One writer at a time, as [`PidSet::insert`].
    pub(super) fn remove(&self, pid: i32) {
        if let Some((word, bit)) = self.bit(pid) {
            word.store(word.load(Relaxed) & !bit, Relaxed);
        }
    }

    /// Says whether there is a list. The writer calls it after it has added pids, but before it
    /// removes the last ones.
    pub(super) fn put_in_force(&self, is: bool) {
        // Pairs with the acquire load in `is_in_force`.
        self.in_force.store(is, Release);
    }
}
