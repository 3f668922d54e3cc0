// SPDX-License-Identifier: GPL-2.0

//! The writers' side: the path of every entry, and its slow paths.
//!
//! Nothing here locks, allocates, sleeps or can panic; any context, NMI included.
//! `Documentation/function-tracer.md` says where each instruction goes.

#[cfg(CONFIG_EVENT_TRACING)]
use super::raw::nesting;
use super::ring::Ring;
use super::writer_clock::{Clocked, InLine};
use super::Buffer;
use crate::core::format::entry::{Entry, Words};
use crate::core::ring_buffer::{
    Context as Level, Env, Headless, Payload, Plain, Reservation, Wake, Writer,
};
use crate::core::sys::constant;
use crate::kernel::context::{current_pid_anew, Pinned, PreemptCount, PreemptOff};
use crate::trace::buffer::entry::{Context, CpuFlag, EntryMade, PlainCount, PlainTask};
use kernel::cpu::CpuId;
use kernel::prelude::*;
#[cfg(any(CONFIG_FUNCTION_TRACER, CONFIG_SCHED_TRACER))]
use kernel::sync::atomic::Relaxed;

/// What is left to be done of an attempt to record, and on which ring: another one may have taken
/// its place since. One word, to be handed on in a register, and what keeps preemption off. It is
/// done once, by [`Buffer::complete`].
///
/// # Invariants
///
/// One of the two constants, or the address of the ring and the outcome's number. That ring was this
/// CPU's when a task, this one, made the attempt, with preemption off by `stay` since; there is no other
/// value of that attempt.
#[must_use = "the attempt has to be completed unless it is done"]
pub(crate) struct Unfinished<S: Pinned> {
    word: usize,
    stay: S,
}

impl<S: Pinned> Unfinished<S> {
    /// The entry is there.
    pub(crate) const NOTHING: usize = 1;
    const OUTCOMES: [Plain; 5] = [
        Plain::Done,
        Plain::Wanted,
        Plain::Unpublished,
        Plain::Not,
        Plain::Abandoned,
    ];
    const MASK: usize = align_of::<Ring>() - 1;

    /// There was no attempt.
    #[inline(always)]
    pub(crate) fn no_attempt(stay: S) -> Self {
        // INVARIANT: no ring.
        Self { word: 0, stay }
    }

    /// # Safety
    ///
    /// A task has just made an attempt on `ring`, this CPU's by `stay`, with this `outcome`; nobody else
    /// makes a value of it.
    #[inline(always)]
    unsafe fn of(ring: &Ring, outcome: Plain, stay: S) -> Self {
        // (Each number where it is needed: a register that had it before could have nothing else.)
        let number = match outcome {
            Plain::Done => constant::<{ Plain::Done as u32 }>(),
            Plain::Wanted => constant::<{ Plain::Wanted as u32 }>(),
            Plain::Unpublished => constant::<{ Plain::Unpublished as u32 }>(),
            Plain::Not => constant::<{ Plain::Not as u32 }>(),
            Plain::Abandoned => constant::<{ Plain::Abandoned as u32 }>(),
        };
        const { assert!(Self::OUTCOMES.len() <= Self::MASK) };
        // INVARIANT: the numbers are those of `OUTCOMES`, and below the alignment; the rest is what
        // the caller says.
        Self {
            word: core::ptr::from_ref(ring) as usize | number as usize,
            stay,
        }
    }

    /// Whether nothing is left to do.
    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        self.word == Self::NOTHING
    }

    /// What code in assembly hands on.
    ///
    /// # Safety
    ///
    /// `word` is as the type's invariants say, of an attempt made since `stay`.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    #[inline(always)]
    pub(crate) unsafe fn handed_on(word: usize, stay: S) -> Self {
        // INVARIANT: the caller says so.
        Self { word, stay }
    }

    fn get(&self) -> Option<(&Ring, Plain)> {
        // SAFETY: by the invariant a ring or null; preemption is off since by `stay`, which holds
        // up its end.
        let ring = unsafe { ((self.word & !Self::MASK) as *const Ring).as_ref() }?;
        Some((ring, *Self::OUTCOMES.get(self.word & Self::MASK)?))
    }
}

/// An entry of a plain task, whose header and words are read as they are stored, so that no register
/// has to keep them.
struct Headed<F> {
    count: PlainCount,
    /// Reads the pid, and makes the entry.
    made: F,
}

