// SPDX-License-Identifier: GPL-2.0

//! The ring buffer when something happens at a bad moment: an interrupt that writes a lot, a
//! setting that changes, a writer that moves on while a reader looks.

#![cfg(not(loom))]

#[path = "ring_buffer/memory.rs"]
mod memory;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use memory::{commit_word, free_page, new_page, Clock, Memory};
use rtrace_core::ring_buffer::{parse, Context, Env, Iter};
use rtrace_core::sys::points;

const BIG: usize = 96;

fn write<E: Env>(memory: &Memory, env: &E, context: Context, value: u64, length: usize) -> bool {
    let Some(mut event) = memory.writer(context).reserve(env, length) else {
        return false;
    };
    event.payload().fill(0);
    event.payload()[..8].copy_from_slice(&value.to_ne_bytes());
    let _ = event.commit();
    true
}

/// A clock at a time other than the one a buffer starts with.
fn clock() -> Clock {
    let clock = Clock::default();
    clock.advance(1);
    clock
}

fn value(payload: &[u8]) -> u64 {
    u64::from_ne_bytes(payload[..8].try_into().unwrap())
}

/// Runs `act`, and `interrupt` once, at that point of it. Says whether there was such a point.
fn interrupted(point: usize, act: impl FnOnce(), interrupt: impl FnOnce()) -> bool {
    let (count, interrupt) = (Cell::new(0), Cell::new(Some(interrupt)));
    let hook = || {
        if count.replace(count.get() + 1) == point {
            if let Some(interrupt) = interrupt.take() {
                interrupt();
            }
        }
    };
    points::with(&hook, act);
    count.get() > point
}

#[test]
fn overrun_counts_what_was_overwritten_and_not_what_overwrote_it() {
    let mut point = 0;
    while overrun_where_interrupted(point) {
        point += 1;
    }
    assert!(point > 20, "{point} points");
}

fn overrun_where_interrupted(point: usize) -> bool {
    let memory = Memory::new(4, 128);
    let clock = clock();
    // Seven events on each sub-buffer, all slots used, the last sub-buffer full.
    for i in 0..35 {
        assert!(write(&memory, &clock, Context::NORMAL, i, 8));
    }
    // Somewhere the interrupt fills the sub-buffer that the interrupted writer has just claimed, and
    // leaves it.
    let any = interrupted(
        point,
        || assert!(write(&memory, &clock, Context::NORMAL, 102, 8)),
        || {
            assert!(write(&memory, &clock, Context::IRQ, 100, BIG));
            assert!(write(&memory, &clock, Context::IRQ, 101, BIG));
        },
    );

    let stats = memory.buffer().stats();
    let mut reader = memory.reader();
    let first = reader.consume().unwrap();
    assert_eq!(
        (first.lost, value(first.payload)),
        (stats.overrun, stats.overrun)
    );
    let mut left = 1;
    while reader.consume().is_some() {
        left += 1;
    }
    assert_eq!(left, stats.entries);
    assert_eq!(memory.buffer().stats().bytes, 0);
    any
}

/// Switches absolute stamps on when a writer reads the clock for the second time.
struct SwitchInClock<'a>(&'a Memory, Cell<bool>);

impl Env for SwitchInClock<'_> {
    fn now(&self) -> u64 {
        if self.1.replace(true) {
            self.0.buffer().set_absolute_stamps(true);
        }
        1
    }
}

#[test]
fn an_event_fits_its_sub_buffer_when_absolute_stamps_are_switched_on_meanwhile() {
    let memory = Memory::new(2, 256);
    let length = memory.buffer().max_payload();
    let env = SwitchInClock(&memory, Cell::new(false));
    let mut event = memory
        .writer(Context::NORMAL)
        .reserve(&env, length)
        .unwrap();
    let payload = event.payload().as_ptr_range();
    let fits = |id| {
        let data = memory.buffer().sub_buffer_memory(id).unwrap() as usize;
        data < payload.start as usize && payload.end as usize <= data + 256
    };
    assert!(
        (0..=2).any(fits),
        "the payload reaches out of its sub-buffer"
    );
    let _ = event.commit();
    let mut reader = memory.reader();
    assert_eq!(reader.consume().unwrap().payload.len(), length);
}

