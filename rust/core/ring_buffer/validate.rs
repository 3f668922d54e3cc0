// SPDX-License-Identifier: GPL-2.0

//! Checks the times of records while they are written (`CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS`).
//!
//! After each event that interrupts no other, the times of its sub-buffer, from the timestamp in
//! the header on, are added up. They must come to the time that the buffer keeps for the last
//! event. When a writer moves to another sub-buffer, those of the one before must not have come
//! further than the clock. The first mismatch stops recording in the buffer and is reported by
//! [`Env::mismatch`](super::Env::mismatch).
//!
//! This takes time in proportion to the records of the sub-buffer, for each event. Without the
//! option none of it is compiled.

#[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
mod live;

use core::fmt;

use super::parse::{Cursor, Malformed};
use super::word::Header;

/// What the times of a sub-buffer must come to: the time that the buffer, or the clock, has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamp {
    /// This time.
    Exactly(u64),
    /// At most this time.
    AtMost(u64),
    /// At least this time.
    AtLeast(u64),
}

impl Stamp {
    fn is(self, sum: u64) -> bool {
        match self {
            Self::Exactly(time) => sum == time,
            Self::AtMost(time) => sum <= time,
            Self::AtLeast(time) => sum >= time,
        }
    }
}

/// A sub-buffer whose times do not come to what they must.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mismatch<'a> {
    /// The timestamp of the sub-buffer.
    pub start: u64,
    /// Its records.
    pub records: &'a [u8],
    /// What the times must come to.
    pub stamp: Stamp,
    /// What they come to.
    pub sum: Result<u64, Malformed>,
}

/// Adds the times of `records` up, from that of their sub-buffer on.
///
/// # Errors
///
/// [`Malformed`] if the bytes are no records.
pub fn time_after(start: u64, records: &[u8]) -> Result<u64, Malformed> {
    let mut cursor = Cursor::start(start);
    while cursor.next_event(records)?.is_some() {}
    Ok(cursor.time)
}

/// Checks the `records` of a sub-buffer with the timestamp `start`.
///
/// # Errors
///
/// A [`Mismatch`].
pub fn check(start: u64, records: &[u8], stamp: Stamp) -> Result<(), Mismatch<'_>> {
    let sum = time_after(start, records);
    match sum {
        Ok(time) if stamp.is(time) => Ok(()),
        _ => Err(Mismatch {
            start,
            records,
            stamp,
            sum,
        }),
    }
}

