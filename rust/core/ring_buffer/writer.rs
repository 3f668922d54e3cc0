// SPDX-License-Identifier: GPL-2.0

//! The path of every event: reserve, commit. It leaves by one slow path each, in `slow.rs`;
//! discarding is in `discard.rs`.
//!
//! Nothing here locks, allocates, waits or can panic; it runs in task, softirq, hardirq and NMI
//! context.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::cpu_buffer::CpuBuffer;
use super::env::{Env, Step};
use super::sub_buffer::put_u32;
use super::word::{small_type_len, Header, Position};
use crate::core::sys::{apart, barrier, word, Local};

/// The context a writer runs in. Deeper ones interrupt higher ones, never the other way round.
///
/// A context has two bits of the buffer's context word. The lower one is for an event of a context
/// that is already writing, as happens when an interrupt is taken before `preempt_count` shows it;
/// it lies inside the other. So the lowest bit that is set is always that of the innermost writer.
///
/// # Invariants
///
/// The number, that of the bit, is at most 7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context(u64);

impl Context {
    /// Task context.
    pub const NORMAL: Self = Self(7);
    /// Softirq.
    #[cfg(not(CONFIG_RTRACE))]
    pub const SOFTIRQ: Self = Self(5);
    /// Hardirq.
    #[cfg(not(CONFIG_RTRACE))]
    pub const IRQ: Self = Self(3);
    /// NMI.
    #[cfg(not(CONFIG_RTRACE))]
    pub const NMI: Self = Self(1);
    /// Contexts that are not the second of their kind.
    pub(super) const KINDS: usize = 4;
    /// Bits of the context word that one nesting level takes.
    const BITS: u32 = 8;
    /// Levels that the context word has room for, the lowest included.
    pub(super) const LEVELS: usize = 7;
    /// The bit of the context word that says that writers have gone on to another sub-buffer than
    /// that of the commit position: who publishes then has sub-buffers to walk. It outlasts the
    /// writer that set it.
    pub(super) const CROSSED: u64 = 1 << 63;
    /// Leaves of the context word, sign-extended, [`Self::CROSSED`] and nothing that a writer has
    /// who is in no other.
    pub(super) const LEFT: i32 = i32::MIN;

    /// The context of `interrupt_context_level()`: 0 task, 1 softirq, 2 hardirq, 3 NMI; there are
    /// no others, and of a larger number only the lowest two bits count.
    #[inline(always)]
    pub const fn from_interrupt_level(level: u32) -> Self {
        // INVARIANT: at most 3, times 2 plus 1. (3 minus the level, in fewer instructions.)
        Self((!level & 3) as u64 * 2 + 1)
    }

    /// The context for an event inside another one of this context.
    pub(super) const fn second(self) -> Self {
        // INVARIANT: no more than it was.
        Self(self.0 & !1)
    }

    /// Is it such a one?
    #[inline(always)]
    pub(super) const fn is_second(self) -> bool {
        self.0 & 1 == 0
    }

    /// Which of the [`KINDS`](Self::KINDS) it is.
    #[inline(always)]
    pub(super) const fn kind(self) -> usize {
        self.0 as usize >> 1
    }

    /// The innermost context of a context word.
    const fn innermost(word: u64) -> Self {
        // INVARIANT: a remainder of 8.
        Self((word.trailing_zeros() % Self::BITS) as u64)
    }

    /// How many levels are below that of the outermost context of a context word.
    const fn level(word: u64) -> usize {
        ((word & !Self::CROSSED | 1).ilog2() / Self::BITS) as usize
    }

    /// The context word without the innermost context; without any of them it is [`Self::CROSSED`]
    /// or 0.
    pub(super) const fn without_innermost(word: u64) -> u64 {
        let writers = word & !Self::CROSSED;
        word & Self::CROSSED | writers & writers.wrapping_sub(1)
    }

