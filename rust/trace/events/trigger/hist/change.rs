// SPDX-License-Identifier: GPL-2.0

//! Adds, changes and removes `hist` triggers.

use super::super::{Command, EventId, Key, Kind, Limits, Registry, Trigger};
use super::{layout_of, waiting, HistTrigger, Histogram};
use crate::core::event::field;
use crate::core::event::hist::attributes::{condition, split_filter, Attributes};
use crate::core::event::hist::compile::{compile, Found, Scope};
use crate::core::event::hist::description::{Description, Target};
use crate::core::event::hist::error::{position, Errno, Log, Reason};
use crate::core::event::hist::print;
use crate::core::format::Out;
use crate::trace::events::filter;
use crate::trace::events::registry::Event;
use crate::trace::instance::Instance;
use core::fmt::{self, Write};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The kind.
pub(crate) struct Hist;

/// The number of the next trigger.
static NEXT: Atomic<u64> = Atomic::new(0);

fn errno(errno: Errno) -> Error {
    Error::from_errno(errno.value().wrapping_neg())
}

fn copy(text: &[u8]) -> Result<KVec<u8>> {
    let mut copy = KVec::with_capacity(text.len(), GFP_KERNEL)?;
    copy.extend_from_slice(text, GFP_KERNEL)?;
    Ok(copy)
}

/// A stored text.
struct Stored(KVec<u8>);

impl fmt::Write for Stored {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for Stored {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let grown = self.0.extend_from_slice(bytes, GFP_KERNEL);
        grown.map_err(|_| fmt::Error)
    }

    fn written(&mut self, _: &mut dyn FnMut(&mut [u8]) -> usize) -> fmt::Result {
        Err(fmt::Error)
    }
}

/// Writes errors to `error_log`.
struct Report<'a> {
    instance: &'a Instance,
    location: KVec<u8>,
    command: KVec<u8>,
}

