// SPDX-License-Identifier: GPL-2.0

//! Saved names of tasks: `saved_cmdlines`, `saved_cmdlines_size` and `saved_tgids`.

use super::control::{errno, shown, Control, Limit, Text};
use super::listing::{self, Lines};
use super::{Node, Place};
use crate::core::format::{stats, Out};
use crate::core::parse::number;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::tasks::cmdlines::{self, Comm};
use core::fmt::{self, Write};
use kernel::prelude::*;

/// `saved_cmdlines`: the names at the time of the open.
pub(super) struct SavedCmdlines;

impl Node for SavedCmdlines {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        listing::open(Names(cmdlines::snapshot()?))
    }
}

struct Names(KVVec<(i32, Comm)>);

impl Lines for Names {
    fn seek(&self, at: u64) -> Option<u64> {
        (at < self.0.len() as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        let Some((pid, comm)) = usize::try_from(at).ok().and_then(|at| self.0.get(at)) else {
            return Ok(());
        };
        let name = comm.split(|&c| c == 0).next().unwrap_or(&[]);
        stats::write_cmdline(out, *pid, name)
    }
}

/// `saved_cmdlines_size`: how many names can be saved. A write drops all names.
pub(super) struct SavedCmdlinesSize;

impl Control for SavedCmdlinesSize {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", cmdlines::size()))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        let names = number::unsigned(line, 10).map_err(errno)?;
        cmdlines::resize(usize::try_from(names)?)
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}

/// `saved_tgids`: the thread groups at the time of the open.
pub(super) struct SavedTgids;

impl Node for SavedTgids {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let mut known = KVVec::new();
        for pair in cmdlines::tgids() {
            known.push(pair, GFP_KERNEL)?;
        }
        listing::open(Tgids(known))
    }
}

struct Tgids(KVVec<(i32, i32)>);

impl Lines for Tgids {
    fn seek(&self, at: u64) -> Option<u64> {
        (at < self.0.len() as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        match usize::try_from(at).ok().and_then(|at| self.0.get(at)) {
            Some((pid, tgid)) => stats::write_tgid(out, *pid, *tgid),
            None => Ok(()),
        }
    }
}
