// SPDX-License-Identifier: GPL-2.0

//! Triggers: actions at the hit of an event.
//!
//! `trigger/kinds.rs` lists the kinds and changes the triggers of an event. Each kind has its own
//! file. A trigger is a soft user of its event: the probe runs even if the event is not enabled.
//! `core::event::trigger` parses the writes to `trigger` files.
//!
//! The list of an event's triggers is replaced as a whole under the event mutex. A hit uses either
//! the old or the new list.

#[cfg_attr(
    not(all(CONFIG_HIST_TRIGGERS, CONFIG_FTRACE_SYSCALLS)),
    allow(
        dead_code,
        reason = "entries of system calls are on the stack, where filters and histograms see them"
    )
)]
mod direct;
#[cfg(CONFIG_EPROBE_EVENTS)]
pub(crate) mod entries;
#[cfg(CONFIG_HIST_TRIGGERS)]
pub(crate) mod hist;
mod joined;
mod kinds;
mod needs;
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
use core::any::Any;
use core::cell::Cell;
use core::fmt;
use joined::Joined;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;
use needs::Needs;

/// A kind of triggers.
pub(crate) trait Kind: Sync {
    /// Its name in `trigger` files.
    fn name(&self) -> &'static str;

    /// Handles a write to the `trigger` file of `event` in `instance`. Task context, sleeps. The
    /// default adds or removes the trigger of a [key](Kind::key).
    ///
    /// # Errors
    ///
    /// Those of the other functions; `EEXIST` if the trigger exists.
    fn write(
        &self,
        registry: &mut Registry,
        instance: &Arc<Instance>,
        event: EventId,
        command: &Command<'_>,
    ) -> Result {
        let place = Place {
            registry,
            instance,
            event,
        };
        let key = self.key(&place, command)?;
        if command.remove {
            return registry.remove_trigger(instance, event, key);
        }
        let trigger = self.make(&place, command)?;
        registry.add_trigger(instance, event, trigger)
    }

    /// The key of the trigger that `command` describes. Two triggers of the same key cannot both be
    /// on an event. Task context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a command without the parameters of the kind, or with a target that does not
    /// exist.
    fn key(&self, _place: &Place<'_>, _command: &Command<'_>) -> Result<Key> {
        Err(EINVAL)
    }

    /// Makes the trigger that `command` describes. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// The error in the command, `ENOMEM`, and the errors of the kind.
    fn make(&self, _place: &Place<'_>, _command: &Command<'_>) -> Result<Arc<dyn Trigger>> {
        Err(EINVAL)
    }
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
            Some(text) => {
                let filter = filter::of_trigger(self.instance, event, text)?;
                Some(Arc::new(filter, GFP_KERNEL)?)
            }
            None => None,
        };
        let left = match count {
            Count::Unlimited => None,
            Count::Times(times) => Some(Atomic::new(times)),
        };
        Ok(Limits { left, filter })
    }
}

/// The key of a trigger. An event has at most one trigger of each key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    sort: Sort,
    /// The event that the trigger enables or disables.
    target: Option<EventId>,
    /// The number of a `hist` trigger; an event may have many.
    number: u64,
}

/// The action of the triggers of a [`Key`], as the bit in C's `enum event_trigger_type`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Sort {
    OnOff = 1 << 0,
    Snapshot = 1 << 1,
    StackTrace = 1 << 2,
    Switch = 1 << 3,
    #[cfg(CONFIG_HIST_TRIGGERS)]
    Hist = 1 << 4,
    #[cfg(CONFIG_HIST_TRIGGERS)]
    HistSwitch = 1 << 5,
    #[cfg(CONFIG_EPROBE_EVENTS)]
    Entries = 1 << 6,
}

impl Key {
    const fn of(sort: Sort) -> Self {
        Self {
            sort,
            target: None,
            number: 0,
        }
    }
}

/// One trigger.
pub(crate) trait Trigger: Send + Sync {
    /// Its key.
    fn key(&self) -> Key;

    /// Its count and its filter.
    fn limits(&self) -> &Limits;

