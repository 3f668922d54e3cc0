// SPDX-License-Identifier: GPL-2.0

//! Triggers: what else happens when an event is hit.

use super::file::HotFile;
use super::filter::Filter;
use kernel::prelude::*;
use kernel::sync::Arc;

/// One trigger. Any context, NMI included: no lock, no memory, no sleep.
pub(crate) trait Trigger: Send + Sync {
    /// Does what it is for. `entry` has the entry, common fields included, where the trigger
    /// [looks](Trigger::looks) at it or has a filter.
    fn hit(&self, file: &HotFile, entry: Option<&[u8]>);

    /// Rejects entries that it is not for.
    fn filter(&self) -> Option<&Filter> {
        None
    }

    /// Does it look at the entry, also without a filter?
    fn looks(&self) -> bool {
        false
    }

    /// Is it to be hit once the entry is in the buffer?
    fn is_after(&self) -> bool {
        false
    }

    /// Writes its line of the `trigger` file, without a newline. Task context.
    fn show(&self, out: &mut dyn core::fmt::Write) -> core::fmt::Result;
}

/// The triggers of a file.
pub(crate) struct TriggerList(KVec<Arc<dyn Trigger>>);

impl TriggerList {
    /// These triggers.
    pub(crate) fn new(triggers: KVec<Arc<dyn Trigger>>) -> Self {
        Self(triggers)
    }

    /// The triggers, in the order in which they are hit.
    pub(crate) fn triggers(&self) -> &[Arc<dyn Trigger>] {
        &self.0
    }

    /// Does one look at entries?
    pub(crate) fn looks_at_entries(&self) -> bool {
        self.0
            .iter()
            .any(|trigger| trigger.looks() || trigger.filter().is_some())
    }

    /// Hits those that are not [after](Trigger::is_after) the entry; says which are still to be, as
    /// bits. Any context.
    pub(super) fn hit(&self, file: &HotFile, entry: Option<&[u8]>) -> u64 {
        let mut after = 0;
        for (place, trigger) in self.0.iter().enumerate() {
            let passes = match (trigger.filter(), entry) {
                (Some(filter), Some(entry)) => filter.passes(entry),
                (Some(_), None) => false,
                (None, _) => true,
            };
            if !passes {
                continue;
            }
            if trigger.is_after() && entry.is_some() && place < u64::BITS as usize {
                after |= 1 << place;
            } else {
                trigger.hit(file, entry);
            }
        }
        after
    }

    /// Hits those of `after`. Any context.
    pub(super) fn hit_after(&self, file: &HotFile, after: u64) {
        for (place, trigger) in self.0.iter().enumerate().take(u64::BITS as usize) {
            if after & 1 << place != 0 {
                trigger.hit(file, None);
            }
        }
    }
}
