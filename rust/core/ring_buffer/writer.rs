// SPDX-License-Identifier: GPL-2.0

//! The path of every event: reserve and commit. Each has one slow path, in `slow.rs`. Discarding is
//! in `discard.rs`.
//!
//! Nothing here locks, allocates, waits or can panic. It runs in task, softirq, hardirq and NMI
//! context.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::context::Context;
use super::cpu_buffer::CpuBuffer;
use super::env::Env;
use super::sub_buffer::put_u32;
use super::word::{small_type_len, Header, Position};
use crate::core::sys::{apart, barrier, word, Local};

/// Whether someone waits for the events that were just published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Wake {
    /// Nobody waits, or the events are not visible yet because an interrupted writer must commit
    /// first.
    Unwanted,
    /// Events became visible, and [`CpuBuffer::set_waiters`] has requested a wake-up.
    Wanted,
}

/// The result of ending an event by the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Ended {
    /// The event is published.
    Done(Wake),
    /// Nothing was done: a writer is interrupted, there are several sub-buffers to publish, or the
    /// bit of this writer is not that of task context.
    Inside,
    /// The event is published, but events of interrupting writers are not.
    Unpublished,
}

/// The result of reserving an event by the fast path.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub enum Attempt {
    /// The event is reserved as by [`Writer::reserve_raw`]. The value is the address of its header.
    Reserved(NonNull<u8>),
    /// Nothing was done: recording is disabled, a writer is interrupted, or the event is long or
    /// does not fit. [`Writer::reserve_raw`] may succeed.
    Not,
    /// The context word has the bit of this context. The caller must call
    /// [`Writer::reserve_entered`] with this length, which needs the same room.
    Entered(u64),
}

/// The right to write to a buffer: the code runs on its CPU and in the given context.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    pub(super) buffer: &'a CpuBuffer,
    pub(super) context: Context,
    /// A writer stays on its CPU.
    _not_send: PhantomData<*mut ()>,
}

impl CpuBuffer {
    /// The right to write, for code that runs in `context`.
    ///
    /// # Safety
    ///
    /// While the writer or an event reserved with it exists, the code runs on the one CPU that
    /// writes to this buffer, and is not preempted. `context` is the context it runs in. It may
    /// also be a deeper one that is about to begin or has just ended. It may also be that of tasks
    /// for [`reserve_plain`](Writer::reserve_plain) and the calls after it: these continue only if
    /// no other writer is active, and then all later writers are deeper.
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
    /// Reserves an event with a payload of `length` bytes, which the caller fills in later. Until
    /// the event is committed or discarded, no event of this CPU becomes visible to readers.
    ///
    /// `None` if recording is disabled, if the payload is longer than [`CpuBuffer::max_payload`],
    /// if this context is already writing twice (recursion), or if there is no room (counted as
    /// dropped or commit overrun). Then, and when the event is dropped, events of writers that have
    /// interrupted this one may have become visible: [`CpuBuffer::take_untold`].
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

    /// As [`reserve`](Self::reserve), for the C interface: returns the address of the event's
    /// header (`struct ring_buffer_event`), with 4-byte alignment.
    ///
    /// After `Some`, the caller calls [`commit_raw`](Self::commit_raw) or
    /// [`discard_raw`](Self::discard_raw) exactly once, in the reverse order of the reservations.
    /// Until then the event's bytes belong to the caller.
    #[inline(always)]
    pub fn reserve_raw<E: Env>(&self, env: &E, length: usize) -> Option<NonNull<u8>> {
        match self.reserve_plain(env, length) {
            Attempt::Reserved(header) => Some(header),
            Attempt::Not => self.buffer.reserve_inside(env, self.context, length),
            // SAFETY: the attempt just returned it.
            Attempt::Entered(length) => unsafe { self.reserve_entered(env, length as usize) },
        }
    }

