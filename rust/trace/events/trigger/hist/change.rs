// SPDX-License-Identifier: GPL-2.0

//! Adds, changes and removes `hist` triggers.

use super::super::{Command, EventId, Key, Kind, Limits, Registry, Sort, Trigger, TriggerList};
use super::scope::Names;
use super::{actions, waiting, HistTrigger, Histogram, PrintedDefinition};
use crate::core::event::hist::action::{Action, Actions, Handler, Kind as Does};
use crate::core::event::hist::attributes::{condition, hide_minus, split_filter, Attributes};
use crate::core::event::hist::compile::{compile, compile_actions};
use crate::core::event::hist::description::{ArrayVec, Description};
use crate::core::event::hist::error::{position, Log, Reason};
use crate::core::event::hist::plain::Plain;
use crate::core::event::hist::{print, same};
use crate::core::format::Out;
use crate::kernel::text::Text;
use crate::trace::events::filter::{self, Filter};
use crate::trace::events::registry::Event;
use crate::trace::events::systems::Systems;
use crate::trace::instance::Instance;
use core::fmt::Write;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, UniqueArc};

/// The kind.
pub(super) struct Hist;

/// The number of the next trigger.
static NEXT: Atomic<u64> = Atomic::new(0);

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

/// A definition to be added, changed or removed.
pub(super) struct Writing<'a> {
    pub(super) instance: &'a Arc<Instance>,
    pub(super) event: EventId,
    /// The text after `hist:`.
    pub(super) definition: &'a [u8],
    pub(super) remove: bool,
    /// Whether an action of another trigger needs it.
    pub(super) is_implied: bool,
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

/// An empty description. It is too large for the stack, so it is written in its place. `ENOMEM`.
#[inline(never)]
fn empty() -> Result<UniqueArc<Description>> {
    static EMPTY: Description = Description::EMPTY;
    Ok(UniqueArc::new_uninit(GFP_KERNEL)?.write(EMPTY))
}

/// The first trigger of a name.
struct Named {
    histogram: Arc<Histogram>,
    description: Arc<Description>,
    identity: KVec<u8>,
    /// Its definition as it is printed, with the hit count.
    definition: KVec<u8>,
}

/// Writes the definition as it is printed, with the hit count. `ENOMEM`.
fn definition(description: &Description, text: &[u8]) -> Result<KVec<u8>> {
    Text::of(|out| print::definition(out, description, text, true))
}

/// Writes the definition as files show it. `ENOMEM`.
fn printed_definition(
    description: &Description,
    text: &[u8],
    (attributes, actions): (&Attributes<'_>, &Actions<'_>),
) -> Result<PrintedDefinition> {
    let no_hitcount = attributes.no_hitcount;
    let text = Text::of(|out| {
        print::definition(out, description, text, !no_hitcount)?;
        write!(out, ":size={}", 1u32 << attributes.bits)?;
        if description.timestamps {
            out.bytes(b":clock=")?;
            out.bytes(attributes.clock)?;
        }
        if no_hitcount {
            out.bytes(b":nohitcount")?;
        }
        let mut actions = actions.as_slice().iter();
        actions.try_for_each(|action| action.write(out))
    })?;
    Ok(PrintedDefinition { text, no_hitcount })
}

