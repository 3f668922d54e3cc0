// SPDX-License-Identifier: GPL-2.0

//! One CPU's buffer: its words, where they lie, how it is set up, and the switches.

use core::cell::UnsafeCell;
use core::fmt;
use core::ptr::NonNull;

use super::env::Env;
use super::reader::ReaderState;
use super::sub_buffer::{Slot, SubBuffer, HEADER_SIZE};
use super::word::{Position, Sequence, Tag};
use super::writer::Context;
use crate::core::sys::{word, Local, Shared, Shared32, SharedPtr};

/// The memory a [`CpuBuffer`] is made of; the caller allocates and frees it.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// `nr_slots + 1` descriptors.
    pub sub_buffers: NonNull<SubBuffer>,
    /// Sub-buffers in the ring, the reader's not counted; 2 or more.
    pub nr_slots: u32,
    /// Size of each sub-buffer in bytes, header included: a multiple of 8, from 64 bytes to 1 MiB.
    pub sub_buffer_size: u32,
}

/// Why [`Parts`] were refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadParts;

/// Writers' part: nothing but the owning CPU touches this cache line.
#[repr(C, align(64))]
pub(super) struct WriteLine {
    /// [`Position`]: where the next event goes.
    pub(super) position: Local,
    /// Time of the last event, if `stamp_position` says so.
    pub(super) stamp: Local,
    /// The write position that `stamp`, and `records` of the setup line, belong to.
    pub(super) stamp_position: Local,
    /// Time of the event that each kind of context has reserved, first of all.
    pub(super) event_stamp: [Local; Context::KINDS],
}

/// What every event looks at: the context word, which the writer changes, and settings that hardly
/// ever change.
#[repr(C, align(64))]
pub(super) struct SetupLine {
    /// One bit for each context that is writing; see [`Context`](super::Context).
    pub(super) context: Local,
    /// Where the records lie on the sub-buffer of `stamp_position`.
    pub(super) records: SharedPtr,
    pub(super) sub_buffers: NonNull<SubBuffer>,
    pub(super) nr_slots: u32,
    /// Bytes for records on a sub-buffer.
    pub(super) capacity: u32,
    /// `capacity`, less 2^32 for each reason not to record the short way: a count of those who
    /// disable, and bits above it. Most mean not to record. So one comparison tells writers that
    /// nothing is against it and that the event fits.
    pub(super) limit: Shared,
    /// Not zero when somebody wants to hear of new events.
    pub(super) waiters: Shared32,
    /// 1: new events overwrite the oldest; 0: they are dropped when the ring is full.
    pub(super) overwrite: Shared32,
}

/// What writers publish for readers.
#[repr(C, align(64))]
pub(super) struct CommitLine {
    /// [`Position`]: everything before it is complete.
    pub(super) commit: Shared,
    pub(super) overrun: Local,
    pub(super) overrun_bytes: Local,
    pub(super) commit_overrun: Local,
    pub(super) dropped: Local,
    pub(super) sub_buffers_touched: Local,
    pub(super) sub_buffers_lost: Local,
    pub(super) time_went_backwards: Local,
}

/// What only events inside others need.
#[repr(C, align(64))]
pub(super) struct NestLine {
    /// Time of the event that each kind of context has reserved inside another one of its own.
    pub(super) second_stamp: [Local; Context::KINDS],
    /// What `nest_start` puts aside: for each level of the context word, the time of the event that
    /// its innermost context has reserved.
    pub(super) event_stamp: [Local; Context::LEVELS],
}

/// Readers' part.
#[repr(C, align(64))]
pub(super) struct ReadLine {
    pub(super) events: Shared,
    pub(super) bytes: Shared,
    pub(super) sub_buffers: Shared,
    pub(super) state: UnsafeCell<ReaderState>,
}

/// The ring buffer of one CPU. See the [module](super) for how it works.
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

// SAFETY: the parts are owned through `CpuBuffer::new`'s contract and may be used from any thread.
unsafe impl Send for CpuBuffer {}
// SAFETY: `Local` and `Shared` words are atomics; `ReadLine::state` is reached only through
// `CpuBuffer::reader`, whose contract makes that exclusive; sub-buffer memory is written through
// `Writer`, whose contract makes that one CPU, and read where a commit has published it.
unsafe impl Sync for CpuBuffer {}

/// The bits of the count of those who disable.
const COUNT: u32 = LONG_CLOCK - 1;
/// The reason that switches off for good, apart from the count (`RB_BUFFER_OFF`).
const OFF: u32 = 1 << 30;
/// The reason that all time stamps are absolute.
const ABSOLUTE: u32 = 1 << 29;
/// The reason that the buffer's clock is not the short way's.
const LONG_CLOCK: u32 = 1 << 28;

/// `SetupLine::limit` with `capacity` and `reasons`, of which there are less than 2^31.
const fn limit(capacity: u32, reasons: u32) -> u64 {
    (capacity as u64).wrapping_sub((reasons as u64) << 32)
}

