// SPDX-License-Identifier: GPL-2.0

//! `hist`: counts the hits of an event by the values of its fields.
//!
//! `core::event::hist` has the language, the compiled form, the table and the output. A
//! [`HistTrigger`] is the definition for one event, a [`Histogram`] is the table. Triggers with the
//! same `name=` share a table.
//!
//! | module | implements |
//! | --- | --- |
//! | `change` | the writes to `trigger` files |
//! | `writing` | what such a write asks for |
//! | `plan` | what is checked and made for a trigger to be added |
//! | `scope` | the names in a definition: fields, variables, synthetic events |
//! | `actions` | the synthetic events and snapshots of actions |
//! | `show` | the text of `hist` files |
//! | `debug` | the text of `hist_debug` files |
//! | `switch` | the triggers `enable_hist` and `disable_hist` |
//! | `waiting` | wakes those who poll a `hist` file |
//!
//! A hit takes no lock. A table is emptied while its triggers ignore hits and no hit is under way.

mod actions;
pub(super) mod change;
#[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
mod debug;
mod plan;
mod scope;
mod show;
mod switch;
pub(crate) mod waiting;
mod writing;

use super::{HitTime, HotFile, Key, Limits, Needs, Registry, Sort, Trigger};
use crate::core::event::hist::description::Value;
use crate::core::event::hist::description::{Description, OWN};
use crate::core::event::hist::evaluate::{Evaluation, Hit};
use crate::core::event::hist::map::{Element, Layout, Map};
use crate::core::event::hist::plain::{Plain, Rest};
use crate::core::event::hist::VARIABLES;
use crate::core::format::line::microseconds;
use crate::core::format::Out;
use crate::core::sys::Shared;
use crate::kernel::context;
use crate::kernel::rcu_slot::wait_for_readers;
use crate::kernel::trace_event::COMMON;
use crate::kernel::tracepoint::TaskView;
use crate::trace::events::dynamic::synthetic;
use crate::trace::events::recording;
use crate::trace::instance::{self, Instance};
use actions::{Acting, Noted};
use core::any::Any;
use core::fmt;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::Arc;
use waiting::Changes;

/// Keys of up to so many words are made on the stack in the usual way.
const SHORT: usize = 4;

/// The longest chain of tables of which each reads variables of the next. The last owner of one
/// drops all of them, each within the other.
const CHAIN: u8 = 32;

/// A table, and what the triggers that share it have in common.
pub(super) struct Histogram {
    map: Map<KVVec<Shared>>,
    /// Whether hits are ignored, because the table is being emptied.
    closed: Atomic<bool>,
    changes: Changes,
    printed: PrintedDefinition,
    /// The tables of other triggers whose variables the definition reads. A reference says which.
    /// They stay as long as the table, since a variable may be the address of a text there.
    referred: KVec<Arc<Histogram>>,
    /// The length of the longest chain of tables that begins here.
    chain: u8,
    /// A table with variables or references keeps the instance in which it was made.
    _kept: Option<instance::Held>,
}

/// The definition of a table as it is printed.
struct PrintedDefinition {
    /// All of it but the name and the filter.
    text: KVec<u8>,
    /// Whether the hit count is not shown.
    no_hitcount: bool,
}

/// What an element of a table for `description` holds.
fn layout_of(description: &Description) -> Layout {
    Layout {
        key: description.key_words.into(),
        sums: description.values.len().wrapping_add(1),
        variables: description.slots.into(),
        comm: description.comm,
        texts: description.texts.into(),
    }
}

impl Histogram {
    /// Makes an empty table of 2^`bits` elements for `description`. Task context, may sleep.
    /// `ENOMEM`; `E2BIG` for a chain of more than [`CHAIN`] tables.
    fn new(
        description: &Description,
        bits: u8,
        printed: PrintedDefinition,
        referred: KVec<Arc<Histogram>>,
        kept: Option<instance::Held>,
    ) -> Result<Arc<Self>> {
        let chain = referred.iter().map(|table| table.chain).max().unwrap_or(0);
        if chain >= CHAIN {
            return Err(E2BIG);
        }
        let layout = layout_of(description);
        let zeros = |count: usize| {
            let mut words = KVVec::with_capacity(count, GFP_KERNEL)?;
            for _ in 0..count {
                words.push(Shared::new(0), GFP_KERNEL)?;
            }
            Ok::<_, Error>(words)
        };
        let slots = zeros(Map::<KVVec<Shared>>::slots_of(bits))?;
        let words = zeros(Map::<KVVec<Shared>>::words_of(bits, layout))?;
        let new = Self {
            map: Map::new(bits, layout, slots, words).ok_or(EINVAL)?,
            closed: Atomic::new(false),
            changes: Changes::new(),
            printed,
            referred,
            chain: chain.wrapping_add(1),
            _kept: kept,
        };
        Ok(Arc::new(new, GFP_KERNEL)?)
    }

