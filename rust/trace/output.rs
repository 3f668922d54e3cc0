// SPDX-License-Identifier: GPL-2.0

//! From records in a ring buffer to text: what `trace`, `trace_pipe`, their per-CPU twins and the dump on
//! oops have in common.
//!
//! A reading file owns a cursor that picks, record by record, the oldest one of its CPUs ([`Record`]), and
//! hands it with a [`Context`] to the tracer's [`TracerOutput`], then to the printer of the record's type.
//! Everything goes to an [`Out`](crate::rcore::text::Out); an error there means "no room", and the caller
//! decides whether the line is kept for later.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`readers`] | who consumes an instance's buffer: `EBUSY` for second pipes and for tracer changes |
//!
//! Words: a *record* is one entry with its common header; a *line* is its text, which may be several lines;
//! *consuming* readers take records away, the others leave them for the next reader.
//!
//! Locks: nothing here is held while text is made, except a file's own mutex; a CPU's reader lock covers
//! one look at a record or its removal. Order: file mutex, [`readers::Readers`], reader lock.

use crate::rcore::text::Out;
use core::fmt;
use kernel::{cpu::CpuId, prelude::*};

pub mod readers;

/// Records that a reader will never see because the writer overtook it or had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// None since the record before.
    None,
    /// So many.
    Count(u64),
    /// Some; the buffer does not know how many.
    Unknown,
}

/// One record, copied out of the buffer.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The CPU whose buffer it was in.
    pub cpu: CpuId,
    /// Its time in units of the instance's clock.
    pub ts: u64,
    /// What was lost on that CPU right before it; consuming readers only.
    pub lost: Lost,
    /// The payload: the eight bytes of common header, then the fields of its type.
    pub data: &'a [u8],
}

impl Record<'_> {
    /// Length of the common header (`struct trace_entry`).
    pub const HEADER: usize = 8;

    fn byte(&self, at: usize) -> u8 {
        self.data.get(at).copied().unwrap_or(0)
    }

    /// The type: a built-in id, or the `id` file of an event. 0 for a payload that is cut short.
    pub fn id(&self) -> u16 {
        u16::from_ne_bytes([self.byte(0), self.byte(1)])
    }

    /// The `TRACE_FLAG_*` bits of the common header.
    pub fn flags(&self) -> u8 {
        self.byte(2)
    }

    /// Preemption depth (low nibble) and migrate-disable depth (high nibble).
    pub fn preempt_count(&self) -> u8 {
        self.byte(3)
    }

    /// The task that wrote it.
    pub fn pid(&self) -> i32 {
        i32::from_ne_bytes([self.byte(4), self.byte(5), self.byte(6), self.byte(7)])
    }
}

/// How a record is to be printed: the instance's options as they are now, and what the file fixed at open.
#[derive(Clone, Copy)]
pub struct Style {
    /// Option `latency-format` when the file was opened, or a dump.
    pub latency: bool,
    /// Whether the instance's clock counts nanoseconds.
    pub clock_ns: bool,
    /// What `time` is counted from in the latency format.
    pub start: u64,
}

/// What a printer may ask about besides the record itself.
pub trait Neighbours {
    /// The record that the same CPU wrote next, if the reader can see it yet.
    fn next_on_cpu(&mut self) -> Option<Record<'_>>;

    /// Takes that record out of the reading, because the line printed now covers it too.
    fn skip_next_on_cpu(&mut self);
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printed {
    /// Printed (perhaps as nothing); it is consumed.
    Done,
    /// Printed, but the record has to be looked at again.
    Keep,
    /// Not this tracer's: print it by its type.
    Unhandled,
}

/// How a tracer prints, for one open file; made by `Tracer::output` when a reader opens `trace` or
/// `trace_pipe` and dropped when it closes or the tracer changes, so it can hold the state of one reading.
pub trait TracerOutput: Send {
    /// Prints the column titles that come after `# tracer: NAME` and `#`; `Unhandled` asks for the usual ones.
    ///
    /// Task context, may sleep. Errors when `out` is full.
    fn header(&mut self, style: &Style, out: &mut dyn Out) -> Result<Printed, fmt::Error> {
        let _ = (style, out);
        Ok(Printed::Unhandled)
    }

    /// Prints one record.
    ///
    /// Must neither sleep nor allocate: a dump calls it in any context. Errors when `out` is full; it is
    /// then called again with the same record and an empty `out`.
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
