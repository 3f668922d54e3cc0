// SPDX-License-Identifier: GPL-2.0

//! One CPU's buffer: its words and their layout, its setup, and its settings.

use core::cell::UnsafeCell;
use core::fmt;
use core::ptr::NonNull;

use super::context::Context;
use super::env::Env;
use super::parse::Cursor;
use super::sub_buffer::{Slot, SubBuffer, HEADER_SIZE};
use super::word::{Header, Position, Sequence, Tag};
use crate::core::sys::{word, Local, Shared, Shared32, SharedPtr};

/// The memory of a [`CpuBuffer`]. The caller allocates and frees it.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// `nr_slots + 1` descriptors.
    pub sub_buffers: NonNull<SubBuffer>,
    /// The number of sub-buffers in the ring, without the reader's; at least 2.
    pub nr_slots: u32,
    /// The size of each sub-buffer in bytes, header included: a multiple of 8, from 64 bytes to 1
    /// MiB.
    pub sub_buffer_size: u32,
}

/// Why [`Parts`] were refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadParts;

/// The words of writers. Only the owning CPU accesses this cache line.
#[repr(C, align(64))]
pub(super) struct WriteLine {
    /// [`Position`] of the next event.
    pub(super) position: Local,
    /// The time of the last event, if `stamp_position` is the write position.
    pub(super) stamp: Local,
    /// The write position that `stamp`, and `records` in the setup line, belong to.
    pub(super) stamp_position: Local,
    /// The time of the event that each kind of context has reserved, without second ones of a kind.
    pub(super) event_stamp: [Local; Context::KINDS],
}

/// The words that every event reads: the context word, which the writer changes, and settings that
/// rarely change.
#[repr(C, align(64))]
pub(super) struct SetupLine {
    /// One bit for each active writer; see [`Context`](super::Context).
    pub(super) context: Local,
    /// The address of the records of the sub-buffer in `stamp_position`.
    pub(super) records: SharedPtr,
    pub(super) sub_buffers: NonNull<SubBuffer>,
    pub(super) nr_slots: u32,
    /// Bytes for records on a sub-buffer.
    pub(super) capacity: u32,
    /// `capacity`, minus 2^32 for each reason to leave the fast path: a count of disables, and
    /// flags above it. Most reasons mean that nothing is recorded. So one comparison tells a writer
    /// that there is no reason and that the event fits.
    pub(super) limit: Shared,
    /// Not zero if someone waits for new events.
    pub(super) waiters: Shared32,
    /// 1: new events overwrite the oldest ones. 0: new events are dropped when the ring is full.
    pub(super) overwrite: Shared32,
}

/// The words that writers publish for readers.
#[repr(C, align(64))]
pub(super) struct CommitLine {
    /// [`Position`] of the commit: all events before it are complete.
    pub(super) commit: Shared,
    pub(super) overrun: Local,
    pub(super) overrun_bytes: Local,
    pub(super) commit_overrun: Local,
    pub(super) dropped: Local,
    pub(super) sub_buffers_touched: Local,
    pub(super) sub_buffers_lost: Local,
    pub(super) time_went_backwards: Local,
}

/// Words for events inside other events.
#[repr(C, align(64))]
pub(super) struct NestLine {
    /// The time of the event that each kind of context has reserved inside another event of its
    /// kind.
    pub(super) second_stamp: [Local; Context::KINDS],
    /// The times that `nest_start` saves: for each level of the context word, those of events that
    /// contexts of its innermost one's kind have reserved.
    pub(super) event_stamps: [[Local; 2]; Context::LEVELS],
    /// Not 0 while [`take_untold`](CpuBuffer::take_untold) has something to tell of.
    pub(super) untold: Local,
}

/// The words of readers.
#[repr(C, align(64))]
pub(super) struct ReadLine {
    pub(super) events: Shared,
    pub(super) bytes: Shared,
    pub(super) sub_buffers: Shared,
    pub(super) state: UnsafeCell<ReaderState>,
}

/// The state of the reader, kept in the buffer between calls.
#[derive(Debug)]
pub(super) struct ReaderState {
    /// The reader's sub-buffer.
    pub(super) id: u64,
    /// The read position in it.
    pub(super) cursor: Cursor,
    /// The number of its events that were counted as read.
    pub(super) events_read: u64,
    /// The number of its bytes that were counted as read.
    pub(super) bytes_read: u64,
    /// The number of lost events that were not reported to the reader yet.
    pub(super) lost: u64,
    /// The part of `lost` that is in the header of the mapped sub-buffer.
    pub(super) lost_mapped: u64,
}