    /// Runs the action. `entry` is the entry, common fields included, if the trigger
    /// [needs](Needs::ENTRY) it or has a filter. Any context, NMI included: it takes no lock,
    /// allocates nothing and does not sleep.
    fn hit(&self, file: &HotFile, entry: Option<&[u8]>, time: &HitTime);

    /// What it needs of a hit, but for its filter. It is asked once, when a list is made.
    fn needs(&self) -> Needs {
        Needs::GENERAL
    }

    /// Whether no file shows it.
    fn is_hidden(&self) -> bool {
        false
    }

    /// Whether it runs after the entry is in the buffer.
    fn is_after(&self) -> bool {
        false
    }

    /// Prepares the trigger when it is added, with the event mutex held. Task context, sleeps. The
    /// writer gets the error.
    fn attach(&self, _registry: &mut Registry, _instance: &Arc<Instance>) -> Result {
        Ok(())
    }

    /// Undoes [`Trigger::attach`] after the trigger was removed. Task context, sleeps.
    fn detach(&self, _registry: &mut Registry, _instance: &Arc<Instance>) {}

    /// Whether it stands behind those that are not, in the order in which they came. Others stand
    /// before those that came earlier.
    fn is_last(&self) -> bool {
        false
    }

    /// It, if its file looks for triggers of its type.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Writes its name and its parameters, without count and filter. Task context. Errors only when
    /// `out` is full.
    fn show(&self, out: &mut dyn Out) -> fmt::Result;

    /// Writes its line in the `trigger` file. Task context. Errors only when `out` is full.
    fn line(&self, out: &mut dyn Out) -> fmt::Result {
        self.show(out)?;
        let limits = self.limits();
        write(
            out,
            limits.count(),
            limits.filter.as_deref().map(Filter::text),
        )
    }
}

/// How often a trigger acts, and for which entries.
pub(crate) struct Limits {
    /// The remaining count. `None` without a limit.
    left: Option<Atomic<i64>>,
    filter: Option<Arc<Filter>>,
}

impl Limits {
    /// Whether the count allows one more action. Any context.
    fn any(&self) -> bool {
        self.left
            .as_ref()
            .is_none_or(|left| left.load(Relaxed) != 0)
    }

    /// Decrements the count if that is possible. Two CPUs never take the same unit. Any context.
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

/// The time of a hit, the same for all that ask: that of its entry, or when it is asked first.
pub(crate) struct HitTime(
    #[cfg_attr(
        not(CONFIG_HIST_TRIGGERS),
        allow(dead_code, reason = "only histograms ask")
    )]
    Cell<Option<u64>>,
);

impl HitTime {
    /// Of a hit without an entry in the buffer.
    #[inline(always)]
    pub(crate) fn unknown() -> Self {
        Self(Cell::new(None))
    }

    /// Of a hit whose entry has this time.
    pub(super) fn of_entry(time: u64) -> Self {
        Self(Cell::new(Some(time)))
    }

    /// The time, by the clock of the instance of `file`. Any context.
    #[cfg(CONFIG_HIST_TRIGGERS)]
    fn of(&self, file: &HotFile) -> u64 {
        let time = self.0.get();
        let time = time.unwrap_or_else(|| file.instance().buffer().now());
        self.0.set(Some(time));
        time
    }
}

/// A trigger of a list.
struct Listed {
    trigger: Arc<dyn Trigger>,
    /// Its filter, so that a hit need not ask the trigger.
    filter: Option<Arc<Filter>>,
    /// Its [`Sort`] if it runs [after](Trigger::is_after) the entry, or 0.
    after: u32,
}

/// The triggers of a file.
pub(crate) struct TriggerList {
    /// In the order in which they run.
    triggers: KVec<Listed>,
    /// The filters of all triggers.
    filters: Joined,
    /// What all triggers and their filters need.
    needs: Needs,
    /// See [`InstanceEvents::timed`](super::registry::InstanceEvents::timed).
    timed: Arc<Atomic<u32>>,
}

