// SPDX-License-Identifier: GPL-2.0

//! The fast path for a whole event of a few words, for the most common case.
//!
//! It is the reserve and commit of `writer.rs` without the checks between them: no writer of this
//! CPU is interrupted, and the event and its time fit. If that does not hold, nothing was written,
//! and `writer.rs` does the work.
//!
//! The rules of `writer.rs` hold here, too: no lock, no wait, no panic, any context.

use super::context::Context;
use super::cpu_buffer::CpuBuffer;
use super::env::Env;
use super::sub_buffer::put_u32;
use super::word::{event_size, Header, Position};
use super::writer::{put_event_header, Wake, Writer};
use crate::core::sys::{apart, barrier, point, word};

/// The result of writing an event by the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
#[repr(u8)]
pub enum Plain {
    /// The event is written and published.
    Done = 0,
    /// The event is written and published, and someone waits ([`Wake::Wanted`]).
    Wanted,
    /// The event is written. The caller must call [`Writer::publish`].
    Unpublished,
    /// Nothing was written: recording is disabled, a writer is interrupted, or the event does not
    /// fit.
    Not,
    /// Nothing was written: the event's time does not fit, or another writer has interrupted this
    /// one. The caller must call [`Writer::abandon`].
    Abandoned,
}

/// A payload whose length is known at compile time.
pub trait Payload {
    /// The length in bytes.
    const LENGTH: usize;

    /// Stores the payload.
    ///
    /// # Safety
    ///
    /// `at` is inside a sub-buffer's memory. The [`LENGTH`](Self::LENGTH) bytes from there are
    /// reserved by the caller.
    unsafe fn put(self, at: *mut u8);
}

/// A payload whose first word somebody else stores.
pub trait Headless: Payload {
    /// Stores the payload without its first word.
    ///
    /// # Safety
    ///
    /// As of [`Payload::put`].
    unsafe fn put_rest(self, at: *mut u8);
}

impl<const N: usize> Headless for [u64; N] {
    #[inline(always)]
    unsafe fn put_rest(self, at: *mut u8) {
        for (i, word) in self.iter().enumerate() {
            if i != 0 {
                point!();
                // SAFETY: there is room for `Self` at `at`, in an event that has not ended.
                unsafe { at.cast::<u64>().add(i).write_unaligned(*word) };
            }
        }
    }
}

impl<const N: usize> Payload for [u64; N] {
    const LENGTH: usize = 8 * N;

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        point!();
        // SAFETY: there is room for `Self` at `at`, in an event that has not ended.
        unsafe { at.cast::<Self>().write_unaligned(self) };
    }
}

/// Words, and half a word after them.
impl<const N: usize> Payload for ([u64; N], u32) {
    const LENGTH: usize = 8 * N + 4;

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        // SAFETY: there is room for both at `at`, in an event that has not ended; a payload has
        // 4-byte alignment, and so have its last four bytes.
        unsafe {
            self.0.put(at);
            put_u32(at.add(8 * N), self.1);
        }
    }
}

impl Writer<'_> {
    /// Writes an event with the payload that `payload` makes of its time, if the fast path is
    /// possible. `payload` is called once.
    #[inline(always)]
    pub fn write_plain_at<E: Env, P: Payload>(
        &self,
        env: &E,
        payload: impl FnOnce(u64) -> P,
    ) -> Plain {
        const {
            assert!(
                P::LENGTH <= Header::MAX_SMALL,
                "the event must fit the small header"
            )
        };
        let size = const { event_size(P::LENGTH) };
        let buffer = self.buffer;
        let context = &buffer.setup.context;
        // As in `reserve_plain`.
        let position = Position(buffer.write.position.get());
        barrier();
        if !buffer.is_free::<E>(position.used().wrapping_add(size).wrapping_sub(4)) {
            return Plain::Not;
        }
        let now = env.now();
        context.set(self.context.bit());
        barrier();
        if !word!(buffer: CpuBuffer, write.stamp_position holds position.0) {
            return Plain::Abandoned;
        }
        let delta = word!(buffer: CpuBuffer, write.stamp off now);
        let at = word!(buffer: CpuBuffer, setup.records past position.used());
        // (`cmpxchg` needs the old value in a fixed register. The copy leaves the other register
        // free for the new value.)
        let old = Position(apart(position.0));
        let next = old.plus_event(size);
        if delta >> Header::DELTA_BITS != 0 || !buffer.write.position.replace(old.0, next.0) {
            return Plain::Abandoned;
        }
        buffer.write.stamp.set(now);
        barrier();
        buffer.write.stamp_position.set(next.0);
        let header = Header::new((size >> 2).wrapping_sub(1) as u32, delta);
        // SAFETY: the event (4 bytes of header and the payload) is ours until it is published.
        unsafe {
            let event = put_event_header(at, header);
            payload(now).put(event.as_ptr().add(4));
        }
        #[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
        buffer.validate(env);

        // The event is on the sub-buffer of the commit position, see `reserve_plain`.
        // Pairs with the acquire load in `CpuBuffer::committed`.
        buffer.commit.commit.store_release(next.0);
        barrier();
        word!(buffer: CpuBuffer, setup.context and Context::LEFT);
        // As in `leave_plain`: a writer that interrupted us has left its events to us.
        if !word!(buffer: CpuBuffer, write.position holds next.0) {
            return Plain::Unpublished;
        }
        match buffer.wake() {
            Wake::Unwanted => Plain::Done,
            Wake::Wanted => Plain::Wanted,
        }
    }

    /// Publishes an event after [`Plain::Unpublished`]. If an event is reserved, that is left to the
    /// outermost writer.
    #[cold]
    pub fn publish<E: Env>(&self, env: &E) -> Wake {
        self.publish_from(env, 0)
    }

    /// Leaves after [`Plain::Abandoned`], and publishes the events of interrupting writers
    /// ([`CpuBuffer::take_untold`]). If an event is reserved that was reserved since, nothing is done.
    ///
    /// # Safety
    ///
    /// An attempt of this context on the buffer returned `Abandoned`, and no call has done this for it yet.
    #[cold]
    pub unsafe fn abandon<E: Env>(&self, env: &E) {
        self.buffer
            .without_event(|| self.publish_from(env, self.context.bit()));
    }

    /// Publishes if the context word has the bits of these `writers`, who have ended their events, and
    /// of nobody else.
    #[inline(always)]
    fn publish_from<E: Env>(&self, env: &E, writers: u64) -> Wake {
        match self.buffer.setup.context.get() & !Context::CROSSED == writers {
            true => self.buffer.publish_slow(env),
            false => Wake::Unwanted,
        }
    }
}
