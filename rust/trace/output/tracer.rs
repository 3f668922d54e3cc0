// SPDX-License-Identifier: GPL-2.0

//! Tracers that print in a way of their own: what such a tracer is asked for each record, and the
//! table of them, which `boot.rs` hands over.

use super::source::Look;
use super::{Neighbours, Printed, Record, Style};
use crate::core::format::Out;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// How a tracer prints, for one open file; made when a reader opens `trace` or `trace_pipe` and
/// dropped when it closes or the tracer changes, so it can hold the state of one reading.
pub(crate) trait TracerOutput: Send {
    /// Prints the column titles that come after `# tracer: NAME` and `#`; `Unhandled` asks for the
    /// usual ones.
    ///
    /// `look` reads what is to be shown, `empty` says whether that is nothing. Task context, may
    /// sleep. Errors when `out` is full.
    fn header(
        &mut self,
        instance: &Instance,
        look: &mut Look,
        style: &Style,
        empty: bool,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        let _ = (instance, look, style, empty, out);
        Ok(Printed::Unhandled)
    }

    /// Prints one record.
    ///
    /// Task context. Errors when `out` is full; it may then be called again with the same record
    /// and an empty `out`.
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
}

/// The name of a tracer, and what makes its output for one open file (`ENOMEM`).
pub(crate) type Row = (&'static str, fn() -> Result<KBox<dyn TracerOutput>>);

static TABLE: SetOnce<&'static [Row]> = SetOnce::new();

/// Says which tracers print in a way of their own. Once, at boot.
pub(crate) fn register(table: &'static [Row]) {
    TABLE.populate(table);
}

/// The output of the tracer called `name`, for one open file, if it prints in a way of its own. Task
/// context. `ENOMEM`.
pub(crate) fn new(name: &str) -> Result<Option<KBox<dyn TracerOutput>>> {
    let row = TABLE
        .as_ref()
        .and_then(|table| table.iter().find(|row| row.0 == name));
    row.map(|row| (row.1)()).transpose()
}
