// SPDX-License-Identifier: GPL-2.0

//! Common parts of the files of events and of systems.

use super::super::control::Text;
use crate::kernel::fs::pseudo_fs::{FileType, OpenFile, OpenFlags, Opening, ReadCall, WriteCall};
use crate::trace::events::registry::{self, Event, EventId};
use crate::trace::instance::{list, Instance};
use kernel::prelude::*;
use kernel::sync::Arc;

/// The longest number that is parsed; see [`super::super::control::Limit::NUMBER`].
const NUMBER_MAX: usize = 66;

/// Identifies an event in an instance, for the files of that event.
#[derive(Clone)]
pub(crate) struct EventPlace {
    /// The instance.
    pub(crate) instance: Arc<Instance>,
    /// The event.
    pub(crate) event: EventId,
}

/// Identifies a system in an instance, for the files of that system.
#[derive(Clone)]
pub(crate) struct SystemPlace {
    /// The instance.
    pub(crate) instance: Arc<Instance>,
    /// The name of the system.
    pub(crate) system: Arc<KVec<u8>>,
    /// Its number. A later system of the same name has another one.
    pub(crate) number: u64,
}

/// What a file in `events/` belongs to.
pub(crate) trait EventsPlace: Clone + Send + Sync + 'static {
    /// The instance.
    fn instance(&self) -> &Arc<Instance>;

    /// Whether the event or system has been removed. Task context, may sleep.
    fn is_gone(&self) -> bool;
}

impl EventsPlace for EventPlace {
    fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    fn is_gone(&self) -> bool {
        registry::lock().is_ok_and(|registry| registry.event(self.event).is_none())
    }
}

impl EventsPlace for SystemPlace {
    fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    fn is_gone(&self) -> bool {
        registry::lock().is_ok_and(|registry| !registry.has_system(self.number))
    }
}

/// Opens a file of an event or of a system.
pub(crate) trait EventNode<P: EventsPlace>: Sync {
    /// Called for each `open(2)`. The permissions and lockdown were checked, and `at` exists. Task
    /// context, may sleep.
    fn open(&'static self, at: &P, how: &OpenFlags) -> Result<Opening>;

    /// Whether `event` has this file.
    fn is_there(&self, _event: &Event) -> bool {
        true
    }

    /// Whether the file only describes the event. Such a file also exists in a read-only copy of
    /// another instance.
    fn describes(&self) -> bool {
        false
    }

    /// Whether an open file blocks the removal of the instance. If not, it finds out by itself that
    /// the instance was removed.
    fn holds_instance(&self) -> bool {
        !self.describes()
    }
}

/// A file that each event, or each system, has.
pub(super) struct FileRow<P: EventsPlace> {
    pub(super) name: &'static [u8],
    pub(super) mode: u16,
    pub(super) node: &'static dyn EventNode<P>,
}

impl<P: EventsPlace> FileRow<P> {
    /// Makes a row of a table of files.
    pub(super) const fn new(
        name: &'static [u8],
        mode: u16,
        node: &'static dyn EventNode<P>,
    ) -> Self {
        Self { name, mode, node }
    }
}

/// A row together with the event or system that it belongs to.
pub(super) struct PlacedFile<P: EventsPlace> {
    pub(super) row: &'static FileRow<P>,
    pub(super) at: P,
}

impl<P: EventsPlace> FileType for PlacedFile<P> {
    fn open(&self, how: &OpenFlags) -> Result<Opening> {
        let held = list::hold_opened(self.at.instance())?;
        if self.at.is_gone() {
            return Err(ENODEV);
        }
        let opening = self.row.node.open(&self.at, how)?;
        match self.row.node.holds_instance() {
            true => opening.keep(held),
            false => Ok(opening),
        }
    }
}

/// A file with a short text, which is made anew for each read. It takes short lines.
pub(crate) trait TextFile<P: EventsPlace>: Sync {
    /// Writes the text of the file. Task context, may sleep. By default the file cannot be read.
    fn show(&self, _at: &P, _out: &mut Text) -> Result {
        Err(EINVAL)
    }

    /// Handles the bytes of one `write(2)`. Task context, may sleep. By default the file cannot be
    /// written.
    fn store(&self, _at: &P, _line: &[u8]) -> Result {
        Err(EINVAL)
    }
}

/// Opens a file of a short text. Task context, may sleep. `ENOMEM`.
pub(super) fn open_text_file<P: EventsPlace>(
    line: &'static dyn TextFile<P>,
    at: &P,
) -> Result<Opening> {
    let at = at.clone();
    Opening::new(OpenTextFile { line, at })
}

struct OpenTextFile<P: EventsPlace> {
    line: &'static dyn TextFile<P>,
    at: P,
}

impl<P: EventsPlace> OpenFile for OpenTextFile<P> {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut text = Text::new();
        let result = self.line.show(&self.at, &mut text);
        call.put_from(text.written_with(result)?)
    }

    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let len = call.len();
        let mut line = KVec::from_elem(0, len.min(NUMBER_MAX), GFP_KERNEL)?;
        call.reader().read_slice(&mut line)?;
        self.line.store(&self.at, &line)?;
        *call.pos = call.pos.wrapping_add(len as i64);
        Ok(len)
    }
}
