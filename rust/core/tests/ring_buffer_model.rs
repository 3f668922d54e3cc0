// SPDX-License-Identifier: GPL-2.0

//! Random operations on a buffer, checked against a list of events.

#![cfg(not(loom))]

#[path = "ring_buffer/memory.rs"]
mod memory;

use memory::{free_page, new_page, Clock, Memory};
use proptest::prelude::*;
use rtrace_core::ring_buffer::parse::{Lost, Page};
use rtrace_core::ring_buffer::{Context, Iter};

#[derive(Clone, Debug)]
enum Op {
    /// Lets time pass, then writes a payload of so many bytes.
    Write(u64, usize),
    /// Reserves and gives up.
    Discard(u64, usize),
    /// Reserves, writes a second event in an interrupt, gives up the first.
    DiscardOuter(u64, usize, usize),
    Consume(usize),
    Iterate,
    /// Copies to so much memory, at most so many bytes of it with records.
    CopyPage(usize, usize, bool),
    SwapPage,
    MappedPage,
    Overwrite(bool),
    Absolute(bool),
    /// Resizes; what readers do meanwhile is in the number, three bits at a time.
    Resize(u32, u64),
    Reset,
}

fn times() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..100u64, 1 => 1u64 << 26..1 << 29, 1 => Just((1 << 27) - 1), 1 => Just(1 << 60)]
}

fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..24usize, 2 => 100..130usize, 1 => 200..260usize]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => (times(), lengths()).prop_map(|(time, length)| Op::Write(time, length)),
        3 => (times(), lengths()).prop_map(|(time, length)| Op::Discard(time, length)),
        3 => (times(), lengths(), lengths()).prop_map(|(time, a, b)| Op::DiscardOuter(time, a, b)),
        5 => (0..20usize).prop_map(Op::Consume),
        2 => Just(Op::Iterate),
        3 => (0..400usize, prop_oneof![Just(400), 0..400usize], any::<bool>())
            .prop_map(|(size, length, full)| Op::CopyPage(size, length, full)),
        3 => Just(Op::SwapPage),
        1 => Just(Op::MappedPage),
        1 => any::<bool>().prop_map(Op::Overwrite),
        1 => any::<bool>().prop_map(Op::Absolute),
        2 => (2..9u32, prop_oneof![Just(0), any::<u64>()]).prop_map(|(slots, reads)| Op::Resize(slots, reads)),
        1 => Just(Op::Reset),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    length: usize,
    fill: u8,
    time: u64,
}

struct Model {
    memory: Memory,
    clock: Clock,
    entries: Vec<Entry>,
    /// Of `entries`: the next that a consuming reader has not passed.
    passed: usize,
    refused: u64,
    count: u8,
    /// Beyond 2^59 units an event given up may leave the time one unit late.
    late: u64,
}

impl Model {
    fn new(nr_slots: u32, size: u32) -> Self {
        let memory = Memory::new(nr_slots, size);
        Self {
            memory,
            clock: Clock::default(),
            entries: Vec::new(),
            passed: 0,
            refused: 0,
            count: 0,
            late: 0,
        }
    }

    /// The clock does not wrap.
    fn advance(&self, time: u64) {
        self.clock.advance(if self.clock.time.get() >> 63 == 0 {
            time
        } else {
            time & 0xff
        });
    }

    fn write(&mut self, context: Context, length: usize, discard: bool, inner: Option<usize>) {
        self.count = self.count.wrapping_add(1);
        let fill = self.count;
        let writer = self.memory.writer(context);
        let Some(mut event) = writer.reserve(&self.clock, length) else {
            if length <= self.memory.buffer().max_payload() {
                self.refused += 1 + self.drops_smaller_ones(Context::NORMAL);
            }
            return;
        };
        event.payload().fill(fill);
        let entry = Entry {
            length,
            fill,
            time: self.clock.time.get(),
        };
        if !discard {
            self.entries.push(entry);
        }
        if let Some(length) = inner {
            let before = self.entries.len();
            // The same as `write`, from an interrupt.
            let writer = self.memory.writer(Context::IRQ);
            match writer.reserve(&self.clock, length) {
                None if length > self.memory.buffer().max_payload() => {}
                None => self.refused += 1 + self.drops_smaller_ones(Context::IRQ),
                Some(mut event) => {
                    event.payload().fill(!fill);
                    self.entries.push(Entry {
                        length,
                        fill: !fill,
                        time: self.clock.time.get(),
                    });
                    let _ = event.commit();
                }
            }
            assert!(self.entries.len() <= before + 1);
        }
        self.late += u64::from(discard && self.clock.time.get() >> 59 != 0);
        let _ = if discard {
            event.discard()
        } else {
            event.commit()
        };
    }

