// SPDX-License-Identifier: GPL-2.0

//! Writing.

use std::cell::Cell;
use std::ptr::NonNull;
use std::slice;

use rtrace_core::ring_buffer::{Context, Env, Header, Writer};

use super::{Both, Same};
use crate::c;
use crate::random::Random;

/// The levels of `interrupt_context_level()`.
const TASK: u32 = 0;
const IRQ: u32 = 2;
const NMI: u32 = 3;

/// How long an interrupt takes for each event, and at its end.
const INTERRUPT_TIME: u64 = 7;

/// How events are written.
#[derive(Clone, Copy, Default)]
pub struct Writing {
    /// Up to so many events are written inside another one.
    pub nested: u64,
    /// One of so many is discarded; of 0 none is.
    pub discarded: u64,
}

/// An event that is to be written.
#[derive(Clone, Copy, Debug)]
struct Event {
    level: u32,
    length: usize,
    number: u64,
}

impl Both {
    /// Some time later, an event of a task.
    pub fn write(&self, random: &mut Random) {
        self.write_at(random, TASK, Writing::default());
    }

    /// Some time later, an event of a task, with room for its number.
    pub fn write_numbered(&self, random: &mut Random) {
        self.advance(random.pause());
        let event = self.event(TASK, 8 + random.below(40) as usize);
        self.write_event(event, || false);
    }

    /// Some time later, an event of the level, and others inside it.
    pub fn write_at(&self, random: &mut Random, level: u32, writing: Writing) {
        self.advance(random.pause());
        self.write_now(random, level, writing);
    }

    fn write_now(&self, random: &mut Random, level: u32, writing: Writing) {
        let mut length = random.length(self.size);
        let buffer = self.ours.buffer();
        // Where each event has an absolute time, C refuses the longest ones of those that it says fit:
        // rb_reserve_next_event() subtracts the header twice.
        if buffer.absolute_stamps() && length <= buffer.max_payload() {
            length = length.min(buffer.max_payload() - 8);
        }
        self.write_event(self.event(level, length), || {
            let inner = match level {
                NMI => 0,
                _ => random.below(writing.nested + 1),
            };
            for _ in 0..inner {
                let deeper = level + 1 + random.below((NMI - level).into()) as u32;
                if random.one_in(2) {
                    self.advance(random.pause());
                }
                self.write_now(random, deeper, writing);
            }
            writing.discarded != 0 && random.one_in(writing.discarded)
        });
    }

    /// A payload that fits a sub-buffer with each kind of time record, and of which two do not fit.
    fn safe_length(&self) -> usize {
        self.size() - 40
    }

    /// The next event.
    fn event(&self, level: u32, length: usize) -> Event {
        let number = self.last.get() + 1;
        self.last.set(number);
        Event {
            level,
            length,
            number,
        }
    }

