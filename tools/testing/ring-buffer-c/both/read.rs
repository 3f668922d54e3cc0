// SPDX-License-Identifier: GPL-2.0

//! Reading: events, pages, a mapping.

use std::iter::from_fn;
use std::slice;

use rtrace_core::ring_buffer::parse::Lost;
use rtrace_core::ring_buffer::{Iter, Meta, MetaReader};

use super::{Both, Same};
use crate::memory::{free_page, new_page};
use crate::page::{Page, Seen};
use crate::random::Random;

impl Both {
    /// Whether there was an event.
    pub fn consume(&self) -> bool {
        let ours = self.ours.reader().consume().map(Seen::from);
        self.compare_event("consume", ours, self.theirs.consume())
    }

    pub fn consume_some(&self, random: &mut Random) {
        for _ in 0..random.below(6) {
            self.consume();
        }
    }

    pub fn consume_all(&self) {
        while self.consume() {}
    }

    pub fn peek(&self) {
        // C's peek consumes the time record before the event. So that counts as read, and the
        // sub-buffer is copied from there on instead of being swapped.
        self.only_same(Same::SubBuffers);
        let ours = self.ours.reader().peek().map(Seen::from);
        self.compare_event("peek", ours, self.theirs.peek());
    }

    /// Whether there is an event.
    fn compare_event(&self, name: &str, ours: Option<Seen>, theirs: Option<Seen>) -> bool {
        self.say(format!("{name}: {ours:?}"));
        let times = self.same_times.get();
        self.compare_events(name, ours.as_slice(), theirs.as_slice(), times);
        self.check_warnings();
        ours.is_some()
    }

    /// Compares all that new iterators give.
    pub fn iterate(&self) {
        let reader = self.ours.reader();
        let mut our_iter = Iter::new(vec![0; self.size()]);
        let ours: Vec<_> = from_fn(|| our_iter.next(&reader).map(Seen::from)).collect();
        let mut their_iter = self.theirs.iter();
        let theirs: Vec<_> = from_fn(|| their_iter.next()).collect();
        self.say(format!("iterate: {} events", ours.len()));
        // C's may find nothing (coming-from-c.md, "A reading of `trace` when readers have left one page").
        if !theirs.is_empty() || !self.theirs.rest_looks_read() {
            self.compare_events("iterate", &ours, &theirs, self.same_times.get());
        }
        self.check_warnings();
    }

    /// One page of ours, as `trace_pipe_raw` gives it, and whether it is the sub-buffer itself.
    fn our_page(&self, full: bool) -> Option<(Page, bool)> {
        let mut memory = new_page(self.size);
        let mut reader = self.ours.reader();
        // SAFETY: the page is of the right size, and nothing is mapped.
        let is_swapped = !self.is_mapped && unsafe { reader.swap_page(&mut memory) }.is_some();
        // SAFETY: the page is nobody else's now.
        let bytes = unsafe { slice::from_raw_parts_mut(memory.as_ptr(), self.size()) };
        let has_page = is_swapped || reader.copy_page(bytes, self.size(), full).is_ok();
        let page = has_page.then(|| (Page::new(bytes), is_swapped));
        // SAFETY: `new_page` made it, here or for the buffer, and nobody uses it any more.
        unsafe { free_page(memory, self.size) };
        page
    }

    /// One page of C's, as `trace_pipe_raw` gives it.
    fn their_page(&self, full: bool) -> Option<Page> {
        loop {
            let page = Page::new(&self.theirs.read_page(full)?);
            // C also gives pages of nothing but padding.
            if !page.events.is_empty() {
                return Some(page);
            }
            assert_eq!(page.flags, 0, "C tells of events lost before none");
        }
    }