impl Mismatch<'_> {
    /// Calls `line` for each line of the report. As in C, `expected` is what the times come to, and
    /// `actual` what the buffer or the clock has. Any context.
    pub fn report(&self, cpu: u32, line: &dyn Fn(fmt::Arguments<'_>)) {
        let (stamp, full) = match self.stamp {
            Stamp::Exactly(time) | Stamp::AtLeast(time) => (time, ""),
            Stamp::AtMost(time) => (time, " (full)"),
        };
        match self.sum {
            Ok(sum) => line(format_args!(
                "[CPU: {cpu}]TIME DOES NOT MATCH expected:{sum} actual:{stamp}{full}"
            )),
            Err(Malformed { offset }) => line(format_args!(
                "[CPU: {cpu}]NO RECORD AT 0x{offset:x} actual:{stamp}{full}"
            )),
        }
        line(format_args!("  [{}] PAGE TIME STAMP", self.start));
        let mut cursor = Cursor::start(self.start);
        while let Some(header) = cursor.header(self.records) {
            let (at, before) = (cursor.offset, cursor.time);
            if cursor.step(self.records).is_err() {
                break;
            }
            let (time, delta) = (cursor.time, cursor.time.wrapping_sub(before));
            match header.type_len() {
                Header::TIME_EXTEND => {
                    line(format_args!(
                        " 0x{at:x}: [{time}] delta:{delta} TIME EXTEND"
                    ));
                }
                Header::TIME_STAMP => {
                    line(format_args!(
                        " 0x{at:x}:  [{time}] absolute:{time} TIME STAMP"
                    ));
                }
                Header::PADDING => {
                    line(format_args!(" 0x{at:x}:  [{time}] delta:{delta} PADDING"));
                }
                _ => line(format_args!(" 0x{at:x}:  [{time}] delta:{delta}")),
            }
        }
        let (end, last) = (self.records.len(), cursor.offset);
        line(format_args!(
            "expected end:0x{end:x} last event actually ended at:0x{last:x}"
        ));
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use core::cell::RefCell;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn record(type_len: u32, delta: u64, words: &[u32]) -> Vec<u8> {
        let header = Header::new(type_len, delta).0;
        let words = [header].into_iter().chain(words.iter().copied());
        words.flat_map(u32::to_ne_bytes).collect()
    }

    /// An event, a long time, an event behind it, a discarded event, an absolute time, a long event.
    fn page() -> Vec<u8> {
        [
            record(1, 0, &[7]),
            record(2, 30, &[7, 7]),
            record(Header::TIME_EXTEND, 5, &[2]),
            record(1, 0, &[7]),
            record(Header::PADDING, 4, &[8, 0]),
            record(Header::TIME_STAMP, 1, &[4]),
            record(0, 9, &[8, 7]),
        ]
        .concat()
    }

    const START: u64 = 1000;
    const END: u64 = (4 << Header::DELTA_BITS) + 1 + 9;

    #[test]
    fn good_pages() {
        let page = page();
        assert_eq!(time_after(START, &page), Ok(END));
        assert_eq!(check(START, &page, Stamp::Exactly(END)), Ok(()));
        for later in 0..3 {
            assert_eq!(check(START, &page, Stamp::AtMost(END + later)), Ok(()));
            assert_eq!(check(START, &page, Stamp::AtLeast(END - later)), Ok(()));
        }
        // Up to the absolute time, each delta counts.
        let extended = START + 30 + 5 + (2 << Header::DELTA_BITS) + 4;
        assert_eq!(time_after(START, &page[..48]), Ok(extended));
        assert_eq!(time_after(START, &[]), Ok(START));
    }

    #[test]
    fn bad_pages() {
        let page = page();
        for stamp in [
            Stamp::Exactly(END - 1),
            Stamp::Exactly(END + 1),
            Stamp::AtMost(END - 1),
            Stamp::AtLeast(END + 1),
        ] {
            let found = check(START, &page, stamp).unwrap_err();
            assert_eq!(found.sum, Ok(END));
        }
        // Each wrong delta is found.
        let want = time_after(START, &page[..48]).unwrap();
        for header in [0, 8, 20, 28, 36] {
            let mut wrong = page[..48].to_vec();
            wrong[header] ^= 1 << 5;
            assert!(check(START, &wrong, Stamp::Exactly(want)).is_err());
        }
        // So is a record that does not end.
        let found = check(START, &page[..page.len() - 4], Stamp::AtMost(u64::MAX));
        assert_eq!(found.unwrap_err().sum, Err(Malformed { offset: 56 }));
    }

    #[test]
    fn reports() {
        let page = page();
        let lines = RefCell::new(String::new());
        let add = |line: fmt::Arguments<'_>| *lines.borrow_mut() += &format!("{line}\n");
        let found = check(START, &page, Stamp::Exactly(5)).unwrap_err();
        found.report(3, &add);
        let cut = check(5, &page[..12], Stamp::AtMost(5)).unwrap_err();
        cut.report(0, &add);
        assert_eq!(
            lines.into_inner(),
            "\
[CPU: 3]TIME DOES NOT MATCH expected:536870922 actual:5
  [1000] PAGE TIME STAMP
 0x0:  [1000] delta:0
 0x8:  [1030] delta:30
 0x14: [268436491] delta:268435461 TIME EXTEND
 0x1c:  [268436491] delta:0
 0x24:  [268436495] delta:4 PADDING
 0x30:  [536870913] absolute:536870913 TIME STAMP
 0x38:  [536870922] delta:9
expected end:0x44 last event actually ended at:0x44
[CPU: 0]NO RECORD AT 0x8 actual:5 (full)
  [5] PAGE TIME STAMP
 0x0:  [5] delta:0
expected end:0xc last event actually ended at:0x8
"
        );
    }
}