impl ReaderState {
    pub(super) const fn new(id: u64) -> Self {
        Self {
            id,
            cursor: Cursor::start(0),
            events_read: 0,
            bytes_read: 0,
            lost: 0,
            lost_mapped: 0,
        }
    }

    /// The same state for sub-buffer `id`, which now has the memory of this one.
    pub(super) fn of(self, id: u64) -> Self {
        Self { id, ..self }
    }
}

/// The ring buffer of one CPU. The [module](super) explains it.
///
/// # Invariants
///
/// - `setup.sub_buffers` points to `nr_slots + 1` live descriptors, and the `data` of each to
///   `capacity + HEADER_SIZE` bytes, as [`Parts`] and [`CpuBuffer::new`] ask.
/// - Every id in `write.position`, `commit`, a slot or the reader's state is at most `nr_slots`;
///   each sub-buffer is in exactly one slot or is the reader's.
/// - `used` of a position is at most `capacity`, and a multiple of 4.
#[repr(C)]
pub struct CpuBuffer {
    pub(super) write: WriteLine,
    pub(super) setup: SetupLine,
    pub(super) commit: CommitLine,
    pub(super) read: ReadLine,
    pub(super) nest: NestLine,
}

// SAFETY: the contract of `CpuBuffer::new` gives ownership of the parts, which any thread may use.
unsafe impl Send for CpuBuffer {}
// SAFETY: `Local` and `Shared` words are atomics; `ReadLine::state` is reached only through
// `CpuBuffer::reader`, whose contract makes that exclusive; sub-buffer memory is written through
// `Writer`, whose contract makes that one CPU, and read where a commit has published it.
unsafe impl Sync for CpuBuffer {}

/// The bits that count disables.
pub(super) const COUNT: u32 = LONG_CLOCK - 1;
/// The flag that turns recording off, independent of the count (`RB_BUFFER_OFF`).
pub(super) const OFF: u32 = 1 << 30;
/// The flag for absolute timestamps on all events.
pub(super) const ABSOLUTE: u32 = 1 << 29;
/// The flag for a clock that the fast path cannot read.
pub(super) const LONG_CLOCK: u32 = 1 << 28;

/// The value of `SetupLine::limit` for `capacity` and `reasons`. `reasons` is below 2^31.
const fn limit(capacity: u32, reasons: u32) -> u64 {
    (capacity as u64).wrapping_sub((reasons as u64) << 32)
}

/// The reasons in a [`limit`]. The capacity is positive, so the upper half is the negation of the
/// reasons.
const fn reasons_in(limit: u64) -> u32 {
    (limit >> 32).wrapping_neg() as u32
}

impl CpuBuffer {
    /// The smallest and the largest size of a sub-buffer, header included.
    pub const SUB_BUFFER_SIZES: core::ops::RangeInclusive<u32> = 64..=1 << 20;

    /// An empty buffer on `parts`. It is in overwrite mode and records.
    ///
    /// # Errors
    ///
    /// [`BadParts`] if a number is outside the limits of [`Parts`].
    ///
    /// # Safety
    ///
    /// `parts` point to live elements in the given numbers. Only the buffer uses them until it is
    /// dropped. The memory of each descriptor is `sub_buffer_size` initialised bytes with 8-byte
    /// alignment. It stays valid as long, and nobody else writes it. Or all descriptors are
    /// [vacant](SubBuffer::vacant), and only a [`Resize`](super::Resize) uses the buffer before it
    /// has given them memory.
    pub unsafe fn new(parts: Parts) -> Result<Self, BadParts> {
        let nr_slots = parts.nr_slots as usize;
        let size = parts.sub_buffer_size;
        if !(2..Position::MAX_SUB_BUFFERS).contains(&nr_slots)
            || !Self::SUB_BUFFER_SIZES.contains(&size)
            || size % 8 != 0
        {
            return Err(BadParts);
        }
        let capacity = size - HEADER_SIZE as u32;
        // INVARIANT: the caller guarantees the parts; `reset` puts every sub-buffer in its place.
        let this = Self {
            write: WriteLine {
                position: Local::new(0),
                stamp: Local::new(0),
                stamp_position: Local::new(0),
                event_stamp: core::array::from_fn(|_| Local::new(0)),
            },
            setup: SetupLine {
                context: Local::new(0),
                records: SharedPtr::new(core::ptr::null_mut()),
                sub_buffers: parts.sub_buffers,
                nr_slots: parts.nr_slots,
                capacity,
                limit: Shared::new(limit(capacity, 0)),
                waiters: Shared32::new(0),
                overwrite: Shared32::new(1),
            },
            commit: CommitLine {
                commit: Shared::new(0),
                overrun: Local::new(0),
                overrun_bytes: Local::new(0),
                commit_overrun: Local::new(0),
                dropped: Local::new(0),
                sub_buffers_touched: Local::new(0),
                sub_buffers_lost: Local::new(0),
                time_went_backwards: Local::new(0),
            },
            read: ReadLine {
                events: Shared::new(0),
                bytes: Shared::new(0),
                sub_buffers: Shared::new(0),
                state: UnsafeCell::new(ReaderState::new(parts.nr_slots as u64)),
            },
            nest: NestLine {
                second_stamp: core::array::from_fn(|_| Local::new(0)),
                event_stamps: core::array::from_fn(|_| core::array::from_fn(|_| Local::new(0))),
                untold: Local::new(0),
            },
        };
        // SAFETY: no other code knows the new buffer yet.
        unsafe { this.reset() };
        Ok(this)
    }