impl<'a> Report<'a> {
    fn new(instance: &'a Instance, event: &Event, definition: &[u8]) -> Result<Self> {
        let mut location = Stored(KVec::new());
        let mut name = || {
            location.bytes(b"hist:")?;
            location.bytes(event.system().to_bytes())?;
            location.bytes(b":")?;
            location.bytes(event.name().to_bytes())
        };
        name().map_err(|_| ENOMEM)?;
        let mut command = copy(b"hist:")?;
        command.extend_from_slice(definition, GFP_KERNEL)?;
        Ok(Self {
            instance,
            location: location.0,
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

/// Resolves the names in a definition.
struct Names<'a> {
    registry: &'a Registry,
    instance: &'a Instance,
    event: &'a Event,
    /// Whether the definition is of a trigger to be removed.
    removes: bool,
    /// The tables of the variables that were found.
    found: KVec<Arc<Histogram>>,
}

impl Names<'_> {
    /// The trigger with the variable called `name`, on the given event or on any, and the index of
    /// the variable there. If no event is given, only one may have it.
    fn owner<R>(
        &self,
        event: Option<(&[u8], &[u8])>,
        name: &[u8],
        log: &mut dyn Log,
        f: impl FnOnce(&HistTrigger, usize) -> R,
    ) -> Option<R> {
        let files = self.registry.of(self.instance)?.files().iter();
        let files = files.filter(|file| {
            let known = self.registry.event(file.event());
            known.is_some_and(|known| {
                let names = (known.system().to_bytes(), known.name().to_bytes());
                event.is_none_or(|event| event == names)
            })
        });
        let index = |hist: &HistTrigger| {
            let mut variables = hist.description.variables.as_slice().iter();
            variables.position(|variable| variable.name.within(&hist.text) == name)
        };
        let mut lists = files.filter_map(|file| {
            let list = file.triggers()?;
            let has = list.of::<HistTrigger>().any(|hist| index(hist).is_some());
            has.then_some(list)
        });
        let list = lists.next()?;
        if lists.next().is_some() {
            log.log(Reason::VariableNotUnique, name);
            return None;
        }
        let mut found = list
            .of::<HistTrigger>()
            .filter_map(|hist| Some((hist, index(hist)?)));
        let (hist, at) = found.next()?;
        Some(f(hist, at))
    }
}

impl Scope for Names<'_> {
    fn field(&self, name: &[u8]) -> Option<field::Field> {
        let fields = self.event.fields();
        let named = fields.filter(|field| field.name.to_bytes() == name);
        named.last().map(filter::seen)
    }

    fn is_event(&self, system: &[u8], event: &[u8]) -> bool {
        self.event.system().to_bytes() == system && self.event.name().to_bytes() == event
    }

    fn has_variable(&self, name: &[u8]) -> bool {
        !self.removes && {
            let list = self.registry.triggers_of(self.instance, self.event.id());
            let has = |trigger: &HistTrigger| {
                let mut variables = trigger.description.variables.as_slice().iter();
                variables.any(|variable| variable.name.within(&trigger.text) == name)
            };
            list.is_some_and(|list| list.of::<HistTrigger>().any(has))
        }
    }

    fn variable(
        &mut self,
        event: Option<(&[u8], &[u8])>,
        name: &[u8],
        log: &mut dyn Log,
    ) -> Option<Found> {
        let found = self.owner(event, name, log, |hist, at| {
            let variable = hist.description.variables.as_slice().get(at)?;
            let node = *hist.description.node(variable.node);
            Some((hist.histogram.clone(), at, node))
        });
        let (histogram, at, node) = found??;
        let known = self
            .found
            .iter()
            .position(|other| Arc::ptr_eq(other, &histogram));
        let number = match known {
            Some(number) => number,
            None => {
                self.found.push(histogram, GFP_KERNEL).ok()?;
                self.found.len().checked_sub(1)?
            }
        };
        Some(Found {
            target: Target {
                histogram: number.try_into().ok()?,
                variable: at.try_into().ok()?,
            },
            node,
        })
    }
}

/// A definition that is not on its event yet.
struct Parsed {
    trigger: HistTrigger,
    pause: bool,
    resume: bool,
    clear: bool,
    timestamps: bool,
    clock: KVec<u8>,
    bits: u8,
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
        let rest = command.rest.ok_or(EINVAL)?;
        let known = registry.event(event).ok_or(ENODEV)?;
        let mut report = Report::new(instance, known, rest)?;
        let mut parsed = registry.parse_hist(instance, event, command, &mut report)?;
        let named = match &parsed.trigger.name {
            Some(name) => registry.named_histogram(name)?,
            None => None,
        };
        let found = registry.same_hist(instance, event, &parsed.trigger, named.as_ref());
        if command.remove {
            return match found {
                Some(key) if registry.is_referred(instance, event, key) => Err(EBUSY),
                Some(key) => registry.remove_trigger(instance, event, key),
                None => Ok(()),
            };
        }
        let is_named = parsed.trigger.name.is_some();
        let shared = named.as_ref().map(|(histogram, _)| histogram.clone());
        // A field of the same name may be stored in another way in another event.
        let fits = named.is_none_or(|(histogram, printed)| {
            printed == parsed.trigger.printed
                && histogram.map.layout() == layout_of(&parsed.trigger.description)
        });
        let changes = parsed.pause || parsed.resume || parsed.clear;
        if let Some(key) = found.filter(|_| changes && fits) {
            registry.change_hist(instance, event, key, &parsed);
            return Ok(());
        }
        if !fits {
            let name = parsed.trigger.name.as_deref().unwrap_or(&[]);
            report.log(Reason::NamedMismatch, name);
            return Err(EINVAL);
        }
        if found.is_some() && (!is_named || shared.is_some()) {
            report.log(Reason::Exists, &[]);
            return Err(EEXIST);
        }
        if parsed.resume || parsed.clear {
            report.log(Reason::NothingToClear, &[]);
            return Err(ENOENT);
        }
        parsed.trigger.set_paused(parsed.pause);
        parsed.trigger.histogram = match shared {
            Some(histogram) => histogram,
            None => Histogram::new(&parsed.trigger.description, parsed.bits)?,
        };
        if parsed.timestamps {
            instance
                .set_clock(&parsed.clock)
                .inspect_err(|_| report.log(Reason::NoClock, &parsed.clock))?;
        }
        waiting::prepare()?;
        let trigger = Arc::new(parsed.trigger, GFP_KERNEL)?;
        registry.add_trigger(instance, event, trigger)
    }
}

