// SPDX-License-Identifier: GPL-2.0

//! The directories of systems and of their events.
//!
//! A system gets its number at the first listing or lookup, and has it until its last event is
//! removed; one of the same name that comes later is another one. An event has the number that the
//! registry gave it.

use super::node::{EventPlace, EventsPlace, FileRow, PlacedFile, SystemPlace};
use super::numbers::{Kind, Numbers, EVENTS, FTRACE, SYSTEMS};
use super::{EVENT_FILES, SYSTEM_FILES};
use crate::kernel::fs::tracefs::{Entry, Found, LazyDir, Listed};
use crate::kernel::sort::sort_by;
use crate::kernel::text::Text;
use crate::trace::events::registry::{self, Event, EventId};
use crate::trace::events::systems::Systems;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The inode numbers of the directory of a system.
fn numbers_of_system(number: u64) -> Numbers {
    // 0 is the system of built-in entries.
    SYSTEMS.directory(number.wrapping_add(1))
}

/// Looks up the directory of the system called `name`. `None` if there is none; `ENOMEM`.
pub(super) fn find(instance: &Arc<Instance>, name: &[u8]) -> Result<Option<Found>> {
    if !Systems::of(instance).has(name) {
        return Ok(None);
    }
    let Some(number) = registry::lock()?.system_number(name)? else {
        return Ok(None);
    };
    let at = SystemPlace {
        instance: instance.clone(),
        system: Arc::new(Text::copy(name)?, GFP_KERNEL)?,
        number,
    };
    let numbers = numbers_of_system(number);
    let dir = KBox::new(SystemDir { at, numbers }, GFP_KERNEL)?;
    Ok(Some(numbers.found(Entry::Dir(dir))))
}

/// Whether the event or system at index `at` of the directories of a kind may still be there.
pub(super) fn is_there(kind: Kind, at: u64) -> bool {
    let Ok(registry) = registry::lock() else {
        return true;
    };
    match kind {
        SYSTEMS => at
            .checked_sub(1)
            .is_none_or(|number| registry.has_system(number)),
        EVENTS => registry.has_event(at),
        _ => true,
    }
}

/// Whether `instance` has the system of built-in entries.
pub(super) fn has_own(instance: &Instance) -> bool {
    Systems::of(instance).has(FTRACE)
}

/// Adds the systems to the listing of `events/`.
pub(super) fn list(instance: &Instance, list: &mut KVec<Listed>) -> Result {
    let mut registry = registry::lock()?;
    let mut order: KVec<(u64, EventId)> = KVec::new();
    for event in registry.firsts_in(instance) {
        let place = registry.order(instance, event.id());
        order.push((place, event.id()), GFP_KERNEL)?;
    }
    sort_by(&mut order, Ord::cmp);
    for (place, event) in order {
        let event = registry.event(event).ok_or(ENODEV)?;
        let name = Text::copy(event.system().to_bytes())?;
        let numbers = match name.as_slice() {
            FTRACE => SYSTEMS.directory(0),
            name => numbers_of_system(registry.system_number(name)?.ok_or(ENODEV)?),
        };
        list.push(numbers.listed(place, &name)?, GFP_KERNEL)?;
    }
    Ok(())
}

/// Adds the events of `system` to the listing of its directory, which `numbers` gives inodes.
pub(super) fn list_events(
    instance: &Instance,
    system: &[u8],
    numbers: impl Fn(&Event) -> Numbers,
    list: &mut KVec<Listed>,
) -> Result {
    let registry = registry::lock()?;
    let mut order: KVec<(u64, EventId)> = KVec::new();
    let mine = |event: &&Event| event.system().to_bytes() == system;
    for event in registry.events().iter().filter(mine) {
        let place = registry.order(instance, event.id());
        order.push((place, event.id()), GFP_KERNEL)?;
    }
    sort_by(&mut order, Ord::cmp);
    for (place, event) in order {
        let event = registry.event(event).ok_or(ENODEV)?;
        let listed = numbers(event).listed(place, event.name().to_bytes())?;
        list.push(listed, GFP_KERNEL)?;
    }
    Ok(())
}

/// The inode numbers of the directory of an event.
pub(super) fn numbers_of(event: EventId) -> Numbers {
    EVENTS.directory(event.number())
}

