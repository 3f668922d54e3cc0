// SPDX-License-Identifier: GPL-2.0

//! Recording as C callers do it: an event is reserved, filled in by them, and committed or
//! discarded, in three calls.
//!
//! Preemption is off from the first to the last. Nothing here locks, allocates, sleeps or can
//! panic; any context, NMI included. `Documentation/ring-buffer-api.md` says where each instruction
//! goes.

#[cfg(CONFIG_EVENT_TRACING)]
use super::record::Target;
use super::ring::Ring;
use super::writer_clock::{Clocked, InLine};
use super::Buffer;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::core::format::entry::Entry;
use crate::core::ring_buffer::{Attempt, Context as Level, Ended, Wake, Writer};
use crate::core::sys::apart;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::kernel::context::Pinned;
use crate::kernel::context::{PreemptCount, PreemptOff};
#[cfg(CONFIG_EVENT_TRACING)]
use crate::trace::buffer::entry::Context;
use core::ptr::NonNull;
use kernel::cpu::CpuId;
use kernel::sync::atomic::Relaxed;

impl Buffer {
    /// Reserves an event with a payload of `length` bytes; gives the address of its header (`struct
    /// ring_buffer_event`). None as with [`Writer::reserve`].
    ///
    /// After it, preemption stays off until the caller ends the event with [`Buffer::commit`] or
    /// [`Buffer::discard`]; so long its bytes are the caller's.
    #[inline(always)]
    pub(crate) fn reserve(&self, length: usize) -> Option<NonNull<u8>> {
        let stay = PreemptOff::new();
        // SAFETY: preemption is off by `stay`, which goes where the ring goes.
        let ring = unsafe { self.this_ring() };
        // SAFETY: preemption is off and the ring is this CPU's. The short way asks whether another
        // writer is under way: where none is, it does no harm to take the context of tasks,
        // whichever this is.
        let writer = unsafe { ring.core.writer(Level::NORMAL) };
        match writer.reserve_plain(InLine::by(&stay), length) {
            Attempt::Reserved(event) => {
                core::mem::forget(stay);
                Some(event)
            }
            Attempt::Not => self.reserve_any(stay, length),
            Attempt::Entered(length) => {
                let same = apart(core::ptr::from_ref(ring) as u64) as *const Ring;
                // SAFETY: it is the same one, on which this was tried just now, with preemption off by
                // `stay`.
                unsafe { self.reserve_entered(stay, length, &*same) }
            }
        }
    }

    /// The ring of this CPU, for an event that is reserved and ended there with preemption off. Rings may
    /// be swapped meanwhile, and the one that comes may be that of a writer which this context
    /// interrupts.
    #[cfg(CONFIG_EVENT_TRACING)]
    #[inline(always)]
    pub(crate) fn held_ring<'a>(&'a self, stay: &'a impl Pinned) -> &'a HeldRing {
        // SAFETY: the type is transparent. INVARIANT: `stay` is borrowed as long.
        unsafe { &*core::ptr::from_ref(self.ring_here(stay)).cast() }
    }

    /// For entries that go to `ring`, which is one of this buffer or was when the reference was made.
    #[cfg(CONFIG_EVENT_TRACING)]
    pub(crate) fn on<'a>(&'a self, ring: &'a HeldRing) -> OnRing<'a> {
        OnRing { buffer: self, ring }
    }

    /// The rest of a [`HeldRing::try_reserve`] of `length` bytes. None as with [`Buffer::reserve`].
    ///
    /// # Safety
    ///
    /// `tried` is what that has just given on this ring of this buffer, in this context, with preemption
    /// off since; nothing was recorded there in between.
    #[cfg(CONFIG_EVENT_TRACING)]
    pub(crate) unsafe fn reserve_rest(
        &self,
        ring: &HeldRing,
        tried: Attempt,
        length: usize,
    ) -> Option<NonNull<u8>> {
        let event = match tried {
            Attempt::Reserved(event) => return Some(event),
            // SAFETY: by the invariant of `HeldRing` this CPU has or had it, with preemption off since.
            Attempt::Not => unsafe { self.reserve_on(&ring.0, PreemptOff::new(), length) },
            // SAFETY: that is what was tried there just now, with preemption off since.
            Attempt::Entered(length) => unsafe {
                self.reserve_entered(PreemptOff::new(), length, &ring.0)
            },
        }?;
        // SAFETY: it was left off once more.
        drop(unsafe { PreemptOff::assume() });
        Some(event)
    }

