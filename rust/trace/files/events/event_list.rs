// SPDX-License-Identifier: GPL-2.0

//! Files that list events. A read holds the event mutex while it goes through the list, and each
//! read finds the events of its time.

use super::super::Place;
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, Opening};
use crate::kernel::fs::seq_file::{Cursor, Rows, SeqOut};
use crate::trace::events::registry::{self, Registry};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::MutexGuard;

/// A list of events. Its rows are known by their places, as in [`Registry::listed_from`].
pub(super) trait EventList: Sync {
    /// The first row at `place` or behind it.
    fn seek(&self, registry: &Registry, at: &Place, place: usize) -> Option<usize> {
        let mut events = registry.listed_from(&at.instance, place);
        events.next().map(|(place, _)| place)
    }

    /// Writes the lines of the row at `place`. Errors only of `out`.
    fn show(&self, registry: &Registry, at: &Place, place: usize, out: &mut dyn Out)
        -> fmt::Result;
}

/// Opens a list that cannot be written. `ENOMEM`.
pub(super) fn open(list: &'static dyn EventList, at: &Place) -> Result<Opening> {
    let at = at.clone();
    Opening::new(OpenList { list, at })
}

struct OpenList {
    list: &'static dyn EventList,
    at: Place,
}

impl OpenFile for OpenList {
    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

impl Rows for OpenList {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        start(self.list, &self.at, at)
    }
}

/// Implements [`Rows::start`] for an open file that is not only a list.
pub(super) fn start<'a>(
    list: &'a dyn EventList,
    at: &'a Place,
    row: u64,
) -> Result<Option<KBox<dyn Cursor + 'a>>> {
    let registry = registry::lock()?;
    let row = usize::try_from(row).unwrap_or(usize::MAX);
    let Some(place) = list.seek(&registry, at, row) else {
        return Ok(None);
    };
    let cursor = AtEvent {
        registry,
        list,
        at,
        place,
    };
    Ok(Some(KBox::new(cursor, GFP_KERNEL)?))
}

struct AtEvent<'a> {
    registry: MutexGuard<'static, Registry>,
    list: &'a dyn EventList,
    at: &'a Place,
    place: usize,
}

impl Cursor for AtEvent<'_> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        // A `SeqOut` never fails, so the error comes from the line itself.
        let shown = self.list.show(&self.registry, self.at, self.place, out);
        shown.map_err(|fmt::Error| ENOMEM)
    }

    fn next(&mut self) -> bool {
        let behind = self.place.saturating_add(1);
        let next = self.list.seek(&self.registry, self.at, behind);
        self.place = next.unwrap_or(self.place);
        next.is_some()
    }

    fn number(&self) -> Option<u64> {
        Some(self.place as u64)
    }
}
