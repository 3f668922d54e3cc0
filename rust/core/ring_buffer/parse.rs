// SPDX-License-Identifier: GPL-2.0

//! Parses the records of a sub-buffer. The code is safe for any bytes; malformed ones are an error.
//!
//! The format is ABI (`include/linux/ring_buffer.h`, `enum ring_buffer_type`). Each record starts
//! with a [`Header`]. `type_len` 1 to 28 is an event with that many words of payload. 0 is an event
//! whose next word is the length (itself included). 29 is padding or a discarded event. 30 and 31
//! are time records.

use super::sub_buffer::{COMMIT_OFFSET, HEADER_SIZE};
use super::word::Header;

/// The bytes do not follow the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The offset of the malformed record.
    pub offset: usize,
}

/// The place and the time of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// The time of the event in units of the clock.
    pub time: u64,
    /// The offset of the event's header.
    pub header: usize,
    /// The offset of the payload.
    pub payload: usize,
    /// The offset after the event.
    pub end: usize,
}

/// A position in the records of a sub-buffer: an offset and the time there. It moves from event to
/// event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor {
    /// The offset of the next record.
    pub offset: usize,
    /// The time of the last record.
    pub time: u64,
}

impl Found {
    /// The position behind the event.
    pub(super) const fn behind(&self) -> Cursor {
        Cursor {
            offset: self.end,
            time: self.time,
        }
    }
}

/// One record.
enum Record {
    Event { payload: usize, end: usize },
    Skip { end: usize },
    Rest,
}

impl Cursor {
    /// The position of the first record, if the timestamp of the sub-buffer is `time`.
    pub const fn start(time: u64) -> Self {
        Self { offset: 0, time }
    }

    /// Moves past the next event of `records` and returns its place. `None` at the end. Records
    /// that are not events are skipped, and their time is added.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if a record ends after the end of `records`. The cursor stays before that
    /// record.
    #[inline]
    pub fn next_event(&mut self, records: &[u8]) -> Result<Option<Found>, Malformed> {
        match self.plain_event(records) {
            Some(found) => Ok(Some(found)),
            None => self.next_of_any_kind(records),
        }
    }

    /// The next event, if the next record is a small event.
    #[inline(always)]
    pub(super) fn plain_event(&mut self, records: &[u8]) -> Option<Found> {
        let header = self.offset;
        let word = Header(word(records, header)?);
        let payload = header.wrapping_add(4);
        let end = payload.wrapping_add(word.type_len() as usize * 4);
        if end == payload || word.type_len() >= Header::PADDING || end > records.len() {
            return None;
        }
        self.time = self.time.wrapping_add(word.delta().into());
        self.offset = end;
        Some(Found {
            time: self.time,
            header,
            payload,
            end,
        })
    }

    #[inline(never)]
    fn next_of_any_kind(&mut self, records: &[u8]) -> Result<Option<Found>, Malformed> {
        while self.offset < records.len() {
            let header = self.offset;
            match self.record(records)? {
                Record::Event { payload, end } => {
                    self.offset = end;
                    return Ok(Some(Found {
                        time: self.time,
                        header,
                        payload,
                        end,
                    }));
                }
                Record::Skip { end } => self.offset = end,
                Record::Rest => self.offset = records.len(),
            }
        }
        Ok(None)
    }

    /// The header of the next record. `None` at the end.
    #[cfg(any(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS, not(CONFIG_RTRACE)))]
    pub(super) fn header(&self, records: &[u8]) -> Option<Header> {
        word(records, self.offset).map(Header)
    }

    /// Moves past the next record of any kind.
    #[cfg(any(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS, not(CONFIG_RTRACE)))]
    pub(super) fn step(&mut self, records: &[u8]) -> Result<(), Malformed> {
        self.offset = match self.record(records)? {
            Record::Event { end, .. } | Record::Skip { end } => end,
            Record::Rest => records.len(),
        };
        Ok(())
    }

