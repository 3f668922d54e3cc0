// SPDX-License-Identifier: GPL-2.0

//! Triggers: what else happens when an event is hit.
//!
//! `trigger/kinds.rs` says what exists, and changes what an event has; one file has one kind. An
//! event with triggers is hit softly: its probe runs, also if the event is not enabled.
//! `core::event::trigger` takes apart what is written to `trigger` files.
//!
//! The list of an event's triggers is replaced as a whole under the event mutex: a hit goes by the
//! old one or by the new one.

mod kinds;
mod on_off;
mod snapshot;
mod stacktrace;
pub(crate) mod switch;

use super::file::HotFile;
use super::filter::{self, Filter};
use super::registry::{EventId, Registry};
use crate::core::event::trigger::{write, Command, Params};
use crate::core::format::{self, Out};
use crate::core::parse::command::Count;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// A kind of triggers.
pub(crate) trait Kind: Sync {
    /// The word.
    fn name(&self) -> &'static str;

    /// What the trigger that `command` means has in common with those that cannot be there with it.
    /// Task context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a command without what the kind needs, or with a target that is not there.
    fn key(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Key>;

    /// Makes the trigger that `command` means. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// What is wrong with the command, `ENOMEM`, and what the kind says.
    fn make(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Arc<dyn Trigger>>;
}

/// The event whose triggers change.
pub(crate) struct Place<'a> {
    /// All events.
    pub(crate) registry: &'a Registry,
    /// The instance.
    pub(crate) instance: &'a Arc<Instance>,
    /// The event.
    pub(crate) event: EventId,
}

impl Place<'_> {
    /// The count and the filter of a trigger. Task context, may sleep. Errors as [`Kind::make`].
    fn limits(&self, params: &Params<'_>) -> Result<Limits> {
        let refused = |error: format::Error| Error::from_errno(error.errno().wrapping_neg());
        let count = params.count().map_err(refused)?;
        let event = self.registry.event(self.event).ok_or(ENODEV)?;
        let filter = match params.filter().map_err(refused)? {
            Some(text) => Some(filter::of_trigger(self.instance, event, text)?),
            None => None,
        };
        let left = match count {
            Count::Unlimited => None,
            Count::Times(times) => Some(Atomic::new(times)),
        };
        Ok(Limits { left, filter })
    }
}

/// An event has one trigger of a key at most.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    sort: Sort,
    /// The event that it switches.
    target: Option<EventId>,
}

/// What triggers of a [`Key`] do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    OnOff,
    Snapshot,
    StackTrace,
    Switch,
}

impl Key {
    const fn of(sort: Sort) -> Self {
        Self { sort, target: None }
    }
}

/// One trigger.
pub(crate) trait Trigger: Send + Sync {
    /// Which it is.
    fn key(&self) -> Key;

    /// How often it acts, and for which entries.
    fn limits(&self) -> &Limits;

    /// Does what it is for. `entry` has the entry, common fields included, where the trigger
    /// [looks](Trigger::looks) at it or has a filter. Any context, NMI included: no lock, no
    /// memory, no sleep.
    fn hit(&self, file: &HotFile, entry: Option<&[u8]>);

    /// Does it look at the entry, also without a filter?
    fn looks(&self) -> bool {
        false
    }

    /// Is it to be hit once the entry is in the buffer?
    fn is_after(&self) -> bool {
        false
    }

    /// Begins what goes with it, with the event mutex. Task context, sleeps. Errors are those of
    /// the write that adds it.
    fn attach(&self, _registry: &mut Registry, _instance: &Arc<Instance>) -> Result {
        Ok(())
    }

    /// Undoes [`Trigger::attach`], when it is hit no longer.
    fn detach(&self, _registry: &mut Registry, _instance: &Arc<Instance>) {}

    /// Writes its name and what it needs, without count and filter. Task context.
    fn show(&self, out: &mut dyn Out) -> fmt::Result;
}

/// How often a trigger acts, and for which entries.
pub(crate) struct Limits {
    /// `None` without limit.
    left: Option<Atomic<i64>>,
    filter: Option<Filter>,
}

impl Limits {
    /// Does the count allow one more? Any context.
    fn any(&self) -> bool {
        self.left
            .as_ref()
            .is_none_or(|left| left.load(Relaxed) != 0)
    }

    /// Takes one off the count if it allows that; several CPUs never take the same one. Any
    /// context.
    fn spend(&self) -> bool {
        let Some(left) = &self.left else {
            return true;
        };
        let mut now = left.load(Relaxed);
        while now != 0 {
            match left.cmpxchg(now, now.wrapping_sub(1), Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    fn count(&self) -> Count {
        match &self.left {
            None => Count::Unlimited,
            Some(left) => Count::Times(left.load(Relaxed)),
        }
    }
}

/// The triggers of a file.
pub(crate) struct TriggerList {
    /// The newest first.
    triggers: KVec<Arc<dyn Trigger>>,
}

impl TriggerList {
    /// Does one look at entries, or is one hit behind them?
    pub(crate) fn looks_at_entries(&self) -> bool {
        self.triggers.iter().any(|trigger| {
            trigger.looks() || trigger.is_after() || trigger.limits().filter.is_some()
        })
    }

    /// Hits those that are not [after](Trigger::is_after) the entry; says which are still to be, as
    /// bits. Any context.
    pub(super) fn hit(&self, file: &HotFile, entry: Option<&[u8]>) -> u64 {
        let mut after = 0;
        for (place, trigger) in self.triggers.iter().enumerate() {
            let passes = match (&trigger.limits().filter, entry) {
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
        for (place, trigger) in self.triggers.iter().enumerate().take(u64::BITS as usize) {
            if after & 1 << place != 0 {
                trigger.hit(file, None);
            }
        }
    }

    /// These without the trigger of `key`, and that. `ENOMEM`.
    fn without(&self, key: Key) -> Result<(KVec<Arc<dyn Trigger>>, Option<Arc<dyn Trigger>>)> {
        let mut rest = KVec::with_capacity(self.triggers.len(), GFP_KERNEL)?;
        let mut gone = None;
        for trigger in &self.triggers {
            if trigger.key() == key {
                gone = Some(trigger.clone());
            } else {
                rest.push(trigger.clone(), GFP_KERNEL)?;
            }
        }
        Ok((rest, gone))
    }
}

/// Writes a trigger as its file shows it. Errors when `out` is full.
pub(crate) fn show(out: &mut dyn Out, trigger: &dyn Trigger) -> fmt::Result {
    trigger.show(out)?;
    let limits = trigger.limits();
    write(
        out,
        limits.count(),
        limits.filter.as_ref().map(Filter::text),
    )
}