    /// The fast path of [`reserve_raw`](Self::reserve_raw), for the most common case: no writer of
    /// this CPU is interrupted, and the event and its time fit. The caller can do the rest in a
    /// tail call.
    #[inline(always)]
    pub fn reserve_plain<E: Env>(&self, env: &E, length: usize) -> Attempt {
        let buffer = self.buffer;
        let context = &buffer.setup.context;
        let Some(type_len) = small_type_len(length) else {
            return Attempt::Not;
        };
        // The position is read before the context word is set. If it and the stamp's position are
        // equal below, it is on the sub-buffer of the commit position, and the values read in
        // between belong to it (Documentation/ring-buffer.md, section 3).
        let position = Position(buffer.write.position.get());
        barrier();
        if !buffer.is_free::<E>(position.used_after(type_len)) {
            return Attempt::Not;
        }
        let now = env.now();
        // From here on the commit position does not move: only the writer that found the word zero
        // moves it.
        context.set(self.context.bit());
        barrier();

        if !word!(buffer: CpuBuffer, write.stamp_position holds position.0) {
            return Attempt::Entered(apart(type_len).wrapping_mul(4));
        }
        let delta = word!(buffer: CpuBuffer, write.stamp off now);
        // This comes before the move of the position: until then a writer that has moved to another
        // sub-buffer is detected.
        let at = word!(buffer: CpuBuffer, setup.records past position.used());
        // (`cmpxchg` needs the old value in a fixed register. The copy leaves the other register
        // free for the new value.)
        let old = Position(apart(position.0));
        let next = old.plus_small_event(type_len);
        if delta >> Header::DELTA_BITS != 0 || !buffer.write.position.replace(old.0, next.0) {
            return Attempt::Entered(apart(type_len).wrapping_mul(4));
        }

        // The event is reserved. Writers that interrupt before the last of these stores find no
        // stamp for the position and do not change either word (`publish_stamp`).
        buffer.write.stamp.set(now);
        barrier();
        buffer.write.stamp_position.set(next.0);
        buffer.set_event_time(self.context, now);
        // SAFETY: moving the position has reserved an event there.
        let header = unsafe { put_event_header(at, Header::new(type_len as u32, delta)) };
        #[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
        buffer.validate(env);
        Attempt::Reserved(header)
    }

    /// Continues after [`Attempt::Entered`]. `None` as with [`reserve_raw`](Self::reserve_raw).
    ///
    /// # Safety
    ///
    /// The last call of this context on the buffer was the [`reserve_plain`](Self::reserve_plain)
    /// that returned `Entered` with this `length`.
    #[inline]
    pub unsafe fn reserve_entered<E: Env>(&self, env: &E, length: usize) -> Option<NonNull<u8>> {
        self.buffer.reserve_slow(env, self.context, length)
    }

    /// Ends the event that was reserved last: publishes it, or leaves that to the interrupted
    /// writer.
    ///
    /// # Safety
    ///
    /// This context has an event reserved by [`reserve_raw`](Self::reserve_raw) or by its parts,
    /// which this call ends. All events that it has reserved later have ended.
    #[cfg(not(CONFIG_RTRACE))]
    #[inline(always)]
    pub unsafe fn commit_raw<E: Env>(&self, env: &E) -> Wake {
        // SAFETY: this context has an event reserved, and has ended later ones; the second call
        // continues with the result of the first.
        unsafe {
            match self.commit_plain(env) {
                Ended::Done(wake) => wake,
                rest => self.commit_rest(env, rest),
            }
        }
    }

    /// The fast path of [`commit_raw`](Self::commit_raw), for the most common case: no other writer
    /// is active. Otherwise the caller must call [`commit_rest`](Self::commit_rest), which can be a
    /// tail call.
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

    /// Does the rest after [`commit_plain`](Self::commit_plain).
    ///
    /// # Safety
    ///
    /// `rest` is the result of `commit_plain` for the event, and this is the only call with it.
    #[inline]
    pub unsafe fn commit_rest<E: Env>(&self, env: &E, rest: Ended) -> Wake {
        match rest {
            Ended::Done(wake) => wake,
            Ended::Inside => self.buffer.leave(env),
            Ended::Unpublished => self.buffer.publish_slow(env),
        }
    }

    /// Discards the event that was reserved last.
    ///
    /// # Safety
    ///
    /// `header` is the result of the [`reserve_raw`](Self::reserve_raw) that this call ends.
    pub unsafe fn discard_raw<E: Env>(&self, env: &E, header: NonNull<u8>) -> Wake {
        // SAFETY: `header` is that of the event that this context reserved last and has not ended.
        unsafe { self.buffer.discard(env, header) }
    }

    /// Allows a caller with a reserved event to reserve more events in the same context
    /// (`ring_buffer_nest_start`). One [`nest_end`](Self::nest_end) undoes each call after all
    /// inner events have ended. Up to 6 levels are possible, one more than in the C kernel.
    pub fn nest_start(&self) {
        let buffer = self.buffer;
        let innermost = Context::innermost(buffer.setup.context.get());
        let times = buffer.stamps_of_kind(innermost).map(Local::get);
        // The level changes between: before it and after it, interrupts use other words, also those whose
        // context is still that of this writer.
        let context = buffer.change_context(|word| word & Context::CROSSED | word << Context::BITS);
        barrier();
        if let Some(aside) = buffer.nest.event_stamps.get(Context::level(context)) {
            for (aside, time) in aside.iter().zip(times) {
                aside.set(time);
            }
        }
    }

    /// Whether there is a level left for a [`nest_start`](Self::nest_start).
    pub fn can_nest(&self) -> bool {
        let highest = Context::BITS * (Context::LEVELS as u32 - 1);
        (self.buffer.setup.context.get() & !Context::CROSSED) >> highest == 0
    }