    /// Removes all entries. The event mutex is held. Task context, sleeps.
    fn clear(&self) {
        self.closed.store(true, Relaxed);
        wait_for_readers();
        self.map.clear();
        self.changes.emptied();
        // Pairs with the acquire load in `HistTrigger::hit`.
        self.closed.store(false, ordering::Release);
    }
}

/// A definition on an event.
pub(crate) struct HistTrigger {
    number: u64,
    /// The definition as it was written, without its filter. Names are parts of it.
    text: KVec<u8>,
    /// What counts for what is the same: see `core::event::hist::same`.
    identity: KVec<u8>,
    /// `name=NAME`.
    name: Option<KVec<u8>>,
    description: Arc<Description>,
    /// The usual definition has this form, too.
    plain: Option<Plain>,
    histogram: Arc<Histogram>,
    /// The synthetic events of actions.
    events: KVec<synthetic::Held>,
    /// `onmax($VAR)` or `onchange($VAR)` of the action `snapshot()`.
    snapshot: Option<KVec<u8>>,
    /// The row of the clock that the instance is given with it, if it reads times.
    clock: Option<usize>,
    /// Whether it was made for a field in an action. It goes with its last reader.
    is_implied: bool,
    paused: Atomic<bool>,
    limits: Limits,
}

/// The data of a hit besides the entry.
#[derive(Clone, Copy)]
struct Now<'a>(&'a HotFile, &'a HitTime);

impl Hit for Now<'_> {
    fn cpu(&self) -> u32 {
        CpuId::current().as_u32()
    }

    fn comm(&self) -> [u8; 16] {
        TaskView::with_current(|task| task.comm())
    }

    fn is_idle(&self) -> bool {
        context::current_pid() == 0
    }

    fn time(&self, usecs: bool) -> u64 {
        let time = self.1.of(self.0);
        match usecs && self.0.instance().buffer().clock().in_ns {
            true => microseconds(time),
            false => time,
        }
    }

    fn stack(&self, into: &mut [u64]) {
        recording::copy_stack(self.0, into);
    }
}

impl HistTrigger {
    /// Counts a hit. Its key is made in `memory`.
    #[inline(always)]
    fn count(&self, now: Now<'_>, entry: &[u8], memory: &mut [u64]) {
        let Some(key) = memory.get_mut(..usize::from(self.description.key_words)) else {
            return;
        };
        let evaluation = Evaluation {
            description: &self.description,
            entry,
            references: &[],
            hit: &now,
        };
        evaluation.key(key);
        // Each action has one, too.
        if !self.description.references.is_empty() {
            return self.count_referring(now, entry, key);
        }
        // If the table is full, it counts the loss.
        if evaluation.count(&self.histogram.map, key, &()).is_some() {
            self.histogram.changes.hit();
        }
    }

    /// [`HistTrigger::count`] of the usual definition.
    #[inline(always)]
    fn count_plain(&self, plain: &Plain, now: Now<'_>, entry: &[u8]) {
        if plain.rest() == Rest::References {
            return plain.with_key(entry, |key| self.count_referring(now, entry, key));
        }
        let Some(element) = plain.count(entry, &self.histogram.map, &()) else {
            return;
        };
        if plain.rest() == Rest::Variables {
            return self.set_variables(now, entry, element);
        }
        self.histogram.changes.hit();
    }

    /// The rest of [`HistTrigger::count_plain`] with variables.
    #[inline(never)]
    fn set_variables(&self, now: Now<'_>, entry: &[u8], element: Element) {
        let evaluation = Evaluation {
            description: &self.description,
            entry,
            references: &[],
            hit: &now,
        };
        evaluation.set_variables(&self.histogram.map, element);
        self.histogram.changes.hit();
    }

    /// The rest of [`HistTrigger::count`] with references to variables, and with actions.
    #[inline(never)]
    fn count_referring(&self, now: Now<'_>, entry: &[u8], key: &[u64]) {
        let (map, hit) = (&self.histogram.map, &now);
        let mut references = [0; VARIABLES];
        if !self.resolve(key, &mut references) {
            return;
        }
        let evaluation = Evaluation {
            description: &self.description,
            entry,
            references: &references,
            hit,
        };
        let Some(element) = evaluation.count(map, key, &()) else {
            return;
        };
        if !self.description.responses.is_empty() {
            if self.resolve_own(element, &mut references) {
                let evaluation = Evaluation {
                    description: &self.description,
                    entry,
                    references: &references,
                    hit,
                };
                let trigger = self;
                evaluation.respond(
                    map,
                    element,
                    &Acting {
                        trigger,
                        file: now.0,
                        key,
                    },
                );
            }
        }
        self.histogram.changes.hit();
    }

