// SPDX-License-Identifier: GPL-2.0

//! The slow paths of an event: time records, the step to the next sub-buffer, a full ring, an event
//! inside another event, and publishing several sub-buffers.
//!
//! The rules of `writer.rs` hold here, too: no lock, no wait, no panic, any context. A loop only
//! repeats if an interrupting writer, or a reader that took a sub-buffer, has changed something, so
//! it ends.

use core::ptr::NonNull;

use super::context::Context;
use super::cpu_buffer::CpuBuffer;
use super::env::Env;
use super::sub_buffer::{put_header, put_u32, COMMIT_OFFSET};
use super::word::{event_size, Header, Position, Sequence, Tag};
use super::writer::{put_event_header, Wake};
use crate::core::sys::{barrier, fence_release, word};

/// The time record before an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeRecord {
    None,
    Extend,
    Absolute,
}

impl TimeRecord {
    const fn size(self) -> u64 {
        match self {
            Self::None => 0,
            _ => Header::TIME_SIZE,
        }
    }
}

/// The ring has no room for the event. The loss was counted.
struct Full;

impl CpuBuffer {
    /// Reserves if recording is on, also while another writer is interrupted. A context that is
    /// already writing may do this once, because the context word may be older than the CPU's
    /// state.
    #[cold]
    #[inline(never)]
    pub(super) fn reserve_inside<E: Env>(
        &self,
        env: &E,
        context: Context,
        length: usize,
    ) -> Option<NonNull<u8>> {
        if !self.is_recording() {
            return None;
        }
        let word = self.setup.context.get();
        let context = [context, context.second()]
            .into_iter()
            .find(|context| word & context.bit() == 0)?;
        self.change_context(|word| word | context.bit());
        barrier();
        self.reserve_slow(env, context, length)
    }

    /// Changes the context word and returns the old word. Interrupts restore the word, except for
    /// [`Context::CROSSED`].
    pub(super) fn change_context(&self, change: impl Fn(u64) -> u64) -> u64 {
        loop {
            let word = self.setup.context.get();
            if self.setup.context.replace(word, change(word)) {
                return word;
            }
        }
    }

    /// Leaves the innermost context. The outermost writer publishes everything up to the write
    /// position.
    #[cold]
    #[inline(never)]
    pub(super) fn leave<E: Env>(&self, env: &E) -> Wake {
        let context = self.setup.context.get();
        if Context::is_outermost(context) {
            return self.publish_slow(env);
        }
        barrier();
        self.change_context(Context::without_innermost);
        Wake::Unwanted
    }

    /// Reserves in every case. `context` is already set in the context word. Clears it if there is
    /// no room.
    #[cold]
    #[inline(never)]
    pub(super) fn reserve_slow<E: Env>(
        &self,
        env: &E,
        context: Context,
        length: usize,
    ) -> Option<NonNull<u8>> {
        // Read only once: an event that fits with one setting may not fit with the other.
        let absolute = self.absolute_stamps();
        let fits = length <= self.max_payload_with(absolute);
        let reserved = if fits {
            self.reserve_any(env, context, length, absolute)
        } else {
            None
        };
        if reserved.is_none() {
            // As after any event, the outermost writer publishes the events that others have left
            // to it.
            self.without_event(|| self.leave(env));
        }
        reserved
    }

    fn reserve_any<E: Env>(
        &self,
        env: &E,
        context: Context,
        length: usize,
        absolute: bool,
    ) -> Option<NonNull<u8>> {
        let size = event_size(length);
        loop {
            // The position is read first. If it is unchanged when it is moved, the values read in
            // between belong to it.
            let position = Position(self.write.position.get());
            barrier();
            let stamp = self.write.stamp.get();
            let known = self.write.stamp_position.get() == position.0;
            let now = env.now();

            let first = position.used() == 0 && !known;
            let backwards = known && now < stamp;
            let delta = if first || backwards {
                0
            } else {
                now.wrapping_sub(stamp)
            };
            let record = Self::time_record(known || first, delta, absolute);
            let fits = position
                .used()
                .wrapping_add(record.size())
                .wrapping_add(size)
                <= self.setup.capacity as u64;
            // Only the timestamp of the sub-buffer has all 64 bits.
            let too_far = !first && (delta | (now ^ stamp)) >> Header::TIME_BITS != 0;

            let (start, record, first) = if fits && !too_far {
                (position, record, first)
            } else {
                let Ok(id) = self.claim_next(env, position) else {
                    return None;
                };
                // An interrupted writer may have left the stamp's position on an older content of
                // this sub-buffer, at a value that our position will reach.
                self.write.stamp_position.set(Position::NONE.0);
                barrier();
                (
                    Position::new(id, 0, 0),
                    Self::time_record(true, 0, absolute),
                    true,
                )
            };
            let next = start.plus_event(record.size().wrapping_add(size));
            if !self.write.position.replace(position.0, next.0) {
                continue;
            }
            if !start.same_sub_buffer(Position(self.commit.commit.load_relaxed())) {
                self.change_context(|word| word | Context::CROSSED);
            }
            if !start.same_sub_buffer(position) {
                self.sub_buffer(position.id()).sealed.set(position.0);
                #[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
                self.validate_left(env, position, now);
            }
            if first {
                let header = self.sub_buffer(start.id()).data();
                // SAFETY: moving the position to the first event of the sub-buffer reserved its
                // header.
                unsafe {
                    put_header(header, 0, now);
                    // Its reader has left the length and flags of older content (`finish_page`).
                    put_header(header, COMMIT_OFFSET, 0);
                }
            }
            self.publish_stamp(env, now, known && start.same_sub_buffer(position), next);
            self.set_event_time(context, now);
            if backwards {
                self.commit.time_went_backwards.add(1);
                env.went_backwards(stamp, now);
            }
            let delta = if first { 0 } else { delta };
            // SAFETY: the position was just moved by `record` and `size` bytes.
            let event = unsafe { self.put_records(start, record, length, size, delta, now) };
            #[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
            self.validate(env);
            return Some(event);
        }
    }

