// SPDX-License-Identifier: GPL-2.0

//! Adds, changes and removes `hist` triggers.

use super::super::{Command, EventId, Key, Kind, Registry, Sort, Trigger, TriggerList};
use super::plan::{definition, empty, Named, Parsed, Plan};
use super::scope::Names;
use super::switch::HistSwitch;
use super::writing::Writing;
use super::{HistTrigger, Histogram};
use crate::core::event::hist::action::Action;
use crate::core::event::hist::attributes::{condition, hide_minus, split_filter, Attributes};
use crate::core::event::hist::compile::compile;
use crate::core::event::hist::description::ArrayVec;
use crate::core::event::hist::error::{position, Log, Reason};
use crate::core::event::hist::same;
use crate::core::format::Out;
use crate::kernel::text::Text;
use crate::trace::events::filter::{self, Filter};
use crate::trace::events::registry::Event;
use crate::trace::events::systems::Systems;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The kinds of triggers for histograms, in the order in which `trigger` files list them.
pub(in crate::trace::events::trigger) static KINDS: &[&dyn Kind] =
    &[&HistSwitch { on: true }, &HistSwitch { on: false }, &Hist];

/// The kind that adds, changes and removes them.
struct Hist;

/// Writes errors to `error_log`.
struct Report<'a> {
    instance: &'a Instance,
    location: KVec<u8>,
    command: KVec<u8>,
}

impl<'a> Report<'a> {
    fn new(instance: &'a Instance, event: &Event, definition: &[u8]) -> Result<Self> {
        let location = Text::of(|location| {
            location.bytes(b"hist:")?;
            location.bytes(event.system().to_bytes())?;
            location.bytes(b":")?;
            location.bytes(event.name().to_bytes())
        })?;
        let command = Text::of(|command| {
            command.bytes(b"hist:")?;
            command.bytes(definition)
        })?;
        Ok(Self {
            instance,
            location,
            command,
        })
    }
}

impl Log for Report<'_> {
    fn log(&mut self, reason: Reason, token: &[u8]) {
        let at = position(&self.command, token);
        let errors = self.instance.errors();
        errors.push(&self.location, &self.command, at, reason.text());
    }
}

impl Kind for Hist {
    fn name(&self) -> &'static str {
        "hist"
    }

    fn write(
        &self,
        registry: &mut Registry,
        instance: &Arc<Instance>,
        event: EventId,
        command: &Command<'_>,
    ) -> Result {
        let definition = command.rest.ok_or(EINVAL)?;
        let known = registry.event(event).ok_or(ENODEV)?;
        let mut report = Report::new(instance, known, definition)?;
        let writing = Writing {
            instance,
            event,
            definition,
            remove: command.remove,
            is_implied: false,
        };
        registry.write_hist(&writing, &mut report)
    }
}

/// What a definition comes to.
enum Change<'a> {
    /// The trigger that is the same is removed, if there is one.
    Remove(Option<Key>),
    /// The trigger that is the same is paused, resumed or emptied.
    Existing(Key),
    /// There will be another trigger, if it is allowed.
    Add(Plan<'a>),
}

/// What makes a trigger the same.
struct Same<'a> {
    identity: &'a [u8],
    filter: Option<&'a Filter>,
    /// The table of its name.
    histogram: Option<&'a Histogram>,
}

impl Registry {
    /// Adds, changes or removes a trigger. Task context, sleeps. Errors as writes to `trigger`
    /// files; `log` gets their reasons.
    pub(super) fn write_hist(&mut self, at: &Writing<'_>, log: &mut dyn Log) -> Result {
        let (text, condition) = split_filter(at.definition)?;
        let mut text = Text::copy(text)?;
        hide_minus(&mut text);
        let attributes = Attributes::parse(&text, log)?;
        let is_event = |system: &[u8], event: &[u8]| {
            let found = self.find(system, event);
            found.is_some_and(|event| Systems::of(at.instance).have(event))
        };
        let mut actions = ArrayVec::new(Action::NONE);
        let texts = attributes.actions();
        Action::parse_all(texts, &is_event, log, &mut actions)?;
        let parsed = Parsed {
            text: &text,
            condition,
            attributes: &attributes,
            actions: &actions,
        };
        match self.compiled(at, parsed, log)? {
            Change::Remove(None) => Ok(()),
            Change::Remove(Some(key)) => self.remove_hist(at, key),
            Change::Existing(key) => {
                self.change_hist(at.instance, at.event, key, &attributes);
                Ok(())
            }
            Change::Add(plan) => {
                let result = self.add_hist(plan, log);
                if result.is_err() && !actions.is_empty() {
                    self.remove_unread_hists();
                }
                result
            }
        }
    }

