// SPDX-License-Identifier: GPL-2.0

//! Listings: files of many lines, each found by its number.
//!
//! [`Lines`] prints one line at a time. [`open`] makes an open file of it, with the behaviour of
//! C's `seq_file`.

use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, Opening};
use crate::kernel::fs::seq_file::{Cursor, Rows, SeqOut};
use core::fmt;
use kernel::prelude::*;

impl Out for SeqOut<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        SeqOut::bytes(self, bytes);
        Ok(())
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        through_memory(self, write)
    }
}

/// [`Out::written`] for an output without memory of its own. Task context. Fails also when there is
/// no memory.
pub(crate) fn through_memory(out: &mut dyn Out, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
    let mut text = KVVec::from_elem(0u8, 256, GFP_KERNEL).map_err(|_| fmt::Error)?;
    let mut wrote = write(&mut text);
    if wrote >= text.len() {
        text.resize(wrote.saturating_add(1), 0, GFP_KERNEL)
            .map_err(|_| fmt::Error)?;
        wrote = write(&mut text);
    }
    out.bytes(text.get(..wrote).unwrap_or(&text))
}

/// The lines of a listing. They are fixed at open, or looked up for each line.
pub(crate) trait Lines: Send + Sync {
    /// The position of the first line at or after position `at`, if there is one.
    ///
    /// Positions may have gaps: a listing that shows a part of a larger table uses the table's
    /// index.
    fn seek(&self, at: u64) -> Option<u64>;

    /// Prints the line at a position that [`Self::seek`] returned.
    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result;
}

/// Opens a listing that cannot be written. Task context, may sleep. `ENOMEM`.
pub(crate) fn open(lines: impl Lines + 'static) -> Result<Opening> {
    Opening::new(Listing { lines })
}

struct Listing<L> {
    lines: L,
}

impl<L: Lines> OpenFile for Listing<L> {
    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

impl<L: Lines> Rows for Listing<L> {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        rows(&self.lines, at)
    }
}

/// Implements [`Rows::start`] for an open file that is not only a listing.
#[inline(never)]
pub(crate) fn rows<'a>(lines: &'a dyn Lines, at: u64) -> Result<Option<KBox<dyn Cursor + 'a>>> {
    let Some(at) = lines.seek(at) else {
        return Ok(None);
    };
    Ok(Some(KBox::new(Line { lines, at }, GFP_KERNEL)?))
}

struct Line<'a> {
    lines: &'a dyn Lines,
    at: u64,
}

impl Cursor for Line<'_> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        // A `SeqOut` never fails, so the error comes from the line itself.
        self.lines.show(self.at, out).map_err(|fmt::Error| EIO)?;
        Ok(())
    }

    fn next(&mut self) -> bool {
        match self.lines.seek(self.at.saturating_add(1)) {
            Some(at) => {
                self.at = at;
                true
            }
            None => false,
        }
    }

    fn number(&self) -> Option<u64> {
        Some(self.at)
    }
}
