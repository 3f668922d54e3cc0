// SPDX-License-Identifier: GPL-2.0

//! `trace` and `per_cpu/cpuN/trace`: the events in the buffer, read without consuming them.
//! `snapshot` and `per_cpu/cpuN/snapshot`: the same for the snapshot; a number written there takes,
//! clears or frees the snapshot.
//!
//! Row 0 of the listing is the header, row *n* the *n*th event. A file remembers its position
//! between reads, so a reader at the end sees events written later. A read at any other position
//! starts again at row 0.
//!
//! Opening `trace` with `O_TRUNC` clears the buffer (of that CPU). Written bytes are ignored. While
//! a tracer keeps its worst trace in the snapshot, `trace` shows the snapshot.

use super::control::{errno, Limit};
use super::{Node, Place};
use crate::core::format::header::write_snapshot_help;
use crate::core::format::LineBuf;
use crate::core::parse::number;
use crate::core::parse::options::Flag;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, Seek, WriteCall};
use crate::kernel::fs::seq_file::{self, Rows, SeqOut};
use crate::kernel::registrations::Held;
use crate::trace::instance::tracer::TracerRef;
use crate::trace::instance::{Instance, Side};
use crate::trace::output::cursor::{Ahead, Cursor};
use crate::trace::output::source::BufferIter;
use crate::trace::output::tracer::{self, TracerOutput};
use crate::trace::output::{header, line, Record, Style, LINE_ROOM};
use kernel::{
    cpu::CpuId,
    new_mutex,
    prelude::*,
    sync::{lock::mutex::MutexBackend, lock::Guard, Mutex},
};

/// The rows of both files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trace {
    /// The file `trace`.
    Live,
    /// The file `snapshot`.
    Snapshot,
}

impl Node for Trace {
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if *self == Self::Live && how.write && how.trunc {
            clear(at);
        }
        if !how.read {
            return Opening::new(WriteOnly {
                file: *self,
                at: at.clone(),
            });
        }
        let reading = Reading::new(at, *self)?;
        Opening::pin_init(
            try_pin_init!(Listing { at: at.clone(), reading <- new_mutex!(reading), file: *self }? Error),
        )
    }
}

/// Clears the buffer that `trace` shows.
fn clear(at: &Place) {
    match (Trace::Live.side(&at.instance), at.cpu) {
        (Side::Live, Some(cpu)) => at.instance.buffer().reset_cpu(cpu),
        (Side::Live, None) => at.instance.buffer().reset(),
        (Side::Snapshot, cpu) => at.instance.snapshot().buffer().clear_spare(cpu),
    }
    at.instance.begin_if_empty();
}

impl Trace {
    /// The buffer that an open of this file shows.
    fn side(self, instance: &Instance) -> Side {
        match self {
            Self::Live if !instance.snapshot().is_owned_by_tracer() => Side::Live,
            _ => Side::Snapshot,
        }
    }

    fn write(self, at: &Place, call: &mut WriteCall<'_>) -> Result<usize> {
        let len = call.len();
        if self == Self::Snapshot {
            at.instance.expand()?;
            let (Limit::Cut(most) | Limit::Refuse(most)) = Limit::NUMBER;
            let mut line = KVec::from_elem(0, len.min(most), GFP_KERNEL)?;
            call.reader().read_slice(&mut line)?;
            at.instance
                .command_snapshot(at.cpu, number::unsigned(&line, 10).map_err(errno)?)?;
            *call.pos = call.pos.wrapping_add(len as i64);
        }
        Ok(len)
    }
}

/// A file opened only for writing.
struct WriteOnly {
    file: Trace,
    at: Place,
}

impl OpenFile for WriteOnly {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        self.file.write(&self.at, call)
    }

    fn seek(&self) -> Seek {
        Seek::Rewind
    }
}

/// A file opened for reading.
#[pin_data]
struct Listing {
    at: Place,
    file: Trace,
    #[pin]
    reading: Mutex<Reading>,
}

impl OpenFile for Listing {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        self.file.write(&self.at, call)
    }

    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

impl Rows for Listing {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn seq_file::Cursor + '_>>> {
        if self.file == Trace::Snapshot && self.at.instance.snapshot().is_owned_by_tracer() {
            return Err(EBUSY);
        }
        let mut reading = self.reading.lock();
        reading.follow_tracer(&self.at.instance)?;
        reading.style = reading.style.refreshed(&self.at.instance);
        if core::mem::take(&mut reading.ended) {
            reading.cursor.source_mut().include_new();
        }
        reading.begin(&self.at.instance, at);
        // From here on nothing waits for a lock that is held while events are unregistered.
        let held = Held::new();
        if !reading.go_to(at, held.as_ref()) {
            reading.ended = true;
            return Ok(None);
        }
        let place = InPlace { reading, held };
        Ok(Some(KBox::new(place, GFP_KERNEL)?))
    }
}

/// A read in progress.
struct InPlace<'a> {
    reading: Guard<'a, Reading, MutexBackend>,
    held: Option<Held>,
}

