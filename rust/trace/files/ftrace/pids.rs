// SPDX-License-Identifier: GPL-2.0

//! `set_ftrace_pid` and `set_ftrace_notrace_pid`: which tasks are traced.

use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::trace::files::control::read_numbers;
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::tasks::pids::{PidFilter, PidListKind};
use crate::trace::tracers::function_pids::FunctionPids;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The file of one of the two pid lists.
pub(super) struct PidFile(pub(super) PidListKind);

impl Node for PidFile {
    /// `O_TRUNC` clears the list.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            FunctionPids::clear(&at.instance, self.0)?;
        }
        let filter = FunctionPids::of(&at.instance)?.clone();
        Opening::new(OpenPids {
            which: self.0,
            at: at.clone(),
            filter,
        })
    }
}

struct OpenPids {
    which: PidListKind,
    at: Place,
    filter: Arc<PidFilter>,
}

impl OpenFile for OpenPids {
    /// A write takes all of its pids or none.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        if call.len() == 0 {
            return Ok(0);
        }
        let text = read_numbers(call)?;
        let used = FunctionPids::write(&self.at.instance, self.which, &text)?;
        *call.pos = call.pos.wrapping_add(used as i64);
        Ok(used)
    }

    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

impl Rows for OpenPids {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        listing::rows(self, at)
    }
}

/// A line is known by its pid. Without a list there is one line that says so.
impl Lines for OpenPids {
    fn seek(&self, at: u64) -> Option<u64> {
        if !self.filter.is_in_force(self.which) {
            return (at == 0).then_some(0);
        }
        let pid = self.filter.next(self.which, i32::try_from(at).ok()?)?;
        u64::try_from(pid).ok()
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        if !self.filter.is_in_force(self.which) {
            return out.bytes(b"no pid\n");
        }
        writeln!(out, "{at}")
    }
}
