// SPDX-License-Identifier: GPL-2.0

//! `trace` and `per_cpu/cpuN/trace`: what is in the buffer, read without taking it out.
//!
//! Row 0 of the listing is the header, row *n* the *n*th record. A reading keeps its place between reads, so
//! that records written meanwhile are seen when the end was reached, and goes back to the beginning when the
//! file is read from a place that it is not at. Opening with `O_TRUNC` clears the buffer (of that CPU); what
//! is written to the file is ignored.

use super::{Node, Place};
use crate::{
    kapi::{
        pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall},
        seq_file::{self, Rows, SeqOut},
    },
    rcore::text::{options::Flag, LineBuf},
    trace::{
        instance::Instance,
        output::{
            cursor::{Ahead, Cursor, Room},
            header, line,
            source::Look,
            Style, TracerOutput, LINE_ROOM,
        },
        tracers::Tracer,
    },
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{lock::mutex::MutexBackend, lock::Guard, Mutex},
};

/// The file's row.
pub(crate) struct Trace;

impl Node for Trace {
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            match at.cpu {
                Some(cpu) => at.instance.buffer().reset_cpu(cpu),
                None => at.instance.buffer().reset(),
            }
        }
        if !how.read {
            return Opening::new(WriteOnly);
        }
        let reading = Reading::new(at)?;
        Opening::pin_init(try_pin_init!(Listing { at: at.clone(), reading <- new_mutex!(reading) }? Error))
    }
}

/// The file opened for writing alone.
struct WriteOnly;

impl OpenFile for WriteOnly {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        Ok(call.len())
    }
}

/// The file opened for reading.
#[pin_data]
struct Listing {
    at: Place,
    #[pin]
    reading: Mutex<Reading>,
}

impl OpenFile for Listing {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        Ok(call.len())
    }

    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

impl Rows for Listing {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn seq_file::Cursor + '_>>> {
        let mut reading = self.reading.lock();
        reading.follow_tracer(&self.at.instance)?;
        if core::mem::take(&mut reading.ended) {
            reading.cursor.source_mut().go_on();
        }
        if !reading.go_to(&self.at.instance, at) {
            reading.ended = true;
            return Ok(None);
        }
        let place = InPlace { instance: &self.at.instance, reading };
        Ok(Some(KBox::new(place, GFP_KERNEL)?))
    }
}

/// A read in progress.
struct InPlace<'a> {
    instance: &'a Instance,
    reading: Guard<'a, Reading, MutexBackend>,
}

impl seq_file::Cursor for InPlace<'_> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        out.bytes(self.reading.text.get(..self.reading.len).unwrap_or(&[]));
        Ok(())
    }

    fn next(&mut self) -> bool {
        self.reading.step(self.instance)
    }
}

/// Where the file is and what stands there.
struct Reading {
    cursor: Cursor<Look>,
    style: Style,
    /// CPUs whose first record was printed; `None` where that is not noted.
    started: Option<KVec<bool>>,
    tracer: &'static dyn Tracer,
    output: Option<KBox<dyn TracerOutput>>,
    /// The row that `text` holds.
    row: Option<u64>,
    text: KVVec<u8>,
    len: usize,
    record: KVVec<u8>,
    ahead: KVVec<u8>,
    /// The user was told that this is the end; who asks again wants what has come since.
    ended: bool,
}

impl Reading {
    fn new(at: &Place) -> Result<Self> {
        let instance = &at.instance;
        let tracer = instance.tracer();
        let overrun = instance.buffer().cpus().any(|part| part.stats().overrun > 0);
        let cpus = kernel::cpu::nr_cpu_ids() as usize;
        let started = if overrun { Some(KVec::from_elem(false, cpus, GFP_KERNEL)?) } else { None };
        let pause = instance.options().has(Flag::PauseOnTrace);
        Ok(Self {
            cursor: Cursor::new(Look::new(instance, at.cpu, pause)?, at.cpu, 0),
            style: Style::of(instance),
            started,
            tracer,
            output: tracer.output(instance)?,
            row: None,
            text: KVVec::from_elem(0, LINE_ROOM, GFP_KERNEL)?,
            len: 0,
            record: KVVec::new(),
            ahead: KVVec::new(),
            ended: false,
        })
    }

    /// Takes up the output of the tracer, if that has changed.
    fn follow_tracer(&mut self, instance: &Instance) -> Result {
        let tracer = instance.tracer();
        if tracer.name() != self.tracer.name() {
            self.tracer = tracer;
            self.output = tracer.output(instance)?;
        }
        Ok(())
    }

    /// Moves to row `at`; false if there is none.
    fn go_to(&mut self, instance: &Instance, at: u64) -> bool {
        if self.row.is_none_or(|row| at < row) || at == 0 {
            self.rewind(instance);
        }
        while self.row.is_none_or(|row| row < at) {
            if !self.step(instance) {
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
        // The header is far shorter than the room there is.
        let _ = header::write(&mut text, instance, &self.style, self.output.as_deref_mut(), empty);
        self.len = text.as_bytes().len();
        self.row = Some(0);
    }

    /// Reads and prints the next record; false if there is none.
    fn step(&mut self, instance: &Instance) -> bool {
        let Some((cpu, head)) = self.cursor.next(&mut self.record) else {
            return false;
        };
        self.style = self.style.refreshed(instance);
        let record = self.cursor.record(cpu, &head, &self.record);
        self.cursor.pass(cpu, &head);
        let started = self.style.set.has(Flag::Annotate) && first(&mut self.started, cpu) && record.index > 1;
        let mut text = LineBuf::new(&mut self.text);
        let store: &mut dyn Room = &mut self.ahead;
        let mut ahead = Ahead { cursor: &mut self.cursor, cpu, current: None, store };
        let output = self.output.as_deref_mut();
        if line::write(&mut text, &record, &self.style, output, &mut ahead, started).is_err() {
            text.close_too_big();
        }
        self.len = text.as_bytes().len();
        self.row = Some(self.row.map_or(0, |row| row.wrapping_add(1)));
        true
    }
}

/// Whether this is the first record of `cpu`; it is not any more then.
fn first(started: &mut Option<KVec<bool>>, cpu: kernel::cpu::CpuId) -> bool {
    let slot = started.as_mut().and_then(|started| started.get_mut(cpu.as_u32() as usize));
    slot.is_some_and(|started| !core::mem::replace(started, true))
}
