// SPDX-License-Identifier: GPL-2.0

//! The tasks whose events are recorded: `set_event_pid` and `set_event_notrace_pid`.

use super::super::control::read_numbers;
use super::super::listing::{self, Lines};
use super::super::{Node, Place};
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::trace::events::pids::{EventPids, EventsFeature};
use crate::trace::events::registry;
use crate::trace::tasks::pids::PidListKind;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The file of one of the two pid lists.
pub(in super::super) struct EventPidFile(pub(in super::super) PidListKind);

impl Node for EventPidFile {
    /// `O_TRUNC` clears the list.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            registry::lock()?.clear_pids(&at.instance, self.0);
        }
        let pids = at.instance.feature::<EventsFeature>()?.pids().clone();
        Opening::new(OpenPids {
            which: self.0,
            at: at.clone(),
            pids,
        })
    }
}

struct OpenPids {
    which: PidListKind,
    at: Place,
    pids: Arc<EventPids>,
}

/// A line is known by its pid.
impl Lines for OpenPids {
    fn seek(&self, at: u64) -> Option<u64> {
        let pid = self.pids.next(self.which, i32::try_from(at).ok()?)?;
        u64::try_from(pid).ok()
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        writeln!(out, "{at}")
    }
}

impl Rows for OpenPids {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        listing::rows(self, at)
    }
}

impl OpenFile for OpenPids {
    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }

    /// A write takes all of its pids or none. At most a page is taken; the caller writes the rest
    /// again.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        if call.len() == 0 {
            return Ok(0);
        }
        self.at.instance.expand()?;
        let text = read_numbers(call)?;
        let used = registry::lock()?.write_pids(&self.at.instance, self.which, &text)?;
        *call.pos = call.pos.wrapping_add(used as i64);
        Ok(used)
    }
}
