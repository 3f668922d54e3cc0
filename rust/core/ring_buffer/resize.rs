// SPDX-License-Identifier: GPL-2.0

//! Moving the content of a buffer to one with more or fewer sub-buffers.
//!
//! The memory of sub-buffers moves, nothing is copied. The newest events stay; those that do not
//! fit any more count as overrun. Whoever calls replaces the old buffer by the new one where
//! writers find it.

use core::ptr::NonNull;

use super::cpu_buffer::{BadParts, CpuBuffer, Parts};
use super::reader::ReaderState;
use super::sub_buffer::SubBuffer;
use super::word::{Position, Sequence, Tag};

impl CpuBuffer {
    /// A buffer on `parts` with the content, counts and settings of `old`, which must not be used
    /// any more.
    ///
    /// All memory of `old` moves to the first descriptors of `parts`; what these had is forgotten,
    /// so they may be made with a dangling pointer. If `parts` has more descriptors than `old`, the
    /// further ones must have memory. If it has fewer, the memory that is left over goes to
    /// `left_over`, for the caller to free.
    ///
    /// # Errors
    ///
    /// [`BadParts`] as [`new`](Self::new), or if sub-buffers differ in size. Nothing is changed
    /// then.
    ///
    /// # Safety
    ///
    /// As [`new`](Self::new), but for the memory of descriptors with an index that `old` has. No
    /// writer of `old` is active or can become active, the caller holds its reader lock, and no
    /// iterator on it is used any more.
    pub unsafe fn resized(
        old: &Self,
        parts: Parts,
        left_over: impl FnMut(NonNull<u8>),
    ) -> Result<Self, BadParts> {
        if parts.sub_buffer_size != old.sub_buffer_size() {
            return Err(BadParts);
        }
        // SAFETY: by the function's precondition; memory is not touched before `Move::run` has put
        // the old in place.
        let new = unsafe { Self::new(parts) }?;
        let mut moving = Move {
            old,
            new: &new,
            next_id: 0,
        };
        // SAFETY: the caller holds the reader lock.
        let state = unsafe { &*old.read.state.get() };
        let reader = moving.run(state, left_over);
        // SAFETY: nobody else knows the new buffer.
        unsafe { *new.read.state.get() = reader };
        Ok(new)
    }
}

struct Move<'a> {
    old: &'a CpuBuffer,
    new: &'a CpuBuffer,
    /// The first descriptor of the new table that has not got its memory.
    next_id: u64,
}

