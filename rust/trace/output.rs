// SPDX-License-Identifier: GPL-2.0

//! Prints events of a ring buffer as text, for `trace`, `trace_pipe`, their per-CPU files and the
//! dump on oops.
//!
//! A file that is read owns a [`cursor::Cursor`], which picks the oldest event of its CPUs, one
//! after another. The tracer's [`TracerOutput`](tracer::TracerOutput) prints it. If the tracer does
//! not handle it, the printer of the event's type in [`line`] does. All text goes to an
//! [`Out`](crate::core::format::Out). An error there means that `Out` is full, and the caller decides
//! whether it keeps the line for the next read.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`cursor`] | the order of events over all CPUs, lost events, lookahead |
//! | [`source`] | what a cursor reads: consuming or iterating |
//! | [`line`] | one event as text: messages, prefix, printer by type |
//! | [`graph`] | events as a call graph |
//! | [`header`] | the header of `trace` |
//! | [`tracer`] | tracers with their own output format |
//! | [`reader`] | entries and lines for kernel code, as `trace_pipe` has them |
//! | [`printk`], [`dump`] | `trace_printk()`; the ring buffer on the console |
//! | `kdb` | the ring buffer in the kernel debugger |
//!
//! Words: a *record* is one event with its common header. A *line* is its text, which may have
//! several lines. A *consuming* reader removes the events that it reads; other readers leave them
//! in the buffer.
//!
//! Locks: only the mutex of an open file is held while text is made. The reader lock of a CPU is
//! held for one look at an event, or for its removal. Lock order: file mutex, the instance's
//! `Readers`, reader lock.

use crate::core::format::entry::Common;
use crate::core::format::line::Unit;
use crate::core::parse::options::{Flag, Set};
use crate::kernel::registrations::{Held, Moment};
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
#[cfg(CONFIG_KGDB_KDB)]
pub(crate) mod kdb;
pub(crate) mod line;
pub(crate) mod printk;
pub(crate) mod reader;
pub(crate) mod source;
pub(crate) mod symbols;
pub(crate) mod tracer;

/// Room for the text of one event, with its messages; that of C's `trace_seq`, which has three other
/// fields in its 8 KiB.
pub(crate) const LINE_ROOM: usize = 8 * 1024 - (24 + 8 + 4);

/// One event, copied out of the buffer.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    /// The CPU whose buffer it was in.
    pub(crate) cpu: CpuId,
    /// The time of the event, in the unit of the instance's clock.
    pub(crate) ts: u64,
    /// The number of events lost on that CPU right before it.
    pub(crate) lost: Option<NonZero<u64>>,
    /// The number of the event in this reading. `trace` counts from 0, the other files from 1.
    pub(crate) index: u64,
    /// A moment before it was copied out of the buffer, after which its type may be another's.
    #[cfg_attr(
        not(CONFIG_EVENT_TRACING),
        allow(dead_code, reason = "there are no types but the core's own")
    )]
    pub(crate) moment: Moment,
    /// What keeps the events that can print it, where that may sleep.
    #[cfg_attr(
        not(CONFIG_EVENT_TRACING),
        allow(dead_code, reason = "there are no types but the core's own")
    )]
    pub(crate) held: Option<&'a Held>,
    /// The payload: the eight bytes of common fields, then the fields of its type.
    pub(crate) data: &'a [u8],
}

impl Record<'_> {
    /// The common fields. All are 0 if the payload is too short, which no event is.
    #[inline]
    pub(crate) fn common(&self) -> Common {
        Common::parse(self.data).unwrap_or_default()
    }

    /// The type: a built-in id, or the `id` of an event.
    #[inline]
    pub(crate) fn id(&self) -> u16 {
        self.common().id
    }

    /// The `TRACE_FLAG_*` bits of the common header.
    pub(crate) fn flags(&self) -> u8 {
        self.common().flags
    }

    /// Preemption depth (low nibble) and migrate-disable depth (high nibble).
    pub(crate) fn preempt_count(&self) -> u8 {
        self.common().preempt_count
    }

    /// The task that recorded it.
    pub(crate) fn pid(&self) -> i32 {
        self.common().pid
    }
}

/// How events are printed: the current options of the instance, and values that are fixed when a
/// file is opened.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// The options.
    pub(crate) set: Set,
    /// Whether the latency format is used: the option at the time of the open, or true for a dump.
    pub(crate) latency: bool,
    /// The unit of the clock at the time of the open.
    pub(crate) unit: Unit,
    /// The time that the latency format counts from.
    pub(crate) start: u64,
    /// The buffer that is printed.
    pub(crate) side: Side,
    /// The current tracer's own options.
    pub(crate) own: u32,
    /// Prints addresses as symbols.
    pub(crate) symbols: Kallsyms,
    /// The address of the instance, for C's print functions. The reader holds the instance.
    pub(crate) instance: usize,
}

impl Style {
    /// The style of a file of `instance` that is opened now. Task context, may sleep.
    pub(crate) fn of(instance: &Instance) -> Self {
        Self::of_side(instance, Side::Live)
    }

    /// The style for one of the two buffers. Task context, may sleep.
    pub(crate) fn of_side(instance: &Instance, side: Side) -> Self {
        let (_, own) = instance.tracer_options();
        Self::new(instance, side, own)
    }

    /// The style of a dump. It does not ask the tracer. Any context.
    pub(crate) fn of_dump(instance: &Instance) -> Self {
        let style = Self::new(instance, Side::Live, 0);
        Self {
            latency: true,
            // The look-up of a user address may sleep.
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
        let symbols = Kallsyms::new(set, instance.previous_boot());
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

    /// Takes the current options. The values that were fixed at open stay. Task context, may sleep.
    pub(crate) fn refreshed(self, instance: &Instance) -> Self {
        let (_, own) = instance.tracer_options();
        let set = instance.options();
        Self {
            set,
            start: instance.side(self.side).time_start(),
            own,
            symbols: self.symbols.refreshed(set),
            ..self
        }
    }
}

/// Gives a printer access to the events after the current one.
pub(crate) trait Neighbours {
    /// The next event of the same CPU, if the reader can see it yet.
    fn next_on_cpu(&mut self) -> Option<Record<'_>>;

    /// Removes that event from the reading, because the current line includes it.
    fn skip_next_on_cpu(&mut self);

    /// The time of the next event of all CPUs that are read. `None` after the last one.
    fn next_ts(&mut self) -> Option<u64>;
}

/// The result of printing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// The event was printed. Its text may be empty.
    Done,
    /// The tracer does not handle this event. It must be printed by its type.
    Unhandled,
}
