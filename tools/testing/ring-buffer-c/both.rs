// SPDX-License-Identifier: GPL-2.0

//! The two buffers, operations on both, and what is compared.

mod iters;
mod read;
mod write;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Debug;
use std::thread;

pub use iters::Iters;
pub use write::Writing;

use crate::c::{self, Counts};
use crate::memory::{Clock, Memory};
use crate::page::{difference, Seen};

/// The lines of the log that a failure shows.
const SHOWN: usize = 60;

/// What is the same in both. It begins with the last, and some operations leave less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Same {
    /// The events.
    Events,
    /// Also the sub-buffer that each event is on.
    SubBuffers,
    /// Also each byte, and how many count as read.
    Bytes,
}

/// This buffer, and C's. What an operation gives is compared, and a difference panics.
pub struct Both {
    ours: Memory,
    theirs: c::Buffer,
    clock: Clock,
    size: u32,
    /// The number of the last event. The first one has 1.
    last: Cell<u64>,
    same: Cell<Same>,
    /// Whether C's readers get the times that C's writers were told.
    same_times: Cell<bool>,
    /// The time that the writer of each event was told.
    times: RefCell<HashMap<u64, u64>>,
    is_mapped: bool,
    /// The sub-buffer that the mapping has shown last.
    shown: Cell<u32>,
    /// What was done.
    log: RefCell<Vec<String>>,
}

impl Both {
    /// Buffers of so many sub-buffers, each of `PAGE_SIZE << order` bytes.
    pub fn new(slots: u32, order: u32, overwrite: bool) -> Self {
        let size = c::PAGE_SIZE << order;
        let both = Self {
            ours: Memory::new(slots, size),
            theirs: c::Buffer::new(slots, order, overwrite),
            clock: Clock::default(),
            size,
            last: Cell::new(0),
            same: Cell::new(Same::Bytes),
            same_times: Cell::new(true),
            times: RefCell::default(),
            is_mapped: false,
            shown: Cell::new(u32::MAX),
            log: RefCell::default(),
        };
        both.ours.buffer().set_overwrite(overwrite);
        both.set_time(1000);
        both.check_warnings();
        both.say(format!(
            "{slots} sub-buffers of {size} bytes, overwrite {overwrite}"
        ));
        both
    }

    /// The bytes of a sub-buffer.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    pub fn set_time(&self, time: u64) {
        self.clock.time.set(time);
        c::set_clock(time);
    }

    pub fn advance(&self, by: u64) {
        self.set_time(self.clock.time.get().wrapping_add(by));
    }

    pub fn reset(&self) {
        self.say("reset".into());
        // SAFETY: nobody writes or reads.
        unsafe { self.ours.buffer().reset() };
        self.theirs.reset();
        if self.is_mapped {
            self.ours.reader().show_header();
        }
        self.same.set(Same::Bytes);
    }

    pub fn set_overwrite(&self, overwrite: bool) {
        self.say(format!("overwrite {overwrite}"));
        self.ours.buffer().set_overwrite(overwrite);
        self.theirs.set_overwrite(overwrite);
    }

    /// Whether each event has an absolute time.
    pub fn set_absolute_stamps(&self, absolute: bool) {
        self.say(format!("absolute times {absolute}"));
        self.ours.buffer().set_absolute_stamps(absolute);
        self.theirs.set_absolute_stamps(absolute);
        let longest = self.ours.buffer().max_payload() as u64;
        self.compare("longest event", longest, self.theirs.longest());
    }

    pub fn resize(&mut self, slots: u32) {
        self.say(format!("resize to {slots}"));
        self.ours.resize(slots, |_| {});
        self.theirs.resize(slots);
        self.check_warnings();
    }

    fn counts(&self) -> [Counts; 2] {
        let stats = self.ours.buffer().stats();
        let ours = Counts {
            entries: stats.entries,
            overrun: stats.overrun,
            commit_overrun: stats.commit_overrun,
            bytes: stats.bytes,
            dropped: stats.dropped,
            read: stats.read,
            touched: stats.sub_buffers_touched,
            lost: stats.sub_buffers_lost,
            // C does not count the one that is written.
            dirty: stats.dirty_sub_buffers.saturating_sub(1),
        };
        [ours, self.theirs.counts()]
    }

    /// Compares the counters.
    pub fn check_counts(&self) {
        let same = self.same.get();
        let [ours, theirs] = self.counts().map(|mut counts| {
            if same < Same::Bytes {
                counts.bytes = 0;
            }
            if same < Same::SubBuffers {
                (counts.touched, counts.lost, counts.dirty) = (0, 0, 0);
            }
            counts
        });
        self.compare("counters", ours, theirs);
    }

    /// From now on no more than `same` is.
    fn only_same(&self, same: Same) {
        self.same.set(self.same.get().min(same));
    }

    fn compare<T: PartialEq + Debug>(&self, what: &str, ours: T, theirs: T) {
        if ours != theirs {
            panic!("{what}:\n  ours {ours:?}\n  C's  {theirs:?}");
        }
    }

    /// Compares events that readers got, and our times with those that writers were told.
    fn compare_events(&self, what: &str, ours: &[Seen], theirs: &[Seen], times: bool) {
        if let Some(difference) = difference(ours, theirs, times) {
            panic!("{what}: {difference}");
        }
        for event in ours {
            self.check_time(event);
        }
    }

    /// The event has the time that its writer was told.
    fn check_time(&self, event: &Seen) {
        // A short one does not tell its number.
        if let Some(number) = event.number() {
            let told = self.times.borrow().get(&number).copied();
            assert_eq!(Some(event.time), told, "the times read and told");
        }
    }

    fn check_warnings(&self) {
        if let Some(warning) = c::take_warning() {
            panic!("C warned: {warning}");
        }
    }

    fn say(&self, line: String) {
        self.log.borrow_mut().push(line);
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        if thread::panicking() {
            let log = self.log.borrow();
            let skipped = log.len().saturating_sub(SHOWN);
            println!("\nwhat was done, without the first {skipped} lines:");
            for line in log.iter().skip(skipped) {
                println!("  {line}");
            }
        }
    }
}
