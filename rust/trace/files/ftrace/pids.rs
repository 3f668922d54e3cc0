// SPDX-License-Identifier: GPL-2.0

//! `set_ftrace_pid` and `set_ftrace_notrace_pid`: which tasks are traced.

use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::kernel::raw_lock::RawLock;
use crate::trace::files::control::read_numbers;
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::tasks::pids::PidListKind;
use crate::trace::tracers::function_pids::FunctionPids;
use core::fmt;
use kernel::prelude::*;

/// The file of one of the two pid lists.
pub(super) struct PidFile(pub(super) PidListKind);

impl Node for PidFile {
    /// `O_TRUNC` clears the list.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            FunctionPids::clear(&at.instance, self.0)?;
        }
        Opening::new(OpenPids {
            which: self.0,
            at: at.clone(),
            pids: RawLock::new(None),
        })
    }
}

struct OpenPids {
    which: PidListKind,
    at: Place,
    /// The list at the start of a reading, if there was one.
    pids: RawLock<Option<KVVec<i32>>>,
}

impl OpenFile for OpenPids {
    /// A write takes all of its pids or none.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
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
        if at == 0 {
            let now = FunctionPids::of(&self.at.instance)?.pids(self.which)?;
            let before = core::mem::replace(&mut *self.pids.lock(), now);
            drop(before);
        }
        listing::rows(self, at)
    }
}

impl Lines for OpenPids {
    fn seek(&self, at: u64) -> Option<u64> {
        // Without a list there is one line that says so.
        let lines = self.pids.lock().as_ref().map_or(1, |pids| pids.len());
        (at < lines as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let pid = self
            .pids
            .lock()
            .as_ref()
            .and_then(|pids| pids.get(at).copied());
        match pid {
            Some(pid) => writeln!(out, "{pid}"),
            None => out.bytes(b"no pid\n"),
        }
    }
}
