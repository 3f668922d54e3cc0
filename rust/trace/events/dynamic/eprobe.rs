// SPDX-License-Identifier: GPL-2.0

//! Events made of other events' entries, with their fields and with what those point to.
//!
//! While such an event is enabled in an instance, the other event has a trigger there that no file
//! shows. So the other need not be recorded itself.

use super::arguments::Arguments;
use super::hit;
use super::list;
use super::probe_event::{define, Defined, Probed, Record, Title};
use super::probe_kind::ProbeKind;
use super::types::Known;
use super::words::Words;
use crate::core::event::field::Kind as FieldKind;
use crate::core::event::probe::argument::Machine;
use crate::core::event::probe::attached::Definition;
use crate::core::event::probe::command::{DefinitionError, Spot};
use crate::core::event::probe::error::Reason;
use crate::core::event::probe::layout::Kind;
use crate::core::event::probe::program::{Field, FieldValue, Source};
use crate::core::event::probe::types::TextOf;
use crate::core::format::Out;
use crate::kernel::context::{current_and_name, PreemptOff};
use crate::kernel::text::Text;
use crate::kernel::trace_event::{Call, HeldCall};
use crate::trace::events::file::HotFile;
use crate::trace::events::filter;
use crate::trace::events::registry::{self, Event, EventId, OnSwitch, Registry};
use crate::trace::events::trigger::entries::Reader;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// An entry of the other event.
#[derive(Clone, Copy)]
struct AtEntry<'a> {
    arguments: &'a Arguments,
    entry: &'a [u8],
}

impl Source for AtEntry<'_> {
    fn register(&self, _at: u16) -> u64 {
        0
    }

    fn stack(&self, _at: u32) -> u64 {
        0
    }

    fn stack_pointer(&self) -> u64 {
        0
    }

    fn returned(&self) -> u64 {
        0
    }

    fn comm(&self) -> u64 {
        current_and_name().1 as u64
    }

    fn current(&self) -> u64 {
        current_and_name().0 as u64
    }

    fn argument(&self, _at: u16) -> u64 {
        0
    }

    fn saved(&self, _at: u16) -> u64 {
        0
    }

    fn field(&self, field: Field) -> u64 {
        field.value(self.entry)
    }

    fn symbol(&self, argument: usize) -> u64 {
        self.arguments.symbol(argument) as u64
    }

    fn this_cpu(&self, address: u64) -> u64 {
        address
    }

    fn read(&self, user: bool, address: u64, to: &mut [u8]) -> bool {
        hit::read(user, address as usize, to)
    }

    fn text_length(&self, of: TextOf, address: u64) -> usize {
        hit::text_length(of, address as usize)
    }

    fn text(&self, of: TextOf, address: u64, to: &mut [u8]) -> usize {
        hit::text(of, address as usize, to)
    }
}

/// Reads the other event's entries.
struct Hits(Record);

impl Reader for Hits {
    fn read(&self, of: &HotFile, entry: &[u8], stay: &PreemptOff) {
        let at = AtEntry {
            arguments: &self.0.arguments,
            entry,
        };
        self.0.in_file_of(of.instance(), at, stay);
    }
}

/// A probe defined by a user.
pub(super) struct Eprobe {
    id: EventId,
    of: HeldCall,
    hits: Arc<Hits>,
    filter: Option<KVec<u8>>,
}

impl Probed for Eprobe {
    fn arguments(&self) -> &Arguments {
        &self.hits.0.arguments
    }

    fn register(&self, _on: bool) -> Result {
        Ok(())
    }

    fn unregister(&self) {}

    /// [`Switched`] does what is to be done.
    fn enable(&self, _on: bool) -> Result {
        Ok(())
    }

    fn on_switch(&self) -> Result<Option<Arc<dyn OnSwitch>>> {
        let filter = self.filter.as_deref().map(Text::copy).transpose()?;
        let switched = Switched {
            of: self.id,
            hits: self.hits.clone(),
            filter,
        };
        Ok(Some(Arc::new(switched, GFP_KERNEL)?))
    }

    fn show_head(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"e")
    }

    fn show_place(&self, out: &mut dyn Out) -> fmt::Result {
        write_name(&self.of, out)
    }

    fn is_at(&self, place: &[u8]) -> bool {
        let slash = place.iter().position(|&byte| byte == b'/');
        let parting = slash.or_else(|| place.iter().position(|&byte| byte == b'.'));
        let Some((system, name)) = parting.and_then(|at| place.split_at_checked(at)) else {
            return false;
        };
        self.of.system().to_bytes() == system && name.get(1..) == Some(self.of.name().to_bytes())
    }

    fn is_same_place(&self, _other: &Self) -> bool {
        true
    }
}