    /// Clears the buffer and all counts. The settings stay.
    ///
    /// # Safety
    ///
    /// No writer is active or can become active during the call (recording disabled and a grace
    /// period waited for), no [`Resize`](super::Resize) of the buffer is under way, and the caller
    /// holds the reader lock.
    pub unsafe fn reset(&self) {
        // SAFETY: the reader lock is held, so there is no other reader; recording is disabled and a
        // grace period has passed, so no writer is active. No resize is under way.
        unsafe { self.reader().reset() };
    }

    /// Clears everything except the reader's state, where `reader` is the reader's sub-buffer.
    /// Preconditions as [`reset`](Self::reset); the caller has checked them.
    pub(super) fn reset_ring(&self, reader: u64) {
        let nr_slots = self.setup.nr_slots as u64;
        // The last sub-buffer is in the slot that would be the reader's.
        let in_slot = |slot| if slot == reader { nr_slots } else { slot };
        let first = in_slot(0);
        for slot in 0..nr_slots {
            let tag = if slot == 0 {
                Tag::used(first, Sequence(1))
            } else {
                Tag::empty(in_slot(slot))
            };
            self.slot(slot).0.store_relaxed(tag.0);
        }
        for id in 0..=nr_slots {
            let sub_buffer = self.sub_buffer(id);
            sub_buffer.sealed.set(Position::new(id, 0, 0).0);
            sub_buffer.sequence.set(if id == first { 1 } else { 0 });
            sub_buffer.slot.set(0);
            sub_buffer.first_event.set(0);
            sub_buffer.first_byte.set(0);
        }
        // The reader's sub-buffer has number 0. It is read to its end, and number 1 follows in slot
        // 0.
        self.sub_buffer(reader).slot.set(nr_slots - 1);

        self.setup.context.set(0);
        self.write.position.set(Position::new(first, 0, 0).0);
        self.write.stamp.set(0);
        self.write.stamp_position.set(Position::NONE.0);
        let commit = &self.commit;
        for count in [
            &commit.overrun,
            &commit.overrun_bytes,
            &commit.commit_overrun,
            &commit.dropped,
            &commit.sub_buffers_touched,
            &commit.sub_buffers_lost,
            &commit.time_went_backwards,
        ] {
            count.set(0);
        }
        for count in [&self.read.events, &self.read.bytes, &self.read.sub_buffers] {
            count.store_relaxed(0);
        }
        commit.commit.store_release(Position::new(first, 0, 0).0);
    }

    /// Stops recording. Calls nest: each one is undone by one [`enable`](Self::enable).
    pub fn disable(&self) {
        self.change_reasons(|reasons| reasons.wrapping_add(1));
    }

    /// Whether calls of [`disable`](Self::disable) have not been undone.
    pub fn is_disabled(&self) -> bool {
        self.reasons() & COUNT != 0
    }

    /// Undoes one [`disable`](Self::disable).
    pub fn enable(&self) {
        self.change_reasons(|reasons| {
            debug_assert!(reasons & COUNT != 0);
            if reasons & COUNT == 0 {
                reasons
            } else {
                reasons.wrapping_sub(1)
            }
        });
    }

    /// Turns recording off or on, independent of the count of [`disable`](Self::disable).
    pub fn set_on(&self, on: bool) {
        self.set_reason(OFF, !on);
    }

