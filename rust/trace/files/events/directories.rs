// SPDX-License-Identifier: GPL-2.0

//! The directories of `events/`, and the numbers of their entries, of which inode numbers are made.
//!
//! A listing has the files first, then the subdirectories in the order in which the instance got
//! them.

use super::layout::BuiltinDir;
#[cfg(CONFIG_EVENT_TRACING)]
use super::systems;
use super::{Place, Row, FILES};
use crate::kernel::fs::tracefs::{Entry, Found, LazyDir, Listed};
use crate::kernel::text::Text;
use crate::trace::files::Placed;
#[cfg(not(CONFIG_EVENT_TRACING))]
use crate::trace::instance::Instance;
use kernel::prelude::*;

/// Numbers of one directory: its own number, then those of its files.
const NUMBERS_PER_DIR: u64 = 16;

/// The directories of all kinds take turns, so that numbers are small: those of two events are the
/// same in their last 31 bits where 2^25 others came between.
const KINDS: u64 = 4;

/// Places of files in the listing of a directory; those of subdirectories are behind them.
const FILE_PLACES: u64 = NUMBERS_PER_DIR;

/// A kind of directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u64);

/// The numbers of the top directory.
const TOP: Numbers = Numbers(0);
/// Directories of built-in entries.
pub(super) const ENTRIES: Kind = Kind(1);
/// Directories of systems.
pub(super) const SYSTEMS: Kind = Kind(2);
/// Directories of events.
#[cfg(CONFIG_EVENT_TRACING)]
pub(super) const EVENTS: Kind = Kind(3);

impl Kind {
    /// The numbers of the directory with index `at` of this kind.
    pub(super) fn directory(self, at: u64) -> Numbers {
        let directory = at.wrapping_mul(KINDS).wrapping_add(self.0);
        Numbers(directory.wrapping_mul(NUMBERS_PER_DIR))
    }
}

/// Whether the entry with this number may be there: its event or system was not removed.
/// Task context, may sleep.
pub(super) fn is_there(number: u64) -> bool {
    let directory = number / NUMBERS_PER_DIR;
    systems::is_there(Kind(directory % KINDS), directory / KINDS)
}

/// The numbers of a directory and its files.
#[derive(Clone, Copy)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// The lookup result for the directory.
    pub(super) fn found(self, what: Entry) -> Found {
        Found {
            number: self.0,
            what,
        }
    }

    /// The directory as an entry of a listing, the `place`-th of the subdirectories.
    pub(super) fn listed(self, place: u64, name: &[u8]) -> Result<Listed> {
        Ok(Listed {
            number: self.0,
            place: FILE_PLACES.wrapping_add(place),
            name: Text::copy(name)?,
            is_dir: true,
        })
    }

    /// The lookup result for file `number` of the directory. Numbers are 1 to 15.
    pub(super) fn file(self, number: u64, what: Entry) -> Found {
        Found {
            number: self.0.wrapping_add(number),
            what,
        }
    }

    /// File `number` of the directory as an entry of a listing.
    pub(super) fn listed_file(self, number: u64, name: &[u8]) -> Result<Listed> {
        Ok(Listed {
            number: self.0.wrapping_add(number),
            place: number,
            name: Text::copy(name)?,
            is_dir: false,
        })
    }
}

/// The directory `events/`.
pub(super) struct EventsDir(pub(super) Place);

impl EventsDir {
    fn files(&self) -> impl Iterator<Item = (u64, &'static Row)> + '_ {
        let here = |(_, row): &(u64, &Row)| row.scope.includes(&self.0);
        (1..).zip(FILES).filter(here)
    }
}

/// The name of the system of built-in entries.
pub(super) const FTRACE: &[u8] = b"ftrace";

impl LazyDir for EventsDir {
    fn find(&self, name: &[u8]) -> Result<Option<Found>> {
        let mut files = self.files();
        if let Some((number, row)) = files.find(|(_, row)| row.name.to_bytes() == name) {
            let at = self.0.clone();
            let file = KBox::new(Placed { row, at }, GFP_KERNEL)?;
            return Ok(Some(TOP.file(number, Entry::File(row.mode, file))));
        }
        if name == FTRACE && systems::has_own(&self.0.instance) {
            let dir = KBox::new(BuiltinDir(self.0.instance.clone()), GFP_KERNEL)?;
            return Ok(Some(SYSTEMS.directory(0).found(Entry::Dir(dir))));
        }
        systems::find(&self.0.instance, name)
    }

    fn list(&self) -> Result<KVec<Listed>> {
        let mut list = KVec::new();
        for (number, row) in self.files() {
            list.push(TOP.listed_file(number, row.name.to_bytes())?, GFP_KERNEL)?;
        }
        systems::list(&self.0.instance, &mut list)?;
        Ok(list)
    }
}

/// A kernel without `TRACE_EVENT()` has no systems.
#[cfg(not(CONFIG_EVENT_TRACING))]
mod systems {
    use super::{Found, Instance, Kind, Listed};
    use kernel::prelude::*;
    use kernel::sync::Arc;

    pub(super) fn find(_: &Arc<Instance>, _: &[u8]) -> Result<Option<Found>> {
        Ok(None)
    }

    pub(super) fn has_own(_: &Instance) -> bool {
        true
    }

    pub(super) fn is_there(_: Kind, _: u64) -> bool {
        true
    }

    pub(super) fn list(_: &Instance, list: &mut KVec<Listed>) -> Result {
        let own = super::SYSTEMS.directory(0).listed(0, super::FTRACE)?;
        Ok(list.push(own, GFP_KERNEL)?)
    }
}
