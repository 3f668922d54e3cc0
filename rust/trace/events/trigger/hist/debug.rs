// SPDX-License-Identifier: GPL-2.0

//! The text of `hist_debug` files.

use super::super::{EventId, Registry};
use super::{HistTrigger, Histogram};
use crate::core::event::field;
use crate::core::event::hist::action::Action;
use crate::core::event::hist::attributes::Attributes;
use crate::core::event::hist::debug::{Definition, Facts};
use crate::core::event::hist::description::{ArrayVec, TypeName, OWN};
use crate::core::event::hist::error::{Log, Reason};
use crate::core::format::Out;
use crate::kernel::hashed_pointer::HashedPointer;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;

/// Types of fields that are in no event.
const TYPES: [&[u8]; 4] = [b"u64", b"unsigned int", b"char[]", b"unsigned long[]"];

/// What the definition of a trigger on `event` does not know.
struct TriggerFacts<'a> {
    registry: &'a Registry,
    event: EventId,
    histogram: &'a Histogram,
}

impl TriggerFacts<'_> {
    /// Writes the type of a field of `event`, if one has it.
    fn of_event(&self, event: EventId, ty: TypeName, out: &mut dyn Out) -> Option<fmt::Result> {
        let mut fields = self.registry.event(event)?.fields();
        let field = fields.find(|field| TypeName::of(field.ty.to_bytes()) == ty)?;
        Some(out.bytes(field.ty.to_bytes()))
    }
}

impl Facts for TriggerFacts<'_> {
    fn type_name(&self, ty: TypeName, out: &mut dyn Out) -> fmt::Result {
        let common = [field::GENERIC, field::COMMON].into_iter().flatten();
        let mut common = common.map(|shared| shared.c_type.as_bytes());
        let is_type = |name: &&[u8]| TypeName::of(name) == ty;
        let known = TYPES.into_iter().find(is_type);
        if let Some(name) = known.or_else(|| common.find(is_type)) {
            return out.bytes(name);
        }
        // References have types of other events.
        let written = self.of_event(self.event, ty, out).or_else(|| {
            let mut others = self.registry.events().iter().map(|event| event.id());
            others.find_map(|event| self.of_event(event, ty, out))
        });
        written.unwrap_or_else(|| out.bytes(b"(none)"))
    }

    fn table(&self, histogram: u16, out: &mut dyn Out) -> fmt::Result {
        let referred = || self.histogram.referred.get(usize::from(histogram));
        let table = match histogram {
            OWN => Some(self.histogram),
            _ => referred().map(|table| &**table),
        };
        match table {
            Some(table) => write!(out, "{}", HashedPointer::new(table)),
            None => out.bytes(b"(null)"),
        }
    }
}

/// Forgets errors: the text was accepted before.
struct Unlogged;

impl Log for Unlogged {
    fn log(&mut self, _: Reason, _: &[u8]) {}
}

impl Registry {
    /// Writes the text of the `hist_debug` file of `event`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn show_hist_definitions(
        &self,
        instance: &Instance,
        event: EventId,
        out: &mut dyn Out,
    ) -> Result {
        self.show_each(instance, event, out, |hist, out| {
            let facts = TriggerFacts {
                registry: self,
                event,
                histogram: &hist.histogram,
            };
            hist.show_definition(&facts, out)
        })
    }
}

impl HistTrigger {
    fn show_definition(&self, facts: &dyn Facts, out: &mut dyn Out) -> Result {
        let attributes = Attributes::parse(&self.text, &mut Unlogged)?;
        let mut actions = ArrayVec::new(Action::NONE);
        let texts = attributes.actions();
        Action::parse_all(texts, &|_, _| true, &mut Unlogged, &mut actions)?;
        let definition = Definition {
            description: &self.description,
            text: &self.text,
            actions: &actions,
            facts,
        };
        self.show_head(out)
            .and_then(|()| definition.write(out))
            .map_err(|_| ENOMEM)
    }
}