impl TriggerList {
    /// Creates a list. Returns `ENOMEM` on failure.
    fn new(triggers: KVec<Arc<dyn Trigger>>, timed: Arc<Atomic<u32>>) -> Result<Self> {
        let filters = triggers.iter().map(|trigger| {
            let filter = trigger.limits().filter.as_deref();
            filter.map_or(&[][..], Filter::plain_steps)
        });
        let filters = Joined::new(filters)?;
        let mut needs = Needs::NOTHING;
        let mut listed = KVec::with_capacity(triggers.len(), GFP_KERNEL)?;
        for trigger in triggers {
            let filter = trigger.limits().filter.clone();
            needs |= trigger.needs();
            let after = match trigger.is_after() {
                true => trigger.key().sort as u32,
                false => 0,
            };
            if filter.is_some() || after != 0 {
                needs |= Needs::ENTRY;
            }
            if filter.as_ref().is_some_and(|filter| !filter.is_plain()) {
                needs |= Needs::GENERAL;
            }
            let one = Listed {
                trigger,
                filter,
                after,
            };
            listed.push(one, GFP_KERNEL)?;
        }
        Ok(Self {
            triggers: listed,
            filters,
            needs,
            timed,
        })
    }

    /// The triggers, in their order.
    fn all(&self) -> impl Iterator<Item = &Arc<dyn Trigger>> {
        self.triggers.iter().map(|listed| &listed.trigger)
    }

    /// Whether the entry of a hit that is to be recorded is reserved before the triggers run. As in
    /// C, one that a filter may reject (`filtered`) is so where a histogram of the instance reads
    /// times, and inside of another hit whose entry is [apart](super::scratch::Scratch).
    #[inline]
    pub(super) fn follows_entry(&self, filtered: bool, inside: impl FnOnce() -> bool) -> bool {
        self.needs.any(Needs::PLACE) && (!filtered || self.timed.load(Relaxed) != 0 || inside())
    }

    /// The triggers of type `T`, the oldest first.
    #[cfg(CONFIG_HIST_TRIGGERS)]
    fn of<T: 'static>(&self) -> impl Iterator<Item = &T> {
        self.all()
            .filter_map(|trigger| trigger.as_any()?.downcast_ref())
    }

    /// Whether any trigger needs the entry, or runs after it.
    pub(crate) fn looks_at_entries(&self) -> bool {
        self.needs.any(Needs::ENTRY)
    }

    /// Runs the triggers that do not run [after](Trigger::is_after) the entry. Returns what those
    /// are that do, as bits of C's `enum event_trigger_type`; there is one of each at most. Any
    /// context.
    pub(super) fn hit(&self, file: &HotFile, entry: Option<&[u8]>, time: &HitTime) -> u32 {
        let mut after = 0;
        for listed in &self.triggers {
            let passes = match (&listed.filter, entry) {
                (Some(filter), Some(entry)) => filter.passes(entry),
                (Some(_), None) => false,
                (None, _) => true,
            };
            if !passes {
                continue;
            }
            if listed.after != 0 && entry.is_some() {
                after |= listed.after;
            } else {
                listed.trigger.hit(file, entry, time);
            }
        }
        after
    }

    /// Runs those of `after` that run behind the entry; see [`TriggerList::hit`]. Any context.
    #[inline]
    pub(super) fn hit_after(&self, file: &HotFile, after: u32) {
        for listed in &self.triggers {
            if listed.after & after != 0 {
                listed.trigger.hit(file, None, &HitTime::unknown());
            }
        }
    }

    /// The list without the trigger of `key`, and that trigger. `ENOMEM`.
    fn without(&self, key: Key) -> Result<(KVec<Arc<dyn Trigger>>, Option<Arc<dyn Trigger>>)> {
        let mut rest = KVec::with_capacity(self.triggers.len(), GFP_KERNEL)?;
        let mut gone = None;
        for trigger in self.all() {
            if trigger.key() == key {
                gone = Some(trigger.clone());
            } else {
                rest.push(trigger.clone(), GFP_KERNEL)?;
            }
        }
        Ok((rest, gone))
    }
}