    /// Is there one context in the context word, or none?
    pub(super) const fn is_outermost(word: u64) -> bool {
        Self::without_innermost(word) & !Self::CROSSED == 0
    }

    #[inline(always)]
    pub(super) const fn bit(self) -> u64 {
        1 << (self.0 & 7)
    }
}

/// Whether somebody waits for the events just published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Wake {
    /// Nobody waits, or the events are not visible yet because an interrupted writer has to commit
    /// first.
    Unwanted,
    /// Events became visible and [`CpuBuffer::set_waiters`] has asked to be told.
    Wanted,
}

/// What became of an attempt to end an event in short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Ended {
    /// It is published.
    Done(Wake),
    /// Nothing has happened: a writer is interrupted, there are sub-buffers to walk, or this writer
    /// has another bit of the context word than that of tasks.
    Inside,
    /// It is published, but not what came in meanwhile.
    Unpublished,
}

/// What became of an attempt to reserve an event in short.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub enum Attempt {
    /// As [`Writer::reserve_raw`] would have; the address of the event's header.
    Reserved(NonNull<u8>),
    /// Nothing has happened: recording is disabled, a writer is interrupted, or the event is long
    /// or does not fit. [`Writer::reserve_raw`] may do it.
    Not,
    /// The context word says that this context writes; [`Writer::reserve_entered`] has to follow,
    /// with this length, which takes as much room.
    Entered(u64),
}

/// The right to write to a buffer: this is its CPU, and this the context.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    pub(super) buffer: &'a CpuBuffer,
    pub(super) context: Context,
    /// Stays on its CPU.
    _not_send: PhantomData<*mut ()>,
}

impl CpuBuffer {
    /// The right to write, for code that runs in `context`.
    ///
    /// # Safety
    ///
    /// As long as the writer or an event reserved with it lives, the code runs on the one CPU that
    /// writes to this buffer, is not preempted, and `context` is the context it runs in (a deeper
    /// one that is about to begin or has just ended is allowed; and that of tasks for
    /// [`reserve_plain`](Writer::reserve_plain) and what follows it, which goes on only if no other
    /// writer is under way: then all that come later are deeper).
    #[inline(always)]
    pub unsafe fn writer(&self, context: Context) -> Writer<'_> {
        Writer {
            buffer: self,
            context,
            _not_send: PhantomData,
        }
    }
}

