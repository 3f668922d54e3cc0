// SPDX-License-Identifier: GPL-2.0

//! Which part of the call graph `function_graph` records: `set_graph_function`,
//! `set_graph_notrace`, `max_graph_depth`.
//!
//! One setting for all instances. A task keeps in its word ([`Var`]) whether it is inside a
//! function that is wanted.

use crate::core::parse::glob::{Kind, Pattern};
use crate::kernel::context::PreemptCount;
use crate::kernel::rcu_slot::RcuSlot;
use crate::kernel::sort::sort_by;
use crate::trace::fgraph::ret_stack::Current;
use crate::trace::ftrace::hash::SiteSet;
use crate::trace::ftrace::ops::{self, matching_sites};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// Which of the two sets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphFilterKind {
    /// Only what these functions call, themselves included; empty means all.
    Only,
    /// Not these and what they call.
    Not,
}

static ONLY: RcuSlot<SiteSet> = RcuSlot::new();
static NOT: RcuSlot<SiteSet> = RcuSlot::new();
static MAX_DEPTH: Atomic<u32> = Atomic::new(0);

impl GraphFilterKind {
    fn set(self) -> &'static RcuSlot<SiteSet> {
        match self {
            GraphFilterKind::Only => &ONLY,
            GraphFilterKind::Not => &NOT,
        }
    }
}

/// Is `func` in the set that is there? Any context.
#[inline]
fn contains(set: &RcuSlot<SiteSet>, func: usize) -> bool {
    set.with(|set| set.is_some_and(|set| set.contains(func)))
}

/// Is any part of the graph left out? Any context.
pub(crate) fn is_active() -> bool {
    !ONLY.is_empty() || !NOT.is_empty() || max_depth() != 0
}

/// The greatest depth that is recorded; 0 is none. Any context.
pub(crate) fn max_depth() -> u32 {
    MAX_DEPTH.load(Relaxed)
}

/// Sets [`max_depth`]. Any context; tracers that are running look again whether they may go the
/// plain way, which callers see to.
pub(crate) fn set_max_depth(depth: u32) {
    MAX_DEPTH.store(depth, Relaxed);
}

/// A set being changed.
pub(crate) struct Edit {
    which: GraphFilterKind,
    set: SiteSet,
}

impl Edit {
    /// A copy of the set as it is, or an empty one with `reset`. Task context. `ENOMEM`, `ENODEV` when
    /// ftrace is disarmed.
    pub(crate) fn open(which: GraphFilterKind, reset: bool) -> Result<Self> {
        if ops::is_dead() {
            return Err(ENODEV);
        }
        let set = match which.set().share() {
            Some(set) if !reset => set.try_clone()?,
            _ => SiteSet::new(),
        };
        Ok(Self { which, set })
    }

    /// Adds the functions that a word matches, or takes them out if it begins with `!`.
    ///
    /// # Errors
    ///
    /// `EINVAL` when none matches, or none of them is there to be taken out; `ENOMEM`.
    pub(crate) fn apply(&mut self, word: &[u8]) -> Result {
        let pattern = Pattern::parse(word);
        // Lines of `available_filter_functions` have numbers in `set_ftrace_filter` alone.
        if pattern.kind == Kind::Index {
            return Err(EINVAL);
        }
        let found = matching_sites(&pattern)?;
        let mut done = !pattern.negated;
        for site in found.iter() {
            if pattern.negated {
                done |= self.set.remove(site.addr());
            } else {
                self.set.insert(site.addr())?;
            }
        }
        if done {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }

    /// Makes it the set. Task context, sleeps; as with [`set_max_depth`]. `ENOMEM`.
    pub(crate) fn commit(self) -> Result {
        let new = if self.set.is_empty() {
            None
        } else {
            Some(Arc::new(self.set, GFP_KERNEL)?)
        };
        self.which.set().replace(new);
        Ok(())
    }
}

/// A boot parameter's comma-separated words for a set. Early boot, before there is any tracer.
pub(crate) fn at_boot(which: GraphFilterKind, text: &[u8]) -> Result {
    let mut edit = Edit::open(which, false)?;
    for word in text.split(|&c| c == b',').filter(|word| !word.is_empty()) {
        // One that matches nothing leaves the others in force, as in C.
        let _ = edit.apply(word);
    }
    edit.commit()
}

/// The addresses of a set in their order, also of functions that have gone: as long as there are any,
/// the set is in force. Task context. `ENOMEM`.
pub(crate) fn list(which: GraphFilterKind) -> Result<KVVec<usize>> {
    let mut found = KVVec::new();
    let set = which.set().share();
    for (addr, _) in set.iter().flat_map(|set| set.iter()) {
        found.push(addr, GFP_KERNEL)?;
    }
    sort_by(&mut found, usize::cmp);
    Ok(found)
}

/// A task's word.
#[derive(Clone, Copy)]
pub(super) struct Var<'a>(&'a Atomic<u64>);

