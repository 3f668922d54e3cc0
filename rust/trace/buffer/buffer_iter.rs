// SPDX-License-Identifier: GPL-2.0

//! One CPU's part read by a C caller without consuming.

use super::read::{Hold, Part, ReaderGuard};
use super::sub_buffer_copy::SubBufferCopy;
use crate::core::ring_buffer::{Iter, IterEvent};
use kernel::alloc::Flags;
use kernel::prelude::*;

/// An iterator with its position (`struct ring_buffer_iter`). The CPU's ring is not replaced while
/// it lives.
pub(crate) struct BufferIter<'a> {
    part: Part<'a>,
    _hold: Hold<'a>,
    iter: Iter<SubBufferCopy>,
    /// The epoch that its place is of.
    epoch: u64,
    /// Was an event passed since the start?
    begun: bool,
    /// Were events missed before the one that was peeked at last?
    missed: bool,
}

impl<'a> BufferIter<'a> {
    /// Begins at the oldest event. `ENOMEM`. Task context; sleeps if `may_sleep`. A caller that may
    /// not makes sure that no resize runs.
    pub(crate) fn new(part: Part<'a>, may_sleep: bool, flags: Flags) -> Result<Self> {
        let hold = match may_sleep {
            true => part.buffer.hold(Some(part.cpu())),
            false => part.buffer.hold_now(Some(part.cpu())),
        };
        let memory = SubBufferCopy::new(part.sub_buffer_size(), flags)?;
        Ok(Self {
            part,
            _hold: hold,
            iter: Iter::new(memory),
            epoch: 0,
            begun: false,
            missed: false,
        })
    }

    /// The reader of the CPU's ring. Where that was emptied or exchanged since the last time, this
    /// goes back to the oldest event.
    #[inline]
    fn reader(&mut self) -> ReaderGuard<'a> {
        let reader = self.part.lock_reader();
        if self.epoch != reader.epoch() {
            self.epoch = reader.epoch();
            self.iter.reset();
            (self.begun, self.missed) = (false, false);
        }
        reader
    }

    /// The next event, which stays the next; none at the end. Any context but NMI.
    pub(crate) fn peek(&mut self) -> Option<IterEvent<'_>> {
        let reader = self.reader();
        let event = self.iter.peek(&reader)?;
        // What was overwritten before the start is not missed.
        self.missed = self.begun && event.lost != 0;
        Some(event)
    }

    /// Passes the next event. Any context but NMI.
    pub(crate) fn advance(&mut self) {
        let reader = self.reader();
        self.begun |= self.iter.next(&reader).is_some();
        self.missed = false;
    }

    /// Goes back to the oldest event. Any context but NMI.
    pub(crate) fn reset(&mut self) {
        let _nobody_reads = self.part.lock_reader();
        self.iter.reset();
        (self.begun, self.missed) = (false, false);
    }

    /// Were events missed right before the one that was peeked at last?
    pub(crate) fn has_missed(&self) -> bool {
        self.missed
    }
}
