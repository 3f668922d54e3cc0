// SPDX-License-Identifier: GPL-2.0

//! What a reader sees of a page (`trace_pipe_raw`, a mapping).

use std::fmt;

use rtrace_core::ring_buffer::parse::{Cursor, Lost, Page as Parsed};
use rtrace_core::ring_buffer::{Event, IterEvent, HEADER_SIZE};

/// An event as a reader gets it.
#[derive(Clone, PartialEq)]
pub struct Seen {
    pub time: u64,
    /// Events lost before it.
    pub lost: u64,
    pub payload: Vec<u8>,
}

impl Seen {
    /// The number that the payload begins with, if it has room for one.
    pub fn number(&self) -> Option<u64> {
        self.payload.first_chunk().copied().map(u64::from_ne_bytes)
    }
}

impl From<Event<'_>> for Seen {
    fn from(event: Event<'_>) -> Self {
        Self {
            time: event.time,
            lost: event.lost,
            payload: event.payload.to_vec(),
        }
    }
}

impl From<IterEvent<'_>> for Seen {
    /// Without what was lost: C's iterators do not tell how much (coming-from-c.md, "A reading of
    /// `trace` that writers have overtaken").
    fn from(event: IterEvent<'_>) -> Self {
        Self {
            time: event.time,
            lost: 0,
            payload: event.payload.to_vec(),
        }
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = &self.payload[..self.payload.len().min(8)];
        write!(f, "at {} lost {} ", self.time, self.lost)?;
        write!(f, "{} bytes {begin:02x?}", self.payload.len())
    }
}

#[derive(Debug, PartialEq)]
pub struct Page {
    pub time: u64,
    pub lost: Lost,
    /// The commit word without the length.
    pub flags: u64,
    /// The length in the commit word.
    pub length: usize,
    /// The records up to the end of the last event. What is behind, C gives out and this buffer does
    /// not: the padding at the end of a sub-buffer, discarded events.
    pub records: Vec<u8>,
    pub events: Vec<Seen>,
}

impl Page {
    pub fn new(bytes: &[u8]) -> Self {
        let page = Parsed::parse(bytes).expect("a page");
        let mut cursor = Cursor::start(page.time);
        let (mut events, mut end) = (vec![], 0);
        while let Some(found) = cursor.next_event(page.records).expect("an event") {
            events.push(Seen {
                time: found.time,
                lost: 0,
                payload: page.records[found.payload..found.end].to_vec(),
            });
            end = found.end;
        }
        let commit = u64::from_ne_bytes(bytes[8..HEADER_SIZE].try_into().expect("eight bytes"));
        Self {
            time: page.time,
            lost: page.lost,
            flags: commit & !0x3fff_ffff,
            length: page.records.len(),
            records: page.records[..end].to_vec(),
            events,
        }
    }
}

/// Where two lists of events differ, in words; in times only if `times`.
pub fn difference(ours: &[Seen], theirs: &[Seen], times: bool) -> Option<String> {
    let alike = |ours: &Seen, theirs: &Seen| {
        ours.payload == theirs.payload
            && ours.lost == theirs.lost
            && (!times || ours.time == theirs.time)
    };
    let pairs = ours.iter().zip(theirs);
    let same = pairs
        .take_while(|(ours, theirs)| alike(ours, theirs))
        .count();
    (same < ours.len().max(theirs.len())).then(|| {
        format!(
            "{} and {} events, from {same} on:\n  ours {:?}\n  C's  {:?}",
            ours.len(),
            theirs.len(),
            ours.get(same),
            theirs.get(same)
        )
    })
}