impl Move<'_> {
    fn run(&mut self, state: &ReaderState, mut left_over: impl FnMut(NonNull<u8>)) -> ReaderState {
        let (old, new) = (self.old, self.new);
        let nr_slots = u64::from(new.setup.nr_slots);
        for index in 0..nr_slots {
            new.slot(index).0.store_relaxed(Tag::empty(0).0);
        }
        self.counts();

        let commit = old.committed();
        let newest = old.sub_buffer(commit.id()).sequence();
        let done = old.sub_buffer(state.id);
        let (reader, _) = self.give(done);
        let mut end = reader;
        let (mut kept, mut last) = (Sequence(0), None);
        if commit.id() != state.id {
            let (oldest, mut index) = old.oldest_after(done);
            let too_many = newest.minus(oldest.0).plus(1).0.saturating_sub(nr_slots);
            kept = oldest.plus(too_many);
            let mut sequence = oldest;
            // The reader's content gets the number before that of the first kept, and so the ring
            // has no gap.
            new.sub_buffer(reader).sequence.set(kept.minus(1).0);
            let mut slot = 0;
            while sequence != newest.plus(1) {
                let id = old.slot(index).load().id();
                if sequence.before(kept) {
                    new.count_overrun(old.sub_buffer(id).sealed());
                } else {
                    end = self.keep(old.sub_buffer(id), sequence, slot);
                    slot = slot.wrapping_add(1);
                }
                index = old.next_slot(index);
                sequence = sequence.plus(1);
            }
            last = Some(newest);
        }
        new.sub_buffer(reader).slot.set(nr_slots.wrapping_sub(1));
        self.free_ones(kept, last, &mut left_over);
        self.fill_slots(reader);
        self.positions(commit, end);
        ReaderState {
            id: reader,
            ..*state
        }
    }

    /// Gives the memory and numbers of an old descriptor to the next new one; gives its id and
    /// descriptor.
    fn give(&mut self, old: &SubBuffer) -> (u64, &SubBuffer) {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let new = self.new.sub_buffer(id);
        if let Some(memory) = NonNull::new(old.data()) {
            new.set_data(memory);
        }
        let sealed = old.sealed();
        new.sealed
            .set(Position::new(id, sealed.events(), sealed.used()).0);
        new.sequence.set(old.sequence.get());
        new.first_event.set(old.first_event.get());
        new.first_byte.set(old.first_byte.get());
        (id, new)
    }

    /// Keeps an unread content, in `slot`.
    fn keep(&mut self, old: &SubBuffer, sequence: Sequence, slot: u64) -> u64 {
        let (id, new) = self.give(old);
        new.slot.set(slot);
        self.new
            .slot(slot)
            .0
            .store_relaxed(Tag::used(id, sequence).0);
        id
    }

    /// Gives away the memory of sub-buffers with nothing to keep on them.
    fn free_ones(
        &mut self,
        kept: Sequence,
        last: Option<Sequence>,
        left_over: &mut impl FnMut(NonNull<u8>),
    ) {
        for index in 0..u64::from(self.old.setup.nr_slots) {
            let tag = self.old.slot(index).load();
            let sequence = Sequence(tag.sequence());
            let after_kept =
                last.is_some_and(|last| !sequence.before(kept) && !last.before(sequence));
            if tag.free() == 0 && after_kept {
                continue;
            }
            let free = self.old.sub_buffer(tag.id());
            if self.next_id <= u64::from(self.new.setup.nr_slots) {
                self.give(free);
            } else if let Some(memory) = NonNull::new(free.data()) {
                left_over(memory);
            }
        }
    }

    /// Puts the sub-buffers that are neither kept nor the reader's into the slots that hold
    /// nothing.
    fn fill_slots(&self, reader: u64) {
        let nr_slots = u64::from(self.new.setup.nr_slots);
        // Ids were given in the order reader (0), kept, others; kept ones fill the first slots.
        debug_assert!(reader == 0);
        for index in 0..nr_slots {
            if self.new.slot(index).load().free() != 0 {
                self.new
                    .slot(index)
                    .0
                    .store_relaxed(Tag::empty(index.wrapping_add(1)).0);
            }
        }
    }

    fn positions(&self, commit: Position, id: u64) {
        let (old, new) = (self.old, self.new);
        let position = Position::new(id, commit.events(), commit.used());
        let known = old.write.stamp_position.get() == commit.0;
        new.write.position.set(position.0);
        new.write.stamp.set(old.write.stamp.get());
        new.setup
            .records
            .store_relaxed(new.sub_buffer(id).records());
        new.write
            .stamp_position
            .set(if known { position.0 } else { Position::NONE.0 });
        new.commit.commit.store_release(position.0);
    }

    fn counts(&self) {
        let (old, new) = (self.old, self.new);
        for (from, to) in [
            (&old.commit.overrun, &new.commit.overrun),
            (&old.commit.overrun_bytes, &new.commit.overrun_bytes),
            (&old.commit.commit_overrun, &new.commit.commit_overrun),
            (&old.commit.dropped, &new.commit.dropped),
            (
                &old.commit.sub_buffers_touched,
                &new.commit.sub_buffers_touched,
            ),
            (&old.commit.sub_buffers_lost, &new.commit.sub_buffers_lost),
            (
                &old.commit.time_went_backwards,
                &new.commit.time_went_backwards,
            ),
        ] {
            to.set(from.get());
        }
        for (from, to) in [
            (&old.read.events, &new.read.events),
            (&old.read.bytes, &new.read.bytes),
            (&old.read.sub_buffers, &new.read.sub_buffers),
        ] {
            to.store_relaxed(from.load_relaxed());
        }
        for (from, to) in [
            (&old.setup.waiters, &new.setup.waiters),
            (&old.setup.overwrite, &new.setup.overwrite),
        ] {
            to.store_relaxed(from.load_relaxed());
        }
        new.set_reasons_of(old);
    }
}