    /// Ends the event that was reserved last on `ring`, which is one of this buffer: publishes it.
    ///
    /// # Safety
    ///
    /// This context has it reserved there, and has ended what it reserved there since; preemption is off
    /// since.
    #[cfg(CONFIG_EVENT_TRACING)]
    #[inline(always)]
    pub(crate) unsafe fn commit_held(&self, ring: &HeldRing) {
        // SAFETY: preemption is off since this context has reserved the event there, and it has ended
        // later ones.
        let ended = unsafe {
            let writer = ring.0.core.writer(Level::NORMAL);
            writer.commit_plain(ring.clock())
        };
        match ended {
            Ended::Done(Wake::Unwanted) => {}
            // SAFETY: it is what ending the event on this ring has left just now.
            rest => unsafe { self.commit_rest_held(ring, rest) },
        }
    }

    /// # Safety
    ///
    /// `rest` is what ending this context's last event on `ring` has left just now.
    #[cfg(CONFIG_EVENT_TRACING)]
    #[cold]
    #[inline(never)]
    unsafe fn commit_rest_held(&self, ring: &HeldRing, rest: Ended) {
        // SAFETY: preemption is off as long as there is a reference to the ring, and `rest` is what ending
        // the event there has left.
        let wake = unsafe {
            let writer = ring.0.core.writer(Level::NORMAL);
            writer.commit_rest(ring.clock(), rest)
        };
        if wake == Wake::Wanted {
            self.tell(&ring.0);
        }
    }

    /// Ends the event that was reserved last on `ring`, at `event`: gives it up.
    ///
    /// # Safety
    ///
    /// As [`Buffer::commit_held`], and `event` is what the reservation gave.
    #[cfg(CONFIG_EVENT_TRACING)]
    pub(crate) unsafe fn discard_held(&self, ring: &HeldRing, event: NonNull<u8>) {
        // SAFETY: preemption is off, and this context has the event reserved on this ring; it is the last
        // one there that has not ended.
        let wake = unsafe {
            let writer = ring.0.core.writer(Level::NORMAL);
            writer.discard_raw(ring.clock(), event)
        };
        if wake == Wake::Wanted {
            self.tell(&ring.0);
        }
    }

    /// [`Buffer::reserve`] in every case. Like the next one it is called at the end, so that
    /// nothing lives across the call.
    #[cold]
    #[inline(never)]
    fn reserve_any(&self, stay: PreemptOff, length: usize) -> Option<NonNull<u8>> {
        // SAFETY: it is this CPU's, with preemption off by `stay`.
        unsafe { self.reserve_on(self.this_ring(), stay, length) }
    }

    /// # Safety
    ///
    /// `ring` is one of this buffer that this CPU has or had since preemption is off; `stay` has it off,
    /// too.
    unsafe fn reserve_on(
        &self,
        ring: &Ring,
        stay: PreemptOff,
        length: usize,
    ) -> Option<NonNull<u8>> {
        let level = PreemptCount::read().level();
        // SAFETY: `stay` has preemption off, only this CPU writes to the ring, and `level` says where
        // this is.
        let writer = unsafe { ring.core.writer(Level::from_interrupt_level(level)) };
        let event = if ring.core.short_clock() {
            writer.reserve_raw(InLine::by(&stay), length)
        } else if Clocked::is_read(ring, level) {
            return None;
        } else {
            writer.reserve_raw(
                &Clocked {
                    buffer: self,
                    ring,
                    level,
                },
                length,
            )
        };
        self.reserved(event, ring, stay)
    }

