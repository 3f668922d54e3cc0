// SPDX-License-Identifier: GPL-2.0

//! Where a [`Cursor`](super::cursor::Cursor) reads: [`Consume`] takes records out of a buffer,
//! [`Look`] leaves them there.

use super::cursor::{Head, Source};
use crate::core::ring_buffer::Iter;
use crate::trace::buffer::read::{Hold, ReaderGuard};
use crate::trace::buffer::sub_buffer_copy::SubBufferCopy;
use crate::trace::buffer::{Buffer, Owned, Pause};
use crate::trace::instance::{Instance, Side};
use core::num::NonZero;
use kernel::{cpu, cpu::CpuId, prelude::*, sync::Arc};

/// Copies `payload` if it fits.
fn copy(payload: &[u8], into: &mut [u8]) {
    if let Some(into) = into.get_mut(..payload.len()) {
        into.copy_from_slice(payload);
    }
}

/// The CPU with this number, if it can have a buffer.
fn numbered(index: usize) -> Option<CpuId> {
    CpuId::from_u32(u32::try_from(index).ok()?)
}

/// Reading that consumes. Any context: where waiting for a reader lock could deadlock, `wait` is
/// not set.
pub(crate) struct Consume<'a> {
    buffer: &'a Buffer,
    wait: bool,
}

impl<'a> Consume<'a> {
    /// A reader in a context where locks may be waited for.
    pub(crate) fn new(buffer: &'a Buffer) -> Self {
        Self { buffer, wait: true }
    }

    /// A reader in any context: a CPU whose reader lock is taken has nothing to read.
    pub(crate) fn without_waiting(buffer: &'a Buffer) -> Self {
        Self {
            buffer,
            wait: false,
        }
    }

    fn reader(&self, cpu: CpuId) -> Option<ReaderGuard<'a>> {
        let part = self.buffer.cpu(cpu)?;
        if self.wait {
            Some(part.lock_reader())
        } else {
            part.try_lock_reader()
        }
    }
}

impl Source for Consume<'_> {
    fn look(&mut self, cpu: CpuId) -> Option<u64> {
        Some(self.reader(cpu)?.peek()?.time)
    }

    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let mut reader = self.reader(cpu)?;
        let event = reader.peek()?;
        copy(event.payload, into);
        Some(Head {
            ts: event.time,
            len: event.payload.len(),
            lost: NonZero::new(event.lost),
        })
    }

    fn pass(&mut self, cpu: CpuId, head: &Head) -> bool {
        let Some(mut reader) = self.reader(cpu) else {
            return false;
        };
        let same = reader
            .peek()
            .is_some_and(|event| event.time == head.ts && event.payload.len() == head.len);
        same && reader.consume().is_some()
    }

    fn cpu(&self, index: usize) -> Option<CpuId> {
        numbered(index)
    }
}

/// Reading that leaves records where they are. Task context. While it lives, the buffer cannot be
/// resized, and with option `pause-on-trace` nothing is recorded. Where a CPU's records are cleared
/// or exchanged by a snapshot, it goes on with the oldest of those that are there then.
pub(crate) struct Look {
    instance: Arc<Instance>,
    side: Side,
    _hold: Owned<Hold<'static>, Instance>,
    _pause: Option<Owned<Pause<'static>, Instance>>,
    /// By CPU number; `None` for CPUs that are not read.
    iters: KVec<Option<At>>,
}

/// The reading of one CPU.
struct At {
    iter: Iter<SubBufferCopy>,
    /// The epoch that the place is of.
    epoch: u64,
    /// When the next record was made, if that is known.
    next: Option<u64>,
    /// Is the place the oldest record still?
    first: bool,
    /// How many records before [`Look::since`] were passed over.
    skipped: u64,
}

/// How many records are passed over with the reader lock held, which has interrupts off.
const AT_ONCE: usize = 128;

impl At {
    fn reset(&mut self) {
        self.iter.reset();
        (self.first, self.skipped, self.next) = (true, 0, None);
    }

    /// Looks at the next record.
    fn look(&mut self, reader: &ReaderGuard<'_>) {
        self.next = self.iter.peek(reader).map(|event| event.time);
    }

    /// Passes over some records before `since`, once; false if there are more of them.
    fn skip(&mut self, since: u64, reader: &ReaderGuard<'_>) -> bool {
        if !self.first {
            return true;
        }
        for _ in 0..AT_ONCE {
            let event = self.iter.peek(reader);
            if since == 0 || event.is_none_or(|event| event.time >= since) {
                self.first = false;
                return true;
            }
            self.iter.next(reader);
            self.skipped += 1;
        }
        false
    }
}

