// SPDX-License-Identifier: GPL-2.0

//! Moves the content of a buffer to a buffer with more or fewer sub-buffers.
//!
//! The memory of sub-buffers moves; events are not touched. The newest events stay. Those that do
//! not fit count as overrun. Writers are kept out, readers are not:
//!
//! 1. *Begin*, with the reader lock: chooses the contents that have room.
//! 2. *Lay out*, without the lock: copies their descriptors and tags the slots. Contents that a
//!    reader takes meanwhile are removed again ([`Resize::catch_up`]).
//! 3. *Finish*, with the reader lock: moves the reader's sub-buffer, its state and the counts. The
//!    time does not depend on the size. Before the caller releases the lock, it publishes the new
//!    buffer to readers and writers.
//! 4. *Fill*, without the lock: gives memory to the empty sub-buffers. Then writers may come back,
//!    and unused memory is freed.

use core::ptr::NonNull;

use super::cpu_buffer::{BadParts, CpuBuffer, ReaderState};
use super::reader::Reader;
use super::sub_buffer::SubBuffer;
use super::word::{Position, Sequence, Tag};

/// A resize in progress. Dropping it leaves the old buffer unchanged.
///
/// In the new buffer the reader has id 0, and slot `n` has the sub-buffer with id `n + 1`. The kept
/// contents fill the slots from the first on.
#[derive(Debug)]
pub struct Resize<'a> {
    old: &'a CpuBuffer,
    new: &'a CpuBuffer,
    /// The oldest content that has room in the new buffer.
    first: Sequence,
    /// The slot of that content in the old buffer.
    slot: u64,
    /// The number of contents that have room.
    count: u64,
    /// The number of slots of the new buffer that are laid out.
    laid_out: u64,
    /// The number of contents that readers have taken meanwhile. They are not in the new buffer.
    taken: u64,
}

/// A resize that only lacks the memory of the empty sub-buffers.
#[derive(Debug)]
#[must_use = "the new buffer lacks memory"]
pub struct Moved<'a> {
    resize: Resize<'a>,
    /// The number of slots of the old buffer whose memory was moved or skipped.
    passed: u64,
}

impl<'a> Resize<'a> {
    /// Begins to move the content of `reader`'s buffer to `new`, whose descriptors are
    /// [vacant](SubBuffer::vacant).
    ///
    /// # Errors
    ///
    /// [`BadParts`] if the sub-buffers differ in size.
    ///
    /// # Safety
    ///
    /// Until [`Moved::fill`] has returned, no writer of either buffer is active or can become
    /// active. Until [`Resize::finish`] has returned, nobody else uses `new`; after that nobody
    /// uses the memory of the old buffer's sub-buffers. Until the result or the [`Moved`] that
    /// comes of it is dropped, nobody [resets](Reader::reset) the old buffer: readers may only
    /// take contents.
    pub unsafe fn begin(reader: &Reader<'a>, new: &'a CpuBuffer) -> Result<Self, BadParts> {
        let old = reader.buffer;
        if new.sub_buffer_size() != old.sub_buffer_size() {
            return Err(BadParts);
        }
        let own = reader.own();
        let commit = old.committed();
        let mut resize = Self {
            old,
            new,
            first: own.sequence().plus(1),
            slot: 0,
            count: 0,
            laid_out: 0,
            taken: 0,
        };
        if commit.id() != reader.state.id {
            let (oldest, slot) = old.oldest_after(own);
            let newest = old.sub_buffer(commit.id()).sequence();
            let unread = newest.minus(oldest.0).0.wrapping_add(1);
            let too_many = unread.saturating_sub(new.nr_slots().into());
            resize.first = oldest.plus(too_many);
            resize.slot = old.slot_ahead(slot, too_many);
            resize.count = unread.wrapping_sub(too_many);
        }
        Ok(resize)
    }

    /// Lays out at most `at_most` slots of the new buffer. Returns false when all are done. Without
    /// the lock.
    pub fn lay_out(&mut self, at_most: u64) -> bool {
        let slots = u64::from(self.new.nr_slots());
        let end = self.laid_out.saturating_add(at_most).min(slots);
        while self.laid_out < end {
            let index = self.laid_out;
            let tag = if index < self.count {
                self.lay_out_content(index)
            } else {
                None
            };
            let tag = tag.unwrap_or(Tag::empty(index.wrapping_add(1)));
            self.new.slot(index).0.store_relaxed(tag.0);
            self.laid_out = index.wrapping_add(1);
        }
        end < slots
    }

    /// Copies the descriptor of the content for slot `index`. `None` if a reader has taken the
    /// content.
    fn lay_out_content(&self, index: u64) -> Option<Tag> {
        let (old, new) = (self.old, self.new);
        let sequence = self.first.plus(index);
        let tag = old.slot(old.slot_ahead(self.slot, index)).load();
        if !tag.holds(sequence) {
            return None;
        }
        // If a reader takes it from here on, the copy may be inconsistent. `catch_up` or `finish`
        // drops it then.
        let id = index.wrapping_add(1);
        let to = new.sub_buffer(id);
        to.take_over(old.sub_buffer(tag.id()), id);
        to.sequence.set(sequence.0);
        to.slot.set(index);
        Some(Tag::used(id, sequence))
    }

