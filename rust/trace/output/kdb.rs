// SPDX-License-Identifier: GPL-2.0

//! The kernel debugger's command `ftdump`: prints the top instance's buffer and leaves the events
//! there.
//!
//! All other CPUs stand still meanwhile. So only a reader lock that nobody has is taken; a CPU whose
//! lock is taken counts as empty. Memory is asked for as an interrupt would; the C kernel's command
//! does that, too.

use super::cursor::{Cursor, Head, Source};
use super::dump::{self, EMPTY, RULE, SCRATCH};
use super::source::{copy_event, numbered};
use super::Style;
use crate::core::format::LineBuf;
use crate::core::ring_buffer::Iter;
use crate::kernel::kdb::{is_broken_off, TrapPrintk};
use crate::kernel::{printk, watchdog};
use crate::trace::buffer::read::ReaderGuard;
use crate::trace::buffer::sub_buffer_copy::SubBufferCopy;
use crate::trace::buffer::Buffer;
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
            dump::record(&mut cursor, &style, &mut scratch)
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

/// The events of a buffer, which stay there. Nobody else uses the buffer meanwhile.
struct Standing<'a> {
    buffer: &'a Buffer,
    /// By CPU number. `None` for a CPU that is not read.
    iters: KVec<Option<Iter<SubBufferCopy>>>,
}

impl<'a> Standing<'a> {
    /// `ENOMEM`.
    fn new(buffer: &'a Buffer, only: Option<CpuId>) -> Result<Self> {
        let mut iters = KVec::with_capacity(cpu::nr_cpu_ids() as usize, GFP_ATOMIC)?;
        for index in 0..cpu::nr_cpu_ids() as usize {
            let wanted = numbered(index).filter(|&cpu| only.is_none_or(|only| only == cpu));
            let iter = match wanted.and_then(|cpu| buffer.cpu(cpu)) {
                Some(part) => {
                    let copy = SubBufferCopy::new(part.sub_buffer_size(), GFP_ATOMIC)?;
                    Some(Iter::new(copy))
                }
                None => None,
            };
            iters.push(iter, GFP_ATOMIC)?;
        }
        Ok(Self { buffer, iters })
    }

    /// The number of events that are read.
    fn entries(&self) -> u64 {
        let parts = self.buffer.cpus();
        let read = parts.filter(|part| {
            let iter = self.iters.get(part.cpu().as_u32() as usize);
            iter.is_some_and(Option::is_some)
        });
        read.map(|part| part.entries())
            .fold(0, |sum, entries| sum.wrapping_add(entries))
    }

    fn at(&mut self, cpu: CpuId) -> Option<(&mut Iter<SubBufferCopy>, ReaderGuard<'a>)> {
        let iter = self.iters.get_mut(cpu.as_u32() as usize)?.as_mut()?;
        let reader = self.buffer.cpu(cpu)?.try_lock_reader()?;
        Some((iter, reader))
    }
}

impl Source for Standing<'_> {
    fn peek(&mut self, cpu: CpuId) -> Option<u64> {
        let (iter, reader) = self.at(cpu)?;
        iter.next_time(&reader)
    }

    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let (iter, reader) = self.at(cpu)?;
        Some(copy_event(&iter.peek(&reader)?, into))
    }

    fn pass(&mut self, cpu: CpuId, _: &Head) -> bool {
        self.at(cpu)
            .is_some_and(|(iter, reader)| iter.pass(&reader))
    }

    fn cpu(&self, index: usize) -> Option<CpuId> {
        numbered(index)
    }
}