impl<'a> Writer<'a> {
    /// Reserves an event with a payload of `length` bytes, filled in later. Until the event is
    /// committed or discarded nothing that this CPU writes becomes visible to readers.
    ///
    /// `None` if recording is disabled, the payload is longer than [`CpuBuffer::max_payload`], this
    /// context is already writing twice over (recursion), or there is no room (counted as dropped
    /// or commit overrun).
    #[inline(always)]
    pub fn reserve<'e, E: Env>(&self, env: &'e E, length: usize) -> Option<Reservation<'a, 'e, E>> {
        let header = self.reserve_raw(env, length)?;
        Some(Reservation {
            writer: *self,
            env,
            header,
            length,
        })
    }

    /// [`reserve`](Self::reserve) for the C interface: the address of the event's header
    /// (`struct ring_buffer_event`), 4-byte aligned.
    ///
    /// After `Some` exactly one [`commit_raw`](Self::commit_raw) or
    /// [`discard_raw`](Self::discard_raw) must follow, in the reverse order of reservations; until
    /// then the event's bytes are the caller's.
    #[inline(always)]
    pub fn reserve_raw<E: Env>(&self, env: &E, length: usize) -> Option<NonNull<u8>> {
        match self.reserve_plain(env, length) {
            Attempt::Reserved(header) => Some(header),
            Attempt::Not => self.buffer.reserve_inside(env, self.context, length),
            // SAFETY: it was given just now.
            Attempt::Entered(length) => unsafe { self.reserve_entered(env, length as usize) },
        }
    }

    /// [`reserve_raw`](Self::reserve_raw) if it is the case that nearly always holds: no writer of
    /// this CPU is interrupted, the event and its time fit. Where it is not, and nothing lives
    /// across the rest, that can be a call at the end.
    #[inline(always)]
    pub fn reserve_plain<E: Env>(&self, env: &E, length: usize) -> Attempt {
        let buffer = self.buffer;
        let context = &buffer.setup.context;
        let Some(type_len) = small_type_len(length) else {
            return Attempt::Not;
        };
        // The position comes before the context word is set. If it and the stamp's position are the
        // same below, it is on the commit position's sub-buffer, and what was read in between
        // belongs to it (Documentation/ring-buffer.md, section 3).
        let position = Position(buffer.write.position.get());
        barrier();
        env.step(Step::PositionRead);
        if !buffer.is_free::<E>(position.used_after(type_len)) {
            return Attempt::Not;
        }
        let now = env.now();
        env.step(Step::ClockRead);
        // From here on the commit position stands still: it is the writer that found the word zero
        // who moves it.
        context.set(self.context.bit());
        barrier();
        env.step(Step::ContextEntered);

        if !word!(buffer: CpuBuffer, write.stamp_position holds position.0) {
            return Attempt::Entered(apart(type_len).wrapping_mul(4));
        }
        env.step(Step::StampPositionRead);
        let delta = word!(buffer: CpuBuffer, write.stamp off now);
        env.step(Step::StampRead);
        // Before the position is moved: until then a writer that goes on to another sub-buffer is
        // found out.
        let at = word!(buffer: CpuBuffer, setup.records past position.used());
        // (`cmpxchg` wants the old one in a register of its own; the other is free then for the new
        // one.)
        let old = Position(apart(position.0));
        let next = old.plus_small_event(type_len);
        if delta >> Header::DELTA_BITS != 0 || !buffer.write.position.replace(old.0, next.0) {
            return Attempt::Entered(apart(type_len).wrapping_mul(4));
        }
        env.step(Step::PositionMoved);

        // Reserved. Writers that come in before the last of these stores find no stamp for the
        // position and leave both words alone (`publish_stamp`).
        buffer.write.stamp.set(now);
        barrier();
        env.step(Step::StampStored);
        buffer.write.stamp_position.set(next.0);
        env.step(Step::StampPublished);
        buffer.set_event_time(self.context, now);
        // SAFETY: moving the position has got us an event there.
        Attempt::Reserved(unsafe { put_event_header(at, Header::new(type_len as u32, delta)) })
    }

    /// Does what [`Attempt::Entered`] is about. `None` as with [`reserve_raw`](Self::reserve_raw).
    ///
    /// # Safety
    ///
    /// The last that this context did with the buffer was the [`reserve_plain`](Self::reserve_plain)
    /// that gave the `Entered`, with this `length`.
    #[inline]
    pub unsafe fn reserve_entered<E: Env>(&self, env: &E, length: usize) -> Option<NonNull<u8>> {
        self.buffer.reserve_slow(env, self.context, length)
    }

    /// Ends the event that was reserved last: publishes it, or leaves that to the writer that was
    /// interrupted.
    ///
    /// # Safety
    ///
    /// This context has an event reserved by [`reserve_raw`](Self::reserve_raw) or what that
    /// consists of, which this call ends; what it has reserved later has ended.
    #[cfg(not(CONFIG_RTRACE))]
    #[inline(always)]
    pub unsafe fn commit_raw<E: Env>(&self, env: &E) -> Wake {
        // SAFETY: this context has an event reserved, and has ended later ones; the second goes on
        // with what the first has left.
        unsafe {
            match self.commit_plain(env) {
                Ended::Done(wake) => wake,
                rest => self.commit_rest(env, rest),
            }
        }
    }

    /// [`commit_raw`](Self::commit_raw) if it is the case that nearly always holds: that of a
    /// writer alone. Otherwise [`commit_rest`](Self::commit_rest) has to follow; where nothing
    /// lives across it, by a call at the end.
    ///
    /// # Safety
    ///
    /// As [`commit_raw`](Self::commit_raw).
    #[inline(always)]
    pub unsafe fn commit_plain<E: Env>(&self, env: &E) -> Ended {
        let buffer = self.buffer;
        buffer.leave_plain(
            env,
            || word!(buffer: CpuBuffer, setup.context is Context::NORMAL.bit() as i32),
        )
    }

    /// Does what [`commit_plain`](Self::commit_plain) has left.
    ///
    /// # Safety
    ///
    /// `rest` is what `commit_plain` gave for the event, and this follows it once.
    #[inline]
    pub unsafe fn commit_rest<E: Env>(&self, env: &E, rest: Ended) -> Wake {
        match rest {
            Ended::Done(wake) => wake,
            Ended::Inside => self.buffer.leave(env),
            Ended::Unpublished => self.buffer.publish_slow(env),
        }
    }

    /// Gives up the event that was reserved last.
    ///
    /// # Safety
    ///
    /// `header` came from the [`reserve_raw`](Self::reserve_raw) that this call ends.
    pub unsafe fn discard_raw<E: Env>(&self, env: &E, header: NonNull<u8>) -> Wake {
        // SAFETY: `header` is that of the event which this context reserved last and has not ended.
        unsafe { self.buffer.discard(env, header) }
    }

    /// Allows the caller, who has an event reserved, to reserve further ones of its own in the same
    /// context (`ring_buffer_nest_start`). Each call is undone by one [`nest_end`](Self::nest_end),
    /// all inner events ended before. Up to 6 deep, one more than the C kernel.
    pub fn nest_start(&self) {
        let buffer = self.buffer;
        let time = buffer.event_time();
        // The level first, and in `nest_end` last: so interrupts use other places.
        let context = buffer.change_context(|word| word & Context::CROSSED | word << Context::BITS);
        barrier();
        if let Some(aside) = buffer.nest.event_stamp.get(Context::level(context)) {
            aside.set(time);
        }
    }

    /// Undoes one [`nest_start`](Self::nest_start).
    ///
    /// # Safety
    ///
    /// There was one that is not undone yet, and events reserved since have ended.
    pub unsafe fn nest_end(&self) {
        let buffer = self.buffer;
        let outer =
            |word: u64| word & Context::CROSSED | (word & !Context::CROSSED) >> Context::BITS;
        let context = outer(buffer.setup.context.get());
        if let Some(aside) = buffer.nest.event_stamp.get(Context::level(context)) {
            buffer
                .event_stamp_of(Context::innermost(context))
                .set(aside.get());
        }
        barrier();
        buffer.change_context(outer);
    }

    /// The time of the event that was reserved last and is not ended yet
    /// (`ring_buffer_event_time_stamp`).
    pub fn event_time(&self) -> u64 {
        self.buffer.event_time()
    }
}