impl Look {
    /// A reading of `only`, or of every CPU, from the oldest record on; `pause` stops recording
    /// meanwhile. May sleep. `ENOMEM`.
    pub(crate) fn new(
        instance: &Arc<Instance>,
        side: Side,
        only: Option<CpuId>,
        pause: bool,
    ) -> Result<Self> {
        let buffer = instance.side(side);
        let mut iters = KVec::new();
        let hold = Owned::hold(instance.clone(), |instance| instance.side(side), only);
        let pause = pause.then(|| Owned::pause(instance.clone(), Instance::buffer));
        let size = buffer.sub_buffer_size();
        for index in 0..cpu::nr_cpu_ids() as usize {
            let wanted = numbered(index).filter(|&cpu| only.is_none_or(|only| only == cpu));
            let at = match wanted.and_then(|cpu| buffer.cpu(cpu)) {
                Some(_) => {
                    let iter = Iter::new(SubBufferCopy::new(size, GFP_KERNEL)?);
                    Some(At {
                        iter,
                        epoch: 0,
                        next: None,
                        first: true,
                        skipped: 0,
                    })
                }
                None => None,
            };
            iters.push(at, GFP_KERNEL)?;
        }
        Ok(Self {
            instance: instance.clone(),
            side,
            _hold: hold,
            _pause: pause,
            iters,
        })
    }

    /// Shows what was recorded since, too. A reading ends behind what was there when it began, as
    /// one that records faster than it prints would else never come to an end.
    pub(crate) fn go_on(&mut self) {
        self.iters
            .iter_mut()
            .flatten()
            .for_each(|at| at.iter.unlimit());
    }

    /// Goes back to the oldest records.
    pub(crate) fn rewind(&mut self) {
        self.iters.iter_mut().flatten().for_each(At::reset);
    }

    /// Which of the two buffers is read.
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// The buffer that is read.
    pub(crate) fn buffer(&self) -> &Buffer {
        self.instance.side(self.side)
    }

    /// How many records there are to read, of all CPUs, and how many were ever written. Task
    /// context.
    ///
    /// A CPU with records from before the time that the snapshot is about counts as if those, and
    /// what it lost before, had never been.
    pub(crate) fn counts(&mut self) -> (u64, u64) {
        let (mut entries, mut written) = (0u64, 0u64);
        for cpu in (0..cpu::nr_cpu_ids()).filter_map(CpuId::from_u32) {
            // Passes over records from before that time, and counts them.
            let _ = self.look(cpu);
            let skipped = self
                .iters
                .get(cpu.as_u32() as usize)
                .and_then(Option::as_ref)
                .map_or(0, |at| at.skipped);
            let Some(stats) = self.buffer().cpu(cpu).map(|part| part.stats()) else {
                continue;
            };
            let left = stats.entries.saturating_sub(skipped);
            entries = entries.wrapping_add(left);
            written = written.wrapping_add(left).wrapping_add(if skipped == 0 {
                stats.overrun
            } else {
                0
            });
        }
        (entries, written)
    }

    /// Where the reading begins: the snapshot has a time that it is about, and what is older does
    /// not belong to it.
    fn since(&self) -> u64 {
        match self.side {
            Side::Live => 0,
            Side::Snapshot => self.buffer().time_start(),
        }
    }

    fn at(&mut self, cpu: CpuId) -> Option<(&mut At, ReaderGuard<'_>)> {
        let since = self.since();
        let at = self.iters.get_mut(cpu.as_u32() as usize)?.as_mut()?;
        let part = self.instance.side(self.side).cpu(cpu)?;
        loop {
            let reader = part.lock_reader();
            if at.epoch != reader.epoch() {
                at.epoch = reader.epoch();
                at.reset();
            }
            if !at.iter.is_limited() {
                at.iter.limit(&reader);
            }
            if at.skip(since, &reader) {
                return Some((at, reader));
            }
        }
    }
}

impl Source for Look {
    fn look(&mut self, cpu: CpuId) -> Option<u64> {
        let known = self.iters.get(cpu.as_u32() as usize)?.as_ref()?.next;
        if known.is_some() {
            return known;
        }
        let (at, reader) = self.at(cpu)?;
        at.look(&reader);
        at.next
    }

    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let (at, reader) = self.at(cpu)?;
        at.next = None;
        let event = at.iter.peek(&reader)?;
        copy(event.payload, into);
        let head = Head {
            ts: event.time,
            len: event.payload.len(),
            lost: NonZero::new(event.lost),
        };
        Some(head)
    }

    fn pass(&mut self, cpu: CpuId, _: &Head) -> bool {
        self.at(cpu).is_some_and(|(at, reader)| {
            let passed = at.iter.next(&reader).is_some();
            at.look(&reader);
            passed
        })
    }

    fn take(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let (at, reader) = self.at(cpu)?;
        let known = at.next.take();
        let event = at.iter.peek(&reader)?;
        if known != Some(event.time) || event.payload.len() > into.len() {
            return None;
        }
        copy(event.payload, into);
        let head = Head {
            ts: event.time,
            len: event.payload.len(),
            lost: NonZero::new(event.lost),
        };
        at.iter.next(&reader);
        at.look(&reader);
        Some(head)
    }

    fn cpu(&self, index: usize) -> Option<CpuId> {
        numbered(index)
    }
}
