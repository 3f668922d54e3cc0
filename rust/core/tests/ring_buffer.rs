// SPDX-License-Identifier: GPL-2.0

//! The ring buffer's behaviour, one case at a time.

#![cfg(not(loom))]

#[path = "ring_buffer/memory.rs"]
mod memory;

use memory::{Clock, Memory};
use rtrace_core::ring_buffer::{Context, Iter, Plain};

fn write(memory: &Memory, clock: &Clock, value: u64) -> bool {
    clock.advance(1);
    let Some(mut event) = memory.writer(Context::NORMAL).reserve(clock, 8) else {
        return false;
    };
    event.payload().copy_from_slice(&value.to_ne_bytes());
    let _ = event.commit();
    true
}

fn value(payload: &[u8]) -> u64 {
    u64::from_ne_bytes(payload[..8].try_into().unwrap())
}

#[test]
fn written_events_are_read_in_order() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    for i in 0..20 {
        assert!(write(&memory, &clock, i));
    }
    assert_eq!(memory.buffer().stats().entries, 20);
    let mut reader = memory.reader();
    for i in 0..20 {
        let event = reader.consume().unwrap();
        assert_eq!(
            (value(event.payload), event.time, event.lost),
            (i, i + 1, 0)
        );
    }
    assert!(reader.consume().is_none());
    assert_eq!(memory.buffer().stats().entries, 0);
    assert_eq!(memory.buffer().stats().bytes, 0);
    assert_eq!(memory.buffer().stats().read, 20);
}

#[test]
fn overwriting_loses_the_oldest_and_says_how_many() {
    let memory = Memory::new(2, 128);
    let clock = Clock::default();
    for i in 0..100 {
        assert!(write(&memory, &clock, i));
    }
    let stats = memory.buffer().stats();
    assert_eq!(stats.entries + stats.overrun, 100);
    let mut reader = memory.reader();
    let first = reader.consume().unwrap();
    assert_eq!(
        (value(first.payload), first.lost),
        (stats.overrun, stats.overrun)
    );
    for i in stats.overrun + 1..100 {
        let event = reader.consume().unwrap();
        assert_eq!((value(event.payload), event.lost), (i, 0));
    }
}

#[test]
fn each_event_has_its_number() {
    let memory = Memory::new(2, 128);
    let clock = Clock::default();
    let mut reader = memory.reader();
    let mut page = vec![0; 128];
    let mut written = 0;
    // Sub-buffers that are taken as a whole, in part, and overwritten ones come between.
    for round in 0..40 {
        for _ in 0..round % 7 * 5 {
            assert!(write(&memory, &clock, written));
            written += 1;
        }
        for _ in 0..round % 5 {
            let Some(event) = reader.peek() else { break };
            let value = value(event.payload);
            assert_eq!(reader.number(), value);
            assert!(reader.consume().is_some());
            assert_eq!(reader.number(), value + 1);
        }
        let length = if round % 3 == 0 { 128 } else { 40 };
        let _ = reader.copy_page(&mut page, length, false);
    }
    while let Some(event) = reader.peek() {
        let value = value(event.payload);
        assert_eq!(reader.number(), value);
        assert!(reader.consume().is_some());
    }
    assert_eq!(reader.number(), written);
}

#[test]
fn without_overwriting_the_newest_are_dropped() {
    let memory = Memory::new(2, 128);
    memory.buffer().set_overwrite(false);
    let clock = Clock::default();
    let written = (0..100).filter(|i| write(&memory, &clock, *i)).count() as u64;
    let stats = memory.buffer().stats();
    assert_eq!(
        (stats.entries, stats.dropped, stats.overrun),
        (written, 100 - written, 0)
    );
    let mut reader = memory.reader();
    for i in 0..written {
        assert_eq!(value(reader.consume().unwrap().payload), i);
    }
}

/// What is there after the first drop is what came first: no event gets into the rest of the
/// sub-buffer before somebody reads.
#[test]
fn nothing_fits_after_a_drop() {
    let memory = Memory::new(2, 128);
    memory.buffer().set_overwrite(false);
    let clock = Clock::default();
    let long = |value: u64| {
        clock.advance(1);
        let writer = memory.writer(Context::NORMAL);
        let Some(mut event) = writer.reserve(&clock, 76) else {
            return false;
        };
        event.payload()[..8].copy_from_slice(&value.to_ne_bytes());
        let _ = event.commit();
        true
    };
    let written = (0..10).filter(|i| long(*i)).count() as u64;
    assert_eq!(written, 2, "one on each sub-buffer");
    assert!(!write(&memory, &clock, 10) && !write(&memory, &clock, 11));
    let stats = memory.buffer().stats();
    assert_eq!((stats.entries, stats.dropped), (2, 10));

    let mut iter = Iter::new(vec![0; 128]);
    let mut reader = memory.reader();
    for i in 0..2 {
        assert_eq!(value(iter.next(&reader).unwrap().payload), i);
    }
    assert!(iter.next(&reader).is_none());

    // The reader has taken the first sub-buffer, so there is room on another one.
    assert_eq!(value(reader.consume().unwrap().payload), 0);
    assert!(write(&memory, &clock, 12));
    assert_eq!(value(iter.next(&reader).unwrap().payload), 12);
    for i in [1, 12] {
        let event = reader.consume().unwrap();
        assert_eq!((value(event.payload), event.lost), (i, 0));
    }
    assert!(reader.consume().is_none());
    assert_eq!(memory.buffer().stats().bytes, 0);
}

