// SPDX-License-Identifier: GPL-2.0

//! `enable_hist` and `disable_hist`: continue or pause all `hist` triggers of another event of the
//! instance.
//!
//! The trigger is a soft user of that event and holds its module.

use super::super::switch::known_key;
use super::super::{Command, HitTime, HotFile, Key, Kind, Limits, Place, Registry, Sort, Trigger};
use super::HistTrigger;
use crate::core::format::Out;
use crate::kernel::trace_event::{FlagsHandle, HeldCall};
use crate::trace::events::file::Hot;
use crate::trace::events::registry::EventId;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// One of the two kinds.
#[derive(Clone, Copy)]
pub(super) struct HistSwitch {
    /// Whether the triggers count after the hit.
    pub(super) on: bool,
}

const fn name(on: bool) -> &'static str {
    match on {
        true => "enable_hist",
        false => "disable_hist",
    }
}

const fn key(event: EventId) -> Key {
    Key {
        sort: Sort::HistSwitch,
        target: Some(event),
        number: 0,
    }
}

impl Kind for HistSwitch {
    fn name(&self) -> &'static str {
        name(self.on)
    }

    fn key(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Key> {
        let target = command.target().map_err(|_| EINVAL)?;
        let (registry, instance) = (place.registry, place.instance);
        if command.remove {
            // The other event may have ended, and its name may be that of a new one.
            if let Some(key) = known_key(place, [name(true), name(false)], &target)? {
                return Ok(key);
            }
        }
        let event = registry.find_in(instance, target.system, target.event);
        event.map(|event| key(event.id())).ok_or(EINVAL)
    }

    fn make(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Arc<dyn Trigger>> {
        let target = command.target().map_err(|_| EINVAL)?;
        let (registry, instance) = (place.registry, place.instance);
        let event = registry.find_in(instance, target.system, target.event);
        let event = event.ok_or(EINVAL)?;
        let made = Made {
            event: event.id(),
            call: HeldCall::new(event.registered()).ok_or(EBUSY)?,
            kind: *self,
            file: SetOnce::new(),
            limits: place.limits(&target.params)?,
        };
        Ok(Arc::new(made, GFP_KERNEL)?)
    }
}

struct Made {
    event: EventId,
    call: HeldCall,
    kind: HistSwitch,
    /// The file of the event, set when the trigger is added.
    file: SetOnce<FlagsHandle<Hot>>,
    limits: Limits,
}

impl Trigger for Made {
    fn key(&self) -> Key {
        key(self.event)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn hit(&self, _: &HotFile, _: Option<&[u8]>, _: &HitTime) {
        let Some(file) = self.file.as_ref().filter(|_| self.limits.spend()) else {
            return;
        };
        file.data().triggers.with(|list| {
            for hist in list.iter().flat_map(|list| list.of::<HistTrigger>()) {
                hist.set_paused(!self.kind.on);
            }
        });
    }

    fn attach(&self, registry: &mut Registry, instance: &Arc<Instance>) -> Result {
        registry.enable_softly(instance, self.event, true)?;
        let file = registry.file_made(instance, self.event)?.flags_handle();
        self.file.populate(file);
        Ok(())
    }

    fn detach(&self, registry: &mut Registry, instance: &Arc<Instance>) {
        let _ = registry.enable_softly(instance, self.event, false);
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        write!(out, "{}:", self.kind.name())?;
        out.bytes(self.call.system().to_bytes())?;
        out.bytes(b":")?;
        out.bytes(self.call.name().to_bytes())
    }
}