    /// The number of contents in the new buffer that readers have taken from the old one. With the
    /// reader lock.
    pub fn behind(&self, reader: &Reader<'_>) -> u64 {
        let read = reader.own().sequence();
        if read.before(self.first) {
            return 0;
        }
        let taken = read.minus(self.first.0).0.wrapping_add(1);
        taken.wrapping_sub(self.taken)
    }

    /// Removes this many contents from the new buffer; [`behind`](Self::behind) has returned the
    /// number. Without the lock, after everything is laid out.
    pub fn catch_up(&mut self, behind: u64) {
        for _ in 0..behind.min(self.count.wrapping_sub(self.taken)) {
            let id = self.taken.wrapping_add(1);
            self.new.slot(self.taken).0.store_relaxed(Tag::empty(id).0);
            self.new.sub_buffer(id).vacate();
            self.taken = id;
        }
    }

    /// Moves the reader's state, the settings and the counts to the new buffer. With the reader
    /// lock of the old buffer, after everything is laid out.
    pub fn finish(mut self, reader: &mut Reader<'a>) -> Moved<'a> {
        debug_assert!(self.laid_out == u64::from(self.new.nr_slots()));
        self.catch_up(self.behind(reader));
        let (old, new) = (self.old, self.new);
        let own = reader.own();
        let last = u64::from(new.nr_slots()).saturating_sub(1);

        let mine = new.sub_buffer(0);
        mine.take_over(own, 0);
        // The number before that of the next content, so the ring has no gap.
        mine.sequence.set(self.first.plus(self.taken).minus(1).0);
        mine.slot.set(new.slot_ahead(self.taken, last));

        self.copy_counts();
        let commit = old.committed();
        let is_readers = commit.id() == reader.state.id;
        if !is_readers {
            let (oldest, slot) = old.oldest_after(own);
            if oldest.before(self.first) {
                let gone = old.sub_buffer(old.slot(slot).load().id());
                self.count_overrun(gone, oldest);
            }
        }
        self.set_positions(commit, if is_readers { 0 } else { self.count });
        let state = &mut *reader.state;
        // SAFETY: the new buffer is not published yet, so nobody else uses it.
        unsafe {
            *new.read.state.get() = core::mem::replace(state, ReaderState::new(state.id)).of(0)
        };
        Moved {
            resize: self,
            passed: 0,
        }
    }

    /// Counts the contents without room as overrun, from the content of `gone` on. `oldest` is the
    /// first content after the reader's.
    fn count_overrun(&self, gone: &SubBuffer, oldest: Sequence) {
        // At least the newest content is kept, so there is a first one.
        let kept = self.new.sub_buffer(1);
        let between = |kept: u64, gone: u64| kept.wrapping_sub(gone);
        let counts = &self.new.commit;
        counts
            .overrun
            .add(between(kept.first_event.get(), gone.first_event.get()));
        counts
            .overrun_bytes
            .add(between(kept.first_byte.get(), gone.first_byte.get()));
        counts.sub_buffers_lost.add(self.first.minus(oldest.0).0);
    }

    fn set_positions(&self, commit: Position, id: u64) {
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

    fn copy_counts(&self) {
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

impl Moved<'_> {
    /// Gives memory to the empty sub-buffers of the new buffer: first that of empty sub-buffers of
    /// the old buffer, then memory from `fresh`, which is as described at [`CpuBuffer::new`].
    /// Without the lock.
    pub fn fill(&mut self, mut fresh: impl FnMut() -> Option<NonNull<u8>>) {
        let Resize {
            new, count, taken, ..
        } = self.resize;
        for id in (1..=taken).chain(count.wrapping_add(1)..=new.nr_slots().into()) {
            if let Some(memory) = self.next_unused().or_else(&mut fresh) {
                new.sub_buffer(id).set_data(memory);
            }
        }
    }

    /// Passes the memory that the new buffer does not need to `gone`, after [`fill`](Self::fill).
    /// The old buffer then has no memory.
    pub fn left_over(mut self, mut gone: impl FnMut(NonNull<u8>)) {
        while let Some(memory) = self.next_unused() {
            gone(memory);
        }
        let old = self.resize.old;
        (0..=u64::from(old.nr_slots())).for_each(|id| old.sub_buffer(id).vacate());
    }

    /// The next memory of the old buffer that has no kept content.
    fn next_unused(&mut self) -> Option<NonNull<u8>> {
        let Resize {
            old,
            first,
            count,
            taken,
            ..
        } = self.resize;
        let kept = first.plus(taken);
        while self.passed < u64::from(old.nr_slots()) {
            let tag = old.slot(self.passed).load();
            self.passed = self.passed.wrapping_add(1);
            let after_kept = Sequence(tag.sequence()).minus(kept.0).0;
            if tag.free() != 0 || after_kept >= count.wrapping_sub(taken) {
                return NonNull::new(old.sub_buffer(tag.id()).data());
            }
        }
        None
    }
}

impl SubBuffer {
    /// Takes the memory and the numbers of `old`, for sub-buffer `id`.
    fn take_over(&self, old: &Self, id: u64) {
        if let Some(memory) = NonNull::new(old.data()) {
            self.set_data(memory);
        }
        let sealed = old.sealed();
        self.sealed
            .set(Position::new(id, sealed.events(), sealed.used()).0);
        self.first_event.set(old.first_event.get());
        self.first_byte.set(old.first_byte.get());
    }
}
