// SPDX-License-Identifier: GPL-2.0

//! Rules for events: `filter` and `trigger` of an event, `filter` of a system, `inject` of an
//! event, and the lists `show_event_filters` and `show_event_triggers`.

use super::super::control::{shown, whole, Text};
use super::super::{Node, Place};
use super::event_list::{self, EventList};
use super::node::{EventNode, EventPlace, EventsPlace, SystemPlace};
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall, Seek, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::trace::events::filter::OF_SYSTEM;
use crate::trace::events::registry::{self, Event, Registry};
use crate::trace::events::trigger;
use core::fmt;
use kernel::prelude::*;

/// The most bytes of one write: less than a page.
const LIMIT: usize = 4095;

/// A file that shows rules and takes new ones.
trait Rule<P: EventsPlace>: Sync {
    /// Writes the text of the file. Task context, may sleep.
    fn show(&self, at: &P, out: &mut Text) -> Result;

    /// Handles the bytes of one `write(2)`. Task context, sleeps.
    fn store(&self, at: &P, text: &[u8]) -> Result;

    /// Whether a write of no bytes does nothing. Else it is a text without words.
    fn ignores_nothing(&self) -> bool {
        true
    }

    /// As [`Control::is_listing`](super::super::control::Control::is_listing).
    fn is_listing(&self) -> bool {
        false
    }
}

fn open<P: EventsPlace>(rule: &'static dyn Rule<P>, at: &P, how: &OpenFlags) -> Result<Opening> {
    let at = at.clone();
    let read = how.read;
    Opening::new(OpenRule { rule, at, read })
}

struct OpenRule<P: EventsPlace> {
    rule: &'static dyn Rule<P>,
    at: P,
    read: bool,
}

impl<P: EventsPlace> Rows for OpenRule<P> {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        whole(at, |text| self.rule.show(&self.at, text))
    }
}

impl<P: EventsPlace> OpenFile for OpenRule<P> {
    fn rows(&self) -> Option<&dyn Rows> {
        let is_listing = self.rule.is_listing() && self.read;
        is_listing.then_some(self as &dyn Rows)
    }

    fn seek(&self) -> Seek {
        match self.rule.is_listing() && !self.read {
            true => Seek::Rewind,
            false => Seek::Any,
        }
    }

    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut text = Text::new();
        let result = self.rule.show(&self.at, &mut text);
        call.put_from(text.written_with(result)?)
    }

    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let len = call.len();
        if len > LIMIT {
            return Err(EINVAL);
        }
        if len == 0 && self.rule.ignores_nothing() {
            return Ok(0);
        }
        let mut text = KVec::from_elem(0, len, GFP_KERNEL)?;
        call.reader().read_slice(&mut text)?;
        self.rule.store(&self.at, &text)?;
        *call.pos = call.pos.wrapping_add(len as i64);
        Ok(len)
    }
}

/// The file `filter` of an event.
pub(super) struct EventFilter;

impl EventNode<EventPlace> for EventFilter {
    fn open(&'static self, at: &EventPlace, how: &OpenFlags) -> Result<Opening> {
        open(self, at, how)
    }

    fn is_there(&self, event: &Event) -> bool {
        event.is_offered()
    }
}

impl Rule<EventPlace> for EventFilter {
    fn show(&self, at: &EventPlace, out: &mut Text) -> Result {
        let registry = registry::lock()?;
        registry.event(at.event).ok_or(ENODEV)?;
        shown(registry.show_filter(&at.instance, at.event, out))
    }

    fn store(&self, at: &EventPlace, text: &[u8]) -> Result {
        registry::lock()?.write_filter(&at.instance, at.event, text)
    }

    fn ignores_nothing(&self) -> bool {
        false
    }
}

/// The file `trigger` of an event.
pub(super) struct EventTrigger;

impl EventNode<EventPlace> for EventTrigger {
    fn open(&'static self, at: &EventPlace, how: &OpenFlags) -> Result<Opening> {
        #[cfg(CONFIG_HIST_TRIGGERS)]
        if how.write && how.trunc {
            registry::lock()?.remove_hists(&at.instance, at.event)?;
        }
        #[cfg(not(CONFIG_HIST_TRIGGERS))]
        let _ = how;
        open(self, at, how)
    }

    fn is_there(&self, event: &Event) -> bool {
        event.takes_triggers()
    }

