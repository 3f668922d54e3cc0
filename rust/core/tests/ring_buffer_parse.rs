// SPDX-License-Identifier: GPL-2.0

//! The parser of sub-buffers: samples of the format, and bytes that follow none. The fuzz target
//! does the latter for longer; this is its part that runs with every test.

#![cfg(not(loom))]

use rtrace_core::ring_buffer::parse::{Cursor, Lost, Malformed, Page};

/// A page of `words` records with this time and commit word.
fn page(time: u64, commit: u64, words: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(time.to_ne_bytes());
    bytes.extend(commit.to_ne_bytes());
    words
        .iter()
        .for_each(|word| bytes.extend(word.to_ne_bytes()));
    bytes
}

fn times(bytes: &[u8]) -> Vec<(u64, usize)> {
    Page::parse(bytes)
        .unwrap()
        .events()
        .map(|event| event.unwrap())
        .map(|(time, data)| (time, data.len()))
        .collect()
}

/// The first two events of a page that a C kernel has written: a text marker, and a raw one 503372
/// ns later.
#[test]
fn a_sample_of_the_c_kernel() {
    let mut words = vec![0x0000_0006];
    words.extend([0; 6]);
    words.extend([0x00f5_c984, 0, 0, 0, 0]);
    assert_eq!(times(&page(1000, 48, &words)), [(1000, 24), (504_372, 16)]);
}

#[test]
fn every_kind_of_record() {
    let words = [
        7 << 5 | 1,
        0xaa, // an event, 7 units on
        2 << 5 | 30,
        1, // a time extend: 2^27 + 2
        0,
        12,
        1,
        2, // an event whose length is a word of its own
        3 << 5 | 29,
        8,
        0, // discarded, 3 units on
        5 << 5 | 31,
        100, // an absolute time: 100 * 2^27 + 5
        1 << 5 | 1,
        0xbb, // an event, 1 unit on
        29,
        0xdead,
        0xbeef, // the rest is empty
    ];
    let bytes = page(10, words.len() as u64 * 4, &words);
    assert_eq!(
        times(&bytes),
        [(17, 4), (17 + (1 << 27) + 2, 8), ((100 << 27) + 6, 4)]
    );
}

#[test]
fn lost_events() {
    let words = [1, 0xaa, 7, 0, 0];
    let flags = 0xffff_ffff_8000_0000;
    assert_eq!(Page::parse(&page(0, 8, &words)).unwrap().lost, Lost::No);
    assert_eq!(
        Page::parse(&page(0, 8 + flags, &words)).unwrap().lost,
        Lost::Some
    );
    let counted = page(0, (8 | 1 << 30) + flags, &words);
    assert_eq!(Page::parse(&counted).unwrap().lost, Lost::Count(7));
    assert_eq!(Page::parse(&counted).unwrap().records.len(), 8);
    // The count does not fit.
    assert!(Page::parse(&page(0, (16 | 1 << 30) + flags, &words)).is_err());
}

#[test]
fn records_that_reach_too_far() {
    for words in [
        &[2, 0][..],
        &[0, 100, 0],
        &[0, 3, 0],
        &[0],
        &[30],
        &[31],
        &[1 << 5 | 29, 0xffff_ffff],
        &[1 << 5 | 29, 0],
    ] {
        let bytes = page(0, words.len() as u64 * 4, words);
        let parsed = Page::parse(&bytes).unwrap();
        assert_eq!(
            Cursor::start(0).next_event(parsed.records),
            Err(Malformed { offset: 0 }),
            "{words:x?}"
        );
        assert_eq!(parsed.events().count(), 1, "an error ends the iteration");
    }
    assert!(Page::parse(&[0; 15]).is_err());
    assert!(Page::parse(&page(0, 4, &[])).is_err());
}

/// xorshift64*: the same bytes in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[test]
fn any_bytes_end() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut events = 0;
    for _ in 0..20_000 {
        let length = (random.next() % 600) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        // Half of them with a header that fits, and short records.
        if random.next() & 1 == 0 && length > 16 {
            bytes[8..16].copy_from_slice(&((length - 16) as u64).to_ne_bytes());
            bytes[16..]
                .chunks_exact_mut(4)
                .for_each(|word| word[1..].fill(0));
        }
        let Ok(page) = Page::parse(&bytes) else {
            continue;
        };
        let mut cursor = Cursor::start(page.time);
        let mut end = 0;
        while let Ok(Some(found)) = cursor.next_event(page.records) {
            assert!(
                end <= found.header && found.header < found.payload && found.payload <= found.end
            );
            assert!(found.end <= page.records.len() && found.end == cursor.offset);
            end = found.end;
            events += 1;
        }
    }
    assert!(events > 10_000, "{events} events");
}