/// An entry that can be stored without its header.
pub(crate) trait Body {
    /// The type's number.
    const KIND: u16;
    /// The length in bytes, header included.
    const SIZE: usize;

    /// Stores what follows the header.
    ///
    /// # Safety
    ///
    /// At `at` is room for [`SIZE`](Self::SIZE) bytes, in an event that has not ended.
    unsafe fn put(self, at: *mut u8);
}

impl<E: Entry<Words: Headless>> Body for E {
    const KIND: u16 = E::ID;
    const SIZE: usize = <E::Words as Payload>::LENGTH;

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        // SAFETY: there is room for the words at `at`, in an event that has not ended.
        unsafe { self.words(0).put_rest(at) };
    }
}

impl<F, E> Payload for Headed<F>
where
    F: FnOnce() -> (i32, E),
    E: Body,
{
    const LENGTH: usize = E::SIZE;

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        const { assert!(E::SIZE >= size_of::<u64>()) };
        let header = self.count.header(E::KIND);
        // SAFETY: there is room for `LENGTH` bytes at `at`, eight of them for the header, in an event
        // that has not ended.
        unsafe {
            at.cast::<u32>().write_unaligned(header.kind_and_flags);
            at.add(3).write(header.preempt_depth);
            let (pid, entry) = (self.made)();
            at.add(4).cast::<i32>().write_unaligned(pid);
            entry.put(at);
        }
    }
}

/// Where entries go: a buffer, or one ring of it ([`Buffer::on`]).
pub(crate) trait Target {
    /// As [`Buffer::write_with`].
    fn write_with<E: Entry>(
        &self,
        context: Context,
        length: usize,
        fill: impl FnOnce(u64, &mut [u8]) -> E,
    ) -> Option<()>;
}

impl Target for Buffer {
    #[inline(always)]
    fn write_with<E: Entry>(
        &self,
        context: Context,
        length: usize,
        fill: impl FnOnce(u64, &mut [u8]) -> E,
    ) -> Option<()> {
        Buffer::write_with(self, context, length, fill)
    }
}

impl Buffer {
    /// Reads the clock. Preemption is off.
    #[cfg(CONFIG_SCHED_TRACER)]
    #[inline(always)]
    pub(crate) fn now_here(&self, stay: &PreemptOff) -> u64 {
        match self.clock_in_line.load(Relaxed) {
            true => InLine::by(stay).now(),
            false => self.now(),
        }
    }

    /// Whether this CPU records now. Any context.
    #[inline(always)]
    pub(crate) fn is_recording_here(&self, stay: &PreemptOff) -> bool {
        self.ring_here(stay).core.is_recording()
    }

    /// The longest that an entry of this CPU can be, in bytes, its common header included. Any
    /// context. Unlike [`Buffer::max_entry`] this reads nothing that other CPUs write.
    #[inline]
    pub(crate) fn max_entry_here(&self, stay: &PreemptOff) -> usize {
        self.ring_here(stay).core.max_payload()
    }

    /// Records an entry of two words and its header. Any context.
    ///
    /// All but the case that nearly always holds leaves by a call at the end: that way nothing here
    /// lives across a call. The words go there first, as a callback has its arguments, so that they
    /// stay where they are.
    #[inline(always)]
    pub(crate) fn record<E: Entry<Words = [u64; 3]>>(&self, entry: E) {
        let [_, one, two] = entry.words(0);
        let count = PreemptCount::read();
        let stay = PreemptOff::new();
        let Some(count) = PlainCount::of(count) else {
            return Self::record_any(one, two, self, stay, E::ID);
        };
        // SAFETY: preemption is off by `stay`, which goes to whoever the ring is given.
        let ring = unsafe { self.this_ring() };
        // SAFETY: preemption is off while `writer` lives, the ring is this CPU's, and this is a
        // task.
        let writer = unsafe { ring.core.writer(Level::NORMAL) };
        let headed = |_| Headed {
            count,
            made: || (current_pid_anew(), entry),
        };
        match writer.write_plain_at(InLine::by(&stay), headed) {
            Plain::Done => EntryMade::set(true),
            Plain::Wanted => self.wake(stay, ring),
            // SAFETY: this task has written it, with preemption off by `stay`.
            Plain::Unpublished => unsafe { self.publish(stay, ring) },
            Plain::Not => Self::record_any(one, two, self, stay, E::ID),
            // SAFETY: this task has just made the attempt, with preemption off by `stay`.
            Plain::Abandoned => unsafe { Self::record_again(one, two, self, stay, ring, E::ID) },
        }
    }

