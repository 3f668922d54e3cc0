// SPDX-License-Identifier: GPL-2.0

//! The kernel debugger's command `ftdump`: prints the top instance's buffer and leaves the events
//! there.
//!
//! All other CPUs stand still meanwhile. So only a reader lock that nobody has is taken; a CPU whose
//! lock is taken counts as empty. Memory is asked for as an interrupt would; the C kernel's command
//! does that, too.

use super::cursor::{Cursor, Head, Source};
use super::dump::{self, Scratch, EMPTY, RULE, SCRATCH};
use super::source::{copy_event, numbered};
use super::{Record, Style};
use crate::core::format::LineBuf;
use crate::core::ring_buffer::Iter;
use crate::kernel::kdb::{is_broken_off, TrapPrintk};
use crate::kernel::{printk, watchdog};
use crate::trace::buffer::read::ReaderGuard;
use crate::trace::buffer::sub_buffer_copy::SubBufferCopy;
use crate::trace::buffer::{Buffer, Part};
use crate::trace::instance::Instance;
use core::fmt::Write;
use kernel::{cpu, cpu::CpuId, prelude::*};

/// Prints the events of `only` or of all CPUs, without the first `skip`; if that is negative, only
/// the last `-skip`. A command of the debugger.
pub(crate) fn print(skip: i64, only: Option<CpuId>) {
    let _trap = TrapPrintk::new();
    let (Some(mut scratch), Ok(top)) = (SCRATCH.try_take(), Instance::top()) else {
        return printk::emerg(b"   (the buffer is being dumped)\n");
    };
    let buffer = top.buffer();
    let _pause = buffer.pause();
    let source = match Standing::new(buffer, only) {
        Ok(source) => source,
        Err(_) => return printk::emerg(b"   (no memory)\n"),
    };
    let mut skip = match u64::try_from(skip) {
        Ok(skip) => skip,
        Err(_) => source.entries().saturating_sub(skip.unsigned_abs()),
    };
    printk::emerg(b"Dumping ftrace buffer:\n");
    if skip != 0 {
        let mut text = LineBuf::new(&mut scratch.line);
        let _ = writeln!(text, "(skipping {skip} entries)");
        printk::emerg(text.as_bytes());
    }
    let style = Style::of_dump(top);
    let mut cursor = Cursor::new(source, only, 1);
    let mut any = false;
    while !cursor.is_empty() && !is_broken_off() {
        if !any {
            printk::emerg(RULE);
        }
        any = true;
        let passed = if skip == 0 {
            record(&mut cursor, &style, &mut scratch)
        } else {
            skip -= 1;
            cursor.take(&mut scratch.record).is_some()
        };
        if !passed {
            break;
        }
        watchdog::touch();
    }
    if !is_broken_off() {
        printk::emerg(if any { RULE } else { EMPTY });
    }
}

/// Prints the oldest event, after it is passed: so the line shows how long after it the next one
/// came. Returns false if there is none.
fn record(cursor: &mut Cursor<Standing<'_>>, style: &Style, scratch: &mut Scratch) -> bool {
    let Some((cpu, head, index)) = cursor.take(&mut scratch.record) else {
        return false;
    };
    let record = Record {
        index,
        ..cursor.record(cpu, &head, scratch.record.bytes())
    };
    let mut started = !cursor.source_mut().is_first(cpu);
    dump::print(
        &mut scratch.line,
        cursor,
        &record,
        None,
        style,
        Some(&mut started),
    );
    true
}

/// The events of a buffer, which stay there. Nobody else uses the buffer meanwhile.
struct Standing<'a> {
    buffer: &'a Buffer,
    /// Whether events were overwritten.
    has_overrun: bool,
    /// By CPU number. `None` for a CPU that is not read.
    iters: KVec<Option<At>>,
}

/// The iterator of one CPU.
struct At {
    iter: Iter<SubBufferCopy>,
    /// The number of events that are older than the buffer's start. They are skipped, as `trace` does.
    skipped: u64,
    /// Whether an event was printed.
    begun: bool,
}

impl At {
    fn new(part: Part<'_>, since: u64) -> Result<Self> {
        let copy = SubBufferCopy::new(part.sub_buffer_size(), GFP_ATOMIC)?;
        let (mut iter, mut skipped) = (Iter::new(copy), 0);
        if let Some(reader) = part.try_lock_reader() {
            while iter.next_time(&reader).is_some_and(|time| time < since) && iter.pass(&reader) {
                skipped += 1;
            }
        }
        Ok(Self {
            iter,
            skipped,
            begun: false,
        })
    }
}

impl<'a> Standing<'a> {
    /// `ENOMEM`.
    fn new(buffer: &'a Buffer, only: Option<CpuId>) -> Result<Self> {
        let mut iters = KVec::with_capacity(cpu::nr_cpu_ids() as usize, GFP_ATOMIC)?;
        for index in 0..cpu::nr_cpu_ids() as usize {
            let wanted = numbered(index).filter(|&cpu| only.is_none_or(|only| only == cpu));
            let part = wanted.and_then(|cpu| buffer.cpu(cpu));
            let at = part
                .map(|part| At::new(part, buffer.time_start()))
                .transpose()?;
            iters.push(at, GFP_ATOMIC)?;
        }
        let has_overrun = buffer.cpus().any(|part| {
            let reader = part.try_lock_reader();
            reader.is_some_and(|reader| reader.counts().overrun > 0)
        });
        Ok(Self {
            buffer,
            has_overrun,
            iters,
        })
    }

    /// The number of events that are read.
    fn entries(&self) -> u64 {
        let left = |part: Part<'_>| {
            let at = self.iters.get(part.cpu().as_u32() as usize)?.as_ref()?;
            Some(part.entries().saturating_sub(at.skipped))
        };
        let each = self.buffer.cpus().filter_map(left);
        each.fold(0, |sum, entries| sum.wrapping_add(entries))
    }

    /// Whether an event of `cpu` is the first that is printed, and says that older ones are missing.
    fn is_first(&mut self, cpu: CpuId) -> bool {
        let at = self.iters.get_mut(cpu.as_u32() as usize);
        at.and_then(Option::as_mut).is_some_and(|at| {
            self.has_overrun && at.skipped == 0 && !core::mem::replace(&mut at.begun, true)
        })
    }

    fn at(&mut self, cpu: CpuId) -> Option<(&mut Iter<SubBufferCopy>, ReaderGuard<'a>)> {
        let at = self.iters.get_mut(cpu.as_u32() as usize)?.as_mut()?;
        let reader = self.buffer.cpu(cpu)?.try_lock_reader()?;
        Some((&mut at.iter, reader))
    }
}

impl Source for Standing<'_> {
    fn peek(&mut self, cpu: CpuId) -> Option<u64> {
        let (iter, reader) = self.at(cpu)?;
        iter.next_time(&reader)
    }

    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let (iter, reader) = self.at(cpu)?;
        // What was overwritten before the first event is not told, as in C; nothing is since.
        Some(Head {
            lost: None,
            ..copy_event(&iter.peek(&reader)?, into)
        })
    }

    fn pass(&mut self, cpu: CpuId, _: &Head) -> bool {
        self.at(cpu)
            .is_some_and(|(iter, reader)| iter.pass(&reader))
    }

    fn cpu(&self, index: usize) -> Option<CpuId> {
        numbered(index)
    }
}