#[test]
fn an_iterator_does_not_go_back_to_what_was_consumed() {
    let memory = Memory::new(4, 128);
    let clock = clock();
    let mut reader = memory.reader();
    for i in 0..3 {
        write(&memory, &clock, Context::NORMAL, i, 8);
        assert!(reader.consume().is_some());
    }
    let mut iter = Iter::new(vec![0; 128]);
    assert!(iter.peek(&reader).is_none());
    assert!(iter.peek(&reader).is_none());
    write(&memory, &clock, Context::NORMAL, 3, 8);
    let event = iter.next(&reader).unwrap();
    assert_eq!((value(event.payload), event.lost), (3, 0));
}

#[test]
fn an_iterator_does_not_read_memory_that_was_swapped_in() {
    let memory = Memory::new(4, 128);
    let clock = clock();
    let mut reader = memory.reader();
    let mut iter = Iter::new(vec![0; 128]);
    for i in 0..3 {
        write(&memory, &clock, Context::NORMAL, i, 8);
    }
    for i in 0..3 {
        assert_eq!(value(iter.next(&reader).unwrap().payload), i);
    }
    for i in 3..10 {
        write(&memory, &clock, Context::NORMAL, i, 8);
    }
    let mut page = new_page(128);
    // SAFETY: the page is as long as a sub-buffer and initialised.
    unsafe { reader.swap_page(&mut page) }.unwrap();
    // SAFETY: the buffer has given the page away.
    unsafe { free_page(page, 128) };
    let event = iter.next(&reader).unwrap();
    assert_eq!((value(event.payload), event.lost), (7, 4));
}

/// Memory of an iterator that calls a function when the iterator is about to copy.
struct Scratch<F: FnMut()>(Vec<u8>, F);

impl<F: FnMut()> AsRef<[u8]> for Scratch<F> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl<F: FnMut()> AsMut<[u8]> for Scratch<F> {
    fn as_mut(&mut self) -> &mut [u8] {
        (self.1)();
        &mut self.0
    }
}

#[test]
fn an_iterator_skips_nothing_when_the_writer_moves_on_meanwhile() {
    let memory = Memory::new(4, 128);
    let clock = clock();
    for i in 0..10 {
        write(&memory, &clock, Context::NORMAL, i, 8);
    }
    let (armed, next) = (Cell::new(false), Cell::new(10));
    let write_on = || {
        if armed.take() {
            for _ in 0..6 {
                write(&memory, &clock, Context::NORMAL, next.get(), 8);
                next.set(next.get() + 1);
            }
        }
    };
    let reader = memory.reader();
    let mut iter = Iter::new(Scratch(vec![0; 128], write_on));
    for i in 0..10 {
        assert_eq!(value(iter.next(&reader).unwrap().payload), i);
    }
    armed.set(true);
    // Whether or not it sees at once what is written during the call.
    let mut expected = 10;
    while expected < 16 {
        if let Some(event) = iter.next(&reader) {
            assert_eq!((value(event.payload), event.lost), (expected, 0));
            expected += 1;
        }
        assert_eq!(next.get(), 16);
    }
}

#[test]
fn an_iterator_sees_the_time_of_a_sub_buffer_that_was_empty() {
    let mut point = 0;
    while time_where_interrupted(point) {
        point += 1;
    }
    assert!(point > 10, "{point} points");
}

fn time_where_interrupted(point: usize) -> bool {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    clock.advance(100);
    write(&memory, &clock, Context::NORMAL, 0, 8);
    // An interrupt at the same time as what it interrupts: the time of the last event may not be
    // known afterwards.
    let any = interrupted(
        point,
        || assert!(write(&memory, &clock, Context::NORMAL, 2, 8)),
        || assert!(write(&memory, &clock, Context::IRQ, 1, 8)),
    );
    let _ = memory
        .writer(Context::NORMAL)
        .reserve(&clock, BIG)
        .unwrap()
        .discard();

    let reader = memory.reader();
    let mut iter = Iter::new(vec![0; 128]);
    let events = 2 + usize::from(any);
    for _ in 0..events {
        assert_eq!(iter.next(&reader).unwrap().time, 100);
    }
    assert!(iter.next(&reader).is_none());
    clock.advance(5);
    write(&memory, &clock, Context::NORMAL, 3, 8);
    let event = iter.next(&reader).unwrap();
    assert_eq!((value(event.payload), event.time), (3, 105));
    any
}

