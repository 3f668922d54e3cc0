// SPDX-License-Identifier: GPL-2.0

//! The 4-byte state of a site, and the table of what sites lead to.

use crate::trace::ftrace::arch::{Arch, Machine, Target};
use kernel::prelude::*;

/// State of one site: the slot in [`Targets`] of what its text leads to, and what was ever done to
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Word(u32);

impl Word {
    const SLOT: u32 = 0xffff;
    const TOUCHED: u32 = 1 << 16;
    const MODIFIED: u32 = 1 << 17;

    /// The state with this value.
    pub(crate) fn from_bits(bits: u32) -> Self {
        Word(bits)
    }

    /// Its value.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// Where the site leads.
    pub(crate) fn slot(self) -> Slot {
        Slot((self.0 & Self::SLOT) as u16)
    }

    /// The same site, leading elsewhere; it is touched from then on, if it is not off.
    pub(crate) fn with_slot(self, slot: Slot) -> Self {
        let touched = if slot == Slot::OFF { 0 } else { Self::TOUCHED };
        Word((self.0 & !Self::SLOT) | u32::from(slot.0) | touched)
    }

    /// The same site, known to have had an ops that could change where the function goes.
    pub(crate) fn with_modified(self) -> Self {
        Word(self.0 | Self::MODIFIED)
    }

    /// Does the site call something?
    pub(crate) fn is_on(self) -> bool {
        self.slot() != Slot::OFF
    }

    /// Whether it was ever on.
    pub(crate) fn is_touched(self) -> bool {
        self.0 & Self::TOUCHED != 0
    }

    /// Did an ops with IPMODIFY or DIRECT ever cover it?
    pub(crate) fn is_modified(self) -> bool {
        self.0 & Self::MODIFIED != 0
    }
}

/// Number of an entry of [`Targets`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot(u16);

impl Slot {
    /// Leads nowhere: a NOP.
    pub(crate) const OFF: Slot = Slot(0);
    const LIST: Slot = Slot(1);
    const REGS_LIST: Slot = Slot(2);

    /// The trampoline that walks the list of ops.
    pub(crate) fn list(regs: bool) -> Slot {
        if regs {
            Self::REGS_LIST
        } else {
            Self::LIST
        }
    }
}

struct Entry {
    target: Target,
    /// Sites that lead there; 0 makes the entry free, but for the three that are always there.
    users: u32,
}

/// What sites lead to, so that a site's word can name it in 16 bits.
///
/// # Invariants
///
/// `users` of an entry is the number of sites whose word has its slot, for the slots that
/// [`Targets::take`] gave.
pub(crate) struct Targets {
    entries: KVVec<Entry>,
}

impl Targets {
    /// An empty table.
    pub(crate) const fn new() -> Self {
        Targets {
            entries: KVVec::new(),
        }
    }

    /// The slot that leads to `target`, with one user more. `None` without memory or free numbers:
    /// callers then use [`Slot::list`], which needs none.
    pub(crate) fn take(&mut self, target: Target) -> Option<Slot> {
        if target.is_off() {
            return Some(Slot::OFF);
        }
        if let Some(regs) = [false, true]
            .into_iter()
            .find(|&regs| target.0 == Machine::list_caller(regs))
        {
            return Some(Slot::list(regs));
        }
        let mut free = None;
        for (i, entry) in self.entries.iter_mut().enumerate() {
            if entry.users != 0 && entry.target == target {
                entry.users = entry.users.checked_add(1)?;
                return Self::number(i);
            }
            if entry.users == 0 && free.is_none() {
                free = Some(i);
            }
        }
        let i = match free {
            Some(i) => i,
            None => {
                let i = self.entries.len();
                Self::number(i)?;
                self.entries
                    .push(
                        Entry {
                            target: Target::OFF,
                            users: 0,
                        },
                        GFP_KERNEL,
                    )
                    .ok()?;
                i
            }
        };
        *self.entries.get_mut(i)? = Entry { target, users: 1 };
        Self::number(i)
    }

    /// One user of `slot` less.
    pub(crate) fn put(&mut self, slot: Slot) {
        if let Some(entry) = Self::position(slot).and_then(|i| self.entries.get_mut(i)) {
            entry.users = entry.users.saturating_sub(1);
        }
    }

    /// Where `slot` leads.
    pub(crate) fn target(&self, slot: Slot) -> Target {
        match slot {
            Slot::OFF => Target::OFF,
            Slot::LIST => Target(Machine::list_caller(false)),
            Slot::REGS_LIST => Target(Machine::list_caller(true)),
            _ => match Self::position(slot).and_then(|i| self.entries.get(i)) {
                Some(entry) => entry.target,
                None => Target::OFF,
            },
        }
    }

    fn number(i: usize) -> Option<Slot> {
        u16::try_from(i.checked_add(3)?).ok().map(Slot)
    }

    fn position(slot: Slot) -> Option<usize> {
        usize::from(slot.0).checked_sub(3)
    }
}
