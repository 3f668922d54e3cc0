// SPDX-License-Identifier: GPL-2.0

//! The consuming reader. It takes sub-buffers out of the ring, the oldest first, and reads their
//! events.
//!
//! The reader always owns one sub-buffer. Writers may still be filling it; then the reader reads up
//! to the commit position. When writers have left it and all of it is read, the reader puts it back
//! empty, in place of the next one.

use super::cpu_buffer::{CpuBuffer, ReaderState};
use super::parse::{Cursor, Found};
use super::sub_buffer::SubBuffer;
use super::word::{Position, Sequence, Tag};
use crate::core::sys::point;

/// An event, as a reader gets it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The time in units of the clock.
    pub time: u64,
    /// The number of events lost right before this one.
    pub lost: u64,
    /// The event with its header (`struct ring_buffer_event`).
    pub record: &'a [u8],
    /// The payload. Its length is rounded up to words.
    pub payload: &'a [u8],
}

/// The right to read and consume a buffer. There is one at a time.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) buffer: &'a CpuBuffer,
    pub(super) state: &'a mut ReaderState,
}

impl CpuBuffer {
    /// The right to read.
    ///
    /// # Safety
    ///
    /// The caller holds the buffer's reader lock, or excludes other readers in another way, while
    /// the result exists.
    pub unsafe fn reader(&self) -> Reader<'_> {
        // SAFETY: while the result exists, the reader lock is held or other readers are excluded in
        // another way.
        let state = unsafe { &mut *self.read.state.get() };
        Reader {
            buffer: self,
            state,
        }
    }

    /// The commit position. Everything before it may be read.
    #[inline]
    pub(super) fn committed(&self) -> Position {
        // Pairs with the release stores in `leave` and `publish_slow`.
        Position(self.commit.commit.load_acquire())
    }

    /// How far sub-buffer `id` may be read. It is at or before the commit position.
    #[inline(always)]
    pub(super) fn readable(&self, id: u64) -> Position {
        let commit = self.committed();
        // A sub-buffer that the commit position has left was sealed before that. The acquire load
        // above makes the seal visible.
        if commit.id() == id {
            commit
        } else {
            self.sub_buffer(id).sealed()
        }
    }
}

impl<'a> Reader<'a> {
    /// Clears the buffer and all counts. The settings stay, and so does the reader's sub-buffer: who
    /// has the buffer mapped sees another one only after [`mapped_page`](Self::mapped_page).
    ///
    /// # Safety
    ///
    /// No writer is active or can become active during the call (recording disabled and a grace
    /// period waited for). No [`Resize`](super::Resize) of the buffer is under way.
    pub unsafe fn reset(&mut self) {
        *self.state = ReaderState::new(self.state.id);
        self.buffer.reset_ring(self.state.id);
    }

