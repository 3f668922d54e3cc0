// SPDX-License-Identifier: GPL-2.0

//! Iterates over a buffer without consuming it, while writers go on.
//!
//! Writers may overwrite a sub-buffer in the ring at any time. So the iterator copies a whole
//! sub-buffer, up to the commit position, to its own memory. It then checks that the slot still
//! holds the same content, and only then uses the copy. If writers or a reader were faster, it
//! continues with the oldest content and reports how many events it has missed.

use super::cpu_buffer::CpuBuffer;
use super::parse::{Cursor, Found};
use super::reader::Reader;
use super::sub_buffer::{copy_racing, SubBuffer};
use super::word::{Position, Sequence};
use crate::core::sys::{fence_acquire, point};

/// An event that stays in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct IterEvent<'a> {
    /// The time in units of the clock.
    pub time: u64,
    /// The number of events missed right before this one.
    pub lost: u64,
    /// The event with its header (`struct ring_buffer_event`).
    pub record: &'a [u8],
    /// The payload. Its length is rounded up to words.
    pub payload: &'a [u8],
}

/// An iterator over the events of a buffer. It does not consume them. `S` is memory for a copy of
/// one sub-buffer's records: [`sub_buffer_size`](super::CpuBuffer::sub_buffer_size) bytes are
/// enough. If it is too small, the iterator finds no events.
#[derive(Debug)]
pub struct Iter<S> {
    scratch: S,
    /// Bytes of records in `scratch`.
    filled: usize,
    cursor: Cursor,
    /// The event at `cursor`, if it was found already.
    found: Option<Found>,
    /// The content in the copy. `None` at the start.
    sequence: Option<Sequence>,
    /// The number of the next event, to detect missed events.
    next_event: u64,
    /// How many events had been overwritten in all before the iterator looked at the buffer last.
    overrun: u64,
    missed: u64,
    /// The number of the first event that is not returned any more.
    limit: Option<u64>,
}

/// The result of copying a sub-buffer of the ring.
enum Copy {
    /// The copy is valid. Its first event has this number.
    Done { first_event: u64, time: u64 },
    /// The content was overwritten meanwhile. The oldest content has this number.
    Overtaken(Sequence),
}

impl<S: AsMut<[u8]> + AsRef<[u8]>> Iter<S> {
    /// An iterator that starts at the oldest event.
    pub fn new(scratch: S) -> Self {
        Self {
            scratch,
            filled: 0,
            cursor: Cursor::start(0),
            found: None,
            sequence: None,
            next_event: 0,
            overrun: 0,
            missed: 0,
            limit: None,
        }
    }

    /// Makes the iterator end at the current commit position, until [`reset`](Self::reset) or
    /// [`unlimit`](Self::unlimit). Otherwise writers that are faster than the reader would keep it
    /// running forever.
    pub fn limit(&mut self, reader: &Reader<'_>) {
        self.limit = Some(reader.buffer.written().0);
    }

    /// Whether the iterator has a [`limit`](Self::limit).
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Removes the limit.
    pub fn unlimit(&mut self) {
        self.limit = None;
    }

    /// Starts again at the oldest event, without a limit.
    pub fn reset(&mut self) {
        self.limit = None;
        self.sequence = None;
        self.filled = 0;
        self.cursor = Cursor::start(0);
        self.found = None;
    }

