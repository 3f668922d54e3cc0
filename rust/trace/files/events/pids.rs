// SPDX-License-Identifier: GPL-2.0

//! The tasks whose events are recorded: `set_event_pid` and `set_event_notrace_pid`.

use super::super::control::{read_numbers, Text};
use super::super::{Node, Place};
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall, WriteCall};
use crate::trace::events::registry;
use crate::trace::tasks::pids::PidListKind;
use core::fmt::Write;
use kernel::prelude::*;

/// The file of one of the two pid lists.
pub(in super::super) struct EventPidFile(pub(in super::super) PidListKind);

impl Node for EventPidFile {
    /// `O_TRUNC` clears the list.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        let mut registry = registry::lock()?;
        if how.write && how.trunc {
            registry.clear_pids(&at.instance, self.0);
        }
        let mut text = Text::new();
        if let Some(events) = registry.of(&at.instance).filter(|_| how.read) {
            for pid in events.pids().pids(self.0)? {
                writeln!(text, "{pid}")?;
            }
        }
        drop(registry);
        Opening::new(OpenPids {
            which: self.0,
            at: at.clone(),
            text,
        })
    }
}

struct OpenPids {
    which: PidListKind,
    at: Place,
    /// The list at the time of the open.
    text: Text,
}

impl OpenFile for OpenPids {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        call.put_from(self.text.finish()?)
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