impl seq_file::Cursor for InPlace<'_> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        out.bytes(self.reading.text.get(..self.reading.len).unwrap_or(&[]));
        Ok(())
    }

    fn next(&mut self) -> bool {
        self.reading.step(self.held.as_ref())
    }
}

/// The position of the file, and the row there.
struct Reading {
    file: Trace,
    /// The CPU of a file in `per_cpu/`.
    only: Option<CpuId>,
    cursor: Cursor<BufferIter>,
    style: Style,
    /// CPUs whose first event was printed. `None` if this is not tracked.
    started: Option<KVec<bool>>,
    /// The tracer that made `output`.
    tracer: TracerRef,
    output: Option<KBox<dyn TracerOutput>>,
    /// The row that `text` holds.
    row: Option<u64>,
    text: KVVec<u8>,
    len: usize,
    record: KVVec<u8>,
    ahead: KVVec<u8>,
    /// The last read returned the end. The next read looks for newer events.
    ended: bool,
}

impl Reading {
    fn new(at: &Place, file: Trace) -> Result<Self> {
        let instance = &at.instance;
        let side = file.side(instance);
        let style = Style::of_side(instance, side);
        let tracer = instance.tracer();
        let overrun = instance
            .side(side)
            .cpus()
            .any(|part| part.stats().overrun > 0);
        let cpus = kernel::cpu::nr_cpu_ids() as usize;
        let started = if overrun {
            Some(KVec::from_elem(false, cpus, GFP_KERNEL)?)
        } else {
            None
        };
        let pause = file == Trace::Live && instance.options().has(Flag::PauseOnTrace);
        Ok(Self {
            file,
            only: at.cpu,
            cursor: Cursor::new(BufferIter::new(instance, side, at.cpu, pause)?, at.cpu, 0),
            style: Style {
                // As in C, the snapshot is never printed in the latency format.
                latency: style.latency && file == Trace::Live,
                ..style
            },
            started,
            output: tracer::new(tracer.name())?,
            tracer,
            row: None,
            text: KVVec::from_elem(0, LINE_ROOM, GFP_KERNEL)?,
            len: 0,
            record: KVVec::new(),
            ahead: KVVec::new(),
            ended: false,
        })
    }

    /// Takes the output of the current tracer, if the tracer has changed.
    fn follow_tracer(&mut self, instance: &Instance) -> Result {
        let tracer = instance.tracer();
        if tracer.name() != self.tracer.name() {
            self.output = tracer::new(tracer.name())?;
            self.tracer = tracer;
        }
        Ok(())
    }

    /// Goes to row 0 if that is the way to row `at`.
    fn begin(&mut self, instance: &Instance, at: u64) {
        if self.row.is_none_or(|row| at < row) || at == 0 {
            self.rewind(instance);
        }
    }

    /// Moves on to row `at`. Returns false if there is no such row.
    fn go_to(&mut self, at: u64, held: Option<&Held>) -> bool {
        while self.row.is_none_or(|row| row < at) {
            if !self.step(held) {
                return false;
            }
        }
        true
    }

    /// Goes to row 0 and prints the header.
    fn rewind(&mut self, instance: &Instance) {
        self.cursor.source_mut().rewind();
        self.cursor.count_from(0);
        if let Some(started) = &mut self.started {
            started.fill(false);
        }
        self.style = self.style.refreshed(instance);
        let mut text = LineBuf::new(&mut self.text);
        let empty = self.cursor.is_empty();
        // `text` has far more room than the header needs.
        let _ = if self.file == Trace::Snapshot && empty {
            header::write_tracer(&mut text, self.tracer.name()).and_then(|()| {
                write_snapshot_help(
                    &mut text,
                    instance.snapshot().is_allocated(),
                    self.only.is_some(),
                )
            })
        } else {
            let iter = self.cursor.source_mut();
            header::write(
                &mut text,
                instance,
                iter,
                &self.style,
                self.output.as_deref_mut(),
                empty,
            )
        };
        self.len = text.as_bytes().len();
        self.row = Some(0);
    }

    /// Reads and prints the next event. Returns false if there is none.
    fn step(&mut self, held: Option<&Held>) -> bool {
        let Some((cpu, head, index)) = self.cursor.take(&mut self.record) else {
            return false;
        };
        let record = Record {
            index,
            held,
            ..self.cursor.record(cpu, &head, &self.record)
        };
        // As in C, not where older events were skipped.
        let is_whole = self.cursor.source_mut().skipped(cpu) == 0;
        let started = self.started.as_mut().filter(|_| is_whole);
        let started = started.and_then(|started| started.get_mut(cpu.as_u32() as usize));
        let mut text = LineBuf::new(&mut self.text);
        let mut ahead = Ahead {
            cursor: &mut self.cursor,
            cpu,
            current: None,
            next: None,
            store: &mut self.ahead,
        };
        let output = self.output.as_deref_mut();
        if line::write(&mut text, &record, &self.style, output, &mut ahead, started).is_err() {
            text.close_too_big();
        }
        self.len = text.as_bytes().len();
        self.row = Some(self.row.map_or(0, |row| row.wrapping_add(1)));
        true
    }
}
