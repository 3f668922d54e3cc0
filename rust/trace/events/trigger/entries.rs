// SPDX-License-Identifier: GPL-2.0

//! Readers of an event's entries: events that are made of them. No file shows these triggers.

use super::{filter, EventId, HitTime, HotFile, Key, Limits, Needs, Registry, Sort, Trigger};
use crate::core::format::Out;
use crate::kernel::context::{with_preemption_off, PreemptOff};
use crate::kernel::per_context::PerContext;
use crate::trace::events::systems::Systems;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// Counts the readers at work on a CPU. A reader that reads a program's memory may fault, and what it reads may be the
/// entries of faults: so one runs a few times within itself, and then the hit is left out.
static WITHIN: SetOnce<PerContext<()>> = SetOnce::new();

/// Reads entries.
pub(crate) trait Reader: Send + Sync {
    /// An entry of `of`, common fields included. Any context, NMI included.
    fn read(&self, of: &HotFile, entry: &[u8], stay: &PreemptOff);
}

struct Made {
    /// Whose reader it is.
    event: EventId,
    reader: Arc<dyn Reader>,
    limits: Limits,
}

const fn key(event: EventId) -> Key {
    Key {
        sort: Sort::Entries,
        target: Some(event),
        number: 0,
    }
}

impl Trigger for Made {
    fn key(&self) -> Key {
        key(self.event)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn hit(&self, file: &HotFile, entry: Option<&[u8]>, _: &HitTime) {
        if let (Some(entry), Some(within)) = (entry, WITHIN.as_ref()) {
            with_preemption_off(|stay| {
                within.with_held(stay, |()| self.reader.read(file, entry, stay))
            });
        }
    }

    fn needs(&self) -> Needs {
        Needs::GENERAL | Needs::ENTRY | Needs::ORDER
    }

    fn is_hidden(&self) -> bool {
        true
    }

    fn is_last(&self) -> bool {
        true
    }

    fn show(&self, _out: &mut dyn Out) -> fmt::Result {
        Ok(())
    }
}

impl Registry {
    /// Gives the entries of the event `of` in `instance` to `reader`, on behalf of `event`: those
    /// that the filter passes. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the instance does not have that event; the error in the filter, `ENOMEM`, and as
    /// [`Registry::enable`].
    pub(crate) fn read_entries(
        &mut self,
        instance: &Arc<Instance>,
        of: EventId,
        event: EventId,
        reader: Arc<dyn Reader>,
        filter: Option<&[u8]>,
    ) -> Result {
        let known = self.event(of).ok_or(ENODEV)?;
        if !Systems::of(instance).have(known) {
            return Err(ENOENT);
        }
        let filter = match filter {
            None => None,
            Some(text) => {
                let filter = filter::of_trigger(instance, known, text)?;
                Some(Arc::new(filter, GFP_KERNEL)?)
            }
        };
        let made = Made {
            event,
            reader,
            limits: Limits { left: None, filter },
        };
        if WITHIN.as_ref().is_none() {
            WITHIN.populate(PerContext::new(())?);
        }
        self.add_trigger(instance, of, Arc::new(made, GFP_KERNEL)?)
    }

    /// Undoes [`Registry::read_entries`], and waits for hits under way. Task context, sleeps.
    /// `ENOMEM`.
    pub(crate) fn end_reading(
        &mut self,
        instance: &Arc<Instance>,
        of: EventId,
        event: EventId,
    ) -> Result {
        self.remove_trigger(instance, of, key(event))
    }
}