impl CpuBuffer {
    /// Notes the time of the event that `context` has reserved.
    #[inline(always)]
    pub(super) fn set_event_time(&self, context: Context, now: u64) {
        self.event_stamp_of(context).set(now);
    }

    #[inline(always)]
    fn event_stamp_of(&self, context: Context) -> &Local {
        let stamps = if context.is_second() {
            &self.nest.second_stamp
        } else {
            &self.write.event_stamp
        };
        // SAFETY: half of a context's number is at most 3 (the type's invariant), and there are 4
        // words.
        unsafe { stamps.get_unchecked(context.kind()) }
    }

    /// The time of the event that the innermost context has reserved.
    pub(super) fn event_time(&self) -> u64 {
        self.event_stamp_of(Context::innermost(self.setup.context.get()))
            .get()
    }

    /// [`leave`](Self::leave) in short for a writer who is `alone` by the context word: the
    /// outermost, and all have stayed on the commit position's sub-buffer.
    #[inline(always)]
    fn leave_plain<E: Env>(&self, env: &E, alone: impl FnOnce() -> bool) -> Ended {
        env.step(Step::CommitStarted);
        // The position first: if the word has no `CROSSED` afterwards, it is on the commit
        // position's sub-buffer.
        let position = Position(self.write.position.get());
        barrier();
        env.step(Step::CommitPositionRead);
        if !alone() {
            return Ended::Inside;
        }
        // Pairs with the acquire load in `CpuBuffer::committed`: who sees the position sees the
        // events before it.
        self.commit.commit.store_release(position.0);
        barrier();
        env.step(Step::CommitStored);
        word!(self: Self, setup.context and Context::LEFT);
        env.step(Step::ContextLeft);
        // A writer that came in before the context word was cleared has left its events to us.
        if !word!(self: Self, write.position holds position.0) {
            return Ended::Unpublished;
        }
        Ended::Done(self.wake())
    }