    /// Undoes one [`nest_start`](Self::nest_start).
    ///
    /// # Safety
    ///
    /// There is a `nest_start` that is not undone yet, and the events reserved since have ended.
    pub unsafe fn nest_end(&self) {
        let buffer = self.buffer;
        let outer =
            |word: u64| word & Context::CROSSED | (word & !Context::CROSSED) >> Context::BITS;
        let context = outer(buffer.setup.context.get());
        let aside = buffer.nest.event_stamps.get(Context::level(context));
        let times = aside.map(|[first, second]| [first.get(), second.get()]);
        barrier();
        buffer.change_context(outer);
        barrier();
        let stamps = buffer.stamps_of_kind(Context::innermost(context));
        for (stamp, time) in stamps.iter().zip(times.into_iter().flatten()) {
            stamp.set(time);
        }
    }

    /// The time of the event that was reserved last and has not ended yet
    /// (`ring_buffer_event_time_stamp`).
    pub fn event_time(&self) -> u64 {
        self.buffer.event_time()
    }
}

impl CpuBuffer {
    /// Stores the time of the event that `context` has reserved.
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

    /// The times of events that contexts of this kind have reserved: what is written inside at the next
    /// level of nesting uses both words again.
    fn stamps_of_kind(&self, context: Context) -> [&Local; 2] {
        let at = context.kind() % Context::KINDS;
        [&self.write.event_stamp[at], &self.nest.second_stamp[at]]
    }

    /// The time of the event that the innermost context has reserved.
    pub(super) fn event_time(&self) -> u64 {
        self.event_stamp_of(Context::innermost(self.setup.context.get()))
            .get()
    }

    /// The fast path of [`leave`](Self::leave), if the context word shows that the writer is
    /// `alone`: it is the outermost, and all writers have stayed on the sub-buffer of the commit
    /// position.
    #[inline(always)]
    fn leave_plain<E: Env>(&self, _env: &E, alone: impl FnOnce() -> bool) -> Ended {
        // The position is read first. If the word has no `CROSSED` afterwards, the position is on
        // the sub-buffer of the commit position.
        let position = Position(self.write.position.get());
        barrier();
        if !alone() {
            return Ended::Inside;
        }
        // Pairs with the acquire load in `CpuBuffer::committed`: a reader that sees the position
        // also sees the events before it.
        self.commit.commit.store_release(position.0);
        barrier();
        word!(self: Self, setup.context and Context::LEFT);
        // A writer that interrupted before the context word was cleared has left its events to us.
        if !word!(self: Self, write.position holds position.0) {
            return Ended::Unpublished;
        }
        Ended::Done(self.wake())
    }

    /// Whether, since this was last asked, attempts that ended without an event have published events
    /// that somebody waits for ([`Wake::Wanted`]): those of writers that interrupted them. To be asked
    /// after such an attempt, in its context.
    pub fn take_untold(&self) -> bool {
        if self.nest.untold.get() == 0 {
            return false;
        }
        self.nest.untold.set(0);
        true
    }

    /// Ends an attempt that has no event by `leave`, whose [`Wake`] it cannot give its caller.
    pub(super) fn without_event(&self, leave: impl FnOnce() -> Wake) {
        let before = self.commit.commit.load_relaxed();
        if leave() == Wake::Wanted && self.commit.commit.load_relaxed() != before {
            self.nest.untold.set(1);
        }
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

/// Writes the header word of an event. Returns its address.
///
/// # Safety
///
/// By moving the position, the caller has reserved 8 bytes or more there.
#[inline(always)]
pub(super) unsafe fn put_event_header(at: *mut u8, header: Header) -> NonNull<u8> {
    // SAFETY: moving the position has reserved 8 bytes or more there; positions on a sub-buffer are
    // multiples of 4.
    unsafe {
        put_u32(at, header.0);
        NonNull::new_unchecked(at)
    }
}

/// A reserved event. [`commit`](Self::commit) or [`discard`](Self::discard) ends it. Dropping it
/// discards the event.
#[must_use = "dropping a reservation discards the event"]
pub struct Reservation<'a, 'e, E: Env> {
    writer: Writer<'a>,
    env: &'e E,
    header: NonNull<u8>,
    length: usize,
}

impl<E: Env> Reservation<'_, '_, E> {
    /// The bytes of the payload. They are not cleared.
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

    /// Ends the event. It becomes visible at the latest when the outermost writer commits.
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
            // SAFETY: `rest` is the result for this event.
            rest => unsafe { this.writer.commit_rest(this.env, rest) },
        }
    }

    /// Discards the event. It never becomes visible and is not counted.
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
        let buffer = self.writer.buffer;
        // SAFETY: as in `discard`.
        buffer.without_event(|| unsafe { buffer.discard(self.env, self.header) });
    }
}