    fn writer(&self, level: u32) -> Writer<'_> {
        c::set_level(level);
        self.ours.writer(Context::from_interrupt_level(level))
    }

    /// Writes an event whose payload tells its number. `inside` writes others before it ends, and says
    /// whether it is discarded. Returns whether there was room.
    fn write_event(&self, event: Event, inside: impl FnOnce() -> bool) -> bool {
        let writer = self.writer(event.level);
        let ours = writer.reserve_raw(&self.clock, event.length);
        let theirs = self.theirs.reserve(event.length);
        let time = self.clock.time.get();
        self.say(format!("reserve at {time}, {event:?}: {}", ours.is_some()));
        self.fill_and_end(event, &self.clock, ours, theirs, inside)
    }

    /// Fills and ends what was reserved for an event.
    fn fill_and_end<E: Env>(
        &self,
        event: Event,
        env: &E,
        ours: Option<NonNull<u8>>,
        theirs: Option<NonNull<c::Event>>,
        inside: impl FnOnce() -> bool,
    ) -> bool {
        let Event { level, number, .. } = event;
        self.compare("room", ours.is_some(), theirs.is_some());
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return false;
        };
        let writer = self.writer(level);
        // SAFETY: both are reserved, and end below.
        let payloads = unsafe { [payload_of(ours), c::payload(theirs)] };
        let [our_length, their_length] = payloads.map(|payload| fill(payload, number));
        self.compare("length", our_length, their_length);
        let time = writer.event_time();
        // Where each event has an absolute time, C gives a wrong one to an event that was interrupted.
        if self.same_times.get() || !self.ours.buffer().absolute_stamps() {
            self.compare("time", time, self.theirs.event_time(theirs));
        }
        self.times.borrow_mut().insert(number, time);

        let discard = inside();
        let is_followed = self.last.get() != number;
        // Inside each other, some events have a time record here and none in C.
        if is_followed {
            self.only_same(Same::Events);
        }
        let writer = self.writer(level);
        if discard {
            self.say(format!("discard {number}"));
            // What is taken back and what stays as padding, time records among it, is up to each.
            self.only_same(Same::Events);
            if is_followed {
                // C's readers pass over the delta of a discarded event that others have followed.
                self.same_times.set(false);
            }
            // SAFETY: of the events that have not ended it is the one that was reserved last.
            let _ = unsafe { writer.discard_raw(env, ours) };
            self.theirs.discard(theirs);
        } else {
            self.say(format!("commit {number}"));
            // SAFETY: as above.
            let _ = unsafe { writer.commit_raw(env) };
            self.theirs.commit();
        }
        if self.is_mapped {
            let shown = self.ours.buffer().show_commit(self.shown.get());
            self.shown.set(shown);
        }
        self.check_warnings();
        true
    }

    /// Some time later, an event of a task that is interrupted by others where it reads the clock,
    /// and maybe by one more when it has its place.
    pub fn write_interrupted(&self, random: &mut Random) {
        self.advance(random.pause());
        let begin = self.clock.time.get();
        let length = |random: &mut Random| random.length(self.size).min(self.safe_length());
        let inner: Vec<_> = (0..random.below(4))
            .map(|_| {
                let level = TASK + 1 + random.below(NMI.into()) as u32;
                self.event(level, length(random))
            })
            .collect();
        let event = self.event(TASK, length(random));
        self.say(format!("at {begin}, {event:?}, interrupted by {inner:?}"));

        let writer = self.writer(TASK);
        let interrupted = Interrupted {
            both: self,
            inner: Cell::new(inner.clone()),
        };
        let ours = writer.reserve_raw(&interrupted, event.length);
        let interrupt = || {
            interrupt(&inner, c::clock, c::set_clock, |event| {
                self.write_theirs(event);
            });
            c::set_level(TASK);
        };
        let theirs = c::interrupted(interrupt, || self.theirs.reserve(event.length));
        self.compare("clock", self.clock.time.get(), c::clock());
        if !inner.is_empty() {
            // C tells the time behind the interrupt, and records that of the interrupt's last event.
            self.same_times.set(false);
            self.only_same(Same::Events);
        }
        self.fill_and_end(event, &interrupted, ours, theirs, || {
            if random.one_in(2) {
                self.write_event(self.event(IRQ, 10), || false);
            }
            false
        });
    }

    /// Writes events of a task, and inside the last one more events of interrupts than have room. Each
    /// needs a sub-buffer; the task's last one does if `crosses`.
    ///
    /// If that one has left a sub-buffer, C may overwrite it at once, and this buffer only when all is
    /// committed. So there is room for one less (coming-from-c.md, "A buffer that is full of events
    /// that are still being written").
    pub fn overfill(&self, before: u64, crosses: bool) {
        let longest = self.safe_length();
        let mut written = [0; 2];
        let mut count = |ours: bool, theirs: bool| {
            written[0] += u64::from(ours);
            written[1] += u64::from(theirs);
        };
        for _ in 0..before {
            let has_room = self.write_event(self.event(TASK, longest), || false);
            count(has_room, has_room);
        }
        let event = self.event(TASK, if crosses { longest } else { 8 });
        let has_room = self.write_event(event, || {
            for _ in 0..2 * self.ours.buffer().nr_slots() {
                let event = self.event(IRQ, longest);
                count(self.write_ours(event), self.write_theirs(event));
            }
            false
        });
        count(has_room, has_room);

        let overwrite = self.ours.buffer().overwrite();
        let less = u64::from(overwrite && crosses && before != 0);
        let [ours, theirs] = self.counts();
        self.compare("written", written[0] + less, written[1]);
        self.compare("overrun", ours.overrun + less, theirs.overrun);
        self.compare("entries", ours.entries, theirs.entries);
        let refused = written.map(|written| self.last.get() - written);
        assert_eq!(ours.commit_overrun + ours.dropped, refused[0]);
        assert_eq!(theirs.commit_overrun + theirs.dropped, refused[1]);
        // In C it may be `commit overrun` also where nothing is overwritten.
        match overwrite {
            true => assert_eq!(ours.dropped, 0),
            false => assert_eq!(ours.commit_overrun, 0),
        }
        if less == 0 {
            self.consume_all();
        }
    }

    /// Writes an event to this buffer alone. Returns whether there was room.
    fn write_ours(&self, event: Event) -> bool {
        let writer = self.ours.writer(Context::from_interrupt_level(event.level));
        let Some(reserved) = writer.reserve_raw(&self.clock, event.length) else {
            return false;
        };
        // SAFETY: it is reserved.
        fill(unsafe { payload_of(reserved) }, event.number);
        let time = writer.event_time();
        self.times.borrow_mut().insert(event.number, time);
        // SAFETY: it is the event that was reserved last.
        let _ = unsafe { writer.commit_raw(&self.clock) };
        true
    }

    /// Writes an event to C's buffer alone. Returns whether there was room.
    fn write_theirs(&self, event: Event) -> bool {
        c::set_level(event.level);
        let Some(reserved) = self.theirs.reserve(event.length) else {
            return false;
        };
        // SAFETY: it is reserved.
        fill(unsafe { c::payload(reserved) }, event.number);
        self.theirs.commit();
        true
    }
}

