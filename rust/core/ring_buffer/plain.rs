// SPDX-License-Identifier: GPL-2.0

//! The shortest way into the buffer: a whole event of a few words at once, for the case that nearly always holds.
//!
//! It is reserve and commit of `writer.rs` with what they must ask each other left out: no writer of this CPU is
//! interrupted, the event and its time fit. Where that does not hold, nothing has been written, and `writer.rs` does it.
//!
//! Same rules as there: no lock, no wait, no panic, any context.

use super::super::sys::barrier;
use super::env::{Env, Step};
use super::sub_buffer::put_u64;
use super::word::{event_size, Header, Position};
use super::writer::{Wake, Writer};

/// What became of an attempt to write an event the plain way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Plain {
    /// Written and published.
    Done,
    /// Written and published, and somebody waits ([`Wake::Wanted`]).
    Wanted,
    /// Written; [`Writer::publish`] has to follow.
    Unpublished,
    /// Nothing is written: recording is disabled, or a writer is interrupted.
    Not,
    /// Nothing is written: the event or its time does not fit, or it was interrupted. [`Writer::abandon`] has to follow.
    Abandoned,
}

impl Writer<'_> {
    /// Writes an event whose payload is `words`, if this is the plain case.
    #[inline(always)]
    pub fn write_plain<E: Env, const N: usize>(&self, env: &E, words: &[u64; N]) -> Plain {
        self.write_plain_at(env, |_| *words)
    }

    /// [`write_plain`](Self::write_plain) of words that depend on the event's time, which `words` is told once.
    #[inline(always)]
    pub fn write_plain_at<E: Env, const N: usize>(&self, env: &E, words: impl FnOnce(u64) -> [u64; N]) -> Plain {
        const { assert!(8 * N <= Header::MAX_SMALL, "the event must fit the small header") };
        let buffer = self.buffer;
        let context = &buffer.setup.context;
        // One look for both; who comes to know that recording is disabled this way is in no hurry.
        if u64::from(buffer.setup.disabled.load_relaxed()) | context.get() != 0 {
            return Plain::Not;
        }
        context.set(self.context.bit());
        barrier();
        env.step(Step::ContextEntered);

        // As in `reserve_raw`, but that the stamp is read last: it still is the one of `position`, says `stamp_position`,
        // and so none of a time after `now`.
        let position = Position(buffer.write.position.get());
        barrier();
        env.step(Step::PositionRead);
        let now = env.now();
        barrier();
        env.step(Step::ClockRead);
        let stamp = buffer.write.stamp.get();
        if buffer.write.stamp_position.get() != position.0 {
            return Plain::Abandoned;
        }
        env.step(Step::StampRead);
        let size = event_size(8 * N);
        let delta = now.wrapping_sub(stamp);
        let next = position.plus_event(size);
        let fits = position.used().wrapping_add(size) <= buffer.setup.fast_capacity.load_relaxed() as u64;
        if delta >> Header::DELTA_BITS != 0 || !fits || !buffer.write.position.replace(position.0, next.0) {
            return Plain::Abandoned;
        }
        env.step(Step::PositionMoved);
        buffer.write.stamp.set(now);
        barrier();
        env.step(Step::StampStored);
        buffer.write.stamp_position.set(next.0);
        env.step(Step::StampPublished);
        let header = buffer.put_event(position, 8 * N, size, delta);
        for (place, word) in words(now).into_iter().enumerate() {
            // SAFETY: the payload of `8 * N` bytes follows the 4 bytes of header, and is ours until it is published.
            unsafe { put_u64(header.as_ptr().add(4 + 8 * place), word) };
        }

        // Where the commit position is still the one from before, the event is on its sub-buffer, and it is we who move
        // it; if not, a context that ended before this one began has left a step to the next sub-buffer to be done.
        env.step(Step::CommitStarted);
        if buffer.commit.commit.load_relaxed() != position.0 {
            return Plain::Unpublished;
        }
        // Pairs with the acquire load in `CpuBuffer::committed`.
        buffer.commit.commit.store_release(next.0);
        barrier();
        env.step(Step::CommitStored);
        context.set(0);
        barrier();
        env.step(Step::ContextLeft);
        // As in `leave`: a writer that came in before that has left its events to us.
        if buffer.write.position.get() != next.0 {
            return Plain::Unpublished;
        }
        match buffer.wake() {
            Wake::Unwanted => Plain::Done,
            Wake::Wanted => Plain::Wanted,
        }
    }

    /// Publishes what [`Plain::Unpublished`] is about.
    #[cold]
    pub fn publish<E: Env>(&self, env: &E) -> Wake {
        self.buffer.publish_slow(env, self.context.bit())
    }

    /// Does what [`Plain::Abandoned`] is about: leaves, publishing what interrupting writers left.
    #[cold]
    pub fn abandon<E: Env>(&self, env: &E) -> Wake {
        self.buffer.leave(env)
    }
}
