// SPDX-License-Identifier: GPL-2.0

//! Writer against reader, iterator, readers of whole pages and a mapping, in every order of their
//! accesses that the memory model allows.
//! (Resizing, swaps, waiters and emptying: `tools/testing/loom/buffer`.)
//!
//! `LOOM_MAX_PREEMPTIONS=2 RUSTFLAGS="--cfg loom" cargo test --release -p rtrace-core --test
//! ring_buffer_loom`
//!
//! loom knows threads, not interrupts: a nested writer is a call from a point of the outer one, as
//! in `ring_buffer_interrupted.rs`, from each of them with `RTRACE_TEST_ALL=1`, else from one of
//! seven. It does not see the bytes of events either; their order is that
//! of the words that publish them, and the payload is compared. (Sub-buffers of one or two events,
//! a ring of two.)

#![cfg(loom)]

#[path = "ring_buffer/memory.rs"]
mod memory;

use loom::sync::Arc;
use loom::thread;
use memory::{commit_word, free_page, new_page, Memory};
use rtrace_core::ring_buffer::parse::{Cursor, Lost, Page};
use rtrace_core::ring_buffer::{Context, Env, Iter, Plain, Wake, HEADER_SIZE};
use rtrace_core::sys::points;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A payload that leaves room for one event on a sub-buffer of 64 bytes.
const WHOLE: usize = 30;
/// One that leaves room for two.
const HALF: usize = 16;

/// A point of a writer at which a nested one writes, and whether it was ever reached.
#[derive(Clone)]
struct Interrupt {
    point: usize,
    reached: std::sync::Arc<AtomicBool>,
}

/// Runs `case` with an interrupt at each point.
fn at_each_point(case: impl Fn(Option<Interrupt>)) {
    let stride = match std::env::var_os("RTRACE_TEST_ALL") {
        Some(_) => 1,
        None => 7,
    };
    for point in (0..).step_by(stride) {
        let reached = std::sync::Arc::new(AtomicBool::new(false));
        case(Some(Interrupt {
            point,
            reached: reached.clone(),
        }));
        if !reached.load(Ordering::Relaxed) {
            assert!(point > 10, "{point} points");
            return;
        }
    }
}

/// The writer's surroundings: time is the number of the event; once, at a point, a nested writer.
struct Cpu<'a> {
    memory: &'a Memory,
    count: Cell<u64>,
    interrupt: Option<Interrupt>,
    points: Cell<usize>,
    written: Cell<u64>,
    refused: Cell<u64>,
    /// The sub-buffer whose commit was shown last, for a mapping.
    shown: Cell<u32>,
}

impl Cpu<'_> {
    fn new(memory: &Memory, interrupt: Option<Interrupt>) -> Cpu<'_> {
        Cpu {
            memory,
            count: Cell::new(0),
            interrupt,
            points: Cell::new(0),
            written: Cell::new(0),
            refused: Cell::new(0),
            shown: Cell::new(u32::MAX),
        }
    }

    /// Does what a writer does, and is interrupted meanwhile.
    fn act(&self, act: impl FnOnce(&Self)) {
        points::with(&|| self.point(), || act(self));
    }

    fn point(&self) {
        let point = self.points.replace(self.points.get() + 1);
        if let Some(interrupt) = self.interrupt.as_ref().filter(|at| at.point == point) {
            interrupt.reached.store(true, Ordering::Relaxed);
            self.write(Context::NMI, HALF);
        }
    }

    /// Events are numbered in the order in which their place is taken; the payload says the number.
    fn write(&self, context: Context, length: usize) {
        let Some(mut event) = self.memory.writer(context).reserve(self, length) else {
            self.refused.set(self.refused.get() + 1);
            return self.ended_without_event();
        };
        let time = self.memory.writer(context).event_time();
        event.payload()[..8].copy_from_slice(&time.to_ne_bytes());
        self.written.set(self.written.get() + 1);
        self.committed(event.commit());
    }

    /// Shows what is committed where the buffer is mapped: nothing else makes commits tell.
    fn committed(&self, wake: Wake) {
        if wake == Wake::Wanted {
            let shown = self.memory.buffer().show_commit(self.shown.get());
            self.shown.set(shown);
        }
    }

    /// What the glue does after an attempt without an event.
    fn ended_without_event(&self) {
        if self.memory.buffer().take_untold() {
            self.committed(Wake::Wanted);
        }
    }

    /// An event of `HALF` bytes the plain way, or like any other where the case is not plain.
    fn write_plain(&self) {
        let writer = self.memory.writer(Context::NORMAL);
        match writer.write_plain_at(self, |time| [time, 0]) {
            Plain::Done | Plain::Wanted => {}
            Plain::Unpublished => {
                let _ = writer.publish(self);
            }
            Plain::Not => return self.write(Context::NORMAL, HALF),
            Plain::Abandoned => {
                // SAFETY: it was said of the attempt just made.
                unsafe { writer.abandon(self) };
                self.ended_without_event();
                return self.write(Context::NORMAL, HALF);
            }
        }
        self.written.set(self.written.get() + 1);
    }

    /// Reserves an event and gives it up. What was written there shows that nobody sees it.
    fn discard(&self, length: usize) {
        let Some(mut event) = self.memory.writer(Context::NORMAL).reserve(self, length) else {
            self.refused.set(self.refused.get() + 1);
            return;
        };
        event.payload()[..8].copy_from_slice(&u64::MAX.to_ne_bytes());
        let _ = event.discard();
    }
}

