// SPDX-License-Identifier: GPL-2.0

//! Resolves the names in a definition.

use super::super::{EventId, Registry, TriggerList};
use super::writing::Writing;
use super::{HistTrigger, Histogram};
use crate::core::event::field;
use crate::core::event::hist::action::Parameter;
use crate::core::event::hist::compile::{Found, Scope};
use crate::core::event::hist::description::{Description, Form, Target, TypeName};
use crate::core::event::hist::error::{Log, Reason};
use crate::core::event::hist::print;
use crate::core::format::Out;
use crate::kernel::text::Text;
use crate::trace::events::dynamic::synthetic;
use crate::trace::events::filter;
use crate::trace::events::systems::Systems;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The names that a definition can have.
pub(super) struct Names<'a> {
    pub(super) registry: &'a mut Registry,
    pub(super) at: &'a Writing<'a>,
    /// The tables of the variables that were found.
    pub(super) tables: &'a mut KVec<Arc<Histogram>>,
    /// The synthetic events of the actions.
    pub(super) events: &'a mut KVec<synthetic::Held>,
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
        let files = self.registry.of(self.at.instance)?.files().iter();
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
        let table_of = |list: &TriggerList| {
            let mut hists = list.of::<HistTrigger>();
            let hist = hists.find(|hist| index(hist).is_some())?;
            Some(hist.histogram.clone())
        };
        let mut owners = files.filter_map(|file| {
            let list = file.triggers()?;
            let table = table_of(&list)?;
            Some((list, table))
        });
        let (list, table) = owners.next()?;
        // Triggers with the same `name=` have one table, and so one variable.
        if owners.any(|(_, other)| !Arc::ptr_eq(&other, &table)) {
            log.log(Reason::VariableNotUnique, name);
            return None;
        }
        let mut found = list
            .of::<HistTrigger>()
            .filter_map(|hist| Some((hist, index(hist)?)));
        let (hist, at) = found.next()?;
        Some(f(hist, at))
    }

    /// The definition of a trigger on `event` with keys like those of `of`, and with a variable
    /// for field `name`.
    fn definition(
        &self,
        event: EventId,
        name: &[u8],
        of: &Description,
    ) -> core::result::Result<KVec<u8>, Reason> {
        let list = self.registry.triggers_of(self.at.instance, event);
        let list = list.ok_or(Reason::HistogramNotFound)?;
        let keys = of.keys.as_slice();
        let like = list.of::<HistTrigger>().find(|hist| {
            let others = hist.description.keys.as_slice();
            let mut pairs = keys.iter().zip(others);
            keys.len() == others.len()
                && pairs.all(|(key, other)| {
                    let other = hist.description.node(other.node);
                    of.node(key.node).is_like(other)
                })
        });
        let like = like.ok_or(Reason::HistogramNotFound)?;
        let definition = Text::of(|out| {
            print::keys(out, &like.description, &like.text)?;
            out.bytes(b":")?;
            out.bytes(PREFIX)?;
            out.bytes(name)?;
            out.bytes(b"=")?;
            out.bytes(name)?;
            match &like.limits.filter {
                Some(filter) => {
                    out.bytes(b" if ")?;
                    out.bytes(filter.text())
                }
                None => Ok(()),
            }
        });
        definition.map_err(|_| Reason::HistogramNotMade)
    }
}

/// What comes before the name of a field in the name of its variable.
const PREFIX: &[u8] = b"synthetic_";

impl Scope for Names<'_> {
    fn field(&self, name: &[u8]) -> Option<(field::Field, TypeName)> {
        let fields = self.registry.event(self.at.event)?.fields();
        let named = fields.filter(|field| field.name.to_bytes() == name);
        let field = named.last().filter(filter::can_be_named)?;
        let ty = TypeName::of(field.ty.to_bytes());
        Some((filter::seen(field), ty))
    }

    fn is_event(&self, system: &[u8], event: &[u8]) -> bool {
        self.registry.event(self.at.event).is_some_and(|known| {
            known.system().to_bytes() == system && known.name().to_bytes() == event
        })
    }

    fn removes(&self) -> bool {
        self.at.remove
    }

    fn has_variable(&self, name: &[u8]) -> bool {
        let list = self.registry.triggers_of(self.at.instance, self.at.event);
        let has = |trigger: &HistTrigger| {
            let mut variables = trigger.description.variables.as_slice().iter();
            variables.any(|variable| variable.name.within(&trigger.text) == name)
        };
        list.is_some_and(|list| list.of::<HistTrigger>().any(has))
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
            Some((hist.histogram.clone(), variable.slot, node))
        });
        let (histogram, slot, node) = found??;
        let known = self
            .tables
            .iter()
            .position(|other| Arc::ptr_eq(other, &histogram));
        let number = match known {
            Some(number) => number,
            None => {
                self.tables.push(histogram, GFP_KERNEL).ok()?;
                self.tables.len().checked_sub(1)?
            }
        };
        Some(Found {
            target: Target {
                histogram: number.try_into().ok()?,
                variable: slot,
            },
            node,
        })
    }

    fn field_variable(
        &mut self,
        (system, event): (&[u8], &[u8]),
        name: &[u8],
        of: &Description,
        log: &mut dyn Log,
    ) -> Option<Found> {
        let known = self.registry.find(system, event);
        let known = known.filter(|known| Systems::of(self.at.instance).have(known));
        let Some(other) = known.map(|known| known.id()) else {
            log.log(Reason::EventNotFound, name);
            return None;
        };
        let definition = self.definition(other, name, of);
        let definition = definition.inspect_err(|reason| log.log(*reason, name));
        let definition = definition.ok()?;
        let called = Text::of(|out| {
            out.bytes(PREFIX)?;
            out.bytes(name)
        });
        let called = called.ok()?;
        let event = Some((system, event));
        if let Some(found) = self.variable(event, &called, log) {
            return Some(found);
        }
        let writing = Writing {
            instance: self.at.instance,
            event: other,
            definition: &definition,
            remove: false,
            is_implied: true,
        };
        if self.registry.write_hist(&writing, log).is_err() {
            log.log(Reason::HistogramNotMade, name);
            return None;
        }
        let found = self.variable(event, &called, log);
        if found.is_none() {
            log.log(Reason::FieldVariableNotFound, name);
        }
        found
    }

    fn hold_synthetic(&mut self, name: &[u8]) -> Option<u8> {
        let held = synthetic::find(name)?;
        let number = u8::try_from(self.events.len()).ok()?;
        self.events.push(held, GFP_KERNEL).ok()?;
        Some(number)
    }

    fn parameter(&self, at: usize) -> Option<Parameter> {
        let field = self.events.last()?.fields().get(at)?;
        let form = match (field.is_text(), field.is_stack()) {
            (true, _) => Form::Text,
            (_, true) => Form::Stack,
            _ => Form::Number,
        };
        Some(Parameter {
            form,
            dynamic: field.is_dynamic(),
            ty: TypeName::of(field.ty()),
            size: field.size(),
            signed: field.is_signed(),
        })
    }
}