/// The clock of a writer that is interrupted where it reads the clock first.
struct Interrupted<'a> {
    both: &'a Both,
    inner: Cell<Vec<Event>>,
}

impl Env for Interrupted<'_> {
    fn now(&self) -> u64 {
        let clock = &self.both.clock.time;
        let now = clock.get();
        let set_time = |time| clock.set(time);
        interrupt(
            &self.inner.take(),
            || clock.get(),
            set_time,
            |event| {
                self.both.write_ours(event);
            },
        );
        now
    }
}

/// Writes the events of an interrupt, which takes some time.
fn interrupt(
    events: &[Event],
    time: impl Fn() -> u64,
    set_time: impl Fn(u64),
    write: impl Fn(Event),
) {
    for event in events {
        set_time(time() + INTERRUPT_TIME);
        write(*event);
    }
    if !events.is_empty() {
        set_time(time() + INTERRUPT_TIME);
    }
}

/// The payload of an event of ours, rounded up to words as in C.
///
/// # Safety
///
/// It is reserved, and nobody else uses it.
unsafe fn payload_of<'a>(event: NonNull<u8>) -> &'a mut [u8] {
    let words = event.as_ptr().cast::<u32>();
    // SAFETY: a record begins with its header. Where that has no length, the next word has it, and
    // counts itself.
    let (skip, length) = unsafe {
        match Header(*words).type_len() {
            0 => (8, *words.add(1) - 4),
            type_len => (4, type_len * 4),
        }
    };
    // SAFETY: the payload is behind that.
    unsafe { slice::from_raw_parts_mut(event.as_ptr().add(skip), length as usize) }
}

/// Fills a payload with what tells the event's number. Returns the length.
fn fill(payload: &mut [u8], number: u64) -> usize {
    for (at, byte) in payload.iter_mut().enumerate() {
        *byte = (number as u8).wrapping_mul(31).wrapping_add(at as u8);
    }
    if let Some(begin) = payload.first_chunk_mut() {
        *begin = number.to_ne_bytes();
    }
    payload.len()
}