    /// Compiles a definition without its actions, and tells what is to be done. Errors as
    /// [`Registry::write_hist`].
    fn compiled<'a>(
        &mut self,
        at: &'a Writing<'a>,
        parsed: Parsed<'a>,
        log: &mut dyn Log,
    ) -> Result<Change<'a>> {
        let Parsed {
            text,
            attributes,
            actions,
            ..
        } = parsed;
        let (mut tables, mut events) = (KVec::new(), KVec::new());
        let mut names = Names {
            registry: self,
            at,
            tables: &mut tables,
            events: &mut events,
        };
        let mut description = empty()?;
        let all = (attributes, actions);
        compile(text, all, &mut names, log, &mut description)?;
        let event = self.event(at.event).ok_or(ENODEV)?;
        let filter = match parsed.condition {
            Some(text) => {
                let filter = filter::of_trigger(at.instance, event, condition(text))?;
                Some(Arc::new(filter, GFP_KERNEL)?)
            }
            None => None,
        };
        let identity = Text::of(|out| same::identity(out, &description, text, actions))?;
        let named = match attributes.name {
            Some(name) => self.named_hist(name)?,
            None => None,
        };
        let same = Same {
            identity: &identity,
            filter: filter.as_deref(),
            histogram: named.as_ref().map(|named| &*named.histogram),
        };
        let found = self.same_hist(at.instance, at.event, &same);
        if at.remove {
            return Ok(Change::Remove(found));
        }
        let is_new_name = attributes.name.is_some() && named.is_none();
        let exists = found.filter(|_| !is_new_name);
        let changes = attributes.pause || attributes.resume || attributes.clear;
        if let Some(key) = exists.filter(|_| changes) {
            return Ok(Change::Existing(key));
        }
        Ok(Change::Add(Plan {
            at,
            parsed,
            description,
            filter,
            identity,
            named,
            exists: exists.is_some(),
            tables,
            events,
        }))
    }

    /// Removes the trigger of `key`. `EBUSY` while it is referred to.
    fn remove_hist(&mut self, at: &Writing<'_>, key: Key) -> Result {
        if self.is_referred(at.instance, at.event, key) {
            return Err(EBUSY);
        }
        self.remove_trigger(at.instance, at.event, key)
    }

    /// Adds the trigger of `plan`. Errors as [`Registry::write_hist`]; triggers that were made for its
    /// actions are left then.
    fn add_hist(&mut self, mut plan: Plan<'_>, log: &mut dyn Log) -> Result {
        // As in C, the errors of actions come before those of the trigger as a whole.
        plan.compile_actions(self, log)?;
        plan.check_snapshot()?;
        plan.check_others(log)?;
        let (at, clock) = (plan.at, plan.clock(log)?);
        self.add_trigger(at.instance, at.event, plan.trigger(clock)?)
    }

    /// The lists of all instances.
    fn trigger_lists(&self) -> impl Iterator<Item = Arc<TriggerList>> + '_ {
        let files = self.instances.iter().flat_map(|at| at.files());
        files.filter_map(|file| file.triggers())
    }

    /// The first trigger called `name` in any instance. `ENOMEM`.
    fn named_hist(&self, name: &[u8]) -> Result<Option<Named>> {
        for list in self.trigger_lists() {
            let mut hists = list.of::<HistTrigger>();
            let is_called = |hist: &&HistTrigger| hist.name.as_deref() == Some(name);
            if let Some(hist) = hists.find(is_called) {
                return Ok(Some(Named {
                    histogram: hist.histogram.clone(),
                    description: hist.description.clone(),
                    identity: Text::copy(&hist.identity)?,
                    definition: definition(&hist.description, &hist.text)?,
                }));
            }
        }
        Ok(None)
    }

    /// The key of the trigger of `event` that is the same.
    fn same_hist(&self, instance: &Instance, event: EventId, same: &Same<'_>) -> Option<Key> {
        let list = self.triggers_of(instance, event)?;
        let is_same = |hist: &&HistTrigger| {
            let shares = match same.histogram {
                Some(histogram) => core::ptr::eq(&*hist.histogram, histogram),
                None => hist.name.is_none(),
            };
            let filters = match (same.filter, &hist.limits.filter) {
                (Some(mine), Some(other)) => mine.text() == other.text(),
                (None, None) => true,
                _ => false,
            };
            shares && filters && hist.identity == same.identity
        };
        let found = list.of::<HistTrigger>().find(is_same);
        found.map(|hist| hist.key())
    }

    /// Removes the triggers that were made for actions, and that no trigger reads any more. Task
    /// context, sleeps. Without memory they stay until the next time.
    pub(in crate::trace::events) fn remove_unread_hists(&mut self) {
        while let Some((instance, event, key)) = self.unread_hist() {
            if self.remove_trigger(&instance, event, key).is_err() {
                return;
            }
        }
    }

    fn unread_hist(&self) -> Option<(Arc<Instance>, EventId, Key)> {
        self.instances.iter().find_map(|at| {
            let instance = at.instance();
            at.files().iter().find_map(|file| {
                let list = file.triggers()?;
                let implied = list.of::<HistTrigger>().filter(|hist| hist.is_implied);
                let mut keys = implied.map(HistTrigger::key);
                let unread = keys.find(|key| !self.is_referred(instance, file.event(), *key))?;
                Some((instance.clone(), file.event(), unread))
            })
        })
    }

    /// Whether another trigger reads variables of the trigger of `key`: in its instance, or in
    /// another one by a table that both have by name.
    fn is_referred(&self, instance: &Instance, event: EventId, key: Key) -> bool {
        let list = self.triggers_of(instance, event);
        let table = list.and_then(|list| {
            let mut hists = list.of::<HistTrigger>();
            let hist = hists.find(|hist| hist.key() == key)?;
            let any = !hist.description.variables.is_empty();
            any.then(|| hist.histogram.clone())
        });
        let Some(table) = table else {
            return false;
        };
        let refers = |hist: &HistTrigger| {
            let mut referred = hist.histogram.referred.iter();
            hist.key() != key && referred.any(|other| Arc::ptr_eq(other, &table))
        };
        let mut lists = self.trigger_lists();
        lists.any(|list| list.of::<HistTrigger>().any(refers))
    }

    /// Pauses, resumes or empties the trigger of `key`.
    fn change_hist(&self, instance: &Instance, event: EventId, key: Key, how: &Attributes<'_>) {
        let Some(list) = self.triggers_of(instance, event) else {
            return;
        };
        let Some(hist) = list.of::<HistTrigger>().find(|hist| hist.key() == key) else {
            return;
        };
        if how.pause {
            hist.set_paused(true);
        } else if how.resume {
            hist.set_paused(false);
        } else {
            hist.histogram.clear();
        }
    }

    /// Removes all `hist` triggers of `event`, and those that continue or pause others, because its
    /// `trigger` file was opened for writing anew. Task context, sleeps. `ENOMEM`.
    pub(crate) fn remove_hists(&mut self, instance: &Arc<Instance>, event: EventId) -> Result {
        let Some(list) = self.triggers_of(instance, event) else {
            return Ok(());
        };
        // As in C, a histogram that is referred to keeps all of them.
        let mut hists = list.of::<HistTrigger>().map(HistTrigger::key);
        let keep = hists.any(|key| self.is_referred(instance, event, key));
        let mut keys: KVec<Key> = KVec::new();
        for key in list.all().map(|trigger| trigger.key()) {
            if key.sort == Sort::Hist && !keep || key.sort == Sort::HistSwitch {
                keys.push(key, GFP_KERNEL)?;
            }
        }
        for key in keys {
            self.remove_trigger(instance, event, key)?;
        }
        Ok(())
    }
}
