// SPDX-License-Identifier: GPL-2.0

//! The numbers of the entries of `events/`, of which inode numbers are made, and their places in
//! listings.
//!
//! A listing has the files first, then the subdirectories in the order in which the instance got
//! them.

use crate::kernel::fs::tracefs::{Entry, Found, Listed};
use crate::kernel::text::Text;
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

/// The name of the system of built-in entries.
pub(super) const FTRACE: &[u8] = b"ftrace";

/// The numbers of the top directory.
pub(super) const TOP: Numbers = Numbers(0);
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

    /// The kind of the directory that has the entry with this number, and its index.
    pub(super) fn of(number: u64) -> (Self, u64) {
        let directory = number / NUMBERS_PER_DIR;
        (Self(directory % KINDS), directory / KINDS)
    }
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
