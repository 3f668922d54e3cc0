// SPDX-License-Identifier: GPL-2.0

//! Tracers with their own output format, and the table of them, which `boot.rs` registers.

use super::source::BufferIter;
use super::{Neighbours, Printed, Record, Style};
use crate::core::format::Out;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// The output format of a tracer, for one open file. It is created when a reader opens `trace` or
/// `trace_pipe`. It is dropped when the reader closes the file or the tracer changes. So it can
/// hold the state of one reading.
pub(crate) trait TracerOutput: Send {
    /// Prints the column titles after `# tracer: NAME` and `#`. Returns `Unhandled` to get the
    /// usual titles.
    ///
    /// `iter` reads the buffer that is shown. `empty` is true if it has no events. Task context,
    /// may sleep. Errors only when `out` is full.
    fn header(
        &mut self,
        instance: &Instance,
        iter: &mut BufferIter,
        style: &Style,
        empty: bool,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        let _ = (instance, iter, style, empty, out);
        Ok(Printed::Unhandled)
    }

    /// Prints one event.
    ///
    /// Task context. Errors only when `out` is full. The caller may then call it again with the
    /// same event and an empty `out`.
    fn line(
        &mut self,
        record: &Record<'_>,
        style: &Style,
        neighbours: &mut dyn Neighbours,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        let _ = (record, style, neighbours, out);
        Ok(Printed::Unhandled)
    }

    /// Prints what `trace_pipe` begins with, when it is opened. Task context. Errors only when `out`
    /// is full.
    fn pipe_opened(&mut self, out: &mut dyn Out) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// Prints what a read of `trace_pipe` returns instead of events. If that is nothing, the read
    /// returns events. Task context, may sleep. Errors only when `out` is full.
    fn pipe_read(&mut self, instance: &Instance, out: &mut dyn Out) -> fmt::Result {
        let _ = (instance, out);
        Ok(())
    }
}

/// The name of a tracer, and the function that makes its output for one open file (`ENOMEM`).
pub(crate) type Row = (&'static str, fn() -> Result<KBox<dyn TracerOutput>>);

static TABLE: SetOnce<&'static [Row]> = SetOnce::new();

/// Registers the table of tracers with their own output. Once, at boot.
pub(crate) fn register(table: &'static [Row]) {
    TABLE.populate(table);
}

/// The output of the tracer called `name` for one open file. `None` if the tracer has no own
/// output. Task context. `ENOMEM`.
pub(crate) fn new(name: &str) -> Result<Option<KBox<dyn TracerOutput>>> {
    let row = TABLE
        .as_ref()
        .and_then(|table| table.iter().find(|row| row.0 == name));
    row.map(|row| (row.1)()).transpose()
}
