// SPDX-License-Identifier: GPL-2.0

//! The sources of a [`Cursor`](super::cursor::Cursor): [`Consume`] consumes the events of a buffer,
//! [`BufferIter`] only iterates over them.

use super::cursor::{Head, Source};
use crate::core::format::copy_short;
use crate::core::ring_buffer::{Iter, IterEvent};
use crate::trace::buffer::read::{Hold, ReaderGuard};
use crate::trace::buffer::sub_buffer_copy::SubBufferCopy;
use crate::trace::buffer::{Buffer, Owned, Pause};
use crate::trace::instance::{Instance, Side};
use core::num::NonZero;
use kernel::{cpu, cpu::CpuId, prelude::*, sync::Arc};

/// Copies the payload of `event` if it fits.
#[inline]
pub(super) fn copy_event(event: &IterEvent<'_>, into: &mut [u8]) -> Head {
    copy(event.payload, into);
    Head {
        ts: event.time,
        len: event.payload.len(),
        lost: NonZero::new(event.lost),
    }
}

/// Copies `payload` if it fits.
#[inline]
fn copy(payload: &[u8], into: &mut [u8]) {
    if let Some(into) = into.get_mut(..payload.len()) {
        copy_short(into, payload);
    }
}

/// The CPU with this number, if it can have a buffer.
pub(super) fn numbered(index: usize) -> Option<CpuId> {
    CpuId::from_u32(u32::try_from(index).ok()?)
}

/// A consuming source. It can be used in any context; where waiting for a reader lock could
/// deadlock, `wait` is false.
pub(crate) struct Consume<'a> {
    buffer: &'a Buffer,
    wait: bool,
    /// The epoch and the number of the event that was copied last. Time and length do not tell
    /// events apart, as a clock may be coarse.
    copied: Option<(u64, u64)>,
}

impl<'a> Consume<'a> {
    /// A source for contexts that may wait for locks.
    pub(crate) fn new(buffer: &'a Buffer) -> Self {
        Self {
            buffer,
            wait: true,
            copied: None,
        }
    }

    /// A source for any context. A CPU whose reader lock is taken counts as empty.
    pub(crate) fn without_waiting(buffer: &'a Buffer) -> Self {
        Self {
            buffer,
            wait: false,
            copied: None,
        }
    }

    #[inline]
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
    #[inline]
    fn peek(&mut self, cpu: CpuId) -> Option<u64> {
        Some(self.reader(cpu)?.peek()?.time)
    }

    #[inline]
    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let mut reader = self.reader(cpu)?;
        let event = reader.peek()?;
        copy(event.payload, into);
        let head = Head {
            ts: event.time,
            len: event.payload.len(),
            lost: NonZero::new(event.lost),
        };
        self.copied = Some((reader.epoch(), reader.number()));
        Some(head)
    }

    fn pass(&mut self, cpu: CpuId, _: &Head) -> bool {
        let Some(mut reader) = self.reader(cpu) else {
            return false;
        };
        let found = reader.peek().is_some();
        let same = found && self.copied == Some((reader.epoch(), reader.number()));
        same && reader.consume().is_some()
    }

    fn cpu(&self, index: usize) -> Option<CpuId> {
        numbered(index)
    }
}

/// A source that leaves the events in the buffer. Task context. While it exists, the buffer cannot
/// be resized, and with option `pause-on-trace` recording is paused. If a snapshot swaps the events
/// of a CPU, the source goes on with them in the other buffer, until it is rewound. If they are
/// cleared, it continues with the oldest event that is there then.
pub(crate) struct BufferIter {
    instance: Arc<Instance>,
    side: Side,
    _hold: Owned<Hold<'static>, Instance>,
    _pause: Option<Owned<Pause<'static>, Instance>>,
    /// The iterators by CPU number. `None` for a CPU that is not read.
    iters: KVec<Option<At>>,
}

/// The iterator of one CPU.
struct At {
    iter: Iter<SubBufferCopy>,
    /// The epoch of the ring that is read. A clear changes it. 0 before the first step.
    epoch: u64,
    /// The time of the next event, if it is known.
    next: Option<u64>,
    /// Whether the position is still the oldest event.
    first: bool,
    /// Whether an event was passed. What was lost before the first one is not told, as in C: the
    /// buffer just has no older events.
    begun: bool,
    /// The number of skipped events that are older than the buffer's start.
    skipped: u64,
}

/// How many events are skipped in one go. The reader lock is held and interrupts are off meanwhile.
const AT_ONCE: usize = 128;

impl At {
    fn reset(&mut self) {
        self.iter.reset();
        (self.first, self.skipped, self.next) = (true, 0, None);
        self.begun = false;
    }

    /// Finds the next event.
    #[inline]
    fn peek(&mut self, reader: &ReaderGuard<'_>) {
        self.next = self.iter.next_time(reader);
        if !self.begun {
            self.iter.forget_missed();
        }
    }

    /// The next event, if it is in the copy.
    #[inline]
    fn copied(&mut self) -> Option<IterEvent<'_>> {
        let event = self.iter.copied()?;
        self.next = Some(event.time);
        Some(event)
    }

    /// Passes the next event, if it is in the copy.
    #[inline]
    fn pass_copied(&mut self) -> bool {
        let passed = self.iter.pass_copied();
        if passed {
            self.begun = true;
            self.next = self.iter.copied_time();
        }
        passed
    }

    /// Skips some events that are older than `since`. Returns false if there are more of them.
    fn skip(&mut self, since: u64, reader: &ReaderGuard<'_>) -> bool {
        if !self.first {
            return true;
        }
        for _ in 0..AT_ONCE {
            if since == 0 || self.iter.next_time(reader).is_none_or(|time| time >= since) {
                self.first = false;
                return true;
            }
            self.iter.pass(reader);
            self.skipped += 1;
        }
        false
    }
}

