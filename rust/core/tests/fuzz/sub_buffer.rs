// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a sub-buffer: the parser ends, stays inside, goes forward, and finds what a simple
//! reader finds.

use rtrace_core::ring_buffer::parse::{Lost, Page};

/// 59 bits of an absolute time, and the rest of the running one.
fn absolute(stamp: u64, running: u64) -> u64 {
    let high = running >> 59 << 59;
    let time = stamp & ((1 << 59) - 1) | high;
    let is_far_below = running > time && running - time > (1 << 58) - 1;
    match high != 0 && is_far_below {
        true => time.wrapping_add(1 << 59),
        false => time,
    }
}

fn take(rest: &mut &[u8]) -> Option<u32> {
    let (word, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u32::from_ne_bytes(*word))
}

/// The events with their times, up to the first record that is wrong.
fn events(records: &[u8], mut time: u64) -> Vec<(u64, &[u8])> {
    let mut all = Vec::new();
    let mut rest = records;
    while let Some(word) = take(&mut rest) {
        let (kind, delta) = (word & 31, u64::from(word >> 5));
        if kind == 29 && delta == 0 {
            break;
        }
        let size = match kind {
            1..=28 => kind as usize * 4,
            _ => {
                let Some(word) = take(&mut rest) else {
                    break;
                };
                let extended = u64::from(word) << 27 | delta;
                match kind {
                    30 | 31 => {
                        time = match kind {
                            30 => time.wrapping_add(extended),
                            _ => absolute(extended, time),
                        };
                        continue;
                    }
                    _ if word < 4 => break,
                    // What is discarded may end anywhere, an event ends with a word.
                    29 => word as usize - 4,
                    _ => (word as usize).next_multiple_of(4) - 4,
                }
            }
        };
        let Some((payload, behind)) = rest.split_at_checked(size) else {
            break;
        };
        time = time.wrapping_add(delta);
        if kind != 29 {
            all.push((time, payload));
        }
        rest = behind;
    }
    all
}

pub fn run(bytes: &[u8]) {
    let Ok(page) = Page::parse(bytes) else {
        return;
    };
    assert!(page.records.len() + 16 <= bytes.len());
    if let Lost::Count(_) = page.lost {
        assert!(page.records.len() + 24 <= bytes.len());
    }
    let mut found = Vec::new();
    let mut events_left = page.events();
    while let Some(event) = events_left.next() {
        match event {
            Ok(event) => found.push(event),
            Err(malformed) => {
                assert!(malformed.offset < page.records.len());
                assert!(events_left.next().is_none());
                break;
            }
        }
    }
    assert_eq!(found, events(page.records, page.time));
}