    /// Without overwriting nothing fits after an event that was dropped. Returns the events that
    /// were tried.
    fn drops_smaller_ones(&self, context: Context) -> u64 {
        let dropping = !self.memory.buffer().overwrite();
        if dropping {
            let writer = self.memory.writer(context);
            assert!(writer.reserve(&self.clock, 0).is_none());
        }
        dropping.into()
    }

    fn check(&self, index: usize, time: u64, payload: &[u8]) {
        let entry = self.entries.get(index).expect("an event nobody wrote");
        let late = time.wrapping_sub(entry.time);
        assert!(
            late <= self.late,
            "time of event {index}: {time} for {}",
            entry.time
        );
        assert!(
            payload[..entry.length]
                .iter()
                .all(|byte| *byte == entry.fill),
            "payload of event {index}"
        );
    }

    fn consume(&mut self, count: usize) {
        self.with_memory(|model, memory| model.consume_from(memory, count));
    }

    /// Runs `f` on the memory beside the model.
    fn with_memory(&mut self, f: impl FnOnce(&mut Self, &mut Memory)) {
        let mut memory = std::mem::replace(&mut self.memory, Memory::new(2, 64));
        f(self, &mut memory);
        self.memory = memory;
    }

    fn consume_from(&mut self, memory: &Memory, count: usize) {
        let mut reader = memory.reader();
        for _ in 0..count {
            let peeked = reader
                .peek()
                .map(|event| (event.time, event.lost, event.payload.len()));
            let Some(event) = reader.consume() else {
                assert_eq!(peeked, None);
                break;
            };
            assert_eq!(peeked, Some((event.time, event.lost, event.payload.len())));
            self.passed += event.lost as usize;
            self.check(self.passed, event.time, event.payload);
            self.passed += 1;
        }
    }

    fn iterate(&self) {
        let reader = self.memory.reader();
        let mut iter = Iter::new(vec![0; self.memory.buffer().sub_buffer_size() as usize]);
        let mut index = self.passed;
        let mut seen = 0;
        while let Some(event) = iter.next(&reader) {
            index += event.lost as usize;
            self.check(index, event.time, event.payload);
            index += 1;
            seen += 1;
        }
        assert_eq!(
            seen,
            self.memory.buffer().entries(),
            "an iterator sees all that is left"
        );
    }

    fn lost(&self) -> u64 {
        self.memory.reader().peek().map_or(0, |event| event.lost)
    }

    /// A page that left the buffer: `bytes` of it meant, after so many lost events.
    fn page(&mut self, page: &[u8], bytes: usize, lost: u64) {
        let parsed = Page::parse(page).unwrap();
        assert_eq!(parsed.records.len() + 16, bytes);
        let tail = &page[bytes..];
        match parsed.lost {
            Lost::No => assert!(lost == 0 && tail.iter().all(|byte| *byte == 0)),
            Lost::Some => assert!(lost != 0 && tail.len() < 8),
            Lost::Count(count) => {
                assert_eq!(count, lost);
                assert_ne!(count, 0);
                assert!(tail[8..].iter().all(|byte| *byte == 0));
            }
        }
        self.passed += lost as usize;
        for event in parsed.events() {
            let (time, payload) = event.unwrap();
            self.check(self.passed, time, payload);
            self.passed += 1;
        }
    }

    fn copy_page(&mut self, size: usize, length: usize, full: bool) {
        let mut bytes = vec![0xee; size];
        let before = self.memory.buffer().stats();
        let lost = self.lost();
        match self.memory.reader().copy_page(&mut bytes, length, full) {
            Ok(used) => {
                assert!(used <= length);
                self.page(&bytes, used, lost);
            }
            Err(_) => {
                assert_eq!(
                    self.memory.buffer().stats().entries,
                    before.entries,
                    "an error consumes nothing"
                );
                assert!(bytes.iter().all(|byte| *byte == 0xee));
            }
        }
    }

    fn swap_page(&mut self) {
        self.with_memory(|model, memory| model.swap_page_of(memory));
    }

