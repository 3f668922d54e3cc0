// SPDX-License-Identifier: GPL-2.0

//! What actions do outside the table: they fire synthetic events and take snapshots.
//!
//! A trigger with the action `snapshot()` is the owner of the instance's snapshot. So only one
//! trigger of an instance can have it. [`Noted`] says which hit has taken the snapshot.

use super::{HistTrigger, HotFile};
use crate::core::event::hist::action::Effects;
use crate::core::event::hist::map::Element;
use crate::core::event::hist::print::{self, Names};
use crate::core::event::hist::{KEY_WORDS, PARAMETERS};
use crate::core::format::Out;
use crate::core::sys::Shared;
use crate::kernel::per_context::PerContext;
use crate::trace::instance::Instance;
use core::any::Any;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// Memory for the values of a synthetic event. Each context of a CPU has one, so a synthetic event
/// whose own trigger fires it again soon finds none.
static VALUES: SetOnce<PerContext<[u64; PARAMETERS]>> = SetOnce::new();

/// Memory for long keys. They are too large for the stack, since a hit may fire an event that has a
/// histogram itself.
static KEYS: SetOnce<PerContext<[u64; KEY_WORDS]>> = SetOnce::new();

/// Runs `f` on memory for a long key, unless all is in use. Any context.
#[inline(always)]
pub(super) fn with_key(f: impl FnOnce(&mut [u64])) {
    if let Some(keys) = KEYS.as_ref() {
        keys.with(|key| f(key));
    }
}

/// Makes the memory if there is none. Task context, may sleep; the event mutex is held. `ENOMEM`.
pub(super) fn prepare() -> Result {
    if VALUES.as_ref().is_none() {
        VALUES.populate(PerContext::new([0; PARAMETERS])?);
    }
    if KEYS.as_ref().is_none() {
        KEYS.populate(PerContext::new([0; KEY_WORDS])?);
    }
    Ok(())
}

/// A hit whose actions run.
pub(super) struct Acting<'a> {
    pub(super) trigger: &'a HistTrigger,
    pub(super) file: &'a HotFile,
    pub(super) key: &'a [u64],
}

impl Effects for Acting<'_> {
    #[inline]
    fn trace(&self, event: u8, parameters: &[u8], references: &[u64]) {
        let (Some(event), Some(values)) =
            (self.trigger.events.get(usize::from(event)), VALUES.as_ref())
        else {
            return;
        };
        values.with(|values| {
            for (place, at) in values.iter_mut().zip(parameters) {
                *place = references.get(usize::from(*at)).copied().unwrap_or(0);
            }
            event.fire(values.get(..parameters.len()).unwrap_or(&[]));
        });
    }

    #[inline(never)]
    fn snapshot(&self, _: Element, value: u64, change: bool) {
        self.file.instance().snapshot_cond(|owner, take| {
            let noted = owner.downcast_ref::<Noted>();
            if let Some(noted) = noted.filter(|noted| noted.trigger == self.trigger.number) {
                noted.note(self.key, value, change, take);
            }
        });
    }
}

/// The hit that has taken the snapshot. One CPU at a time notes, with interrupts off.
pub(super) struct Noted {
    /// The number of the trigger.
    trigger: u64,
    value: Shared,
    /// 1 if a snapshot was taken.
    taken: Shared,
    key: KVec<Shared>,
}

impl Noted {
    /// No snapshot yet. Task context, may sleep. `ENOMEM`.
    pub(super) fn new(trigger: &HistTrigger) -> Result<KBox<dyn Any + Send + Sync>> {
        let mut key = KVec::new();
        for _ in 0..trigger.description.key_words {
            key.push(Shared::new(0), GFP_KERNEL)?;
        }
        let new = Self {
            trigger: trigger.number,
            value: Shared::new(0),
            taken: Shared::new(0),
            key,
        };
        let new: KBox<dyn Any + Send + Sync> = KBox::new(new, GFP_KERNEL)?;
        Ok(new)
    }

    /// Takes a snapshot and notes its hit, unless the value is not greater, or with `change` the
    /// same.
    fn note(&self, key: &[u64], value: u64, change: bool, take: &dyn Fn() -> bool) {
        let last = self.value.load_relaxed();
        let passes = match change {
            true => value != last,
            false => value > last,
        };
        if passes && take() {
            self.value.store_relaxed(value);
            let words = self.key.iter().zip(key);
            words.for_each(|(word, key)| word.store_relaxed(*key));
            self.taken.store_release(1);
        }
    }
}

impl HistTrigger {
    /// Writes which hit has taken the snapshot. Task context. Errors only when `out` is full.
    pub(super) fn write_snapshot(
        &self,
        instance: &Instance,
        out: &mut dyn Out,
        names: &dyn Names,
    ) -> fmt::Result {
        if self.snapshot.is_none() {
            return Ok(());
        }
        let mut key = [0; KEY_WORDS];
        let key = key.get_mut(..usize::from(self.description.key_words));
        let key = key.unwrap_or(&mut []);
        let value = instance.with_snapshot_owner(|owner| {
            let noted = owner.downcast_ref::<Noted>()?;
            if noted.trigger != self.number || noted.taken.load_acquire() == 0 {
                return None;
            }
            let words = key.iter_mut().zip(&noted.key);
            words.for_each(|(to, word)| *to = word.load_relaxed());
            Some(noted.value.load_relaxed())
        });
        // The element is gone if the table was emptied meanwhile.
        let map = &self.histogram.map;
        let (Some(value), Some(element)) = (value.flatten(), map.find(key)) else {
            return Ok(());
        };
        out.bytes(b"\nSnapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { ")?;
        out.bytes(self.snapshot.as_deref().unwrap_or(&[]))?;
        write!(out, " }}: {value:>10}\ttriggered by event with key: ")?;
        let what = (&*self.description, &*self.text);
        print::key(out, what, (map, element), names)?;
        out.bytes(b"\n")
    }
}