/// The reasons in a [`limit`]: the capacity is positive, so that what is above it is their
/// negation.
const fn reasons_in(limit: u64) -> u32 {
    (limit >> 32).wrapping_neg() as u32
}

impl CpuBuffer {
    /// Smallest and largest size of a sub-buffer, header included.
    pub const SUB_BUFFER_SIZES: core::ops::RangeInclusive<u32> = 64..=1 << 20;

    /// An empty buffer on `parts`, in overwrite mode, recording.
    ///
    /// # Errors
    ///
    /// [`BadParts`] if a number is outside the limits given at [`Parts`].
    ///
    /// # Safety
    ///
    /// `parts` point to as many live elements as they say, for nobody else to use until the buffer
    /// is gone. Each descriptor's memory is `sub_buffer_size` initialised bytes, 8-byte aligned,
    /// that stay valid as long and that nobody else writes; or all are
    /// [vacant](SubBuffer::vacant), and nothing but a [`Resize`](super::Resize) uses the buffer
    /// before it has given them memory.
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
        // INVARIANT: the caller vouches for the parts; `clear` puts every sub-buffer in its place.
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
                event_stamp: core::array::from_fn(|_| Local::new(0)),
            },
        };
        // SAFETY: nobody else can know the new buffer.
        unsafe { this.reset() };
        Ok(this)
    }

    /// Empties the buffer and sets all counts to zero; settings stay.
    ///
    /// # Safety
    ///
    /// No writer is active or can become active during the call (recording disabled and a grace
    /// period waited for), and the caller holds the reader lock.
    pub unsafe fn reset(&self) {
        // SAFETY: the reader lock is held, so nobody else reads; recording is disabled and a grace
        // period is over, so no writer is active.
        unsafe { self.reader().reset() };
    }

    /// Empties all but the reader's state. Preconditions as [`reset`](Self::reset), which the
    /// reader's own has checked.
    pub(super) fn reset_ring(&self) {
        let nr_slots = self.setup.nr_slots as u64;
        for slot in 0..nr_slots {
            let tag = if slot == 0 {
                Tag::used(0, Sequence(1))
            } else {
                Tag::empty(slot)
            };
            self.slot(slot).0.store_relaxed(tag.0);
        }
        for id in 0..=nr_slots {
            let sub_buffer = self.sub_buffer(id);
            sub_buffer.sealed.set(Position::new(id, 0, 0).0);
            sub_buffer.sequence.set(if id == 0 { 1 } else { 0 });
            sub_buffer.slot.set(0);
            sub_buffer.first_event.set(0);
            sub_buffer.first_byte.set(0);
        }
        // The reader's sub-buffer is "number 0": read to its end, followed by number 1 in slot 0.
        self.sub_buffer(nr_slots).slot.set(nr_slots - 1);

        self.setup.context.set(0);
        self.write.position.set(Position::new(0, 0, 0).0);
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
        commit.commit.store_release(Position::new(0, 0, 0).0);
    }

    /// Stops recording; may be called several times, each undone by one [`enable`](Self::enable).
    pub fn disable(&self) {
        self.change_reasons(|reasons| reasons.wrapping_add(1));
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

    /// Switches recording off or on, independent of the count of [`disable`](Self::disable).
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
        reasons_in(self.setup.limit.load_relaxed())
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

    /// Takes over the reasons of `other`, which nobody changes meanwhile.
    pub(super) fn set_reasons_of(&self, other: &Self) {
        self.setup
            .limit
            .store_relaxed(limit(self.setup.capacity, other.reasons()));
    }

    /// May a writer with the surroundings `E` go the short way with an event that would end at
    /// `end` if it had no header: does it fit, is there no reason against it, and no writer under
    /// way?
    #[inline(always)]
    pub(super) fn is_free<E: Env>(&self, end: u64) -> bool {
        // The header takes 4 bytes, and all of this are multiples of 4: so it fits if the rest ends
        // before the capacity does.
        let free = if E::IS_SHORT_CLOCK {
            word!(self: Self, setup.limit above end)
        } else {
            self.reasons() & !LONG_CLOCK == 0 && end < u64::from(self.setup.capacity)
        };
        free && word!(self: Self, setup.context is 0)
    }

    /// Whether events are recorded at the moment.
    #[inline(always)]
    pub fn is_recording(&self) -> bool {
        self.reasons() & !(ABSOLUTE | LONG_CLOCK) == 0
    }

    /// Whether recording is switched on, however many have disabled it for a while.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn is_set_on(&self) -> bool {
        self.reasons() & OFF == 0
    }

    /// Whether a full ring overwrites its oldest events (`true`) or drops the new ones.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn overwrite(&self) -> bool {
        self.setup.overwrite.load_relaxed() != 0
    }

    /// Chooses what happens when the ring is full.
    pub fn set_overwrite(&self, overwrite: bool) {
        self.setup.overwrite.store_relaxed(overwrite.into());
    }

    /// Whether every event carries an absolute time stamp.
    pub fn absolute_stamps(&self) -> bool {
        self.reasons() & ABSOLUTE != 0
    }

    /// Gives every event from now on an absolute time stamp, or stops doing so.
    pub fn set_absolute_stamps(&self, absolute: bool) {
        self.set_reason(ABSOLUTE, absolute);
    }

    /// Whether [`set_short_clock`](Self::set_short_clock) has said yes, as a new buffer does.
    #[inline(always)]
    pub fn short_clock(&self) -> bool {
        self.reasons() & LONG_CLOCK == 0
    }

    /// Says whether writers may stamp events with the clock that they read in line. If not, the
    /// attempts to write the short way are refused to them ([`Plain::Not`](super::Plain),
    /// [`Attempt::Not`](super::Attempt)), and they come again with other surroundings.
    pub fn set_short_clock(&self, short: bool) {
        self.set_reason(LONG_CLOCK, !short);
    }

    /// Makes commits report [`Wake::Wanted`](super::Wake) from now on (`true`), or no longer.
    ///
    /// A writer that commits at the same moment may miss the change: it publishes, then looks,
    /// without a barrier between. Who must not sleep through a single event makes the writer's CPU
    /// take an interrupt after setting this and before looking for events.
    pub fn set_waiters(&self, waiting: bool) {
        self.setup.waiters.swap(waiting.into());
    }

    /// Whether a writer is between reserve and commit (or one that has gone on to another
    /// sub-buffer has left at this moment). Meaningful on the buffer's own CPU, and once writers
    /// are kept out.
    pub fn is_writing(&self) -> bool {
        self.setup.context.get() != 0
    }

    /// Sub-buffers in the ring, the reader's not counted.
    pub fn nr_slots(&self) -> u32 {
        self.setup.nr_slots
    }

    /// Size of a sub-buffer in bytes, header included.
    pub fn sub_buffer_size(&self) -> u32 {
        self.setup.capacity.wrapping_add(HEADER_SIZE as u32)
    }

    /// Longest payload that an event can have, in bytes.
    pub fn max_payload(&self) -> usize {
        self.max_payload_with(self.absolute_stamps())
    }

    /// The same for one choice of [`absolute_stamps`](Self::absolute_stamps).
    pub(super) fn max_payload_with(&self, absolute: bool) -> usize {
        let stamp = if absolute { 8 } else { 0 };
        (self.setup.capacity as usize).wrapping_sub(8 + stamp)
    }

    /// The parts the buffer was made of.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn parts(&self) -> Parts {
        Parts {
            sub_buffers: self.setup.sub_buffers,
            nr_slots: self.setup.nr_slots,
            sub_buffer_size: self.sub_buffer_size(),
        }
    }

    /// The memory of sub-buffer `id` (0 up to and including `nr_slots`), for mapping it; ids stay
    /// while the buffer is not taken apart.
    pub fn sub_buffer_memory(&self, id: u32) -> Option<*mut u8> {
        (id <= self.setup.nr_slots).then(|| self.sub_buffer(id.into()).data())
    }

    /// The descriptor of sub-buffer `id`, an id out of one of the buffer's own words.
    #[inline(always)]
    pub(super) fn sub_buffer(&self, id: u64) -> &SubBuffer {
        debug_assert!(id <= self.setup.nr_slots as u64);
        // SAFETY: by the type's invariant ids are at most `nr_slots` and the table has one more
        // than that.
        unsafe { &*self.setup.sub_buffers.as_ptr().add(id as usize) }
    }

    /// The ring slot of an index below `nr_slots`.
    #[inline]
    pub(super) fn slot(&self, index: u64) -> &Slot {
        debug_assert!(index < self.setup.nr_slots as u64);
        &self.sub_buffer(index).slot_here
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
    // One line for the writer alone, one that it shares with settings, one that it shares with
    // readers.
    assert!(size_of::<WriteLine>() == 64);
    assert!(size_of::<SetupLine>() == 64);
    assert!(size_of::<CommitLine>() == 64);
    assert!(offset_of!(CpuBuffer, write) == 0);
    assert!(offset_of!(CpuBuffer, setup) == 64);
    assert!(offset_of!(CpuBuffer, commit) == 128);
    assert!(offset_of!(CpuBuffer, read) == 192);
    assert!(size_of::<SubBuffer>() == 64);
    // No line of one CPU's buffer is another's, and none that an event writes holds what reading
    // writes.
    assert!(align_of::<CpuBuffer>() == 64 && size_of::<CpuBuffer>() % 64 == 0);
    assert!(offset_of!(WriteLine, event_stamp) + size_of::<[Local; Context::KINDS]>() <= 64);
    assert!(offset_of!(SetupLine, context) == 0 && offset_of!(CommitLine, commit) == 0);
    assert!(offset_of!(CpuBuffer, read) % 64 == 0 && offset_of!(CpuBuffer, nest) % 64 == 0);
};