    fn time_record(known: bool, delta: u64, absolute: bool) -> TimeRecord {
        if !known || absolute {
            TimeRecord::Absolute
        } else if delta >> Header::DELTA_BITS != 0 {
            TimeRecord::Extend
        } else {
            TimeRecord::None
        }
    }

    /// Sets `now` as the time of the last event before `next`, and the address of the records of
    /// its sub-buffer.
    ///
    /// If `known` is false, an interrupted writer may have moved the position without storing its
    /// stamp, and will later overwrite ours with its older one. Or this writer has moved on to
    /// another sub-buffer, and an interrupted writer that has read the position must detect this
    /// when it compares the stamp's position. So only the outermost writer, which has interrupted
    /// none, makes an unknown stamp known. Until then events carry absolute times.
    fn publish_stamp<E: Env>(&self, _env: &E, now: u64, known: bool, next: Position) {
        if known || Context::is_outermost(self.setup.context.get()) {
            self.setup
                .records
                .store_relaxed(self.sub_buffer(next.id()).records());
            self.write.stamp.set(now);
            barrier();
            self.write.stamp_position.set(next.0);
        }
    }

    /// Writes the header of an event that was reserved at `used` bytes of `records`. Returns its
    /// address.
    ///
    /// # Safety
    ///
    /// This context has moved the position, which reserved `size` bytes, 8 or more, from there on.
    unsafe fn put_event(
        &self,
        records: *mut u8,
        used: u64,
        length: usize,
        size: u64,
        delta: u64,
    ) -> NonNull<u8> {
        let small = length <= Header::MAX_SMALL;
        let type_len = if small {
            (size >> 2).wrapping_sub(1) as u32
        } else {
            0
        };
        // SAFETY: the header is within the `size` bytes, which only this context writes.
        unsafe {
            let event = put_event_header(records.add(used as usize), Header::new(type_len, delta));
            if !small {
                put_u32(event.as_ptr().add(4), size.wrapping_sub(4) as u32);
            }
            event
        }
    }

    /// Writes a time record, if one is needed, and the header of the event after it. Returns the
    /// address of the event.
    ///
    /// # Safety
    ///
    /// This context has moved the position from `start` by `record` and `size` bytes; `size` is 8
    /// or more.
    unsafe fn put_records(
        &self,
        start: Position,
        record: TimeRecord,
        length: usize,
        size: u64,
        delta: u64,
        now: u64,
    ) -> NonNull<u8> {
        let (kind, time, delta) = match record {
            TimeRecord::None => {
                let at = self.sub_buffer(start.id()).records();
                // SAFETY: the position was moved from `start` by `size` bytes, 8 or more.
                return unsafe { self.put_event(at, start.used(), length, size, delta) };
            }
            TimeRecord::Extend => (Header::TIME_EXTEND, delta, 0),
            TimeRecord::Absolute => (Header::TIME_STAMP, now & ((1 << Header::TIME_BITS) - 1), 0),
        };
        let records = self.sub_buffer(start.id()).records();
        // SAFETY: the reservation is `record.size() + size` bytes from `used` on.
        unsafe {
            let at = records.add(start.used() as usize);
            put_u32(at, Header::new(kind, time).0);
            put_u32(at.add(4), (time >> Header::DELTA_BITS) as u32);
        }
        // SAFETY: the event is after the time record.
        unsafe {
            self.put_event(
                records,
                start.used().wrapping_add(record.size()),
                length,
                size,
                delta,
            )
        }
    }

