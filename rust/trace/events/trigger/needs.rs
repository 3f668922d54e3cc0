// SPDX-License-Identifier: GPL-2.0

//! [`Needs`]: what a hit must have ready for triggers.

use core::ops::{BitOr, BitOrAssign};

/// What triggers need of a hit, as bits: of one, or of all in a list together.
#[derive(Clone, Copy)]
pub(crate) struct Needs(u8);

impl Needs {
    /// Nothing that the direct path does not have.
    pub(super) const NOTHING: Self = Self(0);
    /// The entry, even without a filter.
    pub(super) const ENTRY: Self = Self(1 << 0);
    /// That the entry has its place in the buffer before: the trigger records something itself, takes a
    /// snapshot, or turns recording on.
    pub(super) const ORDER: Self = Self(1 << 1);
    /// The time of the hit, which is that of the entry's place.
    pub(super) const TIME: Self = Self(1 << 2);
    /// The common fields of the entry. They are always there in the [general](Needs::GENERAL) case.
    pub(super) const COMMON: Self = Self(1 << 3);
    /// The general case of a hit: all kinds of triggers but those that `direct` was written for, which
    /// are histograms without stack traces, with plain filters. A kind without it is not hit
    /// elsewhere.
    pub(super) const GENERAL: Self = Self(1 << 4);

    /// The place of the entry in the buffer, for its order or its time.
    pub(super) const PLACE: Self = Self(Self::ORDER.0 | Self::TIME.0);

    /// Whether any of `needs` is among them. Any context.
    #[inline(always)]
    pub(super) const fn any(self, needs: Self) -> bool {
        self.0 & needs.0 != 0
    }
}

impl BitOr for Needs {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Needs {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}