    #[inline(always)]
    pub(super) fn wake(&self) -> Wake {
        if word!(self: Self, setup.waiters is 0) {
            Wake::Unwanted
        } else {
            Wake::Wanted
        }
    }
}

/// Writes the header of an event, one word of it; gives its address.
///
/// # Safety
///
/// By moving the position, the caller has got an event of 8 bytes or more there for itself.
#[inline(always)]
pub(super) unsafe fn put_event_header(at: *mut u8, header: Header) -> NonNull<u8> {
    // SAFETY: moving the position has reserved 8 bytes or more there; positions on a sub-buffer are
    // multiples of 4.
    unsafe {
        put_u32(at, header.0);
        NonNull::new_unchecked(at)
    }
}

/// A reserved event. Ends in [`commit`](Self::commit) or [`discard`](Self::discard); dropping it
/// discards.
#[must_use = "dropping a reservation discards the event"]
pub struct Reservation<'a, 'e, E: Env> {
    writer: Writer<'a>,
    env: &'e E,
    header: NonNull<u8>,
    length: usize,
}

impl<E: Env> Reservation<'_, '_, E> {
    /// The payload's bytes; what was there before is not cleared.
    #[inline(always)]
    pub fn payload(&mut self) -> &mut [u8] {
        let skip = if self.length <= Header::MAX_SMALL {
            4
        } else {
            8
        };
        // SAFETY: the reservation owns the event's bytes until it ends, and `length` bytes of them
        // follow the header; sub-buffer memory is initialised (see `CpuBuffer::new`).
        unsafe { core::slice::from_raw_parts_mut(self.header.as_ptr().add(skip), self.length) }
    }

    /// The address of the event's header (`struct ring_buffer_event`).
    #[cfg(not(CONFIG_RTRACE))]
    #[inline(always)]
    pub fn header(&self) -> NonNull<u8> {
        self.header
    }

    /// Ends the event and makes it visible, at the latest when the outermost writer commits.
    #[inline(always)]
    pub fn commit(self) -> Wake {
        let this = ManuallyDrop::new(self);
        let context = this.writer.context;
        let buffer = this.writer.buffer;
        match buffer.leave_plain(
            this.env,
            || word!(buffer: CpuBuffer, setup.context holds context.bit()),
        ) {
            Ended::Done(wake) => wake,
            // SAFETY: it is what is left of this very event.
            rest => unsafe { this.writer.commit_rest(this.env, rest) },
        }
    }

    /// Gives the event up: it is never seen and not counted.
    #[cfg(not(CONFIG_RTRACE))]
    pub fn discard(self) -> Wake {
        let this = ManuallyDrop::new(self);
        // SAFETY: `header` is the event of this reservation, which ends here.
        unsafe { this.writer.buffer.discard(this.env, this.header) }
    }
}

impl<E: Env> Drop for Reservation<'_, '_, E> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as in `discard`. Who forgets to end an event also forgets to wake; the next
        // commit does.
        let _ = unsafe { self.writer.buffer.discard(self.env, self.header) };
    }
}