impl<'a> Var<'a> {
    /// Inside a function of [`GraphFilterKind::Only`].
    const INSIDE: u64 = 1 << 0;
    /// Inside one of [`GraphFilterKind::Not`].
    const OUTSIDE: u64 = 1 << 1;
    /// That function was called by an interrupt's handler.
    const IN_HARDIRQ: u64 = 1 << 2;
    /// From here on the depth of that function.
    const DEPTH: u32 = 32;

    /// The word of the running task for the user in `place`; none if it has no shadow stack.
    pub(super) fn of(current: &'a Current, place: usize) -> Option<Self> {
        current.var(place, super::since(place)).map(Self)
    }

    fn has(self, bit: u64) -> bool {
        self.0.load(Relaxed) & bit != 0
    }

    fn set(self, bits: u64) {
        self.0.store(self.0.load(Relaxed) | bits, Relaxed);
    }

    fn clear(self, bits: u64) {
        self.0.store(self.0.load(Relaxed) & !bits, Relaxed);
    }

    /// What becomes of a function that is entered.
    pub(super) fn enter(self, func: usize, depth: i32) -> Verdict {
        if self.has(Self::OUTSIDE) {
            return Verdict::Ignore;
        }
        if contains(&NOT, func) {
            self.set(Self::OUTSIDE);
            return Verdict::Return;
        }
        if !self.has(Self::INSIDE) && !ONLY.is_empty() {
            if !contains(&ONLY, func) {
                return Verdict::Ignore;
            }
            self.clear(Self::IN_HARDIRQ | u64::MAX << Self::DEPTH);
            let irq = if PreemptCount::read().in_hardirq() {
                Self::IN_HARDIRQ
            } else {
                0
            };
            self.set(Self::INSIDE | irq | u64::from(depth as u32) << Self::DEPTH);
        }
        let max = max_depth();
        if depth < 0 || max != 0 && depth as u32 >= max {
            return Verdict::Ignore;
        }
        Verdict::Record
    }

    /// A function returns from `depth`. False if it was one of [`GraphFilterKind::Not`], of which there is
    /// nothing to record.
    pub(super) fn leave(self, depth: i32) -> bool {
        let word = self.0.load(Relaxed);
        if word & Self::INSIDE != 0 && (word >> Self::DEPTH) as u32 == depth as u32 {
            self.clear(Self::INSIDE);
        }
        let outside = self.has(Self::OUTSIDE);
        self.clear(Self::OUTSIDE);
        !outside
    }

    /// Were interrupts asked for by naming a function that was then called by one?
    pub(super) fn wants_irqs(self) -> bool {
        self.has(Self::IN_HARDIRQ)
    }
}

/// See [`Var::enter`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is recorded.
    Record,
    /// Nothing happens.
    Ignore,
    /// Nothing is recorded, but its return is waited for.
    Return,
}
