// SPDX-License-Identifier: GPL-2.0

//! Iterators that go on while events are written and consumed.

use std::iter::from_fn;

use rtrace_core::ring_buffer::Iter;

use super::Both;
use crate::c;
use crate::page::Seen;
use crate::random::Random;

/// An iterator over each buffer. All events tell their number.
pub struct Iters<'a> {
    both: &'a Both,
    ours: Iter<Vec<u8>>,
    theirs: c::Iter<'a>,
    /// The number of the next event of ours, if none is lost. None at the beginning.
    next: Option<u64>,
    /// Whether somebody has consumed since the beginning.
    beside_consumer: bool,
}

impl<'a> Iters<'a> {
    pub fn new(both: &'a Both) -> Self {
        Self {
            both,
            ours: Iter::new(vec![0; both.size()]),
            theirs: both.theirs.iter(),
            next: None,
            beside_consumer: false,
        }
    }

    /// Back to the oldest event.
    pub fn reset(&mut self) {
        self.both.say("iterators begin again".into());
        self.ours.reset();
        self.theirs.reset();
        self.next = None;
        self.beside_consumer = false;
    }

    /// Somebody consumes.
    pub fn consume_some(&mut self, random: &mut Random) {
        self.beside_consumer = true;
        match random.below(4) {
            0 => self.both.peek(),
            1 => self.both.read_page(random.one_in(2)),
            _ => self.both.consume_some(random),
        }
    }

    /// Passes so many events of each, which need not be the same ones beside a consumer.
    pub fn pass(&mut self, count: u64) {
        self.both.say(format!("iterators: {count} events"));
        for _ in 0..count {
            self.next_of_ours();
            self.theirs.next();
        }
    }

    /// Compares all the rest.
    ///
    /// Beside a consumer, C's goes on where that is, which may be further back, and ours has what it
    /// has copied first (coming-from-c.md, "A reading of `trace` beside a reader that consumes
    /// events"). From where both are, they are the same.
    pub fn rest(&mut self) {
        let begin = self.next;
        let ours: Vec<_> = from_fn(|| self.next_of_ours()).collect();
        let theirs: Vec<_> = from_fn(|| self.theirs.next()).collect();
        let count = ours.len();
        self.both
            .say(format!("iterators: the rest, {count} events"));
        let theirs = from(begin, theirs);
        // C's may find nothing where there is something: see `iterate`.
        if let Some(first) = theirs.first() {
            let ours = from(first.number(), ours);
            // At the end of what is written, C's forgets the delta of the last event.
            self.both.compare_events("iterators", &ours, &theirs, false);
        }
    }

    fn next_of_ours(&mut self) -> Option<Seen> {
        let event = self.ours.next(&self.both.ours.reader())?;
        let (lost, event) = (event.lost, Seen::from(event));
        self.both.check_time(&event);
        let number = event.number().expect("an event with a number");
        if let Some(next) = self.next {
            assert!(number >= next, "an iterator goes back to {number}");
            // Beside a consumer it may be wrong (coming-from-c.md, "A reading of `trace` that writers
            // have overtaken").
            assert!(self.beside_consumer || lost == number - next, "lost {lost}");
        }
        self.next = Some(number + 1);
        Some(event)
    }
}

/// The events from that with the number `first` on.
fn from(first: Option<u64>, events: Vec<Seen>) -> Vec<Seen> {
    let is_before = |event: &Seen| event.number() < first;
    events.into_iter().skip_while(is_before).collect()
}