    fn swap_page_of(&mut self, memory: &Memory) {
        let size = memory.buffer().sub_buffer_size();
        let mut page = new_page(size);
        let lost = memory.reader().peek().map_or(0, |event| event.lost);
        // SAFETY: the page is one for a buffer of this size, and nothing is mapped.
        if let Some(used) = unsafe { memory.reader().swap_page(&mut page) } {
            // SAFETY: the page is ours.
            let bytes =
                unsafe { std::slice::from_raw_parts(page.as_ptr(), size as usize) }.to_vec();
            self.page(&bytes, used, lost);
        }
        // SAFETY: the page is ours, and of this size.
        unsafe { free_page(page, size) };
    }

    fn mapped_page(&mut self) {
        let before = self.memory.buffer().stats().read;
        let mapped = self.memory.reader().mapped_page();
        let consumed = (self.memory.buffer().stats().read - before) as usize;
        let memory = self.memory.buffer().sub_buffer_memory(mapped.id).unwrap();
        let size = self.memory.buffer().sub_buffer_size() as usize;
        // SAFETY: the sub-buffer is the reader's, and nobody writes.
        let bytes = unsafe { std::slice::from_raw_parts(memory, size) };
        self.passed += mapped.lost as usize + consumed;
        // All that is on the page is consumed now, and follows without a gap.
        let page = Page::parse(bytes).unwrap();
        assert_eq!(page.records.len(), mapped.read as usize);
        assert!(mapped.lost == 0 || page.lost != Lost::No);
        let events = page.events().count();
        for (index, event) in page.events().enumerate() {
            let (time, payload) = event.unwrap();
            self.check(self.passed - events + index, time, payload);
        }
    }

    fn resize(&mut self, nr_slots: u32, mut reads: u64) {
        self.with_memory(|model, memory| {
            memory.resize(nr_slots, |memory| {
                match reads & 7 {
                    4 => model.consume_from(memory, 1),
                    5 => model.consume_from(memory, 4),
                    6 => model.consume_from(memory, 30),
                    7 => model.swap_page_of(memory),
                    _ => {}
                }
                reads = reads.rotate_right(3);
            })
        });
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::Write(time, length) => {
                self.advance(time);
                self.write(Context::NORMAL, length, false, None);
            }
            Op::Discard(time, length) => {
                self.advance(time);
                self.write(Context::NORMAL, length, true, None);
            }
            Op::DiscardOuter(time, outer, inner) => {
                self.advance(time);
                self.write(Context::NORMAL, outer, true, Some(inner));
            }
            Op::Consume(count) => self.consume(count),
            Op::Iterate => self.iterate(),
            Op::CopyPage(size, length, full) => self.copy_page(size, length, full),
            Op::SwapPage => self.swap_page(),
            Op::MappedPage => self.mapped_page(),
            Op::Overwrite(overwrite) => self.memory.buffer().set_overwrite(overwrite),
            Op::Absolute(absolute) => self.memory.buffer().set_absolute_stamps(absolute),
            Op::Resize(nr_slots, reads) => {
                self.resize(nr_slots, reads);
                self.iterate();
            }
            Op::Reset => {
                // SAFETY: one thread, which neither writes nor reads now.
                unsafe { self.memory.buffer().reset() };
                self.entries.clear();
                (self.passed, self.refused) = (0, 0);
            }
        }
        let stats = self.memory.buffer().stats();
        assert_eq!(
            stats.entries + stats.overrun + stats.read,
            self.entries.len() as u64,
            "{stats:?}"
        );
        assert_eq!(
            stats.dropped + stats.commit_overrun,
            self.refused,
            "{stats:?}"
        );
        assert_eq!(stats.entries == 0, self.memory.reader().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_buffer_is_a_list_that_forgets_its_oldest(
        nr_slots in 2..6u32,
        size in prop_oneof![Just(64u32), Just(128), Just(256), Just(4096)],
        ops in proptest::collection::vec(op(), 0..300),
    ) {
        let mut model = Model::new(nr_slots, size);
        for op in &ops {
            model.run(op);
        }
        model.iterate();
        model.consume(usize::MAX);
        // What was lost at the end shows with the next event.
        model.memory.buffer().set_overwrite(true);
        model.run(&Op::Write(1, 8));
        model.iterate();
        model.consume(usize::MAX);
        prop_assert_eq!(model.passed, model.entries.len());
        prop_assert_eq!(model.memory.buffer().stats().bytes, 0);
    }
}