    /// [`Buffer::reserve`] of an event after a long time, or that was interrupted.
    ///
    /// # Safety
    ///
    /// This context's last attempt on `ring`, which was this CPU's then, gave this length. Preemption is
    /// off since; `stay` has it off, too.
    #[cold]
    #[inline(never)]
    unsafe fn reserve_entered(
        &self,
        stay: PreemptOff,
        length: u64,
        ring: &Ring,
    ) -> Option<NonNull<u8>> {
        // SAFETY: preemption is off since the attempt on this ring, which gave this length.
        let event = unsafe {
            let writer = ring.core.writer(Level::NORMAL);
            writer.reserve_entered(InLine::by(&stay), length as usize)
        };
        self.reserved(event, ring, stay)
    }

    /// Preemption stays off with an `event` that was reserved on `ring`.
    fn reserved(
        &self,
        event: Option<NonNull<u8>>,
        ring: &Ring,
        stay: PreemptOff,
    ) -> Option<NonNull<u8>> {
        match event {
            Some(_) => core::mem::forget(stay),
            None => self.ended_without_entry(ring),
        }
        event
    }

    /// Ends the event that was reserved last: publishes it.
    ///
    /// # Safety
    ///
    /// The caller has reserved an event here, on this CPU and in this context, and has not ended
    /// it; events that it has reserved later have ended.
    #[inline(always)]
    pub(crate) unsafe fn commit(&self) {
        // SAFETY: the event's `reserve` has left preemption off.
        let stay = unsafe { PreemptOff::assume() };
        // SAFETY: preemption is off by `stay`, which goes where the ring goes.
        let ring = unsafe { self.this_ring() };
        // SAFETY: preemption is off; committing looks at the context word alone. This context has
        // reserved an event here, and has ended later ones.
        let ended = unsafe {
            let writer = ring.core.writer(Level::NORMAL);
            writer.commit_plain(InLine::by(&stay))
        };
        match ended {
            Ended::Done(Wake::Unwanted) => {}
            // SAFETY: it is what ending the event on this CPU's ring has left, with preemption off by
            // `stay`.
            rest => unsafe { self.commit_rest(stay, ring, rest) },
        }
    }

    /// The rest of a [`Buffer::commit`]: somebody is to be woken, or it was not the plain case.
    ///
    /// # Safety
    ///
    /// `rest` is what ending this context's last event has left just now on `ring`, this CPU's, with
    /// preemption off by `stay`.
    #[cold]
    #[inline(never)]
    unsafe fn commit_rest(&self, stay: PreemptOff, ring: &Ring, rest: Ended) {
        let ring = if rest == Ended::Inside {
            self.written_ring(&stay, ring)
        } else {
            ring
        };
        // SAFETY: `stay` has preemption off, and `rest` is what ending the event on this ring has
        // left.
        let wake = unsafe {
            let writer = ring.core.writer(Level::NORMAL);
            writer.commit_rest(InLine::by(&stay), rest)
        };
        if wake == Wake::Wanted {
            self.tell(ring);
        }
    }