    /// Parses the record at the cursor and adds its time.
    fn record(&mut self, records: &[u8]) -> Result<Record, Malformed> {
        let malformed = Malformed {
            offset: self.offset,
        };
        let header = Header(word(records, self.offset).ok_or(malformed)?);
        let array_at = self.offset.checked_add(4).ok_or(malformed)?;
        let array = || word(records, array_at).ok_or(malformed);
        let behind = |length: u64| {
            usize::try_from(length)
                .ok()
                .and_then(|length| array_at.checked_add(length))
                .filter(|end| *end <= records.len())
                .ok_or(malformed)
        };
        let delta = header.delta() as u64;

        let (record, time) = match header.type_len() {
            Header::PADDING if delta == 0 => (Record::Rest, self.time),
            Header::PADDING => {
                let length = u64::from(array()?);
                // The length includes its own word. Without this check a length of zero would leave
                // the cursor at the header.
                if length < 4 {
                    return Err(malformed);
                }
                (
                    Record::Skip {
                        end: behind(length)?,
                    },
                    self.time.wrapping_add(delta),
                )
            }
            Header::TIME_EXTEND => {
                let extend = u64::from(array()?) << Header::DELTA_BITS | delta;
                (
                    Record::Skip { end: behind(4)? },
                    self.time.wrapping_add(extend),
                )
            }
            Header::TIME_STAMP => {
                let stamp = u64::from(array()?) << Header::DELTA_BITS | delta;
                (Record::Skip { end: behind(4)? }, absolute(stamp, self.time))
            }
            0 => {
                let length = u64::from(array()?);
                if length < 4 {
                    return Err(malformed);
                }
                let payload = behind(4)?;
                (
                    Record::Event {
                        payload,
                        end: behind(length.wrapping_add(3) & !3)?,
                    },
                    self.time.wrapping_add(delta),
                )
            }
            words => {
                let end = behind(u64::from(words) << 2)?;
                (
                    Record::Event {
                        payload: array_at,
                        end,
                    },
                    self.time.wrapping_add(delta),
                )
            }
        };
        self.time = time;
        Ok(record)
    }
}

/// The full time of an absolute timestamp: 59 bits from the stamp, the rest from the running time.
fn absolute(stamp: u64, running: u64) -> u64 {
    const LOW: u64 = (1 << Header::TIME_BITS) - 1;
    let high = running & !LOW;
    let time = stamp & LOW | high;
    // A stamp far below the running time has wrapped. (The C kernel assumes a wrap for any stamp
    // below the running time if high bits are set. So it moves a stamp that has gone back a little
    // by 2^59.)
    if high != 0 && running.wrapping_sub(time) > LOW / 2 && time < running {
        time.wrapping_add(LOW + 1)
    } else {
        time
    }
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    bytes.get(at..end)?.try_into().ok().map(u32::from_ne_bytes)
}

/// The number of events lost before a sub-buffer.
#[cfg(not(CONFIG_RTRACE))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// None.
    No,
    /// Some events. There was no room for the number.
    Some,
    /// This many.
    Count(u64),
}

/// A parsed sub-buffer in the format that leaves the kernel.
#[cfg(not(CONFIG_RTRACE))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page<'a> {
    /// The time that the first delta counts from.
    pub time: u64,
    /// The number of events lost before this sub-buffer.
    pub lost: Lost,
    /// The records.
    pub records: &'a [u8],
}

/// Bit 31 of the commit word: events were lost before the sub-buffer.
pub(super) const MISSED_EVENTS: u64 = 1 << 31;
/// Bit 30 of the commit word: their number follows the records.
pub(super) const MISSED_STORED: u64 = 1 << 30;

#[cfg(not(CONFIG_RTRACE))]
impl<'a> Page<'a> {
    /// Parses the bytes of a sub-buffer.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if there are fewer bytes than the header says.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let malformed = Malformed { offset: 0 };
        let long = |at: usize| -> Option<u64> {
            bytes
                .get(at..at.checked_add(8)?)?
                .try_into()
                .ok()
                .map(u64::from_ne_bytes)
        };
        let time = long(0).ok_or(malformed)?;
        let commit = long(COMMIT_OFFSET).ok_or(malformed)?;
        // In C the constants are negative ints, so the upper half is a sign extension.
        let length = (commit & (MISSED_STORED - 1)) as usize;
        let end = HEADER_SIZE.checked_add(length).ok_or(malformed)?;
        let records = bytes.get(HEADER_SIZE..end).ok_or(malformed)?;
        let lost = match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Lost::No,
            (true, false) => Lost::Some,
            (true, true) => Lost::Count(long(end).ok_or(malformed)?),
        };
        Ok(Self {
            time,
            lost,
            records,
        })
    }

    /// The events in order.
    pub fn events(&self) -> Events<'a> {
        Events {
            records: self.records,
            cursor: Cursor::start(self.time),
        }
    }
}

/// An iterator over the events of a [`Page`]: time and payload. It stops at the end or at the first
/// malformed record.
#[cfg(not(CONFIG_RTRACE))]
#[derive(Clone, Debug)]
pub struct Events<'a> {
    records: &'a [u8],
    cursor: Cursor,
}

#[cfg(not(CONFIG_RTRACE))]
impl<'a> Iterator for Events<'a> {
    type Item = Result<(u64, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.cursor.next_event(self.records) {
            Ok(None) => None,
            Ok(Some(found)) => {
                let payload = self.records.get(found.payload..found.end).unwrap_or(&[]);
                Some(Ok((found.time, payload)))
            }
            Err(malformed) => {
                self.cursor.offset = self.records.len();
                Some(Err(malformed))
            }
        }
    }
}