/// Looks up the directory of the event called `name` of `system`. `None` if there is none.
pub(super) fn find_event(
    instance: &Arc<Instance>,
    system: &[u8],
    name: &[u8],
) -> Result<Option<Found>> {
    let Some(at) = place(instance, system, name)? else {
        return Ok(None);
    };
    let numbers = numbers_of(at.event);
    let dir = KBox::new(EventDir { at, numbers }, GFP_KERNEL)?;
    Ok(Some(numbers.found(Entry::Dir(dir))))
}

/// The rows of a table that exist at a place, each with the number of its file.
fn rows<P: EventsPlace>(
    table: &'static [FileRow<P>],
    instance: &Instance,
    is_there: impl Fn(&FileRow<P>) -> bool,
) -> impl Iterator<Item = (u64, &'static FileRow<P>)> {
    let copy = instance.is_copy();
    let here = move |row: &FileRow<P>| (!copy || row.node.describes()) && is_there(row);
    (1..).zip(table).filter(move |(_, row)| here(row))
}

/// The lookup result for row `number` of a table, at a place whose directory has `numbers`.
pub(super) fn file<P: EventsPlace>(
    (number, row): (u64, &'static FileRow<P>),
    at: &P,
    numbers: Numbers,
) -> Result<Found> {
    let at = at.clone();
    let file = KBox::new(PlacedFile { row, at }, GFP_KERNEL)?;
    Ok(numbers.file(number, Entry::File(row.mode, file)))
}

/// The directory of a system.
struct SystemDir {
    at: SystemPlace,
    numbers: Numbers,
}

impl LazyDir for SystemDir {
    fn find(&self, name: &[u8]) -> Result<Option<Found>> {
        // As in C, an event may be called like a file, which is not found then.
        if let Some(event) = find_event(&self.at.instance, &self.at.system, name)? {
            return Ok(Some(event));
        }
        let mut files = rows(SYSTEM_FILES, &self.at.instance, |_| true);
        let found = files.find(|(_, row)| row.name == name);
        found
            .map(|found| file(found, &self.at, self.numbers))
            .transpose()
    }

    fn list(&self) -> Result<KVec<Listed>> {
        let mut list = KVec::new();
        for (number, row) in rows(SYSTEM_FILES, &self.at.instance, |_| true) {
            list.push(self.numbers.listed_file(number, row.name)?, GFP_KERNEL)?;
        }
        let (instance, system) = (&self.at.instance, &self.at.system);
        list_events(instance, system, |event| numbers_of(event.id()), &mut list)?;
        Ok(list)
    }

    fn is_gone(&self) -> bool {
        self.at.is_gone()
    }
}

/// The directory of an event.
struct EventDir {
    at: EventPlace,
    numbers: Numbers,
}

/// The event called `name` of `system`, in `instance`. `None` if there is none; `ENODEV` before
/// there are events.
pub(super) fn place(
    instance: &Arc<Instance>,
    system: &[u8],
    name: &[u8],
) -> Result<Option<EventPlace>> {
    let registry = registry::lock()?;
    Ok(registry.find(system, name).map(|event| EventPlace {
        instance: instance.clone(),
        event: event.id(),
    }))
}

impl EventPlace {
    /// The files of this event in this instance, each with its number. `ENOENT`, `ENOMEM`.
    pub(super) fn rows(&self) -> Result<KVec<(u64, &'static FileRow<EventPlace>)>> {
        let mut list = KVec::new();
        let registry = registry::lock()?;
        let event = registry.event(self.event).ok_or(ENOENT)?;
        for row in rows(EVENT_FILES, &self.instance, |row| row.node.is_there(event)) {
            list.push(row, GFP_KERNEL)?;
        }
        Ok(list)
    }
}

impl LazyDir for EventDir {
    fn find(&self, name: &[u8]) -> Result<Option<Found>> {
        let found = self
            .at
            .rows()?
            .into_iter()
            .find(|(_, row)| row.name == name);
        found
            .map(|found| file(found, &self.at, self.numbers))
            .transpose()
    }

    fn list(&self) -> Result<KVec<Listed>> {
        let mut list = KVec::new();
        for (number, row) in self.at.rows()? {
            list.push(self.numbers.listed_file(number, row.name)?, GFP_KERNEL)?;
        }
        Ok(list)
    }

    fn is_gone(&self) -> bool {
        self.at.is_gone()
    }
}