    /// The ring on which the caller has an event reserved: `ring`, which is this CPU's, unless that
    /// was swapped while the event was being reserved ([`Buffer::swap_at_rest`]).
    fn written_ring<'a>(&'a self, _stay: &'a PreemptOff, ring: &'a Ring) -> &'a Ring {
        if ring.core.is_writing() {
            return ring;
        }
        let gone = self
            .lane(CpuId::current())
            .map_or(core::ptr::null_mut(), |lane| lane.gone.load(Relaxed));
        // SAFETY: null, or the ring that the caller has reserved on: it was live then, and by `_stay`
        // preemption is off since.
        unsafe { gone.as_ref() }.unwrap_or(ring)
    }

    /// Ends the event that was reserved last: gives it up.
    ///
    /// # Safety
    ///
    /// As [`Buffer::commit`], and `event` is what `reserve` gave.
    #[inline]
    pub(crate) unsafe fn discard(&self, event: NonNull<u8>) {
        // SAFETY: the event's `reserve` has left preemption off.
        let stay = unsafe { PreemptOff::assume() };
        let ring = self.written_ring(&stay, self.ring_here(&stay));
        // SAFETY: preemption is off, and this context has reserved an event on this ring and not
        // ended it.
        let writer = unsafe { ring.core.writer(Level::NORMAL) };
        // SAFETY: `event` is what this context has reserved last and not ended; preemption is off
        // since.
        if unsafe { writer.discard_raw(InLine::by(&stay), event) } == Wake::Wanted {
            self.tell(ring);
        }
    }

    /// Records `payload` as one event. None as with [`Buffer::reserve`].
    pub(crate) fn write_raw(&self, payload: &[u8]) -> Option<()> {
        let stay = PreemptOff::new();
        let ring = self.ring_here(&stay);
        let level = PreemptCount::read().level();
        if Clocked::is_read(ring, level) {
            return None;
        }
        // SAFETY: `stay` has preemption off, the ring is this CPU's, and `level` says where this
        // is.
        let writer = unsafe { ring.core.writer(Level::from_interrupt_level(level)) };
        let clock = Clocked {
            buffer: self,
            ring,
            level,
        };
        let Some(mut event) = writer.reserve(&clock, payload.len()) else {
            self.ended_without_entry(ring);
            return None;
        };
        event.payload().copy_from_slice(payload);
        if event.commit() == Wake::Wanted {
            self.tell(ring);
        }
        Some(())
    }

    /// The time of the event that this context has reserved last and not ended. None while it has
    /// none.
    pub(crate) fn event_time(&self) -> Option<u64> {
        let stay = PreemptOff::new();
        let ring = self.ring_here(&stay);
        // SAFETY: preemption is off; this only reads.
        ring.core
            .is_writing()
            .then(|| unsafe { ring.core.writer(Level::NORMAL) }.event_time())
    }

    /// Lets this context record although it has an event reserved, until [`Buffer::nest_end`];
    /// preemption is off so long.
    pub(crate) fn nest_start(&self) {
        let stay = PreemptOff::new();
        let ring = self.ring_here(&stay);
        // SAFETY: preemption is off; this only moves the context word.
        unsafe { ring.core.writer(Level::NORMAL) }.nest_start();
        core::mem::forget(stay);
    }

    /// Undoes one [`Buffer::nest_start`].
    ///
    /// # Safety
    ///
    /// This context, on this CPU, has called `nest_start` and has not undone it; what it has
    /// reserved since has ended.
    pub(crate) unsafe fn nest_end(&self) {
        // SAFETY: `nest_start` has left preemption off.
        let stay = unsafe { PreemptOff::assume() };
        let ring = self.ring_here(&stay);
        // SAFETY: preemption is off; this context has called `nest_start` on this CPU, and has
        // ended what it reserved since.
        unsafe { ring.core.writer(Level::NORMAL).nest_end() };
    }

    /// Runs `f`, in which this context may record although it has an event reserved, unless it does so
    /// too often already. Preemption is off in it.
    pub(crate) fn with_nesting<R>(&self, f: impl FnOnce() -> R) -> R {
        let stay = PreemptOff::new();
        let ring = self.ring_here(&stay);
        // SAFETY: preemption is off; this only moves the context word.
        nesting(&unsafe { ring.core.writer(Level::NORMAL) }, f)
    }
}

/// Runs `f`, in which this context may record on the ring of `writer` although it has an event reserved
/// there, unless it does so too often already.
pub(super) fn nesting<R>(writer: &Writer<'_>, f: impl FnOnce() -> R) -> R {
    if !writer.can_nest() {
        return f();
    }
    writer.nest_start();
    let result = f();
    // SAFETY: it began above, and `f` ends what it reserves. If another ring has come meanwhile,
    // this is still the one where nesting started.
    unsafe { writer.nest_end() };
    result
}