    /// Claims the sub-buffer after the one of `position` for the writers, and returns its id.
    /// Several writers may do this, each interrupting the previous one. All of them get the same
    /// id.
    fn claim_next<E: Env>(&self, _env: &E, position: Position) -> Result<u64, Full> {
        let current = self.sub_buffer(position.id());
        let sequence = current.sequence().plus(1);
        let index = self.next_slot(current.slot.get());
        let old = sequence.minus(self.setup.nr_slots as u64);

        loop {
            let tag = self.slot(index).load();
            if !tag.holds(sequence) {
                let unread = tag.free() == 0;
                // Read before the claim: writers that interrupt after the claim write and seal new
                // content.
                let lost = self.sub_buffer(tag.id()).sealed();
                if unread {
                    self.may_overwrite(position, old)?;
                }
                // Pairs with the compare-and-swap in `Reader::take` (it decides who gets an unread
                // sub-buffer, and orders the reader's use of the empty one before ours) and with
                // the tag loads of readers and iterators.
                if !self
                    .slot(index)
                    .0
                    .replace(tag.0, Tag::used(tag.id(), sequence).0)
                {
                    continue;
                }
                if unread {
                    self.count_overrun(lost);
                }
            }
            // Pairs with `fence_acquire` in `Iter::copy`: a copy that has bytes written from now on
            // also sees the tag. An interrupted writer that has claimed may not have come to its own
            // fence yet.
            fence_release();
            // An interrupted writer may do these stores later, but with the same values.
            let next = self.sub_buffer(tag.id());
            next.slot.set(index);
            next.sequence.set(sequence.0);
            return Ok(tag.id());
        }
    }

    /// Whether the unread content with number `old` may be overwritten by what comes after
    /// `position`. Counts the lost event if not.
    fn may_overwrite(&self, position: Position, old: Sequence) -> Result<(), Full> {
        if self.setup.overwrite.load_relaxed() == 0 {
            self.commit.dropped.add(1);
            self.close(position);
            return Err(Full);
        }
        // Events after the commit position are not complete: their writers were interrupted.
        let commit = Position(self.commit.commit.load_relaxed());
        if !old.before(self.sub_buffer(commit.id()).sequence()) {
            self.commit.commit_overrun.add(1);
            return Err(Full);
        }
        Ok(())
    }

    /// Fills the sub-buffer of `position` up with padding, because an event was dropped there. So
    /// a smaller one does not fit either: the buffer has all events up to the first drop, and none
    /// after it, until somebody reads.
    #[cold]
    #[inline(never)]
    fn close(&self, position: Position) {
        loop {
            // Interrupting writers may have added events, or gone on to the next sub-buffer.
            let end = Position(self.write.position.get());
            let rest = (self.setup.capacity as u64).wrapping_sub(end.used());
            if !end.same_sub_buffer(position) || rest < Header::SMALLEST {
                return;
            }
            if self.write.position.replace(end.0, end.plus_padding(rest).0) {
                let records = self.sub_buffer(end.id()).records();
                // SAFETY: moving the position has reserved the `rest` bytes from `used` on, 8 or
                // more.
                unsafe {
                    let at = records.add(end.used() as usize);
                    put_u32(at, Header::new(Header::PADDING, 1).0);
                    put_u32(at.add(4), rest.wrapping_sub(4) as u32);
                }
                return;
            }
        }
    }

    /// Counts the events of a sub-buffer that was left at `sealed` as overrun.
    pub(super) fn count_overrun(&self, sealed: Position) {
        self.commit.overrun.add(sealed.events());
        self.commit.overrun_bytes.add(self.bytes_of(sealed));
        self.commit.sub_buffers_lost.add(1);
    }

    /// Publishes across sub-buffers until no writer has interrupted meanwhile, and leaves. Called
    /// by the outermost writer.
    #[cold]
    #[inline(never)]
    pub(super) fn publish_slow<E: Env>(&self, _env: &E) -> Wake {
        loop {
            // The bit of any context tells other writers that this writer is active. The bit of
            // task context hides no other.
            self.setup.context.set(Context::NORMAL.bit());
            barrier();
            let position = Position(self.write.position.get());
            self.number_events(position);
            // Pairs with the acquire load in `CpuBuffer::committed`.
            self.commit.commit.store_release(position.0);
            barrier();
            word!(self: Self, setup.context and Context::LEFT);
            // A writer that moved to another sub-buffer may have interrupted before the position
            // was read, and its sub-buffer may have been skipped.
            if self.write.position.get() == position.0 && self.setup.context.get() == 0 {
                return self.wake();
            }
        }
    }

    /// Sets the numbers of the first events of the sub-buffers from the committed one to that of
    /// `end`.
    fn number_events(&self, end: Position) {
        let mut id = Position(self.commit.commit.load_relaxed()).id();
        while id != end.id() {
            let done = self.sub_buffer(id);
            let sealed = done.sealed();
            let next_id = self.slot(self.next_slot(done.slot.get())).load().id();
            let next = self.sub_buffer(next_id);
            next.first_event
                .set(done.first_event.get().wrapping_add(sealed.events()));
            next.first_byte
                .set(done.first_byte.get().wrapping_add(self.bytes_of(sealed)));
            self.commit.sub_buffers_touched.add(1);
            id = next_id;
        }
    }
}
