// SPDX-License-Identifier: GPL-2.0

//! Events of modules that are not there yet: what is enabled when they come.

use super::enable::Match;
use super::registry::Registry;
use crate::core::format::Out;
use crate::kernel::module::exists;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// What is to be enabled in an instance when a module comes.
pub(super) struct Waiting {
    /// The instance's address: it is forgotten when the instance goes.
    instance: usize,
    module: KVec<u8>,
    either: Option<KVec<u8>>,
    system: Option<KVec<u8>>,
    event: Option<KVec<u8>>,
}

fn address(instance: &Instance) -> usize {
    core::ptr::from_ref(instance) as usize
}

fn copied(name: &[u8]) -> Result<KVec<u8>> {
    let mut copy = KVec::new();
    copy.extend_from_slice(name, GFP_KERNEL)?;
    Ok(copy)
}

impl Waiting {
    fn new(instance: &Instance, module: KVec<u8>, wanted: &Match<'_>) -> Result<Self> {
        Ok(Self {
            instance: address(instance),
            module,
            either: wanted.either.map(copied).transpose()?,
            system: wanted.system.map(copied).transpose()?,
            event: wanted.event.map(copied).transpose()?,
        })
    }

    fn wanted(&self) -> Match<'_> {
        Match {
            either: self.either.as_deref(),
            system: self.system.as_deref(),
            event: self.event.as_deref(),
            module: Some(&self.module),
        }
    }

    /// Is it one of those that `wanted` means? What `wanted` leaves open matches anything.
    fn is_meant(&self, wanted: &Match<'_>) -> bool {
        let same = |asked: Option<&[u8]>, its: &Option<KVec<u8>>| {
            asked.is_none_or(|asked| its.as_deref() == Some(asked))
        };
        same(wanted.either, &self.either)
            && same(wanted.system, &self.system)
            && same(wanted.event, &self.event)
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        let part = |part: &Option<KVec<u8>>, out: &mut dyn Out| match part {
            Some(name) => out.bytes(name),
            None => out.bytes(b"*"),
        };
        if let Some(either) = &self.either {
            out.bytes(either)?;
        } else {
            part(&self.system, out)?;
            out.bytes(b":")?;
            part(&self.event, out)?;
        }
        out.bytes(b":mod:")?;
        out.bytes(&self.module)?;
        out.bytes(b"\n")
    }
}

impl Registry {
    /// [`Registry::enable_matching`], but what is asked for of a module that is not there is
    /// remembered until it comes, or, switched off, forgotten again. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` if no event is meant and the module is there, or if nothing was to be forgotten;
    /// `ENOMEM`, and as [`Registry::enable_matching`].
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
        // The events that are there may have failed with the same error.
        let is_there = |event: &_| wanted.matches(event);
        if error != EINVAL || self.events().iter().any(is_there) {
            return result;
        }
        let mut module = copied(name)?;
        module
            .iter_mut()
            .filter(|byte| **byte == b'-')
            .for_each(|byte| *byte = b'_');
        if exists(&module) {
            return Err(EINVAL);
        }
        if on {
            // So that the instance is found when the module comes.
            self.of_made(instance)?;
            let new = Waiting::new(instance, module, wanted)?;
            self.waiting.push(new, GFP_KERNEL)?;
            return Ok(());
        }
        let before = self.waiting.len();
        let at = address(instance);
        self.waiting.retain(|waiting| {
            waiting.instance != at || *waiting.module != *module || !waiting.is_meant(wanted)
        });
        if self.waiting.len() == before {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Disables all events of `instance`, and forgets what it waits for. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; an event that cannot be disabled stays.
    pub(crate) fn disable_all(&mut self, instance: &Arc<Instance>) -> Result {
        let mut enabled = KVec::new();
        for file in self.of(instance).map_or(&[][..], |events| events.files()) {
            enabled.push(file.event(), GFP_KERNEL)?;
        }
        for event in enabled {
            // Its class says no: it stays enabled, as its file shows.
            let _ = self.enable(instance, event, false);
        }
        self.forget_waiting(instance);
        Ok(())
    }

    /// `instance` waits for nothing any more.
    pub(super) fn forget_waiting(&mut self, instance: &Instance) {
        let at = address(instance);
        self.waiting.retain(|waiting| waiting.instance != at);
    }

    /// Writes what `instance` waits for, the newest first. Errors of `out`.
    pub(crate) fn write_waiting(&self, instance: &Instance, out: &mut dyn Out) -> fmt::Result {
        let at = address(instance);
        let mut its = self
            .waiting
            .iter()
            .rev()
            .filter(|waiting| waiting.instance == at);
        its.try_for_each(|waiting| waiting.write(out))
    }

    /// A module has come: enables what was waited for. Task context, sleeps.
    pub(super) fn module_is_here(&mut self, name: &[u8]) {
        let its = |waiting: &Waiting| *waiting.module == *name;
        while let Some(at) = self.waiting.iter().rposition(its) {
            let Ok(waiting) = self.waiting.remove(at) else {
                return;
            };
            let instance = self
                .instances
                .iter()
                .map(|events| events.instance())
                .find(|instance| address(instance) == waiting.instance)
                .cloned();
            if let Some(instance) = instance {
                // Nobody is there to be told.
                let _ = self.enable_matching(&instance, &waiting.wanted(), true);
            }
        }
    }
}
