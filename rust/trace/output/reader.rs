// SPDX-License-Identifier: GPL-2.0

//! A consuming reader of an instance for kernel code: entry by entry, with the line that
//! `trace_pipe` would print.

use super::cursor::{Ahead, Cursor};
use super::source::Consume;
use super::tracer::{self, TracerOutput};
use super::{line, Record, Style, LINE_ROOM};
use crate::core::format::LineBuf;
use crate::kernel::registrations::Held as HeldEvents;
use crate::trace::instance::{Held, Instance};
use kernel::prelude::*;

/// The reader of all CPUs of an instance. Neither can be another one opened meanwhile, nor the tracer
/// changed, nor the instance removed.
pub(crate) struct Reader {
    held: Held,
    output: Option<KBox<dyn TracerOutput>>,
    style: Style,
    record: KVVec<u8>,
    ahead: KVVec<u8>,
    line: KVVec<u8>,
}

impl Reader {
    /// Task context, may sleep. `EBUSY` while there is another reader; `ENOMEM`.
    pub(crate) fn open(held: Held) -> Result<Self> {
        let instance = held.instance();
        let record = KVVec::new();
        let line = KVVec::from_elem(0, LINE_ROOM, GFP_KERNEL)?;
        instance.readers().open_pipe(None)?;
        // From here on the tracer stays.
        let style = Style::of(instance);
        let output = tracer::new(instance.tracer().name())
            .inspect_err(|_| instance.readers().close_pipe(None))?;
        Ok(Self {
            output,
            style,
            record,
            ahead: KVVec::new(),
            line,
            held,
        })
    }

    fn instance(&self) -> &Instance {
        self.held.instance()
    }

    /// Takes the oldest entry of all CPUs: itself, and its line. `None` if there is none now. Task
    /// context, may sleep.
    ///
    /// An entry of which no copy can be made for want of memory is skipped.
    pub(crate) fn next(&mut self) -> Option<(Record<'_>, &[u8])> {
        self.style = self.style.refreshed(self.held.instance());
        let buffer = self.held.instance().buffer();
        let mut cursor = Cursor::new(Consume::new(buffer), None, 1);
        let (cpu, head) = loop {
            let (cpu, head) = cursor.next(&mut self.record)?;
            // Else a clear or a swap was faster.
            if cursor.pass(cpu, &head) {
                break (cpu, head);
            }
        };
        let record = cursor.record(cpu, &head, &self.record);
        let held = HeldEvents::new();
        let printed = Record {
            held: held.as_ref(),
            ..record
        };
        let mut text = LineBuf::new(&mut self.line);
        let mut ahead = Ahead {
            cursor: &mut cursor,
            cpu,
            current: None,
            next: None,
            store: &mut self.ahead,
        };
        let output = self.output.as_deref_mut();
        if line::write(&mut text, &printed, &self.style, output, &mut ahead, None).is_err() {
            text.close_too_big();
        }
        let length = text.as_bytes().len();
        Some((record, self.line.get(..length).unwrap_or(&[])))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.instance().readers().close_pipe(None);
    }
}