impl BufferIter {
    /// Reads `only`, or every CPU, from the oldest event on. `pause` stops recording meanwhile.
    /// Task context, may sleep. `ENOMEM`.
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
                        begun: false,
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

    /// Also shows events recorded since the start. Without this call a reading ends at the last
    /// event that existed at its start. Otherwise a buffer that fills faster than it is printed
    /// would never end.
    pub(crate) fn include_new(&mut self) {
        self.iters
            .iter_mut()
            .flatten()
            .for_each(|at| at.iter.unlimit());
    }

    /// Goes back to the oldest events that the buffer has now.
    pub(crate) fn rewind(&mut self) {
        for at in self.iters.iter_mut().flatten() {
            at.epoch = 0;
            at.reset();
        }
    }

    /// Which of the two buffers is read.
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// The buffer that is read.
    pub(crate) fn buffer(&self) -> &Buffer {
        self.instance.side(self.side)
    }

    /// The number of events to read and the number ever written, of all CPUs. Task context.
    ///
    /// Events that are older than the buffer's [start](Buffer::time_start), and events lost before
    /// it, do not count.
    pub(crate) fn counts(&mut self) -> (u64, u64) {
        let (mut entries, mut written) = (0u64, 0u64);
        for cpu in (0..cpu::nr_cpu_ids()).filter_map(CpuId::from_u32) {
            // This step skips and counts the events before the start.
            let _ = self.peek(cpu);
            let skipped = self.skipped(cpu);
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

    /// The number of events of `cpu` that were skipped since they are older than the buffer's start.
    pub(crate) fn skipped(&self, cpu: CpuId) -> u64 {
        self.iters
            .get(cpu.as_u32() as usize)
            .and_then(Option::as_ref)
            .map_or(0, |at| at.skipped)
    }

    /// The iterator of `cpu`, if what it has copied is of the ring's present content. No lock is
    /// taken, so a writer, a clear or a swap may come at any time. Then they come after this.
    #[inline]
    fn unlocked(&mut self, cpu: CpuId) -> Option<&mut At> {
        let at = self.iters.get_mut(cpu.as_u32() as usize)?.as_mut()?;
        let is_there = |side| {
            let part = self.instance.side(side).cpu(cpu);
            part.is_some_and(|part| part.epoch() == at.epoch)
        };
        let found = !at.first && (is_there(self.side) || is_there(self.side.other()));
        found.then_some(at)
    }

    #[inline]
    fn at(&mut self, cpu: CpuId) -> Option<(&mut At, ReaderGuard<'_>)> {
        let since = self.buffer().time_start();
        let at = self.iters.get_mut(cpu.as_u32() as usize)?.as_mut()?;
        let part = self.instance.side(self.side).cpu(cpu)?;
        loop {
            let mut reader = part.lock_reader();
            if at.epoch != reader.epoch() && at.epoch != 0 {
                drop(reader);
                reader = match Self::swapped(&self.instance, self.side, cpu, at.epoch) {
                    Some(reader) => reader,
                    None => part.lock_reader(),
                };
            }
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

    /// The ring of `epoch` in the other buffer than that of `side`, if a swap has taken it there.
    #[cold]
    fn swapped(instance: &Instance, side: Side, cpu: CpuId, epoch: u64) -> Option<ReaderGuard<'_>> {
        let part = instance.side(side.other()).cpu(cpu)?;
        Some(part.lock_reader()).filter(|reader| reader.epoch() == epoch)
    }

    /// [`Source::peek`] where the time is not known.
    #[inline(never)]
    fn look(&mut self, cpu: CpuId) -> Option<u64> {
        if self.unlocked(cpu).is_some_and(|at| at.iter.is_at_limit()) {
            return None;
        }
        let (at, reader) = self.at(cpu)?;
        at.peek(&reader);
        at.next
    }
}

impl Source for BufferIter {
    #[inline]
    fn peek(&mut self, cpu: CpuId) -> Option<u64> {
        let at = self.iters.get(cpu.as_u32() as usize)?.as_ref()?;
        at.next.or_else(|| self.look(cpu))
    }

    #[inline]
    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        if let Some(event) = self.unlocked(cpu).and_then(At::copied) {
            return Some(copy_event(&event, into));
        }
        let (at, reader) = self.at(cpu)?;
        at.next = None;
        let event = at.iter.peek(&reader)?;
        Some(copy_event(&event, into))
    }

    fn pass(&mut self, cpu: CpuId, _: &Head) -> bool {
        if self.unlocked(cpu).is_some_and(At::pass_copied) {
            return true;
        }
        self.at(cpu).is_some_and(|(at, reader)| {
            let passed = at.iter.pass(&reader);
            at.begun |= passed;
            at.peek(&reader);
            passed
        })
    }

    fn take(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        if let Some(at) = self.unlocked(cpu) {
            let known = at.next;
            if let Some(event) = at.copied() {
                if known != Some(event.time) || event.payload.len() > into.len() {
                    return None;
                }
                let head = copy_event(&event, into);
                at.pass_copied();
                return Some(head);
            }
        }
        let (at, reader) = self.at(cpu)?;
        let known = at.next.take();
        let event = at.iter.peek(&reader)?;
        if known != Some(event.time) || event.payload.len() > into.len() {
            return None;
        }
        let head = copy_event(&event, into);
        at.begun |= at.iter.pass(&reader);
        at.peek(&reader);
        Some(head)
    }

    fn cpu(&self, index: usize) -> Option<CpuId> {
        numbered(index)
    }
}
