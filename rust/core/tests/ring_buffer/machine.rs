// SPDX-License-Identifier: GPL-2.0

//! One CPU whose writers and readers are interrupted where a test wants it, and the model they are
//! checked against.
//!
//! The buffer's code has a point before each access (`sys::points`). The machine counts the points
//! of each nesting depth. At the chosen one it runs a writer of a deeper context, or a reader, to
//! its end: that is what an interrupt is. The model is the list of events in the order in which
//! their place was taken.

#![allow(dead_code)]

use std::cell::{Cell, RefCell};

use rtrace_core::ring_buffer::{Context, Env, Iter, Plain, Wake, Writer};
use rtrace_core::sys::points;

use super::memory::Memory;

mod pages;

/// What one depth does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Writes so many events with a payload of so many bytes.
    Write { count: usize, length: usize },
    /// Writes an event of 8 bytes the plain way, if it can.
    Plain,
    /// Reserves an event and gives it up.
    Discard { length: usize },
    /// Writes an event, and another one of 8 bytes while that is reserved.
    Nest { length: usize },
    /// Lets time pass, then writes an event.
    Wait { time: u64, length: usize },
    /// Consumes so many events.
    Consume { count: usize },
    /// Looks at all events with an iterator of its own.
    Iterate,
    /// Takes all sub-buffers that can be swapped for a page.
    Swap,
    /// Copies all pages, each of at most so many bytes, header included; with `full` no sub-buffer that
    /// is being written.
    Copy { length: usize, full: bool },
    /// Asks for what is next in a mapping so many times.
    Show { count: usize },
}