    fn set_reason(&self, reason: u32, holds: bool) {
        self.change_reasons(|reasons| {
            if holds {
                reasons | reason
            } else {
                reasons & !reason
            }
        });
    }

    #[inline(always)]
    fn reasons(&self) -> u32 {
        // Pairs with the compare-and-swap in `change_reasons`: a writer that finds recording on again
        // sees what was done while it was off.
        reasons_in(self.setup.limit.load_acquire())
    }

    fn change_reasons(&self, change: impl Fn(u32) -> u32) {
        loop {
            let old = self.setup.limit.load_relaxed();
            if self
                .setup
                .limit
                .replace(old, limit(self.setup.capacity, change(reasons_in(old))))
            {
                return;
            }
        }
    }

    /// Copies the reasons of `other`, which do not change meanwhile.
    pub(super) fn set_reasons_of(&self, other: &Self) {
        self.setup
            .limit
            .store_relaxed(limit(self.setup.capacity, other.reasons()));
    }

    /// Whether a writer with the environment `E` may use the fast path for an event that would end
    /// at `end` if it had no header: the event fits, there is no reason against it, and no writer
    /// is active.
    #[inline(always)]
    pub(super) fn is_free<E: Env>(&self, end: u64) -> bool {
        // The header takes 4 bytes, and all these numbers are multiples of 4. So the header fits if
        // the rest ends before the capacity does.
        let free = if E::IS_SHORT_CLOCK {
            word!(self: Self, setup.limit above end)
        } else {
            self.reasons() & !LONG_CLOCK == 0 && end < u64::from(self.setup.capacity)
        };
        free && word!(self: Self, setup.context is 0)
    }

    /// Whether events are recorded now.
    #[inline(always)]
    pub fn is_recording(&self) -> bool {
        self.reasons() & !(ABSOLUTE | LONG_CLOCK) == 0
    }