    /// Compares a page of `trace_pipe_raw`; a full one if `full`.
    pub fn read_page(&self, full: bool) {
        let ours = self.our_page(full);
        let theirs = self.their_page(full);
        let shown = ours.as_ref().map(|(page, is_swapped)| {
            let way = if *is_swapped { "swapped" } else { "copied" };
            (way, page.events.len(), page.lost)
        });
        self.say(format!("page, full {full}: {shown:?}"));
        self.compare("a page", ours.is_some(), theirs.is_some());
        let (Some((ours, is_swapped)), Some(theirs)) = (ours, theirs) else {
            if full {
                // This buffer has passed over the padding at the end of what was read, and C has not.
                self.only_same(Same::SubBuffers);
            }
            return;
        };
        let times = self.same_times.get();
        self.compare_events("page", &ours.events, &theirs.events, times);
        let [our_loss, their_loss] = [ours.lost, theirs.lost].map(|lost| lost != Lost::No);
        self.compare("whether events were lost", our_loss, their_loss);
        // A page that C copies ends with the padding, and may have no room for how many were lost
        // (coming-from-c.md, "A page of `trace_pipe_raw` that is copied").
        if is_swapped && self.same.get() == Same::Bytes {
            let what = |page: Page| (page.time, page.lost, page.flags, page.records);
            self.compare("swapped page", what(ours), what(theirs));
        }
        self.check_warnings();
    }

    /// Consumes all the rest by pages.
    pub fn consume_pages(&self) {
        let ours = from_fn(|| self.our_page(false)).map(|(page, _)| page);
        let (ours, our_loss) = events_of(ours);
        let (theirs, their_loss) = events_of(from_fn(|| self.their_page(false)));
        self.say(format!("all pages: {} events", ours.len()));
        self.compare_events("all pages", &ours, &theirs, self.same_times.get());
        self.compare("lost", our_loss, their_loss);
        self.check_warnings();
    }

    pub fn map(&mut self) {
        self.say("map".into());
        self.theirs.map();
        self.ours.reader().show_header();
        self.is_mapped = true;
    }

    pub fn unmap(&mut self) {
        self.say("unmap".into());
        self.theirs.unmap();
        self.is_mapped = false;
    }

    /// `TRACE_MMAP_IOCTL_GET_READER`, and what the mapping shows then.
    pub fn next_mapped(&self) {
        // C consumes the padding at the end, too.
        self.only_same(Same::SubBuffers);
        let before = self.theirs.counts();
        self.theirs.next_mapped();
        if before.entries != 0 && self.theirs.counts().read == before.read {
            // C also gives a rest that is nothing but padding.
            self.theirs.next_mapped();
        }
        let (their_meta, bytes) = self.theirs.mapped();
        let theirs = Page::new(&bytes);

        let shown = self.ours.reader().mapped_page();
        let buffer = self.ours.buffer();
        let our_meta = Meta::new(self.size, buffer.nr_slots() + 1, shown, &buffer.stats());
        let memory = buffer.sub_buffer_memory(shown.id).expect("a sub-buffer");
        // SAFETY: a sub-buffer has so many bytes, and nobody writes now.
        let ours = Page::new(unsafe { slice::from_raw_parts(memory, self.size()) });

        let count = ours.events.len();
        self.say(format!("next mapped: {count} events, {:?}", ours.lost));
        let times = self.same_times.get();
        self.compare_events("mapped page", &ours.events, &theirs.events, times);
        let loss = |page: &Page| (page.lost, page.flags);
        self.compare("mapped page", loss(&ours), loss(&theirs));
        for (meta, page) in [(our_meta, ours), (their_meta, theirs)] {
            // To the end of the last event, or to that of the padding.
            let read = page.records.len()..=page.length;
            assert!(read.contains(&(meta.reader.read as usize)), "{meta:?}");
        }
        // `reader` has how much is read, which is checked above; the sub-buffer's number, which is
        // nobody's business; and how many events were lost before it, which is 0 in C by now
        // (coming-from-c.md, "`reader.lost_events` of a mapped buffer").
        let [our_meta, their_meta] = [our_meta, their_meta].map(|meta| Meta {
            reader: MetaReader::default(),
            ..meta
        });
        self.compare("first page", our_meta, their_meta);
        self.check_warnings();
    }
}

/// The events of pages, and how many were lost.
fn events_of(pages: impl Iterator<Item = Page>) -> (Vec<Seen>, u64) {
    let (mut events, mut lost) = (vec![], 0);
    for page in pages {
        if let Lost::Count(count) = page.lost {
            lost += count;
        }
        events.extend(page.events);
    }
    (events, lost)
}