    /// Where the pointers to this CPU's and the other CPUs' rings are, for code in assembly, which records
    /// as [`Buffer::record`] does. `None` while it would always leave that to the callback: the clock
    /// cannot be read in line, or all entries carry their full time.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn rings(&self) -> Option<usize> {
        let usual = self.clock_in_line.load(Relaxed) && !self.absolute.load(Relaxed);
        usual.then(|| self.rings.base().as_ptr() as usize)
    }

    /// Does what is `left` of such an attempt to record `entry`.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn finish<E: Entry<Words = [u64; 3]>>(
        &self,
        left: Unfinished<PreemptOff>,
        entry: E,
    ) {
        let (made, stay) = self.complete(left);
        if !made {
            let [_, one, two] = entry.words(0);
            Self::record_any(one, two, self, stay, E::ID);
        }
    }

    /// Records an entry made by a plain task, which may depend on its time, if this is the plain
    /// case; `made` reads the task's pid, too. Then `done` is called with that time, else `rest` with
    /// what is left to do: before anything else is recorded here, it calls [`Buffer::complete`], or other
    /// entries of this CPU wait for that. Preemption is off in both.
    #[inline(always)]
    pub(crate) fn record_headed<E: Body, S: Pinned, R>(
        &self,
        stay: S,
        count: PlainCount,
        made: impl FnOnce(u64) -> (i32, E),
        done: impl FnOnce(S, u64) -> R,
        rest: impl FnOnce(Unfinished<S>, u64) -> R,
    ) -> R {
        // SAFETY: preemption is off by `stay`, which goes where the ring goes.
        let ring = unsafe { self.this_ring() };
        // SAFETY: `stay` has preemption off while `writer` lives, the ring is this CPU's, and by
        // `count` this is a task.
        let writer = unsafe { ring.core.writer(Level::NORMAL) };
        let mut time = 0;
        let headed = |now| {
            time = now;
            Headed {
                count,
                made: move || made(now),
            }
        };
        // SAFETY: called for the outcome of the attempt that is made now, by a task, on what is this CPU's
        // ring by `stay`; the value is the only one of it.
        let left = |outcome, stay| unsafe { Unfinished::of(ring, outcome, stay) };
        match writer.write_plain_at(InLine::by(&stay), headed) {
            Plain::Done => {
                EntryMade::set(true);
                done(stay, time)
            }
            Plain::Wanted => rest(left(Plain::Wanted, stay), time),
            Plain::Unpublished => rest(left(Plain::Unpublished, stay), time),
            Plain::Not => rest(left(Plain::Not, stay), time),
            Plain::Abandoned => rest(left(Plain::Abandoned, stay), time),
        }
    }

    /// Records an entry made in `context`, which may depend on its time, if this is the plain case;
    /// and that time. Preemption stays off to [`Buffer::complete`], which follows before anything else is
    /// recorded here, unless it [`is_done`](Unfinished::is_done); other entries of this CPU wait for
    /// that.
    #[inline(always)]
    pub(crate) fn record_fast<E: Entry<Words: Payload>, S: Pinned>(
        &self,
        stay: S,
        context: PlainTask,
        entry: impl FnOnce(u64) -> E,
    ) -> (Unfinished<S>, u64) {
        self.record_words(stay, context, |now| entry(now).words(context.header(E::ID)))
    }

    /// [`Buffer::record_fast`] of an entry's words, header included.
    #[inline(always)]
    pub(crate) fn record_words<P: Payload, S: Pinned>(
        &self,
        stay: S,
        _context: PlainTask,
        payload: impl FnOnce(u64) -> P,
    ) -> (Unfinished<S>, u64) {
        // SAFETY: preemption is off by `stay`, which goes where the ring goes.
        let ring = unsafe { self.this_ring() };
        // SAFETY: `stay` has preemption off while `writer` lives, the ring is this CPU's, and by
        // `_context` this is a task.
        let writer = unsafe { ring.core.writer(Level::NORMAL) };
        let mut time = 0;
        let outcome = writer.write_plain_at(InLine::by(&stay), |now| {
            time = now;
            payload(now)
        });
        if outcome == Plain::Done {
            EntryMade::set(true);
            // INVARIANT: no ring.
            let word = Unfinished::<S>::NOTHING;
            return (Unfinished { word, stay }, time);
        }
        // SAFETY: it is the outcome of the attempt just made, by a task, on what is this CPU's ring by
        // `stay`; there is one value of it.
        (unsafe { Unfinished::of(ring, outcome, stay) }, time)
    }

    /// Does what is left of [`Buffer::record_fast`], and gives back what keeps preemption off. False
    /// if nothing was recorded, and [`Buffer::write_with`] may.
    ///
    /// Inside of an event that this context has reserved after the attempt nothing is done.
    #[inline(always)]
    pub(crate) fn complete<S: Pinned>(&self, left: Unfinished<S>) -> (bool, S) {
        let made = match left.get() {
            // SAFETY: by the invariant of `Unfinished`, of which `left` is the one of the attempt, and
            // which has preemption off until after this.
            Some((ring, outcome)) => unsafe { self.complete_on(ring, outcome) },
            None => left.is_done(),
        };
        (made, left.stay)
    }

    /// [`Buffer::complete`] of an attempt on `ring`.
    ///
    /// # Safety
    ///
    /// The task that runs this has made it, with that `outcome`, and preemption is off since. Nothing was
    /// done for it yet.
    #[cold]
    #[inline(never)]
    unsafe fn complete_on(&self, ring: &Ring, outcome: Plain) -> bool {
        match outcome {
            Plain::Done => {}
            Plain::Wanted => self.wake(PreemptOff::new(), ring),
            // SAFETY: this task has made the attempt, with preemption off since.
            Plain::Unpublished => unsafe { self.publish(PreemptOff::new(), ring) },
            Plain::Not => return false,
            Plain::Abandoned => {
                // SAFETY: this task has made the attempt, with preemption off since, and nothing was
                // done for it yet.
                unsafe {
                    let clock = InLine::without_guard();
                    ring.core.writer(Level::NORMAL).abandon(clock);
                }
                self.ended_without_entry(ring);
                return false;
            }
        }
        true
    }

    /// [`Buffer::record`] in every case.
    #[cold]
    #[inline(never)]
    fn record_any(one: u64, two: u64, buffer: &Self, stay: PreemptOff, kind: u16) {
        // Recording may be off for long, with the tracer on.
        if buffer.is_recording_here(&stay) {
            let context = Context::capture_before(&stay).of_kind(kind);
            Self::record_at(one, two, buffer, &stay, context);
        }
    }

    /// [`Buffer::record`] of an event after a long time, or that was interrupted.
    ///
    /// # Safety
    ///
    /// The task that runs this has just made an attempt on `ring`, with preemption off by `stay`, which
    /// was [abandoned](Plain::Abandoned).
    #[cold]
    #[inline(never)]
    unsafe fn record_again(
        one: u64,
        two: u64,
        buffer: &Self,
        stay: PreemptOff,
        ring: &Ring,
        kind: u16,
    ) {
        // SAFETY: `stay` has preemption off since the attempt that this task made on this ring, and for
        // which nothing was done yet.
        unsafe { ring.core.writer(Level::NORMAL).abandon(InLine::by(&stay)) };
        buffer.ended_without_entry(ring);
        Self::record_any(one, two, buffer, stay, kind);
    }

    /// Records an entry made in `context`, which is complete and for the entry's type.
    fn record_at(one: u64, two: u64, buffer: &Self, stay: &PreemptOff, context: Context) {
        let (level, header) = (context.level(), context.word());
        let ring = buffer.ring_here(stay);
        if Clocked::is_read(ring, level) {
            return;
        }
        // SAFETY: preemption is off by `stay`, the ring is this CPU's, and `level` says where this is.
        let writer = unsafe { ring.core.writer(Level::from_interrupt_level(level)) };
        let clock = Clocked {
            buffer,
            ring,
            level,
        };
        let Some(mut entry) = writer.reserve(&clock, 24) else {
            return buffer.ended_without_entry(ring);
        };
        for (place, word) in entry.payload().chunks_exact_mut(8).zip([header, one, two]) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        buffer.end(ring, entry);
    }

    /// The rest of a [`Buffer::record`] that somebody waits for.
    #[cold]
    #[inline(never)]
    fn wake(&self, _stay: PreemptOff, ring: &Ring) {
        EntryMade::set(true);
        self.tell(ring);
    }

    /// Tells who waits that entries of `ring`, one of this CPU's, became visible. Any context, preemption
    /// off.
    #[cold]
    #[inline(never)]
    pub(super) fn tell(&self, ring: &Ring) {
        if let Some(lane) = self.lane(CpuId::current()) {
            lane.committed(ring);
        }
    }

    /// An attempt to record on `ring` has ended without an entry. What interrupted it may have recorded
    /// entries that became visible only now.
    #[cold]
    #[inline(never)]
    pub(super) fn ended_without_entry(&self, ring: &Ring) {
        if ring.core.take_untold() {
            self.tell(ring);
        }
    }

    /// The rest of a [`Buffer::record`] on a new sub-buffer, or after one that was interrupted.
    ///
    /// # Safety
    ///
    /// The task that runs this has written an event to `ring`, with preemption off since; `stay` has it
    /// off, too.
    #[cold]
    #[inline(never)]
    unsafe fn publish(&self, stay: PreemptOff, ring: &Ring) {
        EntryMade::set(true);
        // SAFETY: preemption is off since this task has written to this ring, which was its CPU's.
        let writer = unsafe { ring.core.writer(Level::NORMAL) };
        if writer.publish(InLine::by(&stay)) == Wake::Wanted {
            self.wake(stay, ring);
        }
    }

    /// [`Buffer::record`] of an entry made in `context`, which is complete. Any context.
    pub(crate) fn record_in<E: Entry<Words = [u64; 3]>>(&self, context: Context, entry: E) {
        let [_, one, two] = entry.words(0);
        Self::record_at(one, two, self, &PreemptOff::new(), context.of_kind(E::ID));
    }

    /// Records `entry` and the parts of its tail one after the other. Any context.
    ///
    /// None when it was not: recording is off, it is too long, or there is no room.
    ///
    /// Not inline: all that the entry's context takes stays in one function.
    #[inline(never)]
    pub(crate) fn write<E: Entry, const N: usize>(&self, entry: E, tail: [&[u8]; N]) -> Option<()> {
        self.write_parts(Context::capture_all(), entry, tail)
    }

    /// [`Buffer::write`] of an entry made in `context`.
    pub(crate) fn write_in<E: Entry, const N: usize>(
        &self,
        context: Context,
        entry: E,
        tail: [&[u8]; N],
    ) -> Option<()> {
        self.write_parts(context, entry, tail)
    }

    /// Records the entry, made in `context`, that `fill` gives. It gets the entry's time, and fills
    /// the tail of `length` bytes itself; it runs with preemption off and must neither sleep nor
    /// record. Any context.
    ///
    /// None as with [`Buffer::write`].
    pub(crate) fn write_with<E: Entry>(
        &self,
        context: Context,
        length: usize,
        fill: impl FnOnce(u64, &mut [u8]) -> E,
    ) -> Option<()> {
        self.write_filled(context, length, |writer, tail| {
            fill(writer.event_time(), tail)
        })
    }

    /// Records `entry`, made in `context`, with a tail of `length` bytes. While it is reserved, `fill` gets
    /// its time and all of its bytes, and writes the tail; it may record, and runs with preemption off.
    /// Any context.
    ///
    /// None as with [`Buffer::write`].
    #[cfg(CONFIG_EVENT_TRACING)]
    pub(crate) fn write_nesting<E: Entry>(
        &self,
        context: Context,
        entry: E,
        length: usize,
        fill: impl FnOnce(u64, &mut [u8]),
    ) -> Option<()> {
        let length = length.saturating_add(E::SIZE);
        self.write_payload(context, length, |writer, payload| {
            entry.words(context.header(E::ID)).store(payload);
            let time = writer.event_time();
            nesting(writer, || fill(time, payload));
            Some(())
        })
    }

    #[inline(always)]
    fn write_parts<E: Entry, const N: usize>(
        &self,
        context: Context,
        entry: E,
        tail: [&[u8]; N],
    ) -> Option<()> {
        let length = tail
            .iter()
            .fold(0usize, |sum, part| sum.saturating_add(part.len()));
        self.write_filled(context, length, |_, mut rest| {
            for part in tail {
                let Some((place, behind)) = rest.split_at_mut_checked(part.len()) else {
                    break;
                };
                place.copy_from_slice(part);
                rest = behind;
            }
            entry
        })
    }

    #[inline(always)]
    fn write_filled<E: Entry>(
        &self,
        context: Context,
        length: usize,
        fill: impl FnOnce(&Writer<'_>, &mut [u8]) -> E,
    ) -> Option<()> {
        let stay = PreemptOff::new();
        // SAFETY: it is this CPU's, with preemption off by `stay`.
        unsafe { self.write_filled_on(self.ring_here(&stay), &stay, context, length, fill) }
    }

    /// [`Buffer::write_filled`] on `ring`.
    ///
    /// # Safety
    ///
    /// This CPU has the ring, or had it since preemption is off; `stay` has it off, too.
    #[inline(always)]
    pub(super) unsafe fn write_filled_on<E: Entry>(
        &self,
        ring: &Ring,
        stay: &PreemptOff,
        context: Context,
        length: usize,
        fill: impl FnOnce(&Writer<'_>, &mut [u8]) -> E,
    ) -> Option<()> {
        let length = length.saturating_add(E::SIZE);
        let fill = |writer: &Writer<'_>, payload: &mut [u8]| {
            let (start, tail) = payload.split_at_mut_checked(E::SIZE)?;
            let words = fill(writer, tail).words(context.header(E::ID));
            words.store(start);
            Some(())
        };
        // SAFETY: the caller promises it.
        unsafe { self.write_payload_on(ring, stay, context, length, fill) }
    }

    /// Records what `fill` writes to the `length` bytes of an entry made in `context`; nothing where
    /// it gives none.
    #[cfg(CONFIG_EVENT_TRACING)]
    #[inline(always)]
    fn write_payload(
        &self,
        context: Context,
        length: usize,
        fill: impl FnOnce(&Writer<'_>, &mut [u8]) -> Option<()>,
    ) -> Option<()> {
        let stay = PreemptOff::new();
        // SAFETY: it is this CPU's, with preemption off by `stay`.
        unsafe { self.write_payload_on(self.ring_here(&stay), &stay, context, length, fill) }
    }

    /// [`Buffer::write_payload`] on `ring`.
    ///
    /// # Safety
    ///
    /// As [`Buffer::write_filled_on`].
    #[inline(always)]
    unsafe fn write_payload_on(
        &self,
        ring: &Ring,
        stay: &PreemptOff,
        context: Context,
        length: usize,
        fill: impl FnOnce(&Writer<'_>, &mut [u8]) -> Option<()>,
    ) -> Option<()> {
        let level = context.level();
        // SAFETY: preemption is off by `stay`, only this CPU writes to the ring, and `level` says where
        // this is.
        let writer = unsafe { ring.core.writer(Level::from_interrupt_level(level)) };
        if context.is_plain_task() && ring.core.short_clock() {
            return self.write_by(InLine::by(stay), ring, &writer, length, fill);
        }
        if Clocked::is_read(ring, level) {
            return None;
        }
        let clock = Clocked {
            buffer: self,
            ring,
            level,
        };
        self.write_by(&clock, ring, &writer, length, fill)
    }

    /// Does so by a clock of the caller's choice; `ring` is that of `writer`.
    #[inline(always)]
    fn write_by(
        &self,
        clock: &impl Env,
        ring: &Ring,
        writer: &Writer<'_>,
        length: usize,
        fill: impl FnOnce(&Writer<'_>, &mut [u8]) -> Option<()>,
    ) -> Option<()> {
        let Some(entry) = writer.reserve(clock, length).and_then(|mut entry| {
            fill(writer, entry.payload())?;
            Some(entry)
        }) else {
            self.ended_without_entry(ring);
            return None;
        };
        self.end(ring, entry);
        Some(())
    }

    /// Commits, and wakes waiters.
    #[inline(always)]
    fn end(&self, ring: &Ring, entry: Reservation<'_, '_, impl Env>) {
        let wake = entry.commit();
        EntryMade::set(true);
        if wake == Wake::Wanted {
            self.wake(PreemptOff::new(), ring);
        }
    }

    /// The ring of this CPU.
    #[inline(always)]
    pub(super) fn ring_here<'a>(&'a self, _stay: &'a impl Pinned) -> &'a Ring {
        // SAFETY: `_stay` has preemption off as long as the ring is borrowed.
        unsafe { self.this_ring() }
    }

    /// The ring of this CPU, for callers that hand it on together with what has preemption off.
    ///
    /// # Safety
    ///
    /// Preemption is off as long as the result is used.
    #[inline(always)]
    pub(super) unsafe fn this_ring(&self) -> &Ring {
        // SAFETY: by the type invariant a live ring; it goes only after a grace period, which
        // preemption off holds up.
        unsafe { &*self.rings.load_this() }
    }
}