impl Registry {
    /// Compiles a definition. The trigger has an empty table. Task context, may sleep.
    fn parse_hist(
        &self,
        instance: &Arc<Instance>,
        event: EventId,
        command: &Command<'_>,
        report: &mut Report<'_>,
    ) -> Result<Parsed> {
        let event = self.event(event).ok_or(ENODEV)?;
        let rest = command.rest.ok_or(EINVAL)?;
        let (text, filter) = split_filter(rest).map_err(errno)?;
        let text = copy(text)?;
        let attributes = Attributes::parse(&text, report).map_err(errno)?;
        // Actions are not known yet.
        if !attributes.actions().is_empty() {
            return Err(EINVAL);
        }
        let mut names = Names {
            registry: self,
            instance,
            event,
            removes: command.remove,
            found: KVec::new(),
        };
        let mut description = KBox::new(Description::EMPTY, GFP_KERNEL)?;
        compile(&text, &attributes, &mut names, report, &mut description).map_err(errno)?;

        let filter = match filter {
            Some(filter) => {
                let filter = filter::of_trigger(instance, event, condition(filter))?;
                Some(Arc::new(filter, GFP_KERNEL)?)
            }
            None => None,
        };
        let (mut printed, mut extra) = (Stored(KVec::new()), Stored(KVec::new()));
        print::definition(&mut printed, &description, &text).map_err(|_| ENOMEM)?;
        let mut rest = || {
            write!(extra, ":size={}", 1u32 << attributes.bits)?;
            if description.timestamps {
                extra.bytes(b":clock=")?;
                extra.bytes(attributes.clock)?;
            }
            match attributes.no_hitcount {
                true => extra.bytes(b":nohitcount"),
                false => Ok(()),
            }
        };
        rest().map_err(|_| ENOMEM)?;
        let (pause, resume, clear) = (attributes.pause, attributes.resume, attributes.clear);
        let (timestamps, bits) = (description.timestamps, attributes.bits);
        let (clock, name) = (
            copy(attributes.clock)?,
            attributes.name.map(copy).transpose()?,
        );
        Ok(Parsed {
            trigger: HistTrigger {
                number: NEXT.fetch_add(1, Relaxed),
                text,
                printed: printed.0,
                extra: extra.0,
                name,
                histogram: Histogram::new(&Description::EMPTY, 0)?,
                referred: names.found,
                description,
                paused: Atomic::new(false),
                limits: Limits { left: None, filter },
            },
            pause,
            resume,
            clear,
            timestamps,
            clock,
            bits,
        })
    }

    /// The table of the triggers called `name` in any instance, with the printed definition of one
    /// of them. `ENOMEM`.
    fn named_histogram(&self, name: &[u8]) -> Result<Option<(Arc<Histogram>, KVec<u8>)>> {
        let files = self.instances.iter().flat_map(|at| at.files());
        for list in files.filter_map(|file| file.triggers()) {
            let mut hists = list.of::<HistTrigger>();
            let is_called = |hist: &&HistTrigger| hist.name.as_deref() == Some(name);
            if let Some(hist) = hists.find(is_called) {
                return Ok(Some((hist.histogram.clone(), copy(&hist.printed)?)));
            }
        }
        Ok(None)
    }

    /// The key of the trigger of `event` that has the definition of `trigger`.
    fn same_hist(
        &self,
        instance: &Instance,
        event: EventId,
        trigger: &HistTrigger,
        named: Option<&(Arc<Histogram>, KVec<u8>)>,
    ) -> Option<Key> {
        let list = self.triggers_of(instance, event)?;
        let same = |hist: &&HistTrigger| {
            let shares = match named {
                Some((histogram, _)) => Arc::ptr_eq(&hist.histogram, histogram),
                None => hist.name.is_none(),
            };
            let (mine, other) = (&trigger.limits.filter, &hist.limits.filter);
            let filters = match (mine, other) {
                (Some(mine), Some(other)) => mine.text() == other.text(),
                (None, None) => true,
                _ => false,
            };
            shares && filters && hist.printed == trigger.printed
        };
        let found = list.of::<HistTrigger>().find(same).map(|hist| hist.key());
        found
    }

    /// Whether another trigger of the instance reads variables of the trigger of `key`.
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
            let mut referred = hist.referred.iter();
            hist.key() != key && referred.any(|other| Arc::ptr_eq(other, &table))
        };
        let files = self.of(instance).map_or(&[][..], |at| at.files());
        let mut lists = files.iter().filter_map(|file| file.triggers());
        lists.any(|list| list.of::<HistTrigger>().any(refers))
    }

    /// Pauses, resumes or empties the trigger of `key`.
    fn change_hist(&self, instance: &Instance, event: EventId, key: Key, how: &Parsed) {
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

    /// Removes all `hist` triggers of `event`, because its `trigger` file was opened for writing
    /// anew. Task context, sleeps. `ENOMEM`.
    pub(crate) fn remove_hists(&mut self, instance: &Arc<Instance>, event: EventId) -> Result {
        let mut keys: KVec<Key> = KVec::new();
        if let Some(list) = self.triggers_of(instance, event) {
            for hist in list.of::<HistTrigger>() {
                keys.push(hist.key(), GFP_KERNEL)?;
            }
        }
        // As in C, one that is referred to keeps all.
        if keys
            .iter()
            .any(|key| self.is_referred(instance, event, *key))
        {
            return Ok(());
        }
        for key in keys {
            self.remove_trigger(instance, event, key)?;
        }
        Ok(())
    }
}
