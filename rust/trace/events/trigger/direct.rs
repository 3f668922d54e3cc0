// SPDX-License-Identifier: GPL-2.0

//! Hits by an entry that is nowhere but on the stack of its probe.
//!
//! The joined filters tell there whether any trigger is hit. Triggers that need no more than such an
//! entry run on it.

use super::{HitTime, HotFile, Needs, TriggerList};
use crate::kernel::context::LentOff;
use crate::kernel::trace_event::flag;
use crate::trace::events::scratch::Scratch;

impl TriggerList {
    /// Whether no trigger needs the [general](Needs::GENERAL) case. Any context.
    #[inline(always)]
    pub(in crate::trace::events) fn is_direct(&self) -> bool {
        !self.needs.any(Needs::GENERAL)
    }

    /// Whether, besides, none has a filter.
    pub(in crate::trace::events) fn is_direct_always(&self) -> bool {
        self.is_direct() && self.triggers.iter().all(|listed| listed.filter.is_none())
    }

    /// Runs all triggers on `entry` if they are [direct](Self::is_direct), and if it need not be
    /// reserved before: it is not recorded, or none needs its place. `common` are its common fields,
    /// which are not set yet. Returns whether it has. Any context, preemption off.
    #[inline(always)]
    pub(in crate::trace::events) fn hit_direct<const N: usize>(
        &self,
        stay: LentOff<'_>,
        file: &HotFile,
        entry: &mut [u8; N],
        common: impl FnOnce() -> u64,
    ) -> bool {
        let needs = self.needs;
        let is_recorded = || file.flags() & flag::SOFT_DISABLED == 0;
        let is_placed = needs.any(Needs::GENERAL | Needs::PLACE);
        // Mostly it needs neither, and the first look is the only one.
        if is_placed && (needs.any(Needs::GENERAL) || is_recorded()) {
            return false;
        }
        if needs.any(Needs::COMMON) {
            if let Some(fields) = entry.first_chunk_mut() {
                *fields = common().to_ne_bytes();
            }
        }
        match is_placed && needs.any(Needs::ORDER) {
            true => self.hit_apart(stay, file, entry),
            false => self.hit_plain(file, entry),
        }
        true
    }

    #[inline(always)]
    fn hit_plain(&self, file: &HotFile, entry: &[u8]) {
        let time = HitTime::unknown();
        for listed in &self.triggers {
            let filter = listed.filter.as_ref();
            if filter.is_none_or(|filter| filter.passes_plain(entry)) {
                listed.trigger.hit(file, Some(entry), &time);
            }
        }
    }

    /// [`TriggerList::hit_plain`] where events may be hit inside: the entry is not in the buffer.
    #[inline(never)]
    fn hit_apart(&self, stay: LentOff<'_>, file: &HotFile, entry: &[u8]) {
        Scratch::stand_for(stay, || self.hit_plain(file, entry));
    }

    /// Whether the filters of all triggers reject `entry`, see [`Joined::reject`](super::Joined::reject).
    /// Any context.
    #[inline(always)]
    pub(in crate::trace::events) fn is_not_hit_by(&self, entry: &[u8]) -> bool {
        self.filters.reject(entry)
    }
}
