// SPDX-License-Identifier: GPL-2.0

//! `eval_map`: the numbers that stand in the formats of events for names.

use super::listing::{self, Lines};
use super::{Node, Place};
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::events::evals;
use core::fmt;
use kernel::prelude::*;

/// The file's row.
#[derive(Clone, Copy)]
pub(super) struct EvalMap;

impl Node for EvalMap {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        listing::open(*self)
    }
}

impl Lines for EvalMap {
    fn seek(&self, at: u64) -> Option<u64> {
        evals::line(usize::try_from(at).ok()?, |_| at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        // A module may have gone with its lines.
        evals::line(at, |line| out.bytes(line)).unwrap_or(Ok(()))
    }
}