    /// The next event, without moving on. `None` if there is none yet.
    #[inline]
    pub fn peek(&mut self) -> Option<Event<'_>> {
        let (found, _) = self.find_next()?;
        Some(self.event(found))
    }

    /// The number of the next event. The first one in the buffer after [`reset`](Self::reset) has
    /// number 0, and overwritten events count. After [`peek`](Self::peek) this is the number of the
    /// event that was found.
    pub fn number(&self) -> u64 {
        self.own()
            .first_event
            .get()
            .wrapping_add(self.state.events_read)
    }

    /// Consumes and returns the next event. `None` if there is none yet.
    #[inline(always)]
    pub fn consume(&mut self) -> Option<Event<'_>> {
        // Usually the next record of the reader's sub-buffer is a small event.
        let records = self.records();
        let mut cursor = self.state.cursor;
        match cursor.plain_event(records) {
            Some(found) => Some(self.consumed(found, cursor)),
            None => self.consume_any(),
        }
    }

    #[inline(never)]
    fn consume_any(&mut self) -> Option<Event<'_>> {
        let (found, cursor) = self.find_next()?;
        Some(self.consumed(found, cursor))
    }

    #[inline(always)]
    fn consumed(&mut self, found: Found, cursor: Cursor) -> Event<'_> {
        let lost = self.state.lost;
        self.advance(found, cursor);
        Event {
            lost,
            ..self.event(found)
        }
    }

    /// The time of the oldest event that can be read. Takes no sub-buffer from the ring, since user
    /// space may be reading the reader's one through a mapping. If the event is in the ring, this is
    /// the time in the header of its sub-buffer, as in C.
    pub fn oldest_time(&mut self) -> Option<u64> {
        let buffer = self.buffer;
        // This comes first: if writers have left the sub-buffer, `records` has all of it.
        let commit = buffer.committed();
        let records = self.records();
        let mut cursor = self.state.cursor;
        if let Ok(Some(found)) = cursor.next_event(records) {
            return Some(found.time);
        }
        if commit.id() == self.state.id {
            return None;
        }
        loop {
            let (sequence, index) = buffer.oldest_after(self.own());
            let slot = buffer.slot(index);
            let tag = slot.load();
            if !tag.holds(sequence) {
                continue;
            }
            let is_empty = buffer.readable(tag.id()).used() == 0;
            point!();
            // SAFETY: the memory is valid; a concurrent change by a writer is detected below.
            let time = unsafe {
                let header = buffer.sub_buffer(tag.id()).data();
                header.cast::<u64>().read_volatile()
            };
            // Pairs with `fence_release` in `claim_next`: if the time was written after the claim, the
            // tag would show the claim.
            if slot.0.load_after_reads() == tag.0 {
                return (!is_empty).then_some(time);
            }
        }
    }

    /// Whether there is no event to read.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn is_empty(&mut self) -> bool {
        self.find_next().is_none()
    }

    /// Finds the next event on the reader's sub-buffer. Takes sub-buffers from the ring until there
    /// is one.
    #[inline]
    pub(super) fn find_next(&mut self) -> Option<(Found, Cursor)> {
        let records = self.records();
        let mut cursor = self.state.cursor;
        match cursor.next_event(records) {
            Ok(Some(found)) => Some((found, cursor)),
            _ => self.find_in_ring(records),
        }
    }

    /// The rest of [`find_next`](Self::find_next) if `records` has no event.
    #[cold]
    #[inline(never)]
    fn find_in_ring(&mut self, mut records: &'a [u8]) -> Option<(Found, Cursor)> {
        loop {
            let mut cursor = self.state.cursor;
            if let Ok(Some(found)) = cursor.next_event(records) {
                return Some((found, cursor));
            }
            // Time records and padding at the end count as read. Malformed records cannot be read,
            // so the rest is skipped.
            self.state.cursor = Cursor {
                offset: records.len(),
                ..cursor
            };
            self.count_read(self.state.events_read, records.len() as u64);
            if !self.take_next() {
                return None;
            }
            records = self.records();
        }
    }

    /// Marks the event `found` as read. `cursor` is after it.
    #[inline(always)]
    pub(super) fn advance(&mut self, found: Found, cursor: Cursor) {
        self.state.cursor = cursor;
        self.state.lost = 0;
        self.count_read(self.state.events_read.wrapping_add(1), found.end as u64);
    }

    /// Sets the total number of events and bytes of the reader's sub-buffer that count as read.
    #[inline(always)]
    pub(super) fn count_read(&mut self, events: u64, bytes: u64) {
        self.buffer
            .read
            .events
            .add_locked(events.wrapping_sub(self.state.events_read));
        self.buffer
            .read
            .bytes
            .add_locked(bytes.wrapping_sub(self.state.bytes_read));
        self.state.events_read = events;
        self.state.bytes_read = bytes;
    }

    /// The reader's sub-buffer.
    #[inline(always)]
    pub(super) fn own(&self) -> &'a SubBuffer {
        self.buffer.sub_buffer(self.state.id)
    }

    /// The records on the reader's sub-buffer that may be read. Sets the cursor's time if the
    /// cursor is at the start.
    #[inline(always)]
    pub(super) fn records(&mut self) -> &'a [u8] {
        let end = self.buffer.readable(self.state.id);
        let data = self.own().data();
        if self.state.cursor.offset == 0 && end.used() != 0 {
            // SAFETY: the sub-buffer's first record is committed, so its timestamp is written and
            // does not change.
            self.state.cursor.time = unsafe { data.cast::<u64>().read() };
        }
        // SAFETY: `used` is at most `capacity` (invariant of `CpuBuffer`). Events before `end` are
        // committed, and nobody writes them until the reader puts the sub-buffer back; the slice is
        // not used after that.
        unsafe { core::slice::from_raw_parts(self.own().records(), end.used() as usize) }
    }

    #[inline(always)]
    fn event(&mut self, found: Found) -> Event<'_> {
        let lost = self.state.lost;
        let at = self.own().records();
        // SAFETY: `found` came from the records of this sub-buffer, see `records`.
        let (record, payload) = unsafe {
            (
                core::slice::from_raw_parts(
                    at.add(found.header),
                    found.end.wrapping_sub(found.header),
                ),
                core::slice::from_raw_parts(
                    at.add(found.payload),
                    found.end.wrapping_sub(found.payload),
                ),
            )
        };
        Event {
            time: found.time,
            lost,
            record,
            payload,
        }
    }

    /// Puts the reader's sub-buffer back into the ring and takes the oldest one out. The reader has
    /// read as far as `records` returned. Returns `false` and does nothing if writers are still on
    /// the reader's sub-buffer, or there is no newer one. Returns `true` and does nothing if
    /// writers have added events to it meanwhile and left it.
    pub(super) fn take_next(&mut self) -> bool {
        let buffer = self.buffer;
        let commit = buffer.committed();
        if commit.id() == self.state.id {
            return false;
        }
        let done = self.own();
        let sealed = done.sealed();
        if (self.state.cursor.offset as u64) < sealed.used() {
            return true;
        }
        self.count_read(sealed.events(), buffer.bytes_of(sealed));
        let next = done.sequence().plus(1);
        let newest = buffer.sub_buffer(commit.id());
        if commit.used() == 0 && newest.sequence() == next {
            return false;
        }
        let (id, lost) = self.take(done);
        *self.state = ReaderState {
            lost: self.state.lost.wrapping_add(lost),
            ..ReaderState::new(id)
        };
        buffer.read.sub_buffers.add_locked(1);
        true
    }

    /// Swaps the reader's sub-buffer with the oldest one in the ring. Returns the new one, and the
    /// number of events lost before it.
    fn take(&mut self, done: &SubBuffer) -> (u64, u64) {
        let buffer = self.buffer;
        let expected = done.first_event.get().wrapping_add(done.sealed().events());
        loop {
            let (sequence, index) = buffer.oldest_after(done);
            let tag = buffer.slot(index).load();
            // Pairs with the compare-and-swap in `claim_next`: the reads above come before any
            // write by the next owner.
            if tag.holds(sequence)
                && buffer
                    .slot(index)
                    .0
                    .replace(tag.0, Tag::empty(self.state.id).0)
            {
                let taken = buffer.sub_buffer(tag.id());
                return (tag.id(), taken.first_event.get().wrapping_sub(expected));
            }
        }
    }
}

impl CpuBuffer {
    /// The oldest content after `done`, and its slot. The commit position has left `done`.
    #[inline]
    pub(super) fn oldest_after(&self, done: &SubBuffer) -> (Sequence, u64) {
        let mut sequence = done.sequence().plus(1);
        let mut index = self.next_slot(done.slot.get());
        loop {
            // Pairs with the compare-and-swap in `claim_next`: if the tag is newer, the commit
            // position after it is visible, too.
            let tag = self.slot(index).load();
            if tag.holds(sequence) {
                return (sequence, index);
            }
            // Writers have overtaken the reader. The slot has newer content than expected, so the
            // oldest content is in the next slot. Its number is lower by the number of the other
            // slots.
            sequence = Sequence(tag.sequence())
                .minus(self.setup.nr_slots as u64)
                .plus(1);
            index = self.next_slot(index);
        }
    }
}
