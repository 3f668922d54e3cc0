// SPDX-License-Identifier: GPL-2.0

//! From records in a ring buffer to text: what `trace`, `trace_pipe`, their per-CPU twins and the
//! dump on oops have in common.
//!
//! A reading file owns a [`cursor::Cursor`] that picks, record by record, the oldest one of its
//! CPUs. It goes to the tracer's [`TracerOutput`](tracer::TracerOutput) and, where that does not know it, to the printer
//! of the record's type in [`line`]. Everything is written to an [`Out`]; an error there means "no
//! room", and the caller decides whether the line is kept for later.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`cursor`] | the order of records over CPUs, lost ones, looking ahead |
//! | [`source`] | where a cursor reads: consuming, or over what is there |
//! | [`line`] | one record as text: notices, prefix, printer by type |
//! | [`graph`] | records as a call graph |
//! | [`header`] | what stands above the records in `trace` |
//! | [`tracer`] | tracers that print in a way of their own |
//! | [`printk`], [`dump`] | texts of the kernel's own; the buffer on the console |
//!
//! Words: a *record* is one entry with its common header; a *line* is its text, which may be
//! several lines; *consuming* readers take records away, the others leave them for the next reader.
//!
//! Locks: nothing here is held while text is made, except a file's own mutex; a CPU's reader lock
//! covers one look at a record or its removal. Order: file mutex, the
//! instance's `Readers`, reader lock.

use crate::core::format::line::Unit;
use crate::core::parse::options::{Flag, Set};
use crate::kernel::kallsyms;
use crate::trace::instance::{Instance, Side};
use core::num::NonZero;
use kernel::cpu::CpuId;
use symbols::Kallsyms;

pub(crate) mod cursor;
pub(crate) mod dump;
pub(crate) mod export;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod graph;
pub(crate) mod header;
pub(crate) mod line;
pub(crate) mod printk;
pub(crate) mod source;
pub(crate) mod symbols;
pub(crate) mod tracer;

/// Room for the text of one record, notices included; what C's `trace_seq` has.
pub(crate) const LINE_ROOM: usize = 8 * 1024 - 24;

/// One record, copied out of the buffer.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    /// The CPU whose buffer it was in.
    pub(crate) cpu: CpuId,
    /// Its time in units of the instance's clock.
    pub(crate) ts: u64,
    /// What was lost on that CPU right before it.
    pub(crate) lost: Option<NonZero<u64>>,
    /// Its running number in this reading; `trace` counts from 0, the others from 1.
    pub(crate) index: u64,
    /// The payload: the eight bytes of common header, then the fields of its type.
    pub(crate) data: &'a [u8],
}

impl Record<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.data.get(at).copied().unwrap_or(0)
    }

    /// The type: a built-in id, or the `id` file of an event. 0 for a payload that is cut short.
    pub(crate) fn id(&self) -> u16 {
        u16::from_ne_bytes([self.byte(0), self.byte(1)])
    }

    /// The `TRACE_FLAG_*` bits of the common header.
    pub(crate) fn flags(&self) -> u8 {
        self.byte(2)
    }

    /// Preemption depth (low nibble) and migrate-disable depth (high nibble).
    pub(crate) fn preempt_count(&self) -> u8 {
        self.byte(3)
    }

    /// The task that wrote it.
    pub(crate) fn pid(&self) -> i32 {
        i32::from_ne_bytes([self.byte(4), self.byte(5), self.byte(6), self.byte(7)])
    }
}

/// How records are to be printed: the instance's options as they are now, and what a file fixes at
/// open.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// The options.
    pub(crate) set: Set,
    /// The latency format: the option when the file was opened, or a dump.
    pub(crate) latency: bool,
    /// The unit of the clock when the file was opened.
    pub(crate) unit: Unit,
    /// What times are counted from in the latency format.
    pub(crate) start: u64,
    /// The buffer that it is about.
    pub(crate) side: Side,
    /// The current tracer's own options.
    pub(crate) own: u32,
    /// The names of addresses.
    pub(crate) symbols: Kallsyms,
    /// Where the instance is, for C's printing functions; who prints holds it.
    pub(crate) instance: usize,
}

impl Style {
    /// As a file that is opened now prints `instance`. Task context, may sleep.
    pub(crate) fn of(instance: &Instance) -> Self {
        Self::of_side(instance, Side::Live)
    }

    /// The same for one of its two buffers. Task context, may sleep.
    pub(crate) fn of_side(instance: &Instance, side: Side) -> Self {
        kallsyms::expect_many();
        let (_, own) = instance.tracer_options();
        Self::new(instance, side, own)
    }

    /// As a dump prints it, which asks no tracer how. Any context.
    pub(crate) fn of_dump(instance: &Instance) -> Self {
        let style = Self::new(instance, Side::Live, 0);
        Self {
            latency: true,
            // To find out whose file a user's address is in may sleep.
            set: style.set.with(Flag::SymUserObj, false),
            ..style
        }
    }

    fn new(instance: &Instance, side: Side, own: u32) -> Self {
        let set = instance.options();
        let unit = if instance.clock().in_ns {
            Unit::Nanoseconds
        } else {
            Unit::Ticks
        };
        let start = instance.side(side).time_start();
        let symbols = Kallsyms(instance.previous_boot());
        Self {
            set,
            latency: set.has(Flag::LatencyFormat),
            unit,
            start,
            side,
            own,
            symbols,
            instance: core::ptr::from_ref(instance) as usize,
        }
    }

    /// The same with the options as they are now; what was fixed at open stays. Task context, may
    /// sleep.
    pub(crate) fn refreshed(self, instance: &Instance) -> Self {
        let (_, own) = instance.tracer_options();
        Self {
            set: instance.options(),
            start: instance.side(self.side).time_start(),
            own,
            ..self
        }
    }
}

/// What a printer may ask about besides the record itself.
pub(crate) trait Neighbours {
    /// The record that the same CPU wrote next, if the reader can see it yet.
    fn next_on_cpu(&mut self) -> Option<Record<'_>>;

    /// Takes that record out of the reading, because the line printed now covers it too.
    fn skip_next_on_cpu(&mut self);

    /// The time of the next record of all CPUs that are read; `None` after the last one.
    fn next_ts(&mut self) -> Option<u64>;
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// Printed, perhaps as nothing.
    Done,
    /// Not this tracer's: print it by its type.
    Unhandled,
}