/// The unused end of a sub-buffer counts once writers have left it, unless no event fits there.
#[test]
fn bytes_have_the_unused_ends() {
    for (length, size, unused) in [(76, 80, 32), (8, 16, 0), (16, 20, 12), (32, 36, 4)] {
        let memory = Memory::new(2, 128);
        let clock = Clock::default();
        let per_page = 112 / size;
        let counted = if unused < 8 { 0 } else { 112 - per_page * size };
        let add = |count| {
            for _ in 0..count {
                let writer = memory.writer(Context::NORMAL);
                let _ = writer.reserve(&clock, length).unwrap().commit();
            }
            memory.buffer().stats().bytes
        };
        assert_eq!(112 - per_page * size, unused);
        let page = per_page * size + counted;
        assert_eq!(add(per_page), per_page * size);
        assert_eq!(add(1), page + size);
        // Of the four sub-buffers that are full then, the last one is left.
        assert_eq!(add(3 * per_page), page + size);
        while memory.reader().consume().is_some() {}
        assert_eq!(memory.buffer().stats().bytes, 0);
    }
}

#[test]
fn an_iterator_leaves_events_there() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    for i in 0..20 {
        write(&memory, &clock, i);
    }
    let mut reader = memory.reader();
    reader.consume();
    let mut iter = Iter::new(vec![0; 128]);
    for i in 1..20 {
        let event = iter.next(&reader).unwrap();
        assert_eq!(
            (value(event.payload), event.time, event.lost),
            (i, i + 1, 0)
        );
    }
    assert!(iter.next(&reader).is_none());
    write(&memory, &clock, 20);
    assert_eq!(value(iter.next(&reader).unwrap().payload), 20);
    assert_eq!(memory.buffer().stats().entries, 20);
}

#[test]
fn an_iterator_does_not_miss_what_a_reader_has_read() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    for i in 0..100 {
        write(&memory, &clock, i);
    }
    assert!(memory.buffer().stats().overrun > 0);
    let mut reader = memory.reader();
    while reader.consume().is_some() {}
    let mut iter = Iter::new(vec![0; 128]);
    assert!(iter.next(&reader).is_none());
    for i in 100..104 {
        write(&memory, &clock, i);
    }
    for _ in 0..3 {
        reader.consume();
    }
    let event = iter.next(&reader).unwrap();
    assert_eq!((value(event.payload), event.lost), (103, 0));
}

#[test]
fn the_time_of_the_oldest_event_is_found_without_taking_anything() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    let mut reader = memory.reader();
    assert_eq!(reader.oldest_time(), None);
    for i in 0..20 {
        assert!(write(&memory, &clock, i));
    }
    let mut read = 0;
    loop {
        let ids: Vec<u32> = reader.ids().collect();
        let oldest = reader.oldest_time();
        assert_eq!(ids, reader.ids().collect::<Vec<u32>>(), "after {read}");
        let Some(event) = reader.consume() else {
            assert_eq!(oldest, None);
            break;
        };
        assert_eq!(oldest, Some(event.time));
        read += 1;
    }
    assert_eq!(read, 20);
    // What is overwritten meanwhile is not the oldest any more.
    for i in 20..200 {
        assert!(write(&memory, &clock, i));
    }
    let oldest = reader.oldest_time();
    assert_eq!(oldest, reader.consume().map(|event| event.time));
}

#[test]
fn emptying_leaves_the_reader_its_sub_buffer() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    let mut shown = std::collections::BTreeSet::new();
    for round in 0..20 {
        for i in 0..30 {
            assert!(write(&memory, &clock, i));
        }
        for _ in 0..round % 6 {
            memory.reader().mapped_page();
        }
        let page = memory.reader().shown_page();
        // SAFETY: one thread, which neither writes nor reads now.
        unsafe { memory.buffer().reset() };
        let mut reader = memory.reader();
        assert_eq!(
            (reader.shown_page().id, reader.shown_page().read),
            (page.id, 0)
        );
        shown.insert(page.id);
        let mut ids: Vec<u32> = reader.ids().collect();
        ids.sort();
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        assert!(reader.consume().is_none());
        for i in 0..12 {
            assert!(write(&memory, &clock, i));
        }
        for i in 0..12 {
            assert_eq!(value(reader.consume().unwrap().payload), i);
        }
        assert!(reader.consume().is_none());
    }
    assert!(shown.len() > 2, "{shown:?}");
}