    /// As in C. A reading or a write holds it meanwhile.
    fn holds_instance(&self) -> bool {
        false
    }
}

impl Rule<EventPlace> for EventTrigger {
    fn show(&self, at: &EventPlace, out: &mut Text) -> Result {
        let _held = at.instance.hold()?;
        let registry = registry::lock()?;
        registry.event(at.event).ok_or(ENODEV)?;
        shown(registry.show_triggers(&at.instance, at.event, out))
    }

    fn store(&self, at: &EventPlace, text: &[u8]) -> Result {
        let _held = at.instance.hold()?;
        registry::lock()?.write_trigger(&at.instance, at.event, text)
    }

    fn is_listing(&self) -> bool {
        true
    }
}

/// The file `inject` of an event. It cannot be read.
#[cfg(CONFIG_TRACE_EVENT_INJECT)]
pub(super) struct Inject;

#[cfg(CONFIG_TRACE_EVENT_INJECT)]
impl EventNode<EventPlace> for Inject {
    fn open(&'static self, at: &EventPlace, how: &OpenFlags) -> Result<Opening> {
        open(self, at, how)
    }

    fn is_there(&self, event: &Event) -> bool {
        event.can_record()
    }
}

#[cfg(CONFIG_TRACE_EVENT_INJECT)]
impl Rule<EventPlace> for Inject {
    fn show(&self, _: &EventPlace, _: &mut Text) -> Result {
        Err(EPERM)
    }

    fn store(&self, at: &EventPlace, text: &[u8]) -> Result {
        registry::lock()?.inject(&at.instance, at.event, text)
    }

    /// All fields of the entry are 0 or empty then.
    fn ignores_nothing(&self) -> bool {
        false
    }
}

/// The file `filter` of a system.
pub(super) struct SystemFilter;

impl EventNode<SystemPlace> for SystemFilter {
    fn open(&'static self, at: &SystemPlace, how: &OpenFlags) -> Result<Opening> {
        open(self, at, how)
    }
}

impl Rule<SystemPlace> for SystemFilter {
    fn show(&self, _: &SystemPlace, out: &mut Text) -> Result {
        shown(out.bytes(OF_SYSTEM.as_bytes()))
    }

    fn store(&self, at: &SystemPlace, text: &[u8]) -> Result {
        registry::lock()?.write_system_filter(&at.instance, &at.system, text)
    }

    /// No event takes an empty filter.
    fn ignores_nothing(&self) -> bool {
        false
    }
}

/// The file `show_event_filters`.
pub(crate) struct ShowFilters;

impl Node for ShowFilters {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        event_list::open(self, at)
    }
}

impl EventList for ShowFilters {
    fn show(
        &self,
        registry: &Registry,
        at: &Place,
        place: usize,
        out: &mut dyn Out,
    ) -> fmt::Result {
        let instance = &at.instance;
        let event = registry.listed_at(instance, place);
        match event.filter(|event| registry.has_filter(instance, event.id())) {
            Some(event) => {
                name(event, out)?;
                registry.show_filter(instance, event.id(), out)
            }
            None => Ok(()),
        }
    }
}

/// The file `show_event_triggers`.
pub(crate) struct ShowTriggers;

impl Node for ShowTriggers {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        event_list::open(self, at)
    }
}

impl EventList for ShowTriggers {
    fn show(
        &self,
        registry: &Registry,
        at: &Place,
        place: usize,
        out: &mut dyn Out,
    ) -> fmt::Result {
        let Some(event) = registry.listed_at(&at.instance, place) else {
            return Ok(());
        };
        let line = |out: &mut dyn Out, trigger: &dyn trigger::Trigger| {
            name(event, out)?;
            trigger.line(out)
        };
        let any = registry.show_set_triggers(&at.instance, event.id(), &line, out);
        any.map(drop)
    }
}

/// Writes `SYSTEM:EVENT`, padded to 32 bytes.
fn name(event: &Event, out: &mut dyn Out) -> fmt::Result {
    let (system, name) = (event.system().to_bytes(), event.name().to_bytes());
    out.bytes(system)?;
    out.bytes(b":")?;
    out.bytes(name)?;
    let len = system.len().saturating_add(name.len()).saturating_add(1);
    write!(
        out,
        "{:width$}",
        "",
        width = 32usize.saturating_sub(len).max(1)
    )
}