impl Op {
    pub const fn reads(&self) -> bool {
        matches!(
            self,
            Self::Consume { .. }
                | Self::Iterate
                | Self::Swap
                | Self::Copy { .. }
                | Self::Show { .. }
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Reserved,
    Committed,
    Discarded,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    state: State,
    value: u64,
    length: usize,
    time: u64,
}

impl Entry {
    fn payload(&self) -> Vec<u8> {
        let bytes = self.value.to_le_bytes();
        (0..self.length).map(|at| bytes[at % 8]).collect()
    }
}

/// See the module's head.
pub struct Machine {
    pub memory: Memory,
    clock: Cell<u64>,
    /// How far each reading of the clock moves it.
    tick: u64,
    contexts: [Context; 4],
    ops: [Op; 4],
    targets: RefCell<[Option<usize>; 3]>,
    /// A further point of depth 0 at which the op of depth 2 runs, in the context of depth 1.
    again: Cell<Option<usize>>,
    counts: RefCell<[usize; 4]>,
    depth: Cell<usize>,
    /// How many of the wanted interrupts have taken place, one inside the other.
    interrupts: Cell<usize>,
    order: RefCell<Vec<Entry>>,
    /// The sub-buffer that was written to at the last point, and its events. Padding changes neither.
    position: Cell<(u64, u64)>,
    looking: Cell<bool>,
    /// Whether a depth is to reserve an event, and which one it has reserved then.
    reserving: RefCell<[bool; 4]>,
    moved: RefCell<[Option<usize>; 4]>,
    /// The clock's last reading in each depth.
    read: RefCell<[u64; 4]>,
    /// What a plain event that is being written in a depth holds.
    plain: RefCell<[Option<u64>; 4]>,
    plains: Cell<u64>,
    refused: Cell<u64>,
    /// Events of `order`, discarded ones aside, that the consuming reader has passed.
    passed: Cell<usize>,
    reading: Cell<bool>,
    /// The sub-buffer whose commit was shown last, where the buffer is mapped.
    shown: Cell<Option<u32>>,
    /// Events that a mapping has told lost.
    lost_shown: Cell<usize>,
    /// The sub-buffer that a mapping has given last, and whether events were told lost before it.
    lacks: Cell<(u32, bool)>,
}

impl Machine {
    pub fn new(nr_slots: u32, size: u32, tick: u64, contexts: [Context; 4], ops: [Op; 4]) -> Self {
        Self {
            memory: Memory::new(nr_slots, size),
            clock: Cell::new(1 << 20),
            tick,
            contexts,
            ops,
            targets: RefCell::new([None; 3]),
            again: Cell::new(None),
            counts: RefCell::new([0; 4]),
            depth: Cell::new(0),
            interrupts: Cell::new(0),
            order: RefCell::new(Vec::new()),
            position: Cell::new((0, 0)),
            looking: Cell::new(false),
            reserving: RefCell::new([false; 4]),
            moved: RefCell::new([None; 4]),
            read: RefCell::new([0; 4]),
            plain: RefCell::new([None; 4]),
            plains: Cell::new(0),
            refused: Cell::new(0),
            passed: Cell::new(0),
            reading: Cell::new(false),
            shown: Cell::new(None),
            lost_shown: Cell::new(0),
            lacks: Cell::new((u32::MAX, false)),
        }
    }

    /// Writes without being interrupted.
    pub fn prepare(&self, count: usize, length: usize) {
        self.op_at_points(Op::Write { count, length });
    }

    /// Runs the op of depth 0, interrupted at point `targets[0]` by that of depth 1, which is
    /// interrupted at its point `targets[1]`, and so on. Gives how many of them have
    /// taken place.
    pub fn run(&self, targets: [Option<usize>; 3]) -> usize {
        *self.targets.borrow_mut() = targets;
        *self.counts.borrow_mut() = [0; 4];
        self.interrupts.set(0);
        self.op_at_points(self.ops[0]);
        *self.targets.borrow_mut() = [None; 3];
        self.interrupts.get()
    }

    /// Runs the op of depth 0, interrupted at point `first` by that of depth 1 and at point
    /// `second` by that of depth 2. Gives how many of them have taken place.
    pub fn run_in_turn(&self, first: usize, second: usize) -> usize {
        self.again.set(Some(second));
        let interrupts = self.run([Some(first), None, None]);
        interrupts + usize::from(self.again.take().is_none())
    }

    fn op_at_points(&self, op: Op) {
        points::with(&|| self.point(), || self.op(op));
    }

    fn op(&self, op: Op) {
        match op {
            Op::Write { count, length } => (0..count).for_each(|_| self.write(length, false)),
            Op::Plain => self.write_plain(),
            Op::Discard { length } => self.write(length, true),
            Op::Nest { length } => self.nest(length),
            Op::Wait { time, length } => {
                self.clock.set(self.clock.get() + time);
                self.write(length, false);
            }
            Op::Consume { count } => self.read(|| self.consume(count)),
            Op::Iterate => self.read(|| self.iterate()),
            Op::Swap => self.read(|| self.swap_pages()),
            Op::Copy { length, full } => self.read(|| self.copy_pages(length, full)),
            Op::Show { count } => self.read(|| self.see_mapped(count)),
        }
    }

    fn write(&self, length: usize, discard: bool) {
        self.write_around(length, discard, |_| {});
    }

    fn nest(&self, length: usize) {
        self.write_around(length, false, |writer| {
            writer.nest_start();
            self.write(8, false);
            // SAFETY: it began above, and what was reserved since has ended.
            unsafe { writer.nest_end() };
        });
    }

    /// Writes an event, or gives it up; `inside` runs while it is reserved.
    fn write_around(&self, length: usize, discard: bool, inside: impl FnOnce(&Writer<'_>)) {
        let depth = self.depth.get();
        let writer = self.memory.writer(self.contexts[depth]);
        let (event, index) = self.reserving(|| writer.reserve(self, length));
        let Some(mut event) = event else {
            assert!(index.is_none(), "an event was reserved and lost");
            self.refused.set(self.refused.get() + 1);
            return self.ended_without_event();
        };
        let index = index.expect("a reservation moves the position");
        self.point();
        inside(&writer);
        let value = index as u64 * 0x0101_0101_0101_0101;
        let state = if discard {
            State::Discarded
        } else {
            State::Committed
        };
        let entry = Entry {
            state,
            value,
            length,
            time: writer.event_time(),
        };
        event.payload()[..length].copy_from_slice(&entry.payload());
        self.point();
        self.order.borrow_mut()[index] = entry;
        if !discard {
            self.committed(event.commit());
        } else if index % 2 == 0 {
            self.committed(event.discard());
        } else {
            drop(event);
            self.ended_without_event();
        }
    }

    fn write_plain(&self) {
        let depth = self.depth.get();
        let writer = self.memory.writer(self.contexts[depth]);
        self.plains.set(self.plains.get() + 1);
        let value = self.plains.get() << 32;
        self.plain.borrow_mut()[depth] = Some(value);
        let (plain, index) = self.reserving(|| writer.write_plain_at(self, |_| [value]));
        self.plain.borrow_mut()[depth] = None;
        let written = !matches!(plain, Plain::Not | Plain::Abandoned);
        assert_eq!(index.is_some(), written);
        let wake = match plain {
            Plain::Done => Wake::Unwanted,
            Plain::Wanted => Wake::Wanted,
            Plain::Unpublished => writer.publish(self),
            Plain::Not => return self.write(8, false),
            Plain::Abandoned => {
                // SAFETY: it was said of the attempt just made.
                unsafe { writer.abandon(self) };
                self.ended_without_event();
                return self.write(8, false);
            }
        };
        self.committed(wake);
    }

    /// What the glue does after a commit: it shows what is committed where the buffer is mapped.
    fn committed(&self, wake: Wake) {
        let Some(shown) = self.shown.get() else {
            assert_eq!(wake, Wake::Unwanted, "nobody waits");
            return;
        };
        if wake == Wake::Wanted {
            let shown = self.memory.buffer().show_commit(shown);
            self.point();
            self.shown.set(Some(shown));
        }
    }

    /// What the glue does after an attempt without an event.
    fn ended_without_event(&self) {
        if self.memory.buffer().take_untold() {
            self.committed(Wake::Wanted);
        }
    }

    /// Calls what reserves an event, and gives the event's number if it has reserved one.
    fn reserving<R>(&self, reserve: impl FnOnce() -> R) -> (R, Option<usize>) {
        let depth = self.depth.get();
        self.reserving.borrow_mut()[depth] = true;
        let result = reserve();
        self.reserving.borrow_mut()[depth] = false;
        (result, self.moved.borrow_mut()[depth].take())
    }

    /// Takes down an event whose place was taken since the last point.
    fn look(&self) {
        self.looking.set(true);
        let position = self.memory.buffer().written_events();
        self.looking.set(false);
        let depth = self.depth.get();
        if self.position.replace(position) == position || !self.reserving.borrow()[depth] {
            return;
        }
        let mut order = self.order.borrow_mut();
        let again = self.moved.borrow_mut()[depth].replace(order.len());
        assert_eq!(again, None, "an event takes its place once");
        // A plain event commits itself. Nobody may see it before its payload is there.
        order.push(match self.plain.borrow()[depth] {
            Some(value) => Entry {
                state: State::Committed,
                value,
                length: 8,
                time: self.read.borrow()[depth],
            },
            None => Entry {
                state: State::Reserved,
                value: 0,
                length: 0,
                time: 0,
            },
        });
    }

    /// A point of the depth that runs.
    fn point(&self) {
        if self.looking.get() {
            return;
        }
        self.look();
        let depth = self.depth.get();
        if depth == 3 {
            return;
        }
        let count = self.counts.borrow()[depth];
        self.counts.borrow_mut()[depth] += 1;
        if depth == 0 && self.again.get() == Some(count) {
            self.again.set(None);
            self.depth.set(1);
            let targets = self.targets.replace([None; 3]);
            self.op(self.ops[2]);
            *self.targets.borrow_mut() = targets;
            self.depth.set(0);
        }
        if self.targets.borrow()[depth] != Some(count) {
            return;
        }
        self.depth.set(depth + 1);
        self.interrupts.set(self.interrupts.get().max(depth + 1));
        self.op(self.ops[depth + 1]);
        self.depth.set(depth);
    }

    fn read(&self, read: impl FnOnce()) {
        // A reader's lock keeps readers apart; here an interrupt must not read inside a reader.
        if !self.reading.replace(true) {
            read();
            self.reading.set(false);
        }
    }

    fn kept(&self) -> Vec<Entry> {
        self.order
            .borrow()
            .iter()
            .copied()
            .filter(|entry| entry.state != State::Discarded)
            .collect()
    }

    fn check(&self, entry: Option<&Entry>, payload: &[u8], time: u64) {
        let entry = entry.expect("an event nobody wrote");
        assert_eq!(
            entry.state,
            State::Committed,
            "an event became visible before its commit"
        );
        assert_eq!(&payload[..entry.length], entry.payload(), "payload");
        assert!(
            payload.len() < entry.length.max(1) + 8,
            "payload longer than reserved"
        );
        assert_eq!(time, entry.time, "time");
    }

    fn consume(&self, count: usize) {
        let mut reader = self.memory.reader();
        for _ in 0..count {
            let Some(event) = reader.consume() else { break };
            let kept = self.kept();
            let index = self.passed.get() + event.lost as usize;
            self.check(kept.get(index), event.payload, event.time);
            self.passed.set(index + 1);
        }
    }

    fn iterate(&self) {
        let reader = self.memory.reader();
        let mut iter = Iter::new(vec![0; self.memory.buffer().sub_buffer_size() as usize]);
        let mut index = self.passed.get();
        while let Some(event) = iter.next(&reader) {
            index += event.lost as usize;
            let kept = self.kept();
            self.check(kept.get(index), event.payload, event.time);
            index += 1;
        }
    }

    /// Checks that everything written is visible now or counted as lost.
    pub fn finish(&self) {
        let kept = self.kept();
        let before = self.memory.buffer().stats();
        assert!(!self.memory.buffer().is_writing());
        assert_eq!(
            before.entries + before.overrun + before.read,
            kept.len() as u64,
            "{before:?}"
        );
        assert_eq!(
            before.dropped + before.commit_overrun,
            self.refused.get(),
            "{before:?}"
        );
        self.iterate();
        let passed = self.passed.get();
        if self.shown.get().is_some() {
            self.see_the_rest();
        }
        self.consume(usize::MAX);
        let after = self.memory.buffer().stats();
        assert_eq!(
            self.passed.get(),
            kept.len(),
            "events at the end are missing"
        );
        assert_eq!((after.entries, after.bytes), (0, 0), "{after:?}");
        assert_eq!(
            after.read - before.read,
            before.entries,
            "{before:?} {after:?}"
        );
        assert!(self.passed.get() - passed >= before.entries as usize);
        assert_eq!(after.overrun, before.overrun);
    }

    /// Whether the events' times never go back.
    pub fn times_in_order(&self) -> bool {
        self.kept()
            .windows(2)
            .all(|pair| pair[0].time <= pair[1].time)
    }
}

impl Env for Machine {
    fn now(&self) -> u64 {
        self.clock.set(self.clock.get() + self.tick);
        self.read.borrow_mut()[self.depth.get()] = self.clock.get();
        self.clock.get()
    }
}

/// Runs `case` for every way to interrupt `depth` (1 to 3) operations one inside the other, each at
/// every point it has, the innermost at one of `stride` points. `case` builds a machine afresh.
/// Gives the number of ways.
pub fn interrupt_everywhere(depth: usize, stride: usize, case: impl Fn() -> Machine) -> usize {
    let innermost = depth - 1;
    let mut targets = [None; 3];
    targets[..depth].fill(Some(0));
    let mut ways = 0;
    loop {
        let machine = case();
        let interrupts = machine.run(targets);
        machine.finish();
        ways += 1;
        // The next point of the innermost. If one has no further point, the next of that outside it.
        let at = match interrupts {
            0 => return ways,
            interrupts => interrupts - 1,
        };
        let step = if at == innermost { stride } else { 1 };
        targets[at] = targets[at].map(|point| point + step);
        if at != innermost {
            targets[at + 1..depth].fill(Some(0));
            targets[innermost] = targets[at].map(|point| point % stride);
        }
    }
}

/// Runs `case` for every pair of points at which the outermost operation can be interrupted, once
/// after the other, the second at one of `stride` points.
pub fn interrupt_twice(stride: usize, case: impl Fn() -> Machine) {
    for first in 0.. {
        for second in (first + 1 + first % stride..).step_by(stride) {
            let machine = case();
            let interrupts = machine.run_in_turn(first, second);
            machine.finish();
            match interrupts {
                0 => return,
                1 => break,
                _ => {}
            }
        }
    }
}