fn write_name(of: &Call, out: &mut dyn Out) -> fmt::Result {
    out.bytes(of.system().to_bytes())?;
    out.bytes(b".")?;
    out.bytes(of.name().to_bytes())
}

/// Attaches the reader to the other event in each instance in which the event is enabled.
struct Switched {
    of: EventId,
    hits: Arc<Hits>,
    filter: Option<KVec<u8>>,
}

impl OnSwitch for Switched {
    fn switched(
        &self,
        registry: &mut Registry,
        instance: &Arc<Instance>,
        event: EventId,
        on: bool,
    ) -> Result {
        match on {
            true => {
                let reader = self.hits.clone();
                registry.read_entries(instance, self.of, event, reader, self.filter.as_deref())
            }
            false => registry.end_reading(instance, self.of, event),
        }
    }
}

/// The fields of the other event.
struct Fields<'a>(&'a Call);

impl Machine for Fields<'_> {
    fn register(&self, _name: &[u8]) -> Option<u16> {
        None
    }

    fn stack_words(&self) -> u64 {
        0
    }

    fn has_registers(&self) -> bool {
        false
    }

    fn field(&self, name: &[u8]) -> Option<Field> {
        // Of two of the same name the last one, as in filters and histograms.
        let fields = self.0.fields();
        let field = fields
            .filter(|field| field.name.to_bytes() == name)
            .last()?;
        let value = match (field.kind, field.size) {
            (FieldKind::DataLoc, _) => FieldValue::Elsewhere,
            (FieldKind::RelLoc, _) => FieldValue::Behind,
            (FieldKind::Array, _) => FieldValue::Address,
            (_, 1 | 2 | 4 | 8) => FieldValue::number(field.size as u8, field.signed),
            _ => FieldValue::Address,
        };
        Some(Field {
            offset: u16::try_from(field.offset).ok()?,
            value,
        })
    }
}

/// The kind.
pub(super) struct Eprobes;

impl ProbeKind for Eprobes {
    type Probe = Eprobe;
    type Definition<'a> = Definition<'a>;

    const NAME: &'static str = "event_probe";

    fn parse<'a>(
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Definition<'a>, DefinitionError> {
        Definition::parse(words)
    }

    fn define(definition: Definition<'_>, words: Words) -> Result {
        let registry = registry::lock()?;
        // A probe's event may have the name of a synthetic one, which is meant then.
        let is_meant = |event: &&Event| {
            event.name().to_bytes() == definition.of_event
                && event.system().to_bytes() == definition.of_system
                && !event.has(Call::IGNORE_ENABLE | Call::OF_PROBES)
        };
        let found = registry.events().iter().find(is_meant);
        let found = found.and_then(|event| Some((event.id(), HeldCall::new(event.registered())?)));
        let Some((id, of)) = found else {
            return words.refuse(Reason::AttachedMissing, 1, ENODEV);
        };
        let filter = match definition.filter {
            None => None,
            Some(at) => Some(filter_text(&words, at)?),
        };
        if let Some(text) = &filter {
            let event = registry.event(id).ok_or(ENODEV)?;
            filter::of_trigger(Instance::top()?, event, text).map_err(|_| EINVAL)?;
        }
        drop(registry);
        let mut known = Known::types();
        let arguments = words.numbered().take(definition.arguments);
        let arguments = Arguments::new(
            Kind::Event,
            arguments,
            Spot::Event,
            &Fields(&of),
            &mut known,
        );
        let arguments = words.logged(arguments)?;
        let attached = Text::of(|out| write_name(&of, out))?;
        let arguments = Arc::new(arguments.of_event(attached), GFP_KERNEL)?;
        let title = Title {
            group: definition.group.unwrap_or(b"eprobes"),
            name: definition.event,
            flags: Call::EPROBE,
            sort: 0,
        };
        let list = &mut list::lock()?;
        // No two of them are of one event.
        let is_known = |known: &Defined<Eprobe>| known.event().is(&title);
        if list.of::<Defined<Eprobe>>().any(is_known) {
            return words.refuse(Reason::EventExists, 0, EEXIST);
        }
        define::<Eprobe>(title, &words, arguments.clone(), list, |event| {
            let record = Record {
                event: event.event().clone(),
                arguments,
            };
            Ok(Eprobe {
                id,
                of,
                hits: Arc::new(Hits(record), GFP_KERNEL)?,
                filter,
            })
        })
    }
}

/// The words from `at` on, joined.
fn filter_text(words: &Words, at: usize) -> Result<KVec<u8>> {
    if words.iter().nth(at).is_none() {
        return words.refuse(Reason::NoFilter, at, EINVAL);
    }
    Text::of(|out| {
        for (number, word) in words.iter().skip(at).enumerate() {
            if number != 0 {
                out.bytes(b" ")?;
            }
            out.bytes(word)?;
        }
        Ok(())
    })
}