    /// Whether recording is turned on, whatever the count of [`disable`](Self::disable) is.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn is_set_on(&self) -> bool {
        self.reasons() & OFF == 0
    }

    /// Whether a full ring overwrites its oldest events (`true`) or drops new ones.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn overwrite(&self) -> bool {
        self.setup.overwrite.load_relaxed() != 0
    }

    /// Sets what happens when the ring is full.
    pub fn set_overwrite(&self, overwrite: bool) {
        self.setup.overwrite.store_relaxed(overwrite.into());
    }

    /// Whether every event has an absolute timestamp.
    pub fn absolute_stamps(&self) -> bool {
        self.reasons() & ABSOLUTE != 0
    }

    /// Turns absolute timestamps on all new events on or off.
    pub fn set_absolute_stamps(&self, absolute: bool) {
        self.set_reason(ABSOLUTE, absolute);
    }

    /// Whether the fast path may read its clock; see [`set_short_clock`](Self::set_short_clock).
    /// True for a new buffer.
    #[inline(always)]
    pub fn short_clock(&self) -> bool {
        self.reasons() & LONG_CLOCK == 0
    }

    /// Sets whether writers may use the clock that the fast path reads. If not, the fast path fails
    /// ([`Plain::Not`](super::Plain), [`Attempt::Not`](super::Attempt)), and the writer tries again
    /// with another environment.
    pub fn set_short_clock(&self, short: bool) {
        self.set_reason(LONG_CLOCK, !short);
    }

    /// Makes commits return [`Wake::Wanted`](super::Wake) (`true`), or stops that.
    ///
    /// A writer that commits at the same moment may miss the change: it publishes and then reads
    /// the flag, without a barrier in between. A waiter that must not miss any event sends an
    /// interrupt to the writer's CPU after this call and before it looks for events.
    pub fn set_waiters(&self, waiting: bool) {
        self.setup.waiters.swap(waiting.into());
    }

    /// Whether a writer is between reserve and commit (or one that has moved on to another
    /// sub-buffer has just left). Meaningful on the buffer's own CPU, and after writers are kept
    /// out.
    pub fn is_writing(&self) -> bool {
        self.setup.context.get() != 0
    }

    /// The number of sub-buffers in the ring, without the reader's.
    pub fn nr_slots(&self) -> u32 {
        self.setup.nr_slots
    }

    /// The size of a sub-buffer in bytes, header included.
    pub fn sub_buffer_size(&self) -> u32 {
        self.setup.capacity.wrapping_add(HEADER_SIZE as u32)
    }

    /// The longest payload of an event, in bytes.
    pub fn max_payload(&self) -> usize {
        self.max_payload_with(self.absolute_stamps())
    }

    /// The longest payload for one setting of [`absolute_stamps`](Self::absolute_stamps).
    pub(super) fn max_payload_with(&self, absolute: bool) -> usize {
        let stamp = if absolute { 8 } else { 0 };
        (self.setup.capacity as usize).wrapping_sub(8 + stamp)
    }

    /// The bytes that count for a sub-buffer that writers have left at `sealed`: its records, and
    /// the unused end if an event could be there, as in the C kernel.
    pub(super) fn bytes_of(&self, sealed: Position) -> u64 {
        let used = sealed.used();
        let rest = (self.setup.capacity as u64).wrapping_sub(used);
        if used == 0 || rest < Header::SMALLEST {
            used
        } else {
            used.wrapping_add(rest)
        }
    }

    /// The parts of the buffer.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn parts(&self) -> Parts {
        Parts {
            sub_buffers: self.setup.sub_buffers,
            nr_slots: self.setup.nr_slots,
            sub_buffer_size: self.sub_buffer_size(),
        }
    }

    /// The sub-buffer of the write position, and how many events it has. For tests, which see by it
    /// that a writer has reserved one.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn written_events(&self) -> (u64, u64) {
        let position = Position(self.write.position.get());
        (position.id(), position.events())
    }

    /// The memory of sub-buffer `id` (0 to `nr_slots`), for a mapping. Ids do not change while the
    /// buffer exists.
    pub fn sub_buffer_memory(&self, id: u32) -> Option<*mut u8> {
        (id <= self.setup.nr_slots).then(|| self.sub_buffer(id.into()).data())
    }

    /// The descriptor of sub-buffer `id`. The id comes from one of the buffer's own words.
    #[inline(always)]
    pub(super) fn sub_buffer(&self, id: u64) -> &SubBuffer {
        debug_assert!(id <= self.setup.nr_slots as u64);
        // SAFETY: by the type's invariant ids are at most `nr_slots`, and the table has `nr_slots +
        // 1` elements.
        unsafe { &*self.setup.sub_buffers.as_ptr().add(id as usize) }
    }

    /// The ring slot with this index, which is below `nr_slots`.
    #[inline]
    pub(super) fn slot(&self, index: u64) -> &Slot {
        debug_assert!(index < self.setup.nr_slots as u64);
        &self.sub_buffer(index).slot_here
    }

    /// The slot that comes `ahead` slots after `index`.
    #[inline]
    pub(super) fn slot_ahead(&self, index: u64, ahead: u64) -> u64 {
        // There are two at least. The compiler is told, as it would keep a panic.
        index.wrapping_add(ahead) % u64::from(self.setup.nr_slots.max(1))
    }

    /// The slot after `index`.
    #[inline]
    pub(super) fn next_slot(&self, index: u64) -> u64 {
        let next = index.wrapping_add(1);
        if next >= self.setup.nr_slots as u64 {
            0
        } else {
            next
        }
    }
}

impl fmt::Debug for CpuBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuBuffer")
            .field("position", &Position(self.write.position.get()))
            .field("commit", &Position(self.commit.commit.load_relaxed()))
            .field("context", &self.setup.context.get())
            .finish_non_exhaustive()
    }
}

#[cfg(not(loom))]
const _: () = {
    use core::mem::{align_of, offset_of, size_of};
    // One line is the writer's alone, one is shared with settings, one is shared with readers.
    assert!(size_of::<WriteLine>() == 64);
    assert!(size_of::<SetupLine>() == 64);
    assert!(size_of::<CommitLine>() == 64);
    assert!(offset_of!(CpuBuffer, write) == 0);
    assert!(offset_of!(CpuBuffer, setup) == 64);
    assert!(offset_of!(CpuBuffer, commit) == 128);
    assert!(offset_of!(CpuBuffer, read) == 192);
    assert!(size_of::<SubBuffer>() == 64);
    // Two CPUs' buffers share no cache line. A line that an event writes has no words that readers
    // write.
    assert!(align_of::<CpuBuffer>() == 64 && size_of::<CpuBuffer>() % 64 == 0);
    assert!(offset_of!(WriteLine, event_stamp) + size_of::<[Local; Context::KINDS]>() <= 64);
    assert!(offset_of!(SetupLine, context) == 0 && offset_of!(CommitLine, commit) == 0);
    assert!(offset_of!(CpuBuffer, read) % 64 == 0 && offset_of!(CpuBuffer, nest) % 64 == 0);
};