#[test]
fn discarding_does_not_move_a_clock_that_needs_all_64_bits() {
    // As the clock `tai`: nanoseconds since 1970.
    let start = 1_700_000_000_000_000_000;
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    clock.advance(start);
    let event = memory.writer(Context::NORMAL).reserve(&clock, 16).unwrap();
    clock.advance(10);
    write(&memory, &clock, Context::IRQ, 1, 8);
    let _ = event.discard();
    let mut reader = memory.reader();
    let event = reader.consume().unwrap();
    // To become padding the discarded event may move the time by one.
    assert!(
        event.time - (start + 10) <= 1,
        "{} too late",
        event.time - (start + 10)
    );
}

#[test]
fn an_event_keeps_its_time_when_others_are_written_inside() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    clock.advance(1000);
    let writer = memory.writer(Context::NORMAL);
    let event = writer.reserve(&clock, 16).unwrap();
    assert_eq!(writer.event_time(), 1000);
    clock.advance(10);
    writer.nest_start();
    write(&memory, &clock, Context::NORMAL, 1, 8);
    // SAFETY: it was begun above, and the event inside has ended.
    unsafe { writer.nest_end() };
    assert_eq!(writer.event_time(), 1000);
    let _ = event.discard();
    let mut reader = memory.reader();
    assert_eq!(reader.consume().unwrap().time, 1010);
}

#[test]
fn each_event_is_begun_inside_of_the_one_before_and_each_nests() {
    let memory = Memory::new(4, 512);
    let clock = Clock::default();
    clock.advance(1000);
    let writer = memory.writer(Context::NORMAL);
    // With each event there is one level less, and nothing is left of the first, which is inside of none.
    let mut begun = Vec::new();
    while writer.can_nest() {
        writer.nest_start();
        let mut event = writer.reserve(&clock, 8).unwrap();
        event
            .payload()
            .copy_from_slice(&(begun.len() as u64).to_ne_bytes());
        begun.push(event);
        // An interrupt's event is inside of all of them.
        write(&memory, &clock, Context::IRQ, 100, 8);
        clock.advance(10);
    }
    assert_eq!(begun.len(), 7);
    for (number, event) in begun.into_iter().enumerate().rev() {
        assert_eq!(writer.event_time(), 1000 + 10 * number as u64);
        let _ = event.commit();
        // SAFETY: it was begun above, and the event inside has ended.
        unsafe { writer.nest_end() };
    }
    assert!(!memory.buffer().is_writing());
    let mut reader = memory.reader();
    for number in 0..7 {
        for wanted in [number, 100] {
            let event = reader.consume().unwrap();
            assert_eq!(
                (value(event.payload), event.time),
                (wanted, 1000 + 10 * number)
            );
        }
    }
    assert!(reader.consume().is_none());
}

/// A clock for a writer's thread.
struct NoClock;

impl Env for NoClock {
    fn now(&self) -> u64 {
        7
    }
}

/// Tells the writer's thread to stop, also when a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One test at a time: each of them keeps two CPUs busy.
static BUSY: Mutex<()> = Mutex::new(());

/// Writes `count` events from another thread, none dropped, while `read` reads them.
fn write_while(memory: &Memory, count: u64, read: impl FnOnce(&AtomicBool)) {
    let _busy = BUSY.lock();
    memory.buffer().set_overwrite(false);
    let (done, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..count {
                while !write(memory, &NoClock, Context::NORMAL, i, 8) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Release);
        });
        let _stop = Stop(&stop);
        read(&done);
    });
}

#[test]
fn a_reader_on_another_cpu_gets_every_event() {
    const COUNT: u64 = 3_000;
    let memory = Memory::new(3, 64);
    let mut expected = 0;
    write_while(&memory, COUNT, |done| {
        let mut reader = memory.reader();
        loop {
            let last = done.load(Ordering::Acquire);
            while let Some(event) = reader.consume() {
                assert_eq!((value(event.payload), event.lost), (expected, 0));
                expected += 1;
            }
            if last {
                break;
            }
        }
    });
    assert_eq!(expected, COUNT);
}

