// SPDX-License-Identifier: GPL-2.0

//! The order in which events are read: always the oldest one of all CPUs.
//!
//! A [`Cursor`] asks its [`Source`] for the time of the first unread event of every CPU, and copies
//! the oldest of them. Each step takes and releases the reader lock of that CPU, so another reader
//! may consume an event between the two steps. The copy decides which event is printed.

use super::{Neighbours, Record};
use crate::kernel::registrations::Moment;
use core::num::NonZero;
use kernel::{cpu::CpuId, prelude::*};

/// The header data of an event, without its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The time of the event.
    pub(crate) ts: u64,
    /// The size of the payload in bytes.
    pub(crate) len: usize,
    /// The number of events lost right before this one.
    pub(crate) lost: Option<NonZero<u64>>,
}

/// A buffer that a cursor reads.
pub(crate) trait Source {
    /// The time of the first unread event of `cpu`. `None` if there is none.
    fn peek(&mut self, cpu: CpuId) -> Option<u64>;

    /// Copies the payload of that event into `into`. Copies nothing if it is longer than `into`.
    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head>;

    /// Marks the first unread event of `cpu` as read. It was copied as `head`, and none since.
    ///
    /// Returns false if another reader has consumed the event meanwhile.
    fn pass(&mut self, cpu: CpuId, head: &Head) -> bool;

    /// Copies the payload of that event and marks it as read. Returns `None` and changes nothing if
    /// the first event is no longer the one that [`Self::peek`] found, or if it is longer than
    /// `into`. The caller then looks again.
    fn take(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let size = into.len();
        let head = self.copy(cpu, into).filter(|head| head.len <= size)?;
        self.pass(cpu, &head).then_some(head)
    }

    /// The CPU with index `index` that has a buffer.
    fn cpu(&self, index: usize) -> Option<CpuId>;
}

/// Memory for the payload of one event.
pub(crate) trait Room {
    /// At least `len` bytes. `None` if there are not that many.
    fn room(&mut self, len: usize) -> Option<&mut [u8]>;
}

impl Room for KVVec<u8> {
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        if self.len() < len {
            self.resize(len, 0, GFP_KERNEL).ok()?;
        }
        Some(self)
    }
}

impl<const N: usize> Room for [u8; N] {
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        (len <= N).then_some(self)
    }
}

/// Reads the buffer of one CPU or of all.
pub(crate) struct Cursor<S> {
    source: S,
    only: Option<CpuId>,
    /// The number of the next event.
    index: u64,
    /// When an event was looked for last.
    moment: Moment,
}

impl<S: Source> Cursor<S> {
    /// Reads `only`, or every CPU, from the position of `source` on. Numbers the events from
    /// `index` on.
    pub(crate) fn new(source: S, only: Option<CpuId>, index: u64) -> Self {
        Self {
            source,
            only,
            index,
            moment: Moment::now(),
        }
    }

    /// The source.
    pub(crate) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Numbers the events from `index` on.
    pub(crate) fn count_from(&mut self, index: u64) {
        self.index = index;
    }

    /// The CPU with the oldest unread event, and the time of that event.
    #[inline]
    fn earliest(&mut self) -> Option<(CpuId, u64)> {
        if let Some(cpu) = self.only {
            return Some((cpu, self.source.peek(cpu)?));
        }
        let mut first: Option<(CpuId, u64)> = None;
        let mut index = 0;
        while let Some(cpu) = self.source.cpu(index) {
            index += 1;
            if let Some(ts) = self.source.peek(cpu) {
                if first.is_none_or(|(_, oldest)| ts < oldest) {
                    first = Some((cpu, ts));
                }
            }
        }
        first
    }