/// A ring on which an event is reserved and ended; see [`Buffer::held_ring`].
///
/// # Invariants
///
/// As long as there is a reference, preemption is off on the CPU whose ring this was when the reference
/// was made; that CPU alone writes to it.
#[cfg(CONFIG_EVENT_TRACING)]
#[repr(transparent)]
pub(crate) struct HeldRing(Ring);

/// One ring of a buffer, for entries that are to be where others are; see [`Buffer::on`].
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) struct OnRing<'a> {
    buffer: &'a Buffer,
    ring: &'a HeldRing,
}

#[cfg(CONFIG_EVENT_TRACING)]
impl Target for OnRing<'_> {
    fn write_with<E: Entry>(
        &self,
        context: Context,
        length: usize,
        fill: impl FnOnce(u64, &mut [u8]) -> E,
    ) -> Option<()> {
        let fill = |writer: &Writer<'_>, tail: &mut [u8]| fill(writer.event_time(), tail);
        let (ring, stay) = (&self.ring.0, PreemptOff::new());
        // SAFETY: by the invariant of `HeldRing` this CPU has or had the ring, with preemption off since.
        unsafe {
            self.buffer
                .write_filled_on(ring, &stay, context, length, fill)
        }
    }
}

#[cfg(CONFIG_EVENT_TRACING)]
impl HeldRing {
    /// The clock, as long as there is a reference.
    #[inline(always)]
    fn clock(&self) -> &InLine {
        // SAFETY: by the invariant preemption is off as long.
        unsafe { InLine::without_guard() }
    }

    /// [`Buffer::reserve`] for a caller that has preemption off until it has ended the event with
    /// [`Buffer::commit_held`] or [`Buffer::discard_held`]; what is not the usual case is left to
    /// [`Buffer::reserve_rest`], which has to follow.
    #[inline(always)]
    pub(crate) fn try_reserve(&self, length: usize) -> Attempt {
        // SAFETY: preemption is off as long as there is a reference; the short way asks itself whether
        // another writer is under way.
        unsafe { self.0.core.writer(Level::NORMAL) }.reserve_plain(self.clock(), length)
    }

    /// The time of the event that this context has reserved last there and not ended.
    pub(crate) fn event_time(&self) -> u64 {
        // SAFETY: preemption is off as long as there is a reference; this only reads.
        unsafe { self.0.core.writer(Level::NORMAL) }.event_time()
    }

    /// Runs `f`, in which this context may record there although it has an event reserved.
    pub(crate) fn nesting<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: preemption is off as long as there is a reference; this only moves the context word.
        nesting(&unsafe { self.0.core.writer(Level::NORMAL) }, f)
    }

    /// Lets this context record there although it has an event reserved, until [`HeldRing::nest_end`].
    /// False where it does so too often already; nothing has begun then.
    #[cfg(CONFIG_SYNTH_EVENTS)]
    pub(crate) fn nest_start(&self) -> bool {
        // SAFETY: preemption is off as long as there is a reference; this only moves the context word.
        let writer = unsafe { self.0.core.writer(Level::NORMAL) };
        let can_nest = writer.can_nest();
        if can_nest {
            writer.nest_start();
        }
        can_nest
    }

    /// Undoes one [`HeldRing::nest_start`].
    ///
    /// # Safety
    ///
    /// That has given true in this context, with preemption off since, and was not undone; what this
    /// context has reserved there since has ended.
    #[cfg(CONFIG_SYNTH_EVENTS)]
    pub(crate) unsafe fn nest_end(&self) {
        // SAFETY: preemption is off as long as there is a reference; this context has begun to nest
        // there, and has ended what it reserved since.
        unsafe { self.0.core.writer(Level::NORMAL).nest_end() };
    }
}
