// SPDX-License-Identifier: GPL-2.0

//! Readers of whole pages: swapped out, copied, mapped.

use std::ptr::NonNull;

use rtrace_core::ring_buffer::parse::{Cursor, Lost, Page};
use rtrace_core::ring_buffer::HEADER_SIZE;

use super::super::memory::{commit_word, free_page, new_page};
use super::{Entry, Machine};

impl Machine {
    /// Maps the buffer, which nobody has written to.
    pub fn map(&self) {
        self.memory.buffer().set_waiters(true);
        self.shown.set(Some(u32::MAX));
        self.memory.reader().show_header();
    }

    /// Events of `bytes`, a page that has left the buffer, are those behind what was passed.
    fn see_page(&self, bytes: &[u8]) {
        let page = Page::parse(bytes).unwrap();
        let kept = self.kept();
        let passed = self.passed.get();
        let events: Vec<_> = page.events().map(Result::unwrap).collect();
        let start = match page.lost {
            Lost::No => passed,
            Lost::Count(lost) => passed + lost as usize,
            Lost::Some => {
                let first = events.first().expect("an event after those lost").1;
                let is_first = |entry: &Entry| first.starts_with(&entry.payload());
                let lost = kept[passed..].iter().position(is_first).unwrap();
                assert!(lost > 0, "nothing was lost");
                passed + lost
            }
        };
        for (index, (time, payload)) in (start..).zip(&events) {
            self.check(kept.get(index), payload, *time);
        }
        self.passed.set(start + events.len());
    }

    pub(super) fn swap_pages(&self) {
        let size = self.memory.buffer().sub_buffer_size();
        let mut page = new_page(size);
        // SAFETY: the page has that size and nobody else uses it; nothing is mapped in a case with `Swap`.
        while let Some(length) = unsafe { self.memory.reader().swap_page(&mut page) } {
            // SAFETY: the page is this function's, and its bytes are all set.
            let bytes = unsafe { std::slice::from_raw_parts(page.as_ptr(), size as usize) };
            assert!((HEADER_SIZE..=bytes.len()).contains(&length));
            self.see_page(bytes);
        }
        // SAFETY: what was swapped in has the same size, and the buffer does not use it any more.
        unsafe { free_page(page, size) };
    }

    pub(super) fn copy_pages(&self, length: usize, full: bool) {
        // There is room for the number of lost events behind any page.
        let mut into = vec![0x5a; self.memory.buffer().sub_buffer_size() as usize + 8];
        while let Ok(copied) = self.memory.reader().copy_page(&mut into, length, full) {
            assert!(copied <= length);
            self.see_page(&into);
        }
    }

    pub(super) fn see_mapped(&self, count: usize) {
        for _ in 0..count {
            self.see_next();
        }
    }

    /// Asks for the next page of the mapping and checks all events on it: the last ones of those that
    /// are read or told lost.
    fn see_next(&self) {
        let (last, lacks) = self.lacks.get();
        if last == self.memory.reader().shown_page().id {
            assert_eq!(commit_word(&self.memory, last).1, lacks);
        }
        let page = self.memory.reader().mapped_page();
        let lost = self.lost_shown.get() + page.lost as usize;
        self.lost_shown.set(lost);
        if page.id != last || page.lost > 0 {
            self.lacks.set((page.id, page.lost > 0));
        }
        let (shown, told) = commit_word(&self.memory, page.id);
        assert_eq!(told, self.lacks.get().1, "{page:?}");
        assert!(shown >= page.read.into(), "{shown} bytes of {page:?}");
        let events = self.events_of(page.id, page.read.into());
        let passed = self.memory.buffer().stats().read as usize + lost;
        let kept = self.kept();
        for (index, (time, payload)) in (passed - events.len()..).zip(&events) {
            self.check(kept.get(index), payload, *time);
        }
        assert!(passed >= self.passed.get() + page.lost as usize);
        self.passed.set(passed);
    }

    /// Times and payloads on the first `length` bytes of a sub-buffer's records.
    fn events_of(&self, id: u32, length: u64) -> Vec<(u64, Vec<u8>)> {
        let memory = NonNull::new(self.memory.buffer().sub_buffer_memory(id).unwrap()).unwrap();
        let end = HEADER_SIZE + length as usize;
        // SAFETY: so much is committed, and nobody writes there before the next call of the reader.
        let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr(), end) };
        let (header, records) = bytes.split_at(HEADER_SIZE);
        let mut cursor = Cursor::start(u64::from_ne_bytes(header[..8].try_into().unwrap()));
        std::iter::from_fn(|| cursor.next_event(records).unwrap())
            .map(|found| (found.time, records[found.payload..found.end].to_vec()))
            .collect()
    }

    /// Nobody writes any more. The sub-buffer of the last commit shows all there is before the reader
    /// asks.
    pub(super) fn see_the_rest(&self) {
        let buffer = self.memory.buffer();
        let (id, events) = buffer.written_events();
        if self.shown.get() != Some(u32::MAX) {
            let (length, lacks) = commit_word(&self.memory, id as u32);
            assert_eq!(self.events_of(id as u32, length).len() as u64, events);
            let is_readers = u64::from(self.memory.reader().shown_page().id) == id;
            assert!(is_readers || !lacks, "flags of older content");
        }
        loop {
            let passed = self.passed.get();
            self.see_next();
            if self.passed.get() == passed {
                return;
            }
        }
    }
}
