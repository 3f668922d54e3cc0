// SPDX-License-Identifier: GPL-2.0

//! Events that C code makes while the kernel runs, and the triggers of a file for C code that
//! records its hits itself.

use super::check;
use super::file::HotFile;
use super::registry::{self, Event, Registry};
use super::trigger::HitTime;
use crate::kernel::trace_event::Registered;
use kernel::prelude::*;

/// Makes `event` known. Task context, sleeps. `ENODEV` before there are events, `ENOMEM`.
pub(crate) fn add(mut event: Registered) -> Result {
    check::look_at(&mut event);
    registry::lock()?.add(event)?;
    Ok(())
}

/// Forgets the event that `is` picks. Task context, sleeps.
///
/// # Errors
///
/// `ENOENT` when it is not known, `EBUSY` while it is enabled in an instance or held, `ENOMEM`.
pub(crate) fn remove(is: impl Fn(&Event) -> bool) -> Result {
    registry::lock()?.remove_idle(is)
}

impl Registry {
    fn remove_idle(&mut self, is: impl Fn(&Event) -> bool) -> Result {
        let event = self.events().iter().find(|event| is(event));
        let event = event.ok_or(ENOENT)?;
        let id = event.id();
        let mut files = self.instances.iter().filter_map(|at| at.file(id));
        if event.is_in_use() || files.any(|file| file.is_enabled()) {
            return Err(EBUSY);
        }
        self.remove(&|event| event.id() == id)
    }
}

/// Hits the triggers of `file`; those that are only hit behind the entry are told by what they are.
/// Any context.
pub(crate) fn hit_triggers(file: &HotFile, entry: Option<&[u8]>) -> u32 {
    file.triggers
        .with(|list| list.map_or(0, |list| list.hit(file, entry, &HitTime::unknown())))
}

/// Hits those that [`hit_triggers`] has told. Any context.
pub(crate) fn hit_triggers_after(file: &HotFile, sorts: u32) {
    file.triggers.with(|list| {
        if let Some(list) = list {
            list.hit_after(file, sorts);
        }
    });
}
