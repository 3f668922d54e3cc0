// SPDX-License-Identifier: GPL-2.0

//! The order in which records are read: the oldest of all CPUs next.
//!
//! A [`Cursor`] asks its [`Source`] for the time of every CPU's first unread record and copies the
//! winner's. Each look takes and releases that CPU's reader lock, so a record may change hands
//! between a look and the copy; the copy is what counts.

use super::{Neighbours, Record};
use core::num::NonZero;
use kernel::{cpu::CpuId, prelude::*};

/// What is known of a record without its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Its time.
    pub(crate) ts: u64,
    /// Bytes of payload.
    pub(crate) len: usize,
    /// Lost right before it.
    pub(crate) lost: Option<NonZero<u64>>,
}

/// Where a cursor reads.
pub(crate) trait Source {
    /// The time of the first unread record of `cpu`.
    fn look(&mut self, cpu: CpuId) -> Option<u64>;

    /// Copies that record's payload into `into`; nothing is copied when it is longer.
    fn copy(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head>;

    /// Counts the first unread record of `cpu`, which was copied as `head`, as read.
    ///
    /// False if another reader has done so meanwhile; the record was then not this reader's.
    fn pass(&mut self, cpu: CpuId, head: &Head) -> bool;

    /// Copies that record's payload and counts it as read. None, with nothing changed, where it is
    /// not the one that [`Self::look`] has told of last, or is longer than `into`; to look again
    /// tells what is there now.
    fn take(&mut self, cpu: CpuId, into: &mut [u8]) -> Option<Head> {
        let size = into.len();
        let head = self.copy(cpu, into).filter(|head| head.len <= size)?;
        self.pass(cpu, &head).then_some(head)
    }

    /// The `index`th CPU with a buffer.
    fn cpu(&self, index: usize) -> Option<CpuId>;
}

/// Memory for one record's payload.
pub(crate) trait Room {
    /// At least `len` bytes, or `None` where there are not that many.
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

/// A reading of one CPU's buffer or of all.
pub(crate) struct Cursor<S> {
    source: S,
    only: Option<CpuId>,
    /// The number that the next record gets.
    index: u64,
}

impl<S: Source> Cursor<S> {
    /// A reading of `only`, or of every CPU, that begins wherever `source` stands; records are
    /// numbered from `index` on.
    pub(crate) fn new(source: S, only: Option<CpuId>, index: u64) -> Self {
        Self {
            source,
            only,
            index,
        }
    }

    /// Where it reads.
    pub(crate) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Numbers records from `index` on.
    pub(crate) fn count_from(&mut self, index: u64) {
        self.index = index;
    }

    /// The CPU with the oldest unread record, and that record's time.
    fn earliest(&mut self) -> Option<(CpuId, u64)> {
        if let Some(cpu) = self.only {
            return Some((cpu, self.source.look(cpu)?));
        }
        let mut first: Option<(CpuId, u64)> = None;
        let mut index = 0;
        while let Some(cpu) = self.source.cpu(index) {
            index += 1;
            if let Some(ts) = self.source.look(cpu) {
                if first.is_none_or(|(_, oldest)| ts < oldest) {
                    first = Some((cpu, ts));
                }
            }
        }
        first
    }

    /// Whether nothing is left to read now.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.earliest().is_none()
    }

    /// Copies the oldest unread record; it stays unread until [`Self::pass`].
    ///
    /// A record that `store` has no room for is passed over.
    pub(crate) fn next(&mut self, store: &mut dyn Room) -> Option<(CpuId, Head)> {
        let mut wanted = 0;
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
                // Another reader has taken it meanwhile.
                None => {}
            }
        }
    }

    /// Copies the oldest unread record, which is read then, and says which number it has.
    ///
    /// A record that `store` has no room for is passed over.
    pub(crate) fn take(&mut self, store: &mut dyn Room) -> Option<(CpuId, Head, u64)> {
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

    /// The record that [`Self::next`] copied into `store`.
    pub(crate) fn record<'a>(&self, cpu: CpuId, head: &Head, store: &'a [u8]) -> Record<'a> {
        let data = store.get(..head.len).unwrap_or(&[]);
        Record {
            cpu,
            ts: head.ts,
            lost: head.lost,
            index: self.index,
            data,
        }
    }

    /// Counts the record that [`Self::next`] copied as read; false if another reader had it.
    pub(crate) fn pass(&mut self, cpu: CpuId, head: &Head) -> bool {
        let passed = self.source.pass(cpu, head);
        self.index = self.index.wrapping_add(u64::from(passed));
        passed
    }
}

/// The neighbours of a record that was passed already.
pub(crate) struct Ahead<'a, S> {
    /// The reading.
    pub(crate) cursor: &'a mut Cursor<S>,
    /// The record's CPU.
    pub(crate) cpu: CpuId,
    /// The record, if it was not passed yet: looking past it passes it.
    pub(crate) current: Option<Head>,
    /// The one behind it, if that was looked at.
    pub(crate) next: Option<Head>,
    /// Memory for a neighbour.
    pub(crate) store: &'a mut dyn Room,
}

impl<S: Source> Ahead<'_, S> {
    /// Passes the current record if that was not done; what comes next can then be seen.
    fn leave_current(&mut self) {
        if let Some(head) = self.current.take() {
            self.cursor.pass(self.cpu, &head);
        }
    }
}

impl<S: Source> Neighbours for Ahead<'_, S> {
    fn next_on_cpu(&mut self) -> Option<Record<'_>> {
        self.leave_current();
        let room = self.store.room(0)?.len();
        let head = self.cursor.source.copy(self.cpu, self.store.room(room)?)?;
        self.next = Some(head);
        if head.len > room {
            let head = self
                .cursor
                .source
                .copy(self.cpu, self.store.room(head.len)?)?;
            let data = self.store.room(0)?.get(..head.len)?;
            return Some(self.cursor.record(self.cpu, &head, data));
        }
        let data = self.store.room(0)?.get(..head.len)?;
        Some(self.cursor.record(self.cpu, &head, data))
    }

    fn skip_next_on_cpu(&mut self) {
        self.leave_current();
        let next = self.next.take();
        if let Some(head) = next.or_else(|| self.cursor.source.copy(self.cpu, &mut [])) {
            self.cursor.pass(self.cpu, &head);
        }
    }

    fn next_ts(&mut self) -> Option<u64> {
        self.cursor.earliest().map(|(_, ts)| ts)
    }
}