impl Env for Cpu<'_> {
    fn now(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }
}

/// Runs `case` in all orders, of which there is more than one.
///
/// loom (0.7.2) notices that a store and another thread's load can change places only if the load was
/// the last access before the store. A thread that loads a word and then stores it hides the loads of
/// others from loom. So the writer, which does so, is the thread that runs first here: the others'
/// loads come after its stores at first, and loom notices those.
fn model(case: impl Fn() + Send + Sync + 'static) {
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    loom::model({
        let count = count.clone();
        move || {
            count.fetch_add(1, Ordering::Relaxed);
            case();
        }
    });
    let count = count.load(Ordering::Relaxed);
    assert!(count > 30, "{count} orders");
}

/// What a reader has seen.
#[derive(Default)]
struct Seen {
    last: u64,
    seen: u64,
    lost: u64,
}

/// Tries so many times to consume an event.
fn consume(memory: &Memory, attempts: usize, mut seen: Seen) -> Seen {
    let mut reader = memory.reader();
    for _ in 0..attempts {
        if let Some(event) = reader.consume() {
            check(&mut seen.last, event.time, event.payload);
            seen.seen += 1;
            seen.lost += event.lost;
        }
    }
    seen
}

/// The time in the payload is that of the event, and later than the last.
fn check(last: &mut u64, time: u64, payload: &[u8]) {
    assert_eq!(u64::from_ne_bytes(payload[..8].try_into().unwrap()), time);
    assert!(time > *last);
    *last = time;
}

/// A writer of `count` events and a reader that consumes at the same time; nothing may be missing
/// in the end.
fn write_and_consume(count: u64, length: usize, overwrite: bool, interrupt: Option<Interrupt>) {
    act_and_consume(count, overwrite, interrupt, move |cpu, _| {
        cpu.write(Context::NORMAL, length)
    });
}

