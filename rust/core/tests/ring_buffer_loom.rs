// SPDX-License-Identifier: GPL-2.0

//! Writer against reader, and against iterator, in every order of their accesses that the memory model allows:
//!
//! `LOOM_MAX_PREEMPTIONS=3 RUSTFLAGS="--cfg loom" cargo test --release -p rtrace-core --test ring_buffer_loom`
//!
//! loom knows threads, not interrupts: a nested writer is a call from a step of the outer one, as in
//! `ring_buffer_interrupted.rs`. It does not see the bytes of events either; their order is that of the words that
//! publish them, and the payload is compared. (Sub-buffers of one or two events, a ring of two.)

#![cfg(loom)]

#[path = "ring_buffer/memory.rs"]
mod memory;

use loom::sync::Arc;
use loom::thread;
use memory::Memory;
use rtrace_core::ring_buffer::{Context, Env, Iter, Step};
use std::cell::Cell;

/// A payload that leaves room for one event on a sub-buffer of 64 bytes.
const WHOLE: usize = 30;
/// One that leaves room for two.
const HALF: usize = 16;

/// The writer's surroundings: time is the number of the event; at `interrupt_at`, once, a nested writer.
struct Cpu<'a> {
    memory: &'a Memory,
    count: Cell<u64>,
    interrupt_at: Cell<Option<Step>>,
    refused: Cell<u64>,
}

impl Cpu<'_> {
    fn new(memory: &Memory, interrupt_at: Option<Step>) -> Cpu<'_> {
        Cpu { memory, count: Cell::new(0), interrupt_at: Cell::new(interrupt_at), refused: Cell::new(0) }
    }

    /// Events are numbered in the order in which their place is taken; the payload says the number.
    fn write(&self, context: Context, length: usize) {
        let Some(mut event) = self.memory.writer(context).reserve(self, length) else {
            self.refused.set(self.refused.get() + 1);
            return;
        };
        let time = self.memory.writer(context).event_time();
        event.payload()[..8].copy_from_slice(&time.to_ne_bytes());
        let _ = event.commit();
    }
}

impl Env for Cpu<'_> {
    fn now(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    fn step(&self, at: Step) {
        if self.interrupt_at.get() == Some(at) {
            self.interrupt_at.set(None);
            self.write(Context::NMI, HALF);
        }
    }
}

/// The time in the payload is that of the event, and later than the last.
fn check(last: &mut u64, time: u64, payload: &[u8]) {
    assert_eq!(u64::from_ne_bytes(payload[..8].try_into().unwrap()), time);
    assert!(time > *last);
    *last = time;
}

/// A writer of `count` events and a reader that consumes at the same time; nothing may be missing in the end.
fn write_and_consume(count: u64, length: usize, overwrite: bool, interrupt_at: Option<Step>) {
    loom::model(move || {
        let memory = Arc::new(Memory::new(2, 64));
        memory.buffer().set_overwrite(overwrite);
        let writer = thread::spawn({
            let memory = memory.clone();
            move || {
                let cpu = Cpu::new(&memory, interrupt_at);
                (0..count).for_each(|_| cpu.write(Context::NORMAL, length));
                cpu.refused.get()
            }
        });
        let (mut last, mut seen, mut lost) = (0, 0, 0);
        let mut consume = |attempts| {
            let mut reader = memory.reader();
            for _ in 0..attempts {
                if let Some(event) = reader.consume() {
                    check(&mut last, event.time, event.payload);
                    seen += 1;
                    lost += event.lost;
                }
            }
        };
        consume(2);
        let refused = writer.join().unwrap();
        consume(8);
        let stats = memory.buffer().stats();
        let written = count + u64::from(interrupt_at.is_some()) - refused;
        assert_eq!((seen + lost, stats.entries, stats.read), (written, 0, seen), "{stats:?}");
        assert_eq!((stats.overrun, stats.dropped + stats.commit_overrun), (lost, refused), "{stats:?}");
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
fn consuming_while_a_writer_is_interrupted_in_crossing() {
    write_and_consume(3, WHOLE, true, Some(Step::SlotClaimed));
}

#[test]
fn consuming_while_a_writer_is_interrupted_in_leaving() {
    write_and_consume(3, HALF, true, Some(Step::CommitStored));
}

#[test]
fn iterating_while_the_ring_is_overwritten() {
    loom::model(|| {
        let memory = Arc::new(Memory::new(2, 64));
        let cpu = Cpu::new(&memory, None);
        (0..2).for_each(|_| cpu.write(Context::NORMAL, WHOLE));
        let written = cpu.count.get();
        let writer = thread::spawn({
            let memory = memory.clone();
            move || {
                let cpu = Cpu::new(&memory, None);
                cpu.count.set(written);
                (0..3).for_each(|_| cpu.write(Context::NORMAL, WHOLE));
            }
        });
        let mut iter = Iter::new([0; 64]);
        let (mut last, mut seen) = (0, 0);
        {
            let mut reader = memory.reader();
            for _ in 0..3 {
                if let Some(event) = iter.next(&mut reader) {
                    check(&mut last, event.time, event.payload);
                    seen += 1 + event.lost;
                }
            }
        }
        writer.join().unwrap();
        let mut reader = memory.reader();
        while let Some(event) = iter.next(&mut reader) {
            check(&mut last, event.time, event.payload);
            seen += 1 + event.lost;
        }
        assert_eq!(seen, 5);
    });
}

#[test]
fn counting_while_writing() {
    loom::model(|| {
        let memory = Arc::new(Memory::new(2, 64));
        let writer = thread::spawn({
            let memory = memory.clone();
            move || {
                let cpu = Cpu::new(&memory, None);
                (0..4).for_each(|_| cpu.write(Context::NORMAL, WHOLE));
            }
        });
        let during = memory.buffer().stats();
        assert!(during.entries + during.overrun <= 4, "{during:?}");
        writer.join().unwrap();
        let after = memory.buffer().stats();
        assert_eq!(after.entries + after.overrun, 4, "{after:?}");
    });
}
