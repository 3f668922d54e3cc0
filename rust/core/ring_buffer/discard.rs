// SPDX-License-Identifier: GPL-2.0

//! Discards a reserved event.
//!
//! If it is the last event in the buffer, it is taken back, with its time. If other events follow,
//! it becomes padding, which readers skip, and it does not count as an event any more. The rules of
//! `writer.rs` hold here, too.

use core::ptr::NonNull;

use super::cpu_buffer::CpuBuffer;
use super::env::Env;
use super::sub_buffer::{get_u32, put_u32};
use super::word::{Header, Position};
use super::writer::Wake;
use crate::core::sys::barrier;

/// A reserved event that is being discarded.
#[derive(Clone, Copy)]
struct Event {
    at: NonNull<u8>,
    header: Header,
    size: u64,
}

impl CpuBuffer {
    /// Ends the event that was reserved last, without publishing it.
    ///
    /// # Safety
    ///
    /// `at` is the header of the event that was reserved last in this context and has not ended.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn discard<E: Env>(&self, env: &E, at: NonNull<u8>) -> Wake {
        // SAFETY: the event's bytes belong to the caller until the event ends; its size is 8 or
        // more.
        let (header, array) =
            unsafe { (Header(get_u32(at.as_ptr())), get_u32(at.as_ptr().add(4))) };
        let words = header.type_len() as u64;
        let size = if words == 0 {
            (array as u64).wrapping_add(4)
        } else {
            words.wrapping_add(1) << 2
        };
        let event = Event { at, header, size };
        if !self.take_back(env, event) {
            // The time comes first, while the event is still the last one of its context.
            self.uncount(env, event);
            // SAFETY: as above.
            unsafe { self.put_padding(event) };
        }
        self.leave(env)
    }

    /// The offset of `event` from the first record, if it is on sub-buffer `id`.
    fn offset_on(&self, id: u64, event: Event) -> Option<u64> {
        let records = self.sub_buffer(id).records() as usize;
        let offset = (event.at.as_ptr() as usize).wrapping_sub(records) as u64;
        (offset < self.setup.capacity as u64).then_some(offset)
    }

    /// Takes the event back if nothing was reserved after it: the position and the time become the
    /// old ones. A time record before it stays, so the old time is the event's time minus its own
    /// delta.
    fn take_back<E: Env>(&self, _env: &E, event: Event) -> bool {
        let position = Position(self.write.position.get());
        let Some(offset) = self.offset_on(position.id(), event) else {
            return false;
        };
        if offset.wrapping_add(event.size) != position.used() {
            return false;
        }
        let before = position.minus_event(event.size);
        let stamp = self.write.stamp.get();
        let known = self.write.stamp_position.get() == position.0;
        if known {
            // From here on no interrupting writer uses the stamp.
            self.write.stamp_position.set(Position::NONE.0);
        }
        barrier();
        if !self.write.position.replace(position.0, before.0) {
            return false;
        }
        let previous = stamp.wrapping_sub(event.header.delta() as u64);
        // The next event on an empty sub-buffer writes its own time. An interrupting writer that
        // was taken back may have written another time to the header.
        if known && before.used() != 0 {
            self.write.stamp.set(previous);
            barrier();
            self.write.stamp_position.set(before.0);
        }
        true
    }

    /// Subtracts the event from the count of its sub-buffer.
    fn uncount<E: Env>(&self, _env: &E, event: Event) {
        loop {
            let position = Position(self.write.position.get());
            if self.offset_on(position.id(), event).is_none() {
                break;
            }
            let known = self.write.stamp_position.get() == position.0;
            let fewer = position.uncount_event();
            if self.write.position.replace(position.0, fewer.0) {
                if known {
                    self.write.stamp_position.set(fewer.0);
                }
                return;
            }
        }
        // Writers have moved on. The sub-buffer is between the commit position and the write
        // position.
        let mut id = Position(self.commit.commit.load_relaxed()).id();
        let mut left = self.setup.nr_slots;
        while self.offset_on(id, event).is_none() && left != 0 {
            left = left.wrapping_sub(1);
            let next = self.next_slot(self.sub_buffer(id).slot.get());
            id = self.slot(next).load().id();
        }
        if self.offset_on(id, event).is_none() {
            return;
        }
        let sealed = &self.sub_buffer(id).sealed;
        loop {
            let position = Position(sealed.get());
            if sealed.replace(position.0, position.uncount_event().0) {
                return;
            }
        }
    }

    /// Rewrites the event as records that readers skip and that advance the time by the same delta.
    ///
    /// ABI: the delta of padding must not be zero. An event with delta zero and 8 bytes becomes a
    /// time extend by zero. With more bytes (16 or more, see `event_size`) it becomes padding with
    /// delta one and an absolute time, which corrects the one. (Above 2^59 units of time readers
    /// may take a step back for a wrap; there the time stays one unit late up to the next absolute
    /// timestamp or sub-buffer.)
    ///
    /// # Safety
    ///
    /// The bytes of `event` belong to the caller.
    unsafe fn put_padding(&self, event: Event) {
        let at = event.at.as_ptr();
        let delta = event.header.delta() as u64;
        let time = self.event_time();
        // SAFETY: all writes are within the `size` bytes of the event, which has not ended.
        unsafe {
            if delta == 0 && event.size < 16 {
                put_u32(at.add(4), 0);
                put_u32(at, Header::new(Header::TIME_EXTEND, 0).0);
                return;
            }
            let back = delta == 0 && time >> Header::TIME_BITS == 0;
            let size = if back {
                event.size.wrapping_sub(Header::TIME_SIZE)
            } else {
                event.size
            };
            put_u32(at.add(4), size.wrapping_sub(4) as u32);
            put_u32(at, Header::new(Header::PADDING, delta.max(1)).0);
            if back {
                let stamp = at.add(size as usize);
                put_u32(stamp.add(4), (time >> Header::DELTA_BITS) as u32);
                put_u32(stamp, Header::new(Header::TIME_STAMP, time).0);
            }
        }
    }
}