/// `onmax($VAR)` or `onchange($VAR)` of the action `snapshot()`. `ENOMEM`.
fn snapshot(actions: &Actions<'_>) -> Result<Option<KVec<u8>>> {
    let mut actions = actions.as_slice().iter();
    let Some(action) = actions.find(|action| action.kind == Does::Snapshot) else {
        return Ok(None);
    };
    let (handler, variable): (&[u8], _) = match action.handler {
        Handler::Max(variable) => (b"onmax(", variable),
        Handler::Change(variable) => (b"onchange(", variable),
        Handler::Match { .. } => return Ok(None),
    };
    let text = Text::of(|out| {
        out.bytes(handler)?;
        out.bytes(variable)?;
        out.bytes(b")")
    });
    text.map(Some)
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
        let (text, condition_text) = split_filter(at.definition)?;
        let mut text = Text::copy(text)?;
        hide_minus(&mut text);
        let text = &*text;
        let attributes = Attributes::parse(text, log)?;
        let is_event = |system: &[u8], event: &[u8]| {
            let found = self.find(system, event);
            found.is_some_and(|event| Systems::of(at.instance).have(event))
        };
        let mut actions = ArrayVec::new(Action::NONE);
        let texts = attributes.actions();
        Action::parse_all(texts, &is_event, log, &mut actions)?;
        let all = (&attributes, &actions);
        let mut names = Names {
            registry: self,
            instance: at.instance,
            event: at.event,
            removes: at.remove,
            found: KVec::new(),
            events: KVec::new(),
        };
        let mut description = empty()?;
        compile(text, all, &mut names, log, &mut description)?;
        let event = names.registry.event(at.event).ok_or(ENODEV)?;
        let filter = match condition_text {
            Some(text) => {
                let filter = filter::of_trigger(at.instance, event, condition(text))?;
                Some(Arc::new(filter, GFP_KERNEL)?)
            }
            None => None,
        };
        let identity = Text::of(|out| same::identity(out, &description, text, &actions))?;
        let named = match attributes.name {
            Some(name) => names.registry.named_hist(name)?,
            None => None,
        };
        let same = Same {
            identity: &identity,
            filter: filter.as_deref(),
            histogram: named.as_ref().map(|named| &*named.histogram),
        };
        let found = names.registry.same_hist(at.instance, at.event, &same);
        if at.remove {
            return match found {
                Some(key) if names.registry.is_referred(at.instance, at.event, key) => Err(EBUSY),
                Some(key) => names.registry.remove_trigger(at.instance, at.event, key),
                None => Ok(()),
            };
        }
        let is_new_name = attributes.name.is_some() && named.is_none();
        let exists = found.filter(|_| !is_new_name);
        let changes = attributes.pause || attributes.resume || attributes.clear;
        if let Some(key) = exists.filter(|_| changes) {
            let registry = names.registry;
            registry.change_hist(at.instance, at.event, key, &attributes);
            return Ok(());
        }

        // As in C, the errors of actions come before those of the trigger as a whole.
        let compiled = compile_actions(text, &actions, &mut names, log, &mut description);
        let Names {
            registry,
            found,
            events,
            ..
        } = names;
        let exists = exists.is_some();
        let result = compiled.map_err(Error::from).and_then(|()| {
            // An instance's snapshot has one owner.
            let snapshots = actions.as_slice().iter();
            let mut snapshots = snapshots.filter(|action| action.kind == Does::Snapshot);
            let is_owned = at.instance.snapshot().has_owner();
            if snapshots.next().is_some() && (is_owned || snapshots.next().is_some()) {
                return Err(EBUSY);
            }
            let printed = definition(&description, text)?;
            // A field of the same name may be stored in another way in another event.
            let fits = |named: &Named| {
                let same = (&named.identity, &named.definition) == (&identity, &printed);
                same && description.fits(&named.description)
            };
            if named.as_ref().is_some_and(|named| !fits(named)) {
                log.log(Reason::NamedMismatch, attributes.name.unwrap_or(&[]));
                return Err(EINVAL);
            }
            if exists {
                log.log(Reason::Exists, &[]);
                return Err(EEXIST);
            }
            if attributes.resume || attributes.clear {
                log.log(Reason::NothingToClear, &[]);
                return Err(ENOENT);
            }
            if description.timestamps {
                let clock = attributes.clock;
                let set = at.instance.set_clock(clock);
                set.inspect_err(|_| log.log(Reason::NoClock, clock))?;
            }
            let histogram = match named {
                Some(named) => named.histogram,
                None => {
                    let printed = printed_definition(&description, text, all)?;
                    let is_linked =
                        !description.variables.is_empty() || !description.references.is_empty();
                    let kept = is_linked.then(|| at.instance.hold()).transpose()?;
                    Histogram::new(&description, attributes.bits, printed, found, kept)?
                }
            };
            description.no_hitcount = histogram.printed.no_hitcount;
            waiting::prepare()?;
            actions::prepare()?;
            let trigger = HistTrigger {
                number: NEXT.fetch_add(1, Relaxed),
                text: Text::copy(text)?,
                identity,
                name: attributes.name.map(Text::copy).transpose()?,
                plain: Plain::of(&description),
                description: description.into(),
                histogram,
                events,
                snapshot: snapshot(&actions)?,
                is_implied: at.is_implied,
                paused: Atomic::new(attributes.pause),
                limits: Limits { left: None, filter },
            };
            let trigger = Arc::new(trigger, GFP_KERNEL)?;
            registry.add_trigger(at.instance, at.event, trigger)
        });
        if result.is_err() && !actions.is_empty() {
            registry.remove_unread_hists();
        }
        result
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
