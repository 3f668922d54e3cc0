// SPDX-License-Identifier: GPL-2.0

//! The readers' side: the reader lock, and what it gives access to.

use super::lane::{Lane, Past};
use super::ring::Ring;
use super::Buffer;
use crate::kapi::context::PreemptOff;
use crate::kapi::pages::Pages;
use crate::kapi::raw_lock::RawGuard;
use crate::rcore::ring_buffer::{Reader, Stats};
use core::ops::{Deref, DerefMut};
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};

/// The reading side of one CPU's part, and its lock: interrupts are off while it lives.
///
/// It derefs to the core's [`Reader`]: `peek`, `consume`, `copy_page`; an [`Iter`](crate::rcore::ring_buffer::Iter)
/// takes it, too, and as it copies whole sub-buffers it may keep its place from one guard to the next
/// while a [`Hold`] keeps the ring.
pub(crate) struct ReaderGuard<'a> {
    reader: Reader<'a>,
    ring: &'a Ring,
    past: RawGuard<'a, Past>,
}

impl<'a> Deref for ReaderGuard<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Reader<'a> {
        &self.reader
    }
}

impl<'a> DerefMut for ReaderGuard<'a> {
    fn deref_mut(&mut self) -> &mut Reader<'a> {
        &mut self.reader
    }
}

impl ReaderGuard<'_> {
    /// Counts of the present ring.
    pub(crate) fn counts(&self) -> Stats {
        self.ring.core.stats()
    }

    pub(super) fn past(&self) -> Past {
        *self.past
    }

    /// Swaps `page` for the next sub-buffer, if that is full and unread, and consumes it; gives the length of its
    /// header and records. `None`: copy it instead.
    pub(crate) fn swap_page(&mut self, page: &mut Pages) -> Option<usize> {
        if page.size() != self.ring.core.sub_buffer_size() as usize {
            return None;
        }
        let mut address = page.address();
        // SAFETY: `page` owns its memory, of a sub-buffer's size; ownership is exchanged below. Nothing maps a buffer.
        let length = unsafe { self.reader.swap_page(&mut address) }?;
        // SAFETY: `address` was a block of the ring, which gave it up, of the same order as all of them.
        let taken = unsafe { Pages::from_raw(address, self.ring.shape().order) };
        let _now_the_rings = core::mem::replace(page, taken).into_raw();
        Some(length)
    }
}

/// A non-consuming reader is under way: until it goes, the rings it reads are not replaced; see [`Buffer::hold`].
pub(crate) struct Hold<'a> {
    buffer: &'a Buffer,
    cpu: Option<CpuId>,
}

impl Buffer {
    /// Waits for the reader lock of `cpu` and takes it; none for a CPU that was never up. Any context but NMI.
    pub(crate) fn lock_reader(&self, cpu: CpuId) -> Option<ReaderGuard<'_>> {
        let lane = self.lane(cpu)?;
        Some(self.guard(lane, lane.reader.lock()))
    }

    /// [`Buffer::lock_reader`] that gives up when somebody has the lock. Any context.
    pub(crate) fn try_lock_reader(&self, cpu: CpuId) -> Option<ReaderGuard<'_>> {
        let lane = self.lane(cpu)?;
        Some(self.guard(lane, lane.reader.try_lock()?))
    }

    fn guard<'a>(&'a self, lane: &'a Lane, past: RawGuard<'a, Past>) -> ReaderGuard<'a> {
        let _stay = PreemptOff::new();
        let ring = self.rings.get(lane.cpu).unwrap_or_else(|| self.rings.this()).load(ordering::Acquire);
        // SAFETY: by the type invariant a live ring, and it is not replaced while the reader lock is held.
        let ring = unsafe { &*ring };
        // SAFETY: the guard holds the reader lock.
        let reader = unsafe { ring.core.reader() };
        ReaderGuard { reader, ring, past }
    }

    /// Keeps the rings of `cpu`, or of all: resizing them is `EBUSY` until the result is dropped. Task context.
    pub(crate) fn hold(&self, cpu: Option<CpuId>) -> Hold<'_> {
        let _sizes = self.sizes.lock();
        let hold = Hold { buffer: self, cpu };
        hold.lanes(|lane| _ = lane.held.fetch_add(1, Relaxed));
        hold
    }
}

impl Hold<'_> {
    fn lanes(&self, change: impl Fn(&Lane)) {
        self.buffer.all_lanes().filter(|lane| self.cpu.is_none_or(|cpu| cpu == lane.cpu)).for_each(change);
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.lanes(|lane| _ = lane.held.fetch_sub(1, Relaxed));
    }
}
