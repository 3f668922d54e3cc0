// SPDX-License-Identifier: GPL-2.0

//! The directory `events/`.

use super::layout::BuiltinDir;
use super::numbers::{Kind, FTRACE, SYSTEMS, TOP};
#[cfg(CONFIG_EVENT_TRACING)]
use super::systems;
use super::{Place, Row, FILES};
use crate::kernel::fs::tracefs::{Entry, Found, LazyDir, Listed};
use crate::trace::files::Placed;
#[cfg(not(CONFIG_EVENT_TRACING))]
use crate::trace::instance::Instance;
use kernel::prelude::*;

/// Whether the entry with this number may be there: its event or system was not removed.
/// Task context, may sleep.
pub(super) fn is_there(number: u64) -> bool {
    let (kind, at) = Kind::of(number);
    systems::is_there(kind, at)
}

/// The directory `events/`.
pub(super) struct EventsDir(pub(super) Place);

impl EventsDir {
    fn files(&self) -> impl Iterator<Item = (u64, &'static Row)> + '_ {
        let here = |(_, row): &(u64, &Row)| row.scope.includes(&self.0);
        (1..).zip(FILES).filter(here)
    }
}

impl LazyDir for EventsDir {
    fn find(&self, name: &[u8]) -> Result<Option<Found>> {
        if name == FTRACE && systems::has_own(&self.0.instance) {
            let dir = KBox::new(BuiltinDir(self.0.instance.clone()), GFP_KERNEL)?;
            return Ok(Some(SYSTEMS.directory(0).found(Entry::Dir(dir))));
        }
        // As in C, a system may be called like a file, which is not found then.
        if let Some(system) = systems::find(&self.0.instance, name)? {
            return Ok(Some(system));
        }
        let mut files = self.files();
        let Some((number, row)) = files.find(|(_, row)| row.name.to_bytes() == name) else {
            return Ok(None);
        };
        let at = self.0.clone();
        let file = KBox::new(Placed { row, at }, GFP_KERNEL)?;
        Ok(Some(TOP.file(number, Entry::File(row.mode, file))))
    }

    fn list(&self) -> Result<KVec<Listed>> {
        let mut list = KVec::new();
        for (number, row) in self.files() {
            list.push(TOP.listed_file(number, row.name.to_bytes())?, GFP_KERNEL)?;
        }
        systems::list(&self.0.instance, &mut list)?;
        Ok(list)
    }
}

/// A kernel without `TRACE_EVENT()` has no systems.
#[cfg(not(CONFIG_EVENT_TRACING))]
mod systems {
    use super::{Found, Instance, Kind, Listed};
    use kernel::prelude::*;
    use kernel::sync::Arc;

    pub(super) fn find(_: &Arc<Instance>, _: &[u8]) -> Result<Option<Found>> {
        Ok(None)
    }

    pub(super) fn has_own(_: &Instance) -> bool {
        true
    }

    pub(super) fn is_there(_: Kind, _: u64) -> bool {
        true
    }

    pub(super) fn list(_: &Instance, list: &mut KVec<Listed>) -> Result {
        let own = super::SYSTEMS.directory(0).listed(0, super::FTRACE)?;
        Ok(list.push(own, GFP_KERNEL)?)
    }
}