    /// Whether there is no unread event now.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.earliest().is_none()
    }

    /// Copies the oldest unread event. It stays unread until [`Self::pass`].
    ///
    /// Skips an event that is too long for `store`.
    pub(crate) fn next(&mut self, store: &mut impl Room) -> Option<(CpuId, Head)> {
        let mut wanted = 0;
        self.moment = Moment::now();
        loop {
            let (cpu, _) = self.earliest()?;
            let Some(room) = store.room(wanted) else {
                let head = self.source.copy(cpu, &mut [])?;
                self.source.pass(cpu, &head);
                wanted = 0;
                continue;
            };
            let size = room.len();
            match self.source.copy(cpu, room) {
                Some(head) if head.len <= size => return Some((cpu, head)),
                Some(head) => wanted = head.len,
                // Another reader has consumed it meanwhile.
                None => {}
            }
        }
    }

    /// Copies the oldest unread event, marks it as read, and returns its number, too.
    ///
    /// Skips an event that is too long for `store`.
    pub(crate) fn take(&mut self, store: &mut impl Room) -> Option<(CpuId, Head, u64)> {
        self.moment = Moment::now();
        let (cpu, _) = self.earliest()?;
        let taken = store
            .room(0)
            .and_then(|room| self.source.take(cpu, room))
            .map(|head| (cpu, head));
        let (cpu, head) = match taken {
            Some(taken) => taken,
            None => {
                let (cpu, head) = self.next(store)?;
                self.source.pass(cpu, &head);
                (cpu, head)
            }
        };
        let index = self.index;
        self.index = index.wrapping_add(1);
        Some((cpu, head, index))
    }

    /// The event that [`Self::next`] copied into `store`.
    pub(crate) fn record<'a>(&self, cpu: CpuId, head: &Head, store: &'a [u8]) -> Record<'a> {
        let data = store.get(..head.len).unwrap_or(&[]);
        Record {
            cpu,
            ts: head.ts,
            lost: head.lost,
            index: self.index,
            moment: self.moment,
            held: None,
            data,
        }
    }

    /// Marks the event that [`Self::next`] copied as read. Returns false if another reader has
    /// consumed it.
    pub(crate) fn pass(&mut self, cpu: CpuId, head: &Head) -> bool {
        let passed = self.source.pass(cpu, head);
        self.index = self.index.wrapping_add(u64::from(passed));
        passed
    }
}

/// Looks for the events after the current one.
pub(crate) struct Ahead<'a, S, R> {
    /// The cursor.
    pub(crate) cursor: &'a mut Cursor<S>,
    /// The CPU of the current event.
    pub(crate) cpu: CpuId,
    /// The current event if it is not marked as read yet. Looking for the next event marks it as
    /// read.
    pub(crate) current: Option<Head>,
    /// The next event, if it was found already.
    pub(crate) next: Option<Head>,
    /// Memory for the next event.
    pub(crate) store: &'a mut R,
}

impl<S: Source, R: Room> Ahead<'_, S, R> {
    /// Marks the current event as read, so that the next one becomes visible.
    fn leave_current(&mut self) {
        if let Some(head) = self.current.take() {
            self.cursor.pass(self.cpu, &head);
        }
    }
}

impl<S: Source, R: Room> Neighbours for Ahead<'_, S, R> {
    fn next_on_cpu(&mut self) -> Option<Record<'_>> {
        self.leave_current();
        let room = self.store.room(0)?;
        let mut size = room.len();
        let mut head = self.cursor.source.copy(self.cpu, room)?;
        self.next = Some(head);
        if head.len > size {
            size = head.len;
            let room = self.store.room(size)?;
            head = self.cursor.source.copy(self.cpu, room)?;
        }
        let data = self.store.room(size)?.get(..head.len)?;
        Some(self.cursor.record(self.cpu, &head, data))
    }

    fn skip_next_on_cpu(&mut self) {
        self.leave_current();
        let next = self.next.take();
        if let Some(head) = next.or_else(|| self.cursor.source.copy(self.cpu, &mut [])) {
            // As in C, it has no number of its own.
            self.cursor.source.pass(self.cpu, &head);
        }
    }

    fn next_ts(&mut self) -> Option<u64> {
        self.cursor.earliest().map(|(_, ts)| ts)
    }
}