#[test]
fn what_a_reader_has_seen_is_there_after_shrinking() {
    let mut memory = Memory::new(6, 128);
    let clock = Clock::default();
    for i in 0..100 {
        assert!(write(&memory, &clock, i));
    }
    let oldest = value(memory.reader().peek().unwrap().payload);
    memory.resize(2, |_| {});
    let stats = memory.buffer().stats();
    assert_eq!(stats.entries + stats.overrun, 100);
    let mut reader = memory.reader();
    assert_eq!(value(reader.consume().unwrap().payload), oldest);
    let mut next = oldest + 1;
    let mut lost = 0;
    while let Some(event) = reader.consume() {
        lost += event.lost;
        assert_eq!(value(event.payload), next + event.lost);
        next += event.lost + 1;
    }
    assert_eq!(next, 100);
    assert!(lost > 0);
    assert_eq!(stats.entries, 100 - oldest - lost);
}

#[test]
fn a_limited_iterator_ends_where_it_began_whatever_is_written() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    for i in 0..20 {
        write(&memory, &clock, i);
    }
    let reader = memory.reader();
    let mut iter = Iter::new(vec![0; 128]);
    iter.limit(&reader);
    let (mut next, mut written) = (0, 20);
    while let Some(event) = iter.next(&reader) {
        next += event.lost;
        assert_eq!(value(event.payload), next);
        next += 1;
        // Two for each that is read: the reader is overtaken at last.
        for _ in 0..2 {
            write(&memory, &clock, written);
            written += 1;
        }
    }
    assert!(next <= 20, "{next}");
    assert!(iter.peek(&reader).is_none());
    iter.unlimit();
    let event = iter.next(&reader).unwrap();
    assert!(event.lost + next >= 20 && value(event.payload) == event.lost + next);
}

#[test]
fn what_an_iterator_has_copied_needs_no_reader() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    for i in 0..20 {
        write(&memory, &clock, i);
    }
    let mut iter = Iter::new(vec![0; 128]);
    assert!(iter.copied().is_none() && !iter.pass_copied() && !iter.is_at_limit());
    let (mut read, mut copies) = (0, 0);
    loop {
        // Here the right to read is taken, which copies a sub-buffer, and given back.
        let reader = memory.reader();
        iter.limit(&reader);
        match iter.peek(&reader) {
            Some(event) => assert_eq!(value(event.payload), read),
            None => break,
        }
        copies += 1;
        while let Some(event) = iter.copied() {
            assert_eq!((value(event.payload), event.time), (read, read + 1));
            assert_eq!(iter.copied_time(), Some(read + 1));
            assert!(iter.pass_copied());
            read += 1;
        }
    }
    assert_eq!(read, 20);
    assert!((2..20).contains(&copies), "{copies}");
    assert!(iter.is_at_limit() && !iter.pass_copied());
}

#[test]
fn an_iterator_with_too_little_memory_finds_nothing() {
    let memory = Memory::new(4, 128);
    let clock = Clock::default();
    for i in 0..20 {
        write(&memory, &clock, i);
    }
    let reader = memory.reader();
    for size in [0, 1, 11, 12, 64, 111] {
        let mut iter = Iter::new(vec![0; size]);
        assert!(iter.next(&reader).is_none(), "{size}");
        assert!(iter.peek(&reader).is_none(), "{size}");
    }
    let mut iter = Iter::new(vec![0; 112]);
    assert!(iter.next(&reader).is_some());
}

/// What is left of an attempt is not done inside of an event that the context has reserved since: that
/// would show it to readers while it is being written.
#[test]
fn nothing_is_published_from_inside_an_event() {
    let memory = Memory::new(2, 128);
    let clock = Clock::default();
    assert!(write(&memory, &clock, 0));
    assert_eq!(memory.reader().consume().map(|event| event.time), Some(1));
    clock.advance(1 << 30);
    let writer = memory.writer(Context::NORMAL);
    let attempt = writer.write_plain_at(&clock, |_| [0_u64]);
    assert_eq!(attempt, Plain::Abandoned, "it is too long ago");
    let mut event = writer.reserve(&clock, 8).unwrap();
    // SAFETY: no call has done it for the attempt above.
    unsafe { writer.abandon(&clock) };
    let _ = writer.publish(&clock);
    assert!(memory.reader().consume().is_none());
    event.payload().copy_from_slice(&1_u64.to_ne_bytes());
    let _ = event.commit();
    assert!(memory.reader().consume().is_none());
    // SAFETY: the call above has done nothing.
    unsafe { writer.abandon(&clock) };
    assert_eq!(value(memory.reader().consume().unwrap().payload), 1);
    assert!(!memory.buffer().is_writing());
}
