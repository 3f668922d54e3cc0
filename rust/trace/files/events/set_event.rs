// SPDX-License-Identifier: GPL-2.0

//! `set_event` and `available_events`: events by name.

use super::super::control::feed_token;
use super::super::{Node, Place};
use super::event_list::{self, EventList};
use crate::core::format::Out;
use crate::core::parse::parser::Parser;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::trace::events::matching::Match;
use crate::trace::events::registry::{self, Event, Registry};
use core::fmt;
use kernel::prelude::*;

/// Bytes for an event's name with its prefix, its suffix and the final NUL.
const ROOM: usize = 128;

fn write_name(out: &mut dyn Out, event: &Event) -> fmt::Result {
    out.bytes(event.system().to_bytes())?;
    out.bytes(b":")?;
    out.bytes(event.name().to_bytes())?;
    out.bytes(b"\n")
}

/// The file `available_events`.
pub(in super::super) struct AvailableEvents;

impl Node for AvailableEvents {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        event_list::open(self, at)
    }
}

impl EventList for AvailableEvents {
    fn show(
        &self,
        registry: &Registry,
        at: &Place,
        place: usize,
        out: &mut dyn Out,
    ) -> fmt::Result {
        let event = registry.listed_at(&at.instance, place);
        event.map_or(Ok(()), |event| write_name(out, event))
    }
}

/// The file `set_event`.
pub(in super::super) struct SetEvent;

impl Node for SetEvent {
    /// `O_TRUNC` disables all events.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            registry::lock()?.disable_all(&at.instance)?;
        }
        Opening::new(OpenSetEvent(at.clone()))
    }
}

/// The enabled events, and behind them what waits for modules.
impl EventList for SetEvent {
    fn seek(&self, registry: &Registry, at: &Place, place: usize) -> Option<usize> {
        let mut events = registry.enabled_from(&at.instance, place);
        events.next().map(|(place, _)| place).or_else(|| {
            let place = place.max(registry.places());
            let request = place.wrapping_sub(registry.places());
            registry.waiting(&at.instance, request).map(|_| place)
        })
    }

    fn show(
        &self,
        registry: &Registry,
        at: &Place,
        place: usize,
        out: &mut dyn Out,
    ) -> fmt::Result {
        if let Some(request) = place.checked_sub(registry.places()) {
            let waiting = registry.waiting(&at.instance, request);
            return waiting.map_or(Ok(()), |waiting| waiting.write(out));
        }
        let event = registry.enabled_from(&at.instance, place).next();
        event
            .filter(|(found, _)| *found == place)
            .map_or(Ok(()), |(_, event)| write_name(out, event))
    }
}

struct OpenSetEvent(Place);

impl Rows for OpenSetEvent {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        event_list::start(&SetEvent, &self.0, at)
    }
}

impl OpenFile for OpenSetEvent {
    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }

    /// Takes one name of a write. The caller writes the rest again.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        if call.len() == 0 {
            return Ok(0);
        }
        let instance = &self.0.instance;
        instance.expand()?;
        let mut parser = Parser::<ROOM>::new();
        let used = feed_token(&mut parser, call)?;
        // The end of a write also ends a name.
        parser.finish();
        if let Some(word) = parser.take() {
            let (name, on) = match word {
                [b'!', name @ ..] => (name, false),
                name => (name, true),
            };
            let wanted = Match::parse(name);
            registry::lock()?.enable_or_wait(instance, &wanted, on)?;
        }
        *call.pos = call.pos.wrapping_add(used as i64);
        Ok(used)
    }
}
