// SPDX-License-Identifier: GPL-2.0

//! Enabling and disabling events.

use super::file::User;
use super::matching::Match;
use super::registry::{Event, EventId, Registry};
use super::systems::Systems;
use crate::kernel::tracepoint::expedite_probes;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

impl Match<'_> {
    /// Whether `event` matches.
    pub(crate) fn matches(&self, event: &Event) -> bool {
        // Where a name ends is found by reading it, so only names that are asked for are read.
        let is_system = |wanted: &[u8]| wanted == event.system().to_bytes();
        let is_name = |wanted: &[u8]| wanted == event.name().to_bytes();
        event.is_offered()
            && self.either.is_none_or(|any| is_name(any) || is_system(any))
            && self.system.is_none_or(is_system)
            && self.event.is_none_or(is_name)
            && self.module.is_none_or(|wanted| is_of(event, wanted))
    }
}

/// Whether `event` belongs to the module called `wanted`.
fn is_of(event: &Event, wanted: &[u8]) -> bool {
    let same = |(one, other): (&u8, &u8)| one == other || *one == b'_' && *other == b'-';
    event.module_name().is_some_and(|name| {
        let name = name.to_bytes();
        name.len() == wanted.len() && name.iter().zip(wanted).all(same)
    })
}

impl Registry {
    /// Enables or disables `event` in `instance`. The buffer stays as it is: who wants it recorded at
    /// length [expands](Instance::expand) it. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the event was removed; `EACCES` in a read-only copy of another instance;
    /// `ENOMEM`; and the errors of the event's class.
    pub(crate) fn enable(&mut self, instance: &Arc<Instance>, event: EventId, on: bool) -> Result {
        self.switch(instance, event, on, User::Recorder)
    }

    /// Adds or removes a soft user of `event` in `instance`: the probe runs, but need not record.
    /// Users are counted. Errors as [`Registry::enable`].
    pub(crate) fn enable_softly(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        on: bool,
    ) -> Result {
        self.switch(instance, event, on, User::Soft)
    }

    fn switch(&mut self, instance: &Arc<Instance>, event: EventId, on: bool, user: User) -> Result {
        if instance.is_copy() {
            return Err(EACCES);
        }
        if !on && self.of(instance).and_then(|at| at.file(event)).is_none() {
            // There is no file, so nothing was ever enabled.
            return self.event(event).map(drop).ok_or(ENODEV);
        }
        if on {
            self.of_made(instance)?.begin_saving()?;
        }
        let result = self.file_made(instance, event).and_then(|file| {
            let was = file.is_enabled();
            let result = file.switch(on, user);
            Ok((was, file.is_enabled(), result))
        });
        let (was, is, result) = match result {
            Ok(result) => result,
            Err(error) => (false, false, Err(error)),
        };
        if let Some(at) = self.of_mut(instance) {
            at.count(was, is);
        }
        let result = result.and_then(|()| self.tell(instance, event, was, is, user));
        if let Some(at) = self.of_mut(instance) {
            at.end_saving();
        }
        if on && result.is_err() {
            if let Some(event) = self.event(event) {
                pr_info!("event trace: Could not enable event {}\n", event.name());
            }
        }
        result
    }

    /// Tells who wants to know that `event` was enabled or disabled in `instance`.
    fn tell(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        was: bool,
        is: bool,
        user: User,
    ) -> Result {
        let on_switch = self.event(event).and_then(|event| event.on_switch.clone());
        let Some(on_switch) = on_switch.filter(|_| was != is) else {
            return Ok(());
        };
        on_switch
            .switched(self, instance, event, is)
            .inspect_err(|_| {
                if is {
                    let _ = self.switch(instance, event, false, user);
                } else {
                    self.enable_again(instance, event, user);
                }
            })
    }

    /// Undoes that `event` was disabled, as who was told could not follow: the next attempt finds all
    /// as this one did. A soft user does not try again.
    fn enable_again(&mut self, instance: &Arc<Instance>, event: EventId, user: User) {
        if user == User::Soft {
            return;
        }
        let is_back = self
            .file_made(instance, event)
            .is_ok_and(|file| file.switch(true, User::Recorder).is_ok());
        if let (true, Some(at)) = (is_back, self.of_mut(instance)) {
            at.count(false, true);
        }
    }

    /// Enables or disables all events that match `wanted`. An error does not stop it. The buffer stays
    /// as with [`Registry::enable`]. Task context, sleeps.
    ///
    /// All are recorded from one moment on: when the last one is enabled. So the write itself, which
    /// hits many events, is not recorded by those that were enabled first. Those that patching of the
    /// kernel's text hits ([`Event::is_hit_by_patching`]) are enabled last and disabled first: else
    /// their probes would be a third of the cost.
    ///
    /// # Errors
    ///
    /// `EINVAL` if no event matches. Otherwise the first error of [`Registry::enable`].
    pub(crate) fn enable_matching(
        &mut self,
        instance: &Arc<Instance>,
        wanted: &Match<'_>,
        on: bool,
    ) -> Result {
        if instance.is_copy() {
            return Err(EACCES);
        }
        let mut result = Err(EINVAL);
        let mut failed = Ok(());
        if on {
            self.reserve_files(instance, wanted)?;
        } else {
            self.record_matching(instance, wanted, false);
        }
        for hit_by_patching in [!on, on] {
            let mut next = 0;
            while let Some(event) = self.events().get(next) {
                next += 1;
                if event.is_hit_by_patching() == hit_by_patching
                    && wanted.matches(event)
                    && Systems::of(instance).have(event)
                {
                    let id = event.id();
                    let switched = self.switch(instance, id, on, User::Later);
                    if failed.is_ok() {
                        failed = switched;
                    }
                    result = failed;
                }
            }
        }
        if on {
            self.record_matching(instance, wanted, true);
        } else {
            expedite_probes();
        }
        result
    }

    /// Reserves memory for the files that the events which match `wanted` lack. Where there are none
    /// yet, that is all that these take. `ENOMEM`.
    fn reserve_files(&mut self, instance: &Arc<Instance>, wanted: &Match<'_>) -> Result {
        let at = self.of(instance);
        let systems = Systems::of(instance);
        let lacks = |event: &&Event| {
            wanted.matches(event)
                && systems.have(event)
                && at.is_none_or(|at| at.file(event.id()).is_none())
        };
        let missing = self.events().iter().filter(lacks).count();
        if missing == 0 {
            return Ok(());
        }
        Ok(self.of_made(instance)?.files.reserve(missing, GFP_KERNEL)?)
    }

    /// Lets those of the events that match `wanted` and are enabled be recorded, or no more.
    fn record_matching(&self, instance: &Arc<Instance>, wanted: &Match<'_>, on: bool) {
        let systems = Systems::of(instance);
        let files = self.of(instance).map_or(&[][..], |at| at.files());
        for file in files {
            let event = self.event(file.event());
            if event.is_some_and(|event| wanted.matches(event) && systems.have(event)) {
                file.record(on);
            }
        }
    }
}
