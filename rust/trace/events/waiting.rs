// SPDX-License-Identifier: GPL-2.0

//! Events of modules that are not loaded yet. They are enabled when the module is loaded.

use super::matching::{Match, Waiting};
use super::registry::Registry;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use super::registry::{Event, EventId, InstanceEvents};
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use super::systems::Systems;
use crate::kernel::module::exists;
use crate::kernel::text::Text;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

impl Registry {
    /// As [`Registry::enable_matching`]. If the module is not loaded, remembers the request until
    /// it is; disabling forgets the request. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` if no event matches and the module is loaded, or if there is no request to forget;
    /// `ENOMEM`; and the errors of [`Registry::enable_matching`].
    pub(crate) fn enable_or_wait(
        &mut self,
        instance: &Arc<Instance>,
        wanted: &Match<'_>,
        on: bool,
    ) -> Result {
        let result = self.enable_matching(instance, wanted, on);
        let (Some(name), Err(error)) = (wanted.module, result) else {
            return result;
        };
        // `EINVAL` may also be the error of an event that exists.
        let is_there = |event: &_| wanted.matches(event);
        if error != EINVAL || self.events().iter().any(is_there) {
            return result;
        }
        let mut module = Text::copy(name)?;
        module
            .iter_mut()
            .filter(|byte| **byte == b'-')
            .for_each(|byte| *byte = b'_');
        if exists(&module) {
            return Err(EINVAL);
        }
        if on {
            // The load of the module finds the instance by this state.
            self.of_made(instance)?;
            let new = Waiting::new(instance, module, wanted)?;
            self.waiting.push(new, GFP_KERNEL)?;
            return Ok(());
        }
        let before = self.waiting.len();
        self.waiting.retain(|waiting| {
            !waiting.is_of(instance) || !waiting.is_for(&module) || !waiting.is_meant(wanted)
        });
        if self.waiting.len() == before {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Disables all events of `instance` and forgets its requests for modules. Task context,
    /// sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`. An event that cannot be disabled stays enabled.
    pub(crate) fn disable_all(&mut self, instance: &Arc<Instance>) -> Result {
        let mut enabled = KVec::new();
        for file in self.of(instance).map_or(&[][..], |events| events.files()) {
            enabled.push(file.event(), GFP_KERNEL)?;
        }
        for event in enabled {
            // If its class refuses, the event stays enabled, and its file shows that.
            let _ = self.enable(instance, event, false);
        }
        self.forget_waiting(instance);
        Ok(())
    }

    /// Forgets the requests of `instance`.
    pub(super) fn forget_waiting(&mut self, instance: &Instance) {
        self.waiting.retain(|waiting| !waiting.is_of(instance));
    }

    /// The request of `instance` that was made before `at` newer ones.
    pub(crate) fn waiting(&self, instance: &Instance, at: usize) -> Option<&Waiting> {
        let newest_first = self.waiting.iter().rev();
        newest_first
            .filter(|waiting| waiting.is_of(instance))
            .nth(at)
    }

    /// Enables a new event of a module where one of its requests selects it. They stay, as the module
    /// may make more events. Task context, sleeps.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(super) fn is_here(&mut self, id: EventId) {
        let mut next = 0;
        while let Some(waiting) = self.waiting.get(next) {
            next += 1;
            let of_instance = |events: &&InstanceEvents| waiting.is_of(events.instance());
            let instance = self.instances.iter().find(of_instance);
            let instance = instance.map(|events| events.instance().clone());
            let selects = |instance: &Arc<Instance>| {
                let system = |event: &&Event| Systems::of(instance).has(event.system().to_bytes());
                let event = self.event(id).filter(system);
                event.is_some_and(|event| waiting.wanted().matches(event))
            };
            if let Some(instance) = instance.filter(selects) {
                // There is no writer to report the error to.
                let _ = self.enable(&instance, id, true);
            }
        }
    }

    /// Enables the requested events of a module that was loaded. Task context, sleeps.
    pub(super) fn module_is_here(&mut self, name: &[u8]) {
        let its = |waiting: &Waiting| waiting.is_for(name);
        while let Some(at) = self.waiting.iter().rposition(its) {
            let Ok(waiting) = self.waiting.remove(at) else {
                return;
            };
            let instance = self
                .instances
                .iter()
                .map(|events| events.instance())
                .find(|instance| waiting.is_of(instance))
                .cloned();
            if let Some(instance) = instance {
                // There is no writer to report the error to.
                let _ = self.enable_matching(&instance, &waiting.wanted(), true);
            }
        }
    }
}