/// The same of a writer that does `act` for each of `count` numbers.
fn act_and_consume(
    count: u64,
    overwrite: bool,
    interrupt: Option<Interrupt>,
    act: impl Fn(&Cpu<'_>, u64) + Copy + Send + Sync + 'static,
) {
    act_and_read(count, overwrite, interrupt, act, READER);
}

/// How a reader reads: so many times. Whether the buffer is mapped for that.
type Read = (fn(&Memory, usize, Seen) -> Seen, bool);

const READER: Read = (consume, false);
const PAGES: Read = (take_pages, false);
const MAPPING: Read = (see_pages, true);

/// The same of a reader that does `read` while the ring is overwritten.
fn read_while_writing(count: u64, length: usize, interrupt: Option<Interrupt>, read: Read) {
    let write = move |cpu: &Cpu<'_>, _| cpu.write(Context::NORMAL, length);
    act_and_read(count, true, interrupt, write, read);
}

fn act_and_read(
    count: u64,
    overwrite: bool,
    interrupt: Option<Interrupt>,
    act: impl Fn(&Cpu<'_>, u64) + Copy + Send + Sync + 'static,
    (read, is_mapped): Read,
) {
    model(move || {
        let memory = Arc::new(Memory::new(2, 64));
        memory.buffer().set_overwrite(overwrite);
        if is_mapped {
            memory.buffer().set_waiters(true);
            memory.reader().show_header();
        }
        let reader = thread::spawn({
            let memory = memory.clone();
            move || read(&memory, 2, Seen::default())
        });
        let cpu = Cpu::new(&memory, interrupt.clone());
        cpu.act(|cpu| (0..count).for_each(|number| act(cpu, number)));
        let (written, refused) = (cpu.written.get(), cpu.refused.get());
        let seen = reader.join().unwrap();
        if is_mapped && written > 0 {
            check_shown(&memory);
        }
        let Seen { seen, lost, .. } = read(&memory, 8, seen);
        let stats = memory.buffer().stats();
        assert_eq!(
            (seen + lost, stats.entries, stats.read),
            (written, 0, seen),
            "{stats:?}"
        );
        assert_eq!(
            (stats.overrun, stats.dropped + stats.commit_overrun),
            (lost, refused),
            "{stats:?}"
        );
    });
}

#[test]
fn consuming_while_the_ring_is_overwritten() {
    write_and_consume(5, WHOLE, true, None);
}

#[test]
fn consuming_from_a_ring_that_fills_up() {
    write_and_consume(4, WHOLE, false, None);
}

#[test]
fn consuming_from_the_sub_buffer_being_written() {
    write_and_consume(4, HALF, true, None);
}

#[test]
fn consuming_while_a_writer_is_interrupted() {
    at_each_point(|interrupt| write_and_consume(2, HALF, true, interrupt));
}

#[test]
fn consuming_while_a_writer_is_interrupted_in_crossing() {
    at_each_point(|interrupt| write_and_consume(2, WHOLE, true, interrupt));
}

#[test]
fn consuming_what_is_written_the_plain_way() {
    for (count, overwrite) in [(5, true), (4, false)] {
        act_and_consume(count, overwrite, None, |cpu, _| cpu.write_plain());
    }
}

#[test]
fn consuming_while_a_plain_writer_is_interrupted() {
    at_each_point(|interrupt| act_and_consume(2, true, interrupt, |cpu, _| cpu.write_plain()));
}

#[test]
fn consuming_while_events_are_given_up() {
    for first in [0, 1] {
        act_and_consume(4, true, None, move |cpu, number| {
            match number % 2 == first {
                true => cpu.discard(HALF),
                false => cpu.write(Context::NORMAL, HALF),
            }
        });
    }
}

/// One that is interrupted while an event is reserved that it gives up cannot take it back.
#[test]
fn consuming_while_an_interrupted_writer_gives_up() {
    at_each_point(|interrupt| {
        act_and_consume(2, true, interrupt, |cpu, number| match number {
            0 => cpu.discard(HALF),
            _ => cpu.write(Context::NORMAL, HALF),
        });
    });
}

#[test]
fn iterating_while_the_ring_is_overwritten() {
    iterate_while_writing(None);
}

#[test]
fn iterating_while_nested_writers_overwrite() {
    at_each_point(iterate_while_writing);
}

fn iterate_while_writing(interrupt: Option<Interrupt>) {
    model(move || {
        let memory = Arc::new(Memory::new(2, 64));
        let cpu = Cpu::new(&memory, interrupt.clone());
        (0..2).for_each(|_| cpu.write(Context::NORMAL, WHOLE));
        let reader = thread::spawn({
            let memory = memory.clone();
            move || {
                let mut iter = Iter::new([0; 64]);
                let (mut last, mut seen) = (0, 0);
                let reader = memory.reader();
                for _ in 0..2 {
                    if let Some(event) = iter.next(&reader) {
                        check(&mut last, event.time, event.payload);
                        seen += 1 + event.lost;
                    }
                }
                (iter, last, seen)
            }
        });
        let more = if interrupt.is_some() { 1 } else { 2 };
        cpu.act(|cpu| (0..more).for_each(|_| cpu.write(Context::NORMAL, WHOLE)));
        let (mut iter, mut last, mut seen) = reader.join().unwrap();
        let reader = memory.reader();
        while let Some(event) = iter.next(&reader) {
            check(&mut last, event.time, event.payload);
            seen += 1 + event.lost;
        }
        assert_eq!(seen, cpu.written.get());
    });
}

#[test]
fn counting_while_writing() {
    model(|| {
        let memory = Arc::new(Memory::new(2, 64));
        let reader = thread::spawn({
            let memory = memory.clone();
            move || {
                let during = memory.buffer().stats();
                assert!(during.entries + during.overrun <= 3, "{during:?}");
            }
        });
        let cpu = Cpu::new(&memory, None);
        (0..3).for_each(|_| cpu.write(Context::NORMAL, WHOLE));
        reader.join().unwrap();
        let after = memory.buffer().stats();
        assert_eq!(after.entries + after.overrun, 3, "{after:?}");
    });
}

/// Takes whole pages, swapped out or else copied, until there is none, at most so many.
fn take_pages(memory: &Memory, attempts: usize, mut seen: Seen) -> Seen {
    let size = memory.buffer().sub_buffer_size();
    let mut page = new_page(size);
    let mut copy = [0; 72];
    for _ in 0..attempts {
        let mut reader = memory.reader();
        // SAFETY: the page has that size and nobody else uses it; nothing is mapped.
        let swapped = unsafe { reader.swap_page(&mut page) }.is_some();
        // SAFETY: as above; its bytes are all set.
        let mut bytes = unsafe { std::slice::from_raw_parts(page.as_ptr(), size as usize) };
        if !swapped {
            if reader.copy_page(&mut copy, size as usize, false).is_err() {
                continue;
            }
            bytes = &copy;
        }
        let page = Page::parse(bytes).unwrap();
        for event in page.events() {
            let (time, payload) = event.unwrap();
            check(&mut seen.last, time, payload);
            seen.seen += 1;
        }
        seen.lost += match page.lost {
            Lost::No => 0,
            Lost::Some => panic!("there is room for the number"),
            Lost::Count(lost) => lost,
        };
    }
    // SAFETY: what was swapped in has the same size, and the buffer does not use it any more.
    unsafe { free_page(page, size) };
    seen
}

#[test]
fn taking_pages_while_the_ring_is_overwritten() {
    read_while_writing(3, WHOLE, None, PAGES);
}

#[test]
fn taking_pages_from_the_sub_buffer_being_written() {
    read_while_writing(3, HALF, None, PAGES);
}

#[test]
fn taking_pages_while_a_writer_is_interrupted() {
    at_each_point(|interrupt| read_while_writing(2, HALF, interrupt, PAGES));
}

/// Nobody writes any more. The sub-buffer of the last commit shows all there is before the reader asks.
fn check_shown(memory: &Memory) {
    let (id, events) = memory.buffer().written_events();
    let length = commit_word(memory, id as u32).0;
    assert_eq!(events_on(memory, id as u32, length).len() as u64, events);
}

/// The times of the events on the first `length` bytes of a sub-buffer's records.
fn events_on(memory: &Memory, id: u32, length: u64) -> Vec<u64> {
    let data = memory.buffer().sub_buffer_memory(id).unwrap();
    let end = HEADER_SIZE + length as usize;
    // SAFETY: so many bytes are committed, and nobody writes there before the reader's next call.
    let bytes = unsafe { std::slice::from_raw_parts(data, end) };
    let (header, records) = bytes.split_at(HEADER_SIZE);
    let mut cursor = Cursor::start(u64::from_ne_bytes(header[..8].try_into().unwrap()));
    let mut last = 0;
    std::iter::from_fn(|| cursor.next_event(records).unwrap())
        .map(|found| {
            check(&mut last, found.time, &records[found.payload..found.end]);
            found.time
        })
        .collect()
}

/// Looks at what a mapping shows, half as often.
fn see_pages(memory: &Memory, attempts: usize, mut seen: Seen) -> Seen {
    for _ in 0..attempts / 2 {
        let page = memory.reader().mapped_page();
        let shown = commit_word(memory, page.id).0;
        assert!(shown >= page.read.into(), "{shown} of {page:?}");
        let events = events_on(memory, page.id, page.read.into());
        let new = events.iter().filter(|time| **time > seen.last).count();
        seen.seen += new as u64;
        seen.lost += page.lost;
        seen.last = events.last().map_or(seen.last, |last| seen.last.max(*last));
    }
    seen
}

#[test]
fn mapped_while_the_ring_is_overwritten() {
    read_while_writing(3, WHOLE, None, MAPPING);
}

#[test]
fn mapped_while_the_sub_buffer_is_written() {
    read_while_writing(3, HALF, None, MAPPING);
}

#[test]
fn mapped_while_a_writer_is_interrupted() {
    at_each_point(|interrupt| read_while_writing(2, HALF, interrupt, MAPPING));
}

/// What interrupts a writer that then finds no room may find some, as the reader has come meanwhile.
#[test]
fn mapped_while_a_writer_is_interrupted_that_finds_no_room() {
    at_each_point(|interrupt| {
        let write = |cpu: &Cpu<'_>, _| cpu.write(Context::NORMAL, WHOLE);
        act_and_read(3, false, interrupt, write, MAPPING);
    });
}
