// SPDX-License-Identifier: GPL-2.0

//! The table of all kinds of triggers, and the changes of an event's triggers.

use super::{on_off, snapshot, stacktrace, switch};
use super::{Command, EventId, Key, Kind, Registry, Trigger, TriggerList};
use crate::core::format::Out;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::Atomic;
use kernel::sync::Arc;

/// All kinds, table by table, in the order in which `trigger` files list them.
static TABLES: &[&[&dyn Kind]] = &[
    KINDS,
    #[cfg(CONFIG_HIST_TRIGGERS)]
    super::hist::change::KINDS,
];

/// The kinds that every kernel has.
static KINDS: &[&dyn Kind] = &[
    &on_off::OnOff { on: true },
    &on_off::OnOff { on: false },
    &snapshot::Snapshot,
    &stacktrace::StackTrace,
    &switch::Switch { on: true },
    &switch::Switch { on: false },
];

fn kinds() -> impl Iterator<Item = &'static dyn Kind> {
    TABLES.iter().copied().flatten().copied()
}

/// The list of `triggers`. `None` if there are none. `ENOMEM`.
fn list(
    triggers: KVec<Arc<dyn Trigger>>,
    timed: Arc<Atomic<u32>>,
) -> Result<Option<Arc<TriggerList>>> {
    if triggers.is_empty() {
        return Ok(None);
    }
    let list = TriggerList::new(triggers, timed)?;
    Ok(Some(Arc::new(list, GFP_KERNEL)?))
}

impl Registry {
    /// Handles a write to the `trigger` file of `event` in `instance`. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an unknown trigger and for bad parameters; `EEXIST` if the trigger exists; the
    /// error in the filter; `ENODEV` if the event was removed; `ENOMEM`; and the errors of the
    /// trigger.
    pub(crate) fn write_trigger(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        text: &[u8],
    ) -> Result {
        let command = Command::parse(text);
        let kind = kinds()
            .find(|kind| kind.name().as_bytes() == command.name)
            .ok_or(EINVAL)?;
        kind.write(self, instance, event, &command)
    }

    /// Adds a trigger, behind all others if it [is last](Trigger::is_last). Task context, sleeps. `EEXIST` if there is one of its key; the errors of the trigger.
    pub(super) fn add_trigger(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        trigger: Arc<dyn Trigger>,
    ) -> Result {
        let old = self.file_made(instance, event)?.triggers();
        let mut triggers = KVec::new();
        let is_last = trigger.is_last();
        if !is_last {
            triggers.push(trigger.clone(), GFP_KERNEL)?;
        }
        for other in old.iter().flat_map(|list| list.all()) {
            if other.key() == trigger.key() {
                return Err(EEXIST);
            }
            triggers.push(other.clone(), GFP_KERNEL)?;
        }
        if is_last {
            triggers.push(trigger.clone(), GFP_KERNEL)?;
        }

        trigger.attach(self, instance)?;
        let result = self.put_triggers(instance, event, triggers);
        let result = result.and_then(|()| {
            self.enable_softly(instance, event, true).inspect_err(|_| {
                if let Ok(file) = self.file_made(instance, event) {
                    let _ = file.set_triggers(old);
                }
            })
        });
        if result.is_err() {
            trigger.detach(self, instance);
        }
        result
    }

    /// Removes the trigger of `key`, if there is one. `ENOMEM`.
    pub(super) fn remove_trigger(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        key: Key,
    ) -> Result {
        let file = self.of(instance).and_then(|at| at.file(event));
        let Some(list) = file.and_then(|file| file.triggers()) else {
            return Ok(());
        };
        let (rest, Some(gone)) = list.without(key)? else {
            return Ok(());
        };
        self.put_triggers(instance, event, rest)?;
        let result = self.enable_softly(instance, event, false);
        gone.detach(self, instance);
        result
    }

    /// Removes all triggers of `event` in all instances, because the event is being removed. Task
    /// context, sleeps. `ENOMEM`.
    pub(in crate::trace::events) fn remove_triggers_of(&mut self, event: EventId) -> Result {
        let mut next = 0;
        while let Some(at) = self.instances.get(next) {
            next += 1;
            if at.file(event).is_some_and(|file| file.triggers().is_some()) {
                let instance = at.instance().clone();
                self.remove_triggers(&instance, event)?;
            }
        }
        Ok(())
    }

    fn remove_triggers(&mut self, instance: &Arc<Instance>, event: EventId) -> Result {
        let file = self.file_made(instance, event)?;
        let gone = file.triggers();
        file.set_triggers(None)?;
        for trigger in gone.iter().flat_map(|list| list.all()) {
            // Each trigger was one soft user.
            let _ = self.enable_softly(instance, event, false);
            trigger.detach(self, instance);
        }
        Ok(())
    }

    fn put_triggers(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        triggers: KVec<Arc<dyn Trigger>>,
    ) -> Result {
        let list = list(triggers, self.of_made(instance)?.timed().clone())?;
        self.file_made(instance, event)?.set_triggers(list)
    }

    /// The triggers of `event` in `instance`.
    pub(super) fn triggers_of(
        &self,
        instance: &Instance,
        event: EventId,
    ) -> Option<Arc<TriggerList>> {
        self.of(instance)?.file(event)?.triggers()
    }

    /// Writes the text of the `trigger` file of `event` in `instance`. Task context. Errors only
    /// when `out` is full.
    pub(crate) fn show_triggers(
        &self,
        instance: &Instance,
        event: EventId,
        out: &mut dyn Out,
    ) -> fmt::Result {
        if self.show_set_triggers(instance, event, &|out, trigger| trigger.line(out), out)? {
            return Ok(());
        }
        out.write_str("# Available triggers:\n#")?;
        for kind in kinds() {
            write!(out, " {}", kind.name())?;
        }
        out.write_str("\n")
    }

    /// Calls `line` for each trigger of `event` in `instance`. Returns false if there is none.
    pub(crate) fn show_set_triggers(
        &self,
        instance: &Instance,
        event: EventId,
        line: &dyn Fn(&mut dyn Out, &dyn Trigger) -> fmt::Result,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error> {
        let file = self.of(instance).and_then(|at| at.file(event));
        let Some(list) = file.and_then(|file| file.triggers()) else {
            return Ok(false);
        };
        let mut any = false;
        for trigger in list.all().filter(|trigger| !trigger.is_hidden()) {
            line(out, &**trigger)?;
            any = true;
        }
        Ok(any)
    }
}
