// SPDX-License-Identifier: GPL-2.0

//! `enable_event` and `disable_event`: start or stop the recording of another event of the
//! instance.
//!
//! The trigger is a soft user of that event and holds its module.

use super::{Command, HitTime, HotFile, Key, Kind, Limits, Place, Registry, Sort, Trigger};
use crate::core::event::trigger::Target;
use crate::core::format::Out;
use crate::kernel::text::Text;
use crate::kernel::trace_event::{flag, FlagsHandle, HeldCall};
use crate::trace::events::file::Hot;
use crate::trace::events::registry::EventId;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// One of the two kinds.
#[derive(Clone, Copy)]
pub(super) struct Switch {
    /// Whether the other event is recorded after the hit.
    pub(super) on: bool,
}

impl Kind for Switch {
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
        let event = event.ok_or(EINVAL)?;
        Ok(Key {
            sort: Sort::Switch,
            target: Some(event.id()),
            number: 0,
        })
    }

    fn make(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Arc<dyn Trigger>> {
        let target = command.target().map_err(|_| EINVAL)?;
        let limits = place.limits(&target.params)?;
        let (switched, call) = Switched::new(
            place.registry,
            place.instance,
            (target.system, target.event),
            self.on,
        )?;
        let made = Made {
            limits,
            switched,
            call,
        };
        Ok(Arc::new(made, GFP_KERNEL)?)
    }
}

const fn name(on: bool) -> &'static str {
    if on {
        "enable_event"
    } else {
        "disable_event"
    }
}

/// The key of the trigger of `place` that is called by one of `names` and has this target. Task context,
/// may sleep. `ENOMEM`.
pub(super) fn known_key(
    place: &Place<'_>,
    names: [&str; 2],
    target: &Target<'_>,
) -> Result<Option<Key>> {
    let known = place.registry.triggers_of(place.instance, place.event);
    for trigger in known.iter().flat_map(|list| list.all()) {
        let shown = Text::of(|out| trigger.show(out))?;
        if is_for(&shown, names, target) {
            return Ok(Some(trigger.key()));
        }
    }
    Ok(None)
}

/// Whether a trigger that is shown so is called by one of `names` and has this target.
fn is_for(shown: &[u8], names: [&str; 2], target: &Target<'_>) -> bool {
    let event = names.into_iter().find_map(|name| {
        let rest = shown.strip_prefix(name.as_bytes())?;
        rest.strip_prefix(b":")?
            .strip_prefix(target.system)?
            .strip_prefix(b":")
    });
    event == Some(target.event)
}

/// An event that hits start or stop recording.
pub(crate) struct Switched {
    event: EventId,
    on: bool,
    flags: SetOnce<FlagsHandle<Hot>>,
}

impl Switched {
    /// Makes it for the event `name` of `system` in `instance`, with what holds the event until
    /// [`Switched::detach`]. It is not a soft user yet. Task context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such event, `EBUSY` if it is being removed.
    pub(crate) fn new(
        registry: &Registry,
        instance: &Instance,
        (system, name): (&[u8], &[u8]),
        on: bool,
    ) -> Result<(Self, HeldCall)> {
        let event = registry.find_in(instance, system, name).ok_or(EINVAL)?;
        let switched = Self {
            event: event.id(),
            on,
            flags: SetOnce::new(),
        };
        Ok((switched, HeldCall::new(event.registered()).ok_or(EBUSY)?))
    }

    /// Makes it a soft user in `instance`. Task context, sleeps. Errors as
    /// [`Registry::enable_softly`].
    pub(crate) fn attach(&self, registry: &mut Registry, instance: &Arc<Instance>) -> Result {
        registry.enable_softly(instance, self.event, true)?;
        let handle = registry.file_made(instance, self.event)?.flags_handle();
        self.flags.populate(handle);
        Ok(())
    }

    /// Undoes [`Switched::attach`]. Hits need the event no longer. Task context, sleeps.
    pub(crate) fn detach(&self, registry: &mut Registry, instance: &Arc<Instance>) {
        let _ = registry.enable_softly(instance, self.event, false);
    }

    /// Whether the event is already in the wanted state. Any context.
    pub(crate) fn is_done(&self) -> bool {
        let is_recorded = |flags: &FlagsHandle<Hot>| flags.get() & flag::SOFT_DISABLED == 0;
        self.flags
            .as_ref()
            .is_none_or(|flags| is_recorded(flags) == self.on)
    }

    /// Changes the state. Returns whether this call has changed it; if several CPUs call it at
    /// once, only one of them gets true. Any context.
    pub(crate) fn switch(&self) -> bool {
        self.flags
            .as_ref()
            .is_some_and(|flags| flags.set(flag::SOFT_DISABLED, !self.on))
    }

    /// Writes `enable_event:SYSTEM:EVENT` or `disable_event:SYSTEM:EVENT`, where `call` is the
    /// event. Errors only when `out` is full.
    pub(crate) fn show(&self, call: &HeldCall, out: &mut dyn Out) -> fmt::Result {
        write!(out, "{}:", name(self.on))?;
        out.bytes(call.system().to_bytes())?;
        out.bytes(b":")?;
        out.bytes(call.name().to_bytes())
    }
}

struct Made {
    switched: Switched,
    call: HeldCall,
    limits: Limits,
}

impl Trigger for Made {
    fn key(&self) -> Key {
        Key {
            sort: Sort::Switch,
            target: Some(self.switched.event),
            number: 0,
        }
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn hit(&self, _: &HotFile, _: Option<&[u8]>, _: &HitTime) {
        // Only the CPU that has changed the state uses up a count.
        if self.limits.any() && !self.switched.is_done() && self.switched.switch() {
            self.limits.spend();
        }
    }

    fn attach(&self, registry: &mut Registry, instance: &Arc<Instance>) -> Result {
        self.switched.attach(registry, instance)
    }

    fn detach(&self, registry: &mut Registry, instance: &Arc<Instance>) {
        self.switched.detach(registry, instance);
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        self.switched.show(&self.call, out)
    }
}