#[test]
fn a_mapped_page_shows_every_event() {
    const COUNT: u64 = 3_000;
    let memory = Memory::new(3, 64);
    let mut expected = 0;
    write_while(&memory, COUNT, |done| {
        let mut reader = memory.reader();
        let mut shown = (u32::MAX, 0);
        loop {
            let last = done.load(Ordering::Acquire);
            let page = reader.mapped_page();
            // What is on the page from where it was read to before.
            let start = if page.id == shown.0 && page.read >= shown.1 {
                shown.1
            } else {
                0
            };
            let data = memory.buffer().sub_buffer_memory(page.id).unwrap();
            // SAFETY: so many bytes are committed, and the reader keeps the sub-buffer until the
            // next call.
            let records = unsafe { std::slice::from_raw_parts(data.add(16), page.read as usize) };
            let mut cursor = parse::Cursor {
                offset: start as usize,
                time: 0,
            };
            while let Some(found) = cursor.next_event(records).unwrap() {
                let got = value(&records[found.payload..]);
                // A page that comes back shows old events first if it has grown as far as it was
                // read.
                assert!(got <= expected, "{} events not shown", got - expected);
                if got == expected {
                    expected += 1;
                }
            }
            let nothing_new = (page.id, page.read) == shown;
            shown = (page.id, page.read);
            if last && nothing_new {
                break;
            }
        }
    });
    assert_eq!(expected, COUNT);
}

#[test]
fn the_commit_word_of_a_mapped_page_does_not_go_back() {
    const COUNT: u64 = 3_000;
    let memory = Memory::new(3, 64);
    let _busy = BUSY.lock();
    let (done, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut shown = u32::MAX;
            for i in 0..COUNT {
                while !write(&memory, &NoClock, Context::NORMAL, i, 8) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    std::thread::yield_now();
                }
                shown = memory.buffer().show_commit(shown);
            }
            done.store(true, Ordering::Release);
        });
        let _stop = Stop(&stop);
        memory.buffer().set_overwrite(false);
        let mut reader = memory.reader();
        loop {
            let last = done.load(Ordering::Acquire);
            let page = reader.mapped_page();
            let mut length = u64::from(page.read);
            for _ in 0..20 {
                let now = commit_word(&memory, page.id).0;
                assert!(now >= length, "{now} after {length}");
                length = now;
            }
            if last && reader.mapped_page() == page {
                break;
            }
        }
    });
}

#[test]
fn a_commit_is_shown_without_a_reader() {
    let memory = Memory::new(3, 64);
    let clock = clock();
    let first = memory.reader().mapped_page().id;
    assert!(write(&memory, &clock, Context::NORMAL, 1, 8));
    let mut page = memory.reader().mapped_page();
    assert_ne!(page.id, first);
    let mut shown = memory.buffer().show_commit(u32::MAX);
    assert_eq!(shown, page.id);
    let one = commit_word(&memory, page.id).0;
    // An interrupt's event goes to the next sub-buffer, and the task's stays on this one.
    let task = memory.writer(Context::NORMAL).reserve(&clock, 8).unwrap();
    for _ in 0..2 {
        assert!(write(&memory, &clock, Context::IRQ, 2, 24));
    }
    assert_eq!(commit_word(&memory, page.id).0, one);
    let _ = task.commit();
    shown = memory.buffer().show_commit(shown);
    assert_ne!(shown, page.id);
    assert!(commit_word(&memory, page.id).0 > one);
    // Of an emptied buffer nothing is shown.
    // SAFETY: nobody writes, and there is no other reader.
    unsafe { memory.reader().reset() };
    memory.reader().show_header();
    page = memory.reader().shown_page();
    assert_eq!(commit_word(&memory, page.id).0, 0);
}

/// An interrupt that is taken before `preempt_count` shows it writes in the context of the task; one
/// of another level comes inside.
#[test]
fn each_event_has_its_own_time_where_a_context_writes_twice() {
    for deep in [Context::SOFTIRQ, Context::IRQ, Context::NMI] {
        let memory = Memory::new(4, 256);
        let clock = Clock::default();
        clock.advance(1000);
        let (task, inner) = (memory.writer(Context::NORMAL), memory.writer(deep));
        let first = task.reserve(&clock, 8).unwrap();
        clock.advance(10);
        let late = task.reserve(&clock, 16).unwrap();
        assert!(task.reserve(&clock, 8).is_none(), "a third is recursion");
        for _ in 0..2 {
            clock.advance(10);
            let event = inner.reserve(&clock, 8).unwrap();
            assert_eq!(inner.event_time(), clock.now());
            let _ = event.commit();
            assert_eq!(task.event_time(), 1010);
        }
        // What is given up keeps its time, and those after it theirs.
        let _ = late.discard();
        assert_eq!(task.event_time(), 1000);
        let _ = first.commit();
        assert!(!memory.buffer().is_writing());
        let mut reader = memory.reader();
        let times: Vec<_> =
            std::iter::from_fn(|| reader.consume().map(|event| event.time)).collect();
        assert_eq!(times, [1000, 1020, 1030]);
    }
}
