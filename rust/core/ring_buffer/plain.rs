// SPDX-License-Identifier: GPL-2.0

//! The shortest way into the buffer: a whole event of a few words at once, for the case that nearly
//! always holds.
//!
//! It is reserve and commit of `writer.rs` with what they must ask each other left out: no writer
//! of this CPU is interrupted, the event and its time fit. Where that does not hold, nothing has
//! been written, and `writer.rs` does it.
//!
//! Same rules as there: no lock, no wait, no panic, any context.

use super::cpu_buffer::CpuBuffer;
use super::env::{Env, Step};
use super::sub_buffer::put_u32;
use super::word::{event_size, Header, Position};
use super::writer::{put_event_header, Context, Wake, Writer};
use crate::core::sys::{apart, barrier, word};

/// What became of an attempt to write an event the plain way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
#[repr(u8)]
pub enum Plain {
    /// Written and published.
    Done = 0,
    /// Written and published, and somebody waits ([`Wake::Wanted`]).
    Wanted,
    /// Written; [`Writer::publish`] has to follow.
    Unpublished,
    /// Nothing is written: recording is disabled, a writer is interrupted, or the event does not
    /// fit.
    Not,
    /// Nothing is written: the event's time does not fit, or it was interrupted.
    /// [`Writer::abandon`] has to follow.
    Abandoned,
}

/// What an event carries, of a length that is known when it is compiled.
pub trait Payload {
    /// Bytes.
    const LENGTH: usize;

    /// Stores it.
    ///
    /// # Safety
    ///
    /// `at` is inside a sub-buffer's memory, and [`LENGTH`](Self::LENGTH) bytes from there are the
    /// caller's reservation.
    unsafe fn put(self, at: *mut u8);
}

impl<const N: usize> Payload for [u64; N] {
    const LENGTH: usize = 8 * N;

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        // SAFETY: there is room for `Self` at `at`, in an event that has not ended.
        unsafe { at.cast::<Self>().write_unaligned(self) };
    }
}

/// Words, and half a one behind them.
impl<const N: usize> Payload for ([u64; N], u32) {
    const LENGTH: usize = 8 * N + 4;

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        // SAFETY: there is room for both at `at`, in an event that has not ended; payloads begin
        // 4-byte aligned, and so the last four bytes do.
        unsafe {
            self.0.put(at);
            put_u32(at.add(8 * N), self.1);
        }
    }
}

impl Writer<'_> {
    /// Writes an event whose payload is `words`, if this is the plain case.
    #[inline(always)]
    pub fn write_plain<E: Env, const N: usize>(&self, env: &E, words: &[u64; N]) -> Plain {
        self.write_plain_at(env, |_| *words)
    }

    /// [`write_plain`](Self::write_plain) of a payload that depends on the event's time, which
    /// `payload` is told once.
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
        env.step(Step::PositionRead);
        if !buffer.is_free::<E>(position.used().wrapping_add(size).wrapping_sub(4)) {
            return Plain::Not;
        }
        let now = env.now();
        env.step(Step::ClockRead);
        context.set(self.context.bit());
        barrier();
        env.step(Step::ContextEntered);
        if !word!(buffer: CpuBuffer, write.stamp_position holds position.0) {
            return Plain::Abandoned;
        }
        env.step(Step::StampPositionRead);
        let delta = word!(buffer: CpuBuffer, write.stamp off now);
        env.step(Step::StampRead);
        let at = word!(buffer: CpuBuffer, setup.records past position.used());
        // (`cmpxchg` wants the old one in a register of its own; the other is free then for the new
        // one.)
        let old = Position(apart(position.0));
        let next = old.plus_event(size);
        if delta >> Header::DELTA_BITS != 0 || !buffer.write.position.replace(old.0, next.0) {
            return Plain::Abandoned;
        }
        env.step(Step::PositionMoved);
        buffer.write.stamp.set(now);
        barrier();
        env.step(Step::StampStored);
        buffer.write.stamp_position.set(next.0);
        env.step(Step::StampPublished);
        let header = Header::new((size >> 2).wrapping_sub(1) as u32, delta);
        // SAFETY: the event, of 4 bytes of header and the payload's bytes, is ours until it is
        // published.
        unsafe {
            let event = put_event_header(at, header);
            payload(now).put(event.as_ptr().add(4));
        }

        // The event is on the commit position's sub-buffer, see `reserve_plain`.
        env.step(Step::CommitStarted);
        // Pairs with the acquire load in `CpuBuffer::committed`.
        buffer.commit.commit.store_release(next.0);
        barrier();
        env.step(Step::CommitStored);
        word!(buffer: CpuBuffer, setup.context and Context::LEFT);
        env.step(Step::ContextLeft);
        // As in `leave_plain`: a writer that came in before that has left its events to us.
        if !word!(buffer: CpuBuffer, write.position holds next.0) {
            return Plain::Unpublished;
        }
        match buffer.wake() {
            Wake::Unwanted => Plain::Done,
            Wake::Wanted => Plain::Wanted,
        }
    }

    /// Publishes what [`Plain::Unpublished`] is about.
    ///
    /// # Safety
    ///
    /// The last that this context did with the buffer was to write the event of which that was said.
    #[cold]
    pub unsafe fn publish<E: Env>(&self, env: &E) -> Wake {
        self.buffer.publish_slow(env)
    }

    /// Does what [`Plain::Abandoned`] is about: leaves, publishing what interrupting writers left.
    ///
    /// # Safety
    ///
    /// The last that this context did with the buffer was the attempt of which that was said.
    #[cold]
    pub unsafe fn abandon<E: Env>(&self, env: &E) -> Wake {
        self.buffer.leave(env)
    }
}
