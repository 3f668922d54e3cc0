// SPDX-License-Identifier: GPL-2.0

//! `printk_formats`: the addresses that bprint and bputs entries hold, and the strings at them.

use super::listing::{self, Lines};
use super::{Node, Place};
use crate::core::format::printk_formats::write_line;
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::output::printk;
use core::fmt;
use kernel::prelude::*;

/// The row of the file.
#[derive(Clone, Copy)]
pub(super) struct PrintkFormats;

impl Node for PrintkFormats {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        listing::open(*self)
    }
}

impl Lines for PrintkFormats {
    fn seek(&self, at: u64) -> Option<u64> {
        printk::format_at(usize::try_from(at).ok()?, |_, _| ()).map(|_| at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        // A format that is not a constant has a position but no line.
        let shown = usize::try_from(at)
            .ok()
            .and_then(|at| printk::format_at(at, |addr, text| write_line(out, addr, text)));
        shown.flatten().unwrap_or(Ok(()))
    }
}