    /// Reads the variables of other triggers that have the same key. False if one of them is not
    /// set.
    #[inline(always)]
    fn resolve(&self, key: &[u64], into: &mut [u64; VARIABLES]) -> bool {
        let references = self.description.references.as_slice();
        // Variables of one table are next to each other most of the time.
        let mut last: Option<(u16, Element)> = None;
        references.iter().zip(into).all(|(reference, place)| {
            let target = reference.target;
            if target.histogram == OWN {
                return true;
            }
            let table = self.histogram.referred.get(usize::from(target.histogram));
            let value = table.and_then(|table| {
                let element = match last {
                    Some((number, element)) if number == target.histogram => element,
                    _ => table.map.find(key)?,
                };
                last = Some((target.histogram, element));
                let variable = target.variable.into();
                table.map.read(element, variable, reference.once)
            });
            *place = value.unwrap_or(0);
            value.is_some()
        })
    }

    /// Reads the variables of its own element. False if another hit has unset one meanwhile.
    #[inline(always)]
    fn resolve_own(&self, element: Element, into: &mut [u64; VARIABLES]) -> bool {
        let references = self.description.references.as_slice();
        references.iter().zip(into).all(|(reference, place)| {
            let target = reference.target;
            if target.histogram != OWN {
                return true;
            }
            let variable = target.variable.into();
            let value = self.histogram.map.read(element, variable, false);
            *place = value.unwrap_or(0);
            value.is_some()
        })
    }

    /// [`HistTrigger::count`] with a key of any length.
    #[inline(never)]
    fn count_long(&self, now: Now<'_>, entry: &[u8]) {
        actions::with_key(|memory| self.count(now, entry, memory));
    }

    /// Whether hits are ignored.
    fn is_paused(&self) -> bool {
        self.paused.load(Relaxed)
    }

    /// Ignores hits, or counts them again. Any context.
    pub(super) fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Relaxed);
    }
}

impl Trigger for HistTrigger {
    fn key(&self) -> Key {
        Key {
            sort: Sort::Hist,
            target: None,
            number: self.number,
        }
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    #[inline]
    fn hit(&self, file: &HotFile, entry: Option<&[u8]>, time: &HitTime) {
        let Some(entry) = entry else {
            return;
        };
        if self.is_paused() || self.histogram.closed.load(ordering::Acquire) {
            return;
        }
        let now = Now(file, time);
        if let Some(plain) = &self.plain {
            return self.count_plain(plain, now, entry);
        }
        match usize::from(self.description.key_words) <= SHORT {
            true => self.count(now, entry, &mut [0; SHORT]),
            false => self.count_long(now, entry),
        }
    }

    fn needs(&self) -> Needs {
        let mut needs = Needs::ENTRY;
        if !self.description.responses.is_empty() {
            needs |= Needs::ORDER;
        }
        for node in self.description.nodes.as_slice() {
            needs |= match node.value {
                Value::Timestamp => Needs::TIME,
                Value::Number { offset, .. } if usize::from(offset) < COMMON => Needs::COMMON,
                _ if node.is_stack() => Needs::GENERAL,
                _ => Needs::NOTHING,
            };
        }
        needs
    }

    fn is_last(&self) -> bool {
        true
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn attach(&self, registry: &mut Registry, instance: &Arc<Instance>) -> Result {
        if self.snapshot.is_some() {
            instance.own_snapshot(Noted::new(self)?)?;
        }
        // Last, since it empties the buffer: a definition that is refused changes nothing.
        if let Some(clock) = self.clock {
            instance.set_clock_row(clock).inspect_err(|_| {
                if self.snapshot.is_some() {
                    let _ = instance.disown_snapshot();
                }
            })?;
        }
        if self.description.timestamps {
            if let Some(at) = registry.of(instance) {
                at.timed().fetch_add(1, Relaxed);
            }
        }
        Ok(())
    }

    fn detach(&self, registry: &mut Registry, instance: &Arc<Instance>) {
        if self.snapshot.is_some() {
            let _ = instance.disown_snapshot();
        }
        if self.description.timestamps {
            if let Some(at) = registry.of(instance) {
                at.timed().fetch_sub(1, Relaxed);
            }
        }
        if !self.histogram.referred.is_empty() {
            registry.remove_unread_hists();
        }
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"hist:")?;
        if let Some(name) = &self.name {
            out.bytes(name)?;
            out.bytes(b":")?;
        }
        out.bytes(&self.histogram.printed.text)
    }

    fn line(&self, out: &mut dyn Out) -> fmt::Result {
        self.show(out)?;
        if let Some(filter) = &self.limits.filter {
            out.bytes(b" if ")?;
            out.bytes(filter.text())?;
        }
        let state = if self.is_paused() { "paused" } else { "active" };
        writeln!(out, " [{state}]")
    }
}
