// SPDX-License-Identifier: GPL-2.0

//! What the files of an event, and those of a system, have in common.

use super::super::control::Text;
use crate::kernel::fs::pseudo_fs::{FileType, OpenFile, OpenFlags, Opening, ReadCall, WriteCall};
use crate::trace::events::registry::{self, Event, EventId};
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// Numbers are read from so many bytes; see [`super::super::control::Limit::NUMBER`].
const LINE: usize = 66;

/// Where the files of an event stand.
#[derive(Clone)]
pub(crate) struct EventPlace {
    /// The instance.
    pub(crate) instance: Arc<Instance>,
    /// The event.
    pub(crate) event: EventId,
}

/// Where the files of a system stand.
#[derive(Clone)]
pub(crate) struct SystemPlace {
    /// The instance.
    pub(crate) instance: Arc<Instance>,
    /// The system's name.
    pub(crate) system: Arc<KVec<u8>>,
}

/// A place below `events/`.
pub(crate) trait Below: Clone + Send + Sync + 'static {
    /// The instance it is in.
    fn instance(&self) -> &Arc<Instance>;

    /// Whether what it stands for has gone. Task context, may sleep.
    fn is_gone(&self) -> bool;
}

impl Below for EventPlace {
    fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    fn is_gone(&self) -> bool {
        registry::lock().is_ok_and(|registry| registry.event(self.event).is_none())
    }
}

impl Below for SystemPlace {
    fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    fn is_gone(&self) -> bool {
        let mine = |event: &Event| event.system().to_bytes() == self.system.as_slice();
        registry::lock().is_ok_and(|registry| !registry.events().iter().any(mine))
    }
}

/// What happens when a file at a place is opened.
pub(crate) trait EventNode<P: Below>: Sync {
    /// Called for each `open(2)`; permissions and lockdown were checked, and the place is there.
    /// Task context, may sleep.
    fn open(&'static self, at: &P, how: &OpenFlags) -> Result<Opening>;

    /// Is the file there for this event?
    fn is_there(&self, _event: &Event) -> bool {
        true
    }

    /// Does it only describe? Then it is there in an instance that holds a copy of another, too,
    /// and keeps none from being removed while it is open.
    fn describes(&self) -> bool {
        false
    }
}

/// One file of each event, or of each system.
pub(super) struct FileRow<P: Below> {
    pub(super) name: &'static [u8],
    pub(super) mode: u16,
    pub(super) node: &'static dyn EventNode<P>,
}

impl<P: Below> FileRow<P> {
    /// A row of a table.
    pub(super) const fn new(
        name: &'static [u8],
        mode: u16,
        node: &'static dyn EventNode<P>,
    ) -> Self {
        Self { name, mode, node }
    }
}

/// A row at its place.
pub(super) struct PlacedBelow<P: Below> {
    pub(super) row: &'static FileRow<P>,
    pub(super) at: P,
}

impl<P: Below> FileType for PlacedBelow<P> {
    fn open(&self, how: &OpenFlags) -> Result<Opening> {
        let held = self.at.instance().hold()?;
        if self.at.is_gone() {
            return Err(ENODEV);
        }
        let opening = self.row.node.open(&self.at, how)?;
        if self.row.node.describes() {
            return Ok(opening);
        }
        opening.keep(held)
    }
}

/// A file with a short text, which is made anew for each read, and that takes short lines.
pub(crate) trait Line<P: Below>: Sync {
    /// Writes what the file reads as. Task context, may sleep. The default is a file that cannot be
    /// read.
    fn show(&self, _at: &P, _out: &mut Text) -> Result {
        Err(EINVAL)
    }

    /// Takes what was written in one call. Task context, may sleep. The default is a file that
    /// cannot be written.
    fn store(&self, _at: &P, _line: &[u8]) -> Result {
        Err(EINVAL)
    }
}

/// Opens a file that is such a line.
pub(super) fn open_line<P: Below>(line: &'static dyn Line<P>, at: &P) -> Result<Opening> {
    let at = at.clone();
    Opening::new(OpenLine { line, at })
}

struct OpenLine<P: Below> {
    line: &'static dyn Line<P>,
    at: P,
}

impl<P: Below> OpenFile for OpenLine<P> {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut text = Text::new();
        self.line.show(&self.at, &mut text)?;
        call.put_from(text.finish()?)
    }

    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let len = call.len();
        let mut line = KVec::from_elem(0, len.min(LINE), GFP_KERNEL)?;
        call.reader().read_slice(&mut line)?;
        self.line.store(&self.at, &line)?;
        Ok(len)
    }
}