    /// Returns the memory.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn into_scratch(self) -> S {
        self.scratch
    }

    /// The next event is told without what was lost before it.
    pub fn forget_missed(&mut self) {
        self.missed = 0;
    }

    /// The next event, without moving on. `None` at the end of the committed events; there may be
    /// more later.
    ///
    /// `reader` is the right to read the buffer. All calls on one iterator use the same buffer: what
    /// a [`Resize`](super::Resize) makes of it is another one. Nothing is consumed.
    pub fn peek(&mut self, reader: &Reader<'_>) -> Option<IterEvent<'_>> {
        self.event(reader, false)
    }

    /// The next event. Moves on to the one after it.
    pub fn next(&mut self, reader: &Reader<'_>) -> Option<IterEvent<'_>> {
        self.event(reader, true)
    }

    /// The next event, if it was copied already, without moving on. Needs no right to read the
    /// buffer. `None` tells nothing about the buffer.
    #[inline]
    pub fn copied(&mut self) -> Option<IterEvent<'_>> {
        self.find_copied();
        let found = self.before_limit()?;
        Some(self.at(found, self.missed))
    }

    /// The time of the event that [`copied`](Self::copied) returns.
    #[inline]
    pub fn copied_time(&mut self) -> Option<u64> {
        self.find_copied();
        self.before_limit().map(|found| found.time)
    }

    /// Passes the event that [`copied`](Self::copied) returns; false if there is none.
    #[inline]
    pub fn pass_copied(&mut self) -> bool {
        self.find_copied();
        self.pass_found()
    }

    /// True if the next event is beyond the [`limit`](Self::limit).
    #[inline]
    pub fn is_at_limit(&self) -> bool {
        self.limit.is_some_and(|limit| self.next_event >= limit)
    }

    #[inline]
    fn event(&mut self, reader: &Reader<'_>, advance: bool) -> Option<IterEvent<'_>> {
        let found = *self.upcoming(reader)?;
        let lost = self.missed;
        if advance {
            self.pass_found();
        }
        Some(self.at(&found, lost))
    }

    /// The event `found` in the copy.
    #[inline]
    fn at(&self, found: &Found, lost: u64) -> IterEvent<'_> {
        let bytes = self.scratch.as_ref();
        IterEvent {
            time: found.time,
            lost,
            record: bytes.get(found.header..found.end).unwrap_or(&[]),
            payload: bytes.get(found.payload..found.end).unwrap_or(&[]),
        }
    }

    /// The time of the next event, as of [`peek`](Self::peek).
    #[inline]
    pub fn next_time(&mut self, reader: &Reader<'_>) -> Option<u64> {
        self.upcoming(reader).map(|found| found.time)
    }

    /// Passes the next event, as [`next`](Self::next); false if there is none.
    #[inline]
    pub fn pass(&mut self, reader: &Reader<'_>) -> bool {
        self.upcoming(reader);
        self.pass_found()
    }

    /// The next event, unless it is beyond the limit.
    #[inline]
    fn upcoming(&mut self, reader: &Reader<'_>) -> Option<&Found> {
        if self.found.is_none() {
            self.found = self.find(reader);
        }
        self.before_limit()
    }

    /// Finds the next event, if it was copied already.
    #[inline]
    fn find_copied(&mut self) {
        if self.found.is_some() {
            return;
        }
        if let Some(records) = self.scratch.as_ref().get(..self.filled) {
            let mut cursor = self.cursor;
            self.found = cursor.next_event(records).ok().flatten();
        }
    }

    /// The event that was found, unless it is beyond the limit.
    #[inline]
    fn before_limit(&self) -> Option<&Found> {
        match &self.found {
            Some(found) if !self.is_at_limit() => Some(found),
            _ => None,
        }
    }

    /// Passes the event that was found; false if there is none before the limit.
    #[inline]
    fn pass_found(&mut self) -> bool {
        let Some(behind) = self.before_limit().map(Found::behind) else {
            return false;
        };
        self.cursor = behind;
        self.found = None;
        self.missed = 0;
        self.next_event = self.next_event.wrapping_add(1);
        true
    }

    /// Finds the next event.
    fn find(&mut self, reader: &Reader<'_>) -> Option<Found> {
        loop {
            let records = self.scratch.as_ref().get(..self.filled).unwrap_or(&[]);
            let mut cursor = self.cursor;
            if let Ok(Some(found)) = cursor.next_event(records) {
                return Some(found);
            }
            // As in `Reader::find_next`. At the reader's sub-buffer there may be no copy yet.
            // Events that the reader has read stay skipped.
            self.cursor = Cursor {
                offset: records.len().max(cursor.offset),
                ..cursor
            };
            if !self.refill(reader) {
                return None;
            }
        }
    }

    /// [`Self::refill_from`], and takes down how many events had been overwritten before.
    #[inline(never)]
    fn refill(&mut self, reader: &Reader<'_>) -> bool {
        let overrun = reader.buffer.commit.overrun.get();
        let filled = self.refill_from(reader);
        self.overrun = overrun;
        filled
    }

    /// Copies more records: of the same sub-buffer if it has grown, otherwise of the next one,
    /// otherwise of the oldest.
    fn refill_from(&mut self, reader: &Reader<'_>) -> bool {
        let buffer = reader.buffer;
        // A part of a sub-buffer would end within an event, and the iterator could not move on
        // there.
        if self.scratch.as_ref().len() < buffer.setup.capacity as usize {
            return false;
        }
        let own = reader.own();
        let sequence = match self.sequence {
            Some(sequence) if own.sequence().before(sequence) => sequence,
            Some(sequence)
                if sequence == own.sequence()
                    && self.cursor.offset >= reader.state.cursor.offset =>
            {
                sequence
            }
            // The iterator is at the start, or a reader has consumed the next content. Its memory
            // may have been swapped out.
            _ => self.start_at(reader, own),
        };
        let mut wanted = sequence;
        // This comes before the read of the commit state: if there was newer content at this time,
        // the state covers the whole sub-buffer.
        let mut last = newest(buffer);
        if sequence == own.sequence() {
            let end = buffer.readable(reader.state.id);
            if end.used() as usize > self.cursor.offset {
                self.copy_own(own, end);
                return true;
            }
            wanted = sequence.plus(1);
        }
        while !last.before(wanted) {
            last = newest(buffer);
            match self.copy_from_ring(reader, own, wanted) {
                Copy::Overtaken(oldest) => {
                    wanted = oldest;
                    last = newest(buffer);
                }
                Copy::Done { first_event, time } => {
                    if self.sequence != Some(wanted) {
                        self.sequence = Some(wanted);
                        self.cursor = Cursor::start(time);
                        self.missed = self
                            .missed
                            .wrapping_add(first_event.wrapping_sub(self.next_event));
                        self.next_event = first_event;
                    }
                    if self.cursor.offset == 0 {
                        // The copy may have been empty before. Its time is that of the first event.
                        self.cursor.time = time;
                    }
                    if self.filled > self.cursor.offset {
                        return true;
                    }
                    wanted = wanted.plus(1);
                }
            }
        }
        false
    }

    /// Moves to the position of the reader. What that has read in between is not missed; what was
    /// overwritten is.
    fn start_at(&mut self, reader: &Reader<'_>, own: &SubBuffer) -> Sequence {
        let number = reader.number();
        self.missed = match self.sequence {
            None => reader.state.lost,
            Some(_) => {
                let overrun = reader.buffer.commit.overrun.get();
                let gone = number.wrapping_sub(self.next_event);
                let overwritten = overrun.wrapping_sub(self.overrun).min(gone);
                self.missed.wrapping_add(overwritten)
            }
        };
        self.next_event = number;
        self.sequence = Some(own.sequence());
        self.cursor = reader.state.cursor;
        self.filled = 0;
        own.sequence()
    }

    /// Copies the reader's own sub-buffer, which does not change up to `end`.
    fn copy_own(&mut self, own: &SubBuffer, end: Position) {
        self.filled = self.copy(own, end);
        if self.cursor.offset == 0 {
            // SAFETY: `own` is the reader's sub-buffer and its first record is committed, so its
            // time does not change.
            self.cursor.time = unsafe { own.data().cast::<u64>().read() };
        }
    }

    /// Copies the content with number `wanted`, which is at least partly committed and newer than
    /// the reader's.
    fn copy_from_ring(&mut self, reader: &Reader<'_>, own: &SubBuffer, wanted: Sequence) -> Copy {
        let buffer = reader.buffer;
        let nr_slots = buffer.setup.nr_slots as u64;
        let ahead = wanted.minus(own.sequence().0).0;
        let slot = buffer.slot(buffer.slot_ahead(own.slot.get(), ahead));
        // Pairs with the compare-and-swap in `claim_next`.
        let tag = slot.load();
        if tag.holds(wanted) {
            let sub_buffer = buffer.sub_buffer(tag.id());
            let end = buffer.readable(tag.id());
            let first_event = sub_buffer.first_event.get();
            point!();
            // SAFETY: the memory is valid; a concurrent change by a writer is detected below.
            let time = unsafe { sub_buffer.data().cast::<u64>().read_volatile() };
            let filled = self.copy(sub_buffer, end);
            // Pairs with `fence_release` in `claim_next`: if the copy had bytes written after the
            // claim, the tag would show the claim.
            if slot.0.load_after_reads() == tag.0 {
                self.filled = filled;
                return Copy::Done { first_event, time };
            }
            self.filled = 0;
        }
        Copy::Overtaken(Sequence(slot.load().sequence()).minus(nr_slots).plus(1))
    }

    /// Copies the records of a sub-buffer up to `end`. Returns the number of bytes.
    #[inline]
    fn copy(&mut self, sub_buffer: &SubBuffer, end: Position) -> usize {
        let scratch = self.scratch.as_mut();
        let length = scratch.len().min(end.used() as usize);
        let Some(into) = scratch.get_mut(..length) else {
            return 0;
        };
        // SAFETY: `used` is at most `capacity` (invariant of `CpuBuffer`), and `capacity` bytes
        // follow the header.
        unsafe { copy_racing(sub_buffer.records(), into) };
        length
    }
}

/// The number of the newest content that is at least partly committed.
fn newest(buffer: &CpuBuffer) -> Sequence {
    loop {
        let commit = buffer.committed();
        let sequence = buffer.sub_buffer(commit.id()).sequence();
        // The number does not change while the commit position is on the sub-buffer.
        fence_acquire();
        if buffer.committed().same_sub_buffer(commit) {
            return sequence;
        }
    }
}
