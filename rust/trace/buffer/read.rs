// SPDX-License-Identifier: GPL-2.0

//! The readers' side: the reader lock, and what it gives access to.

use super::lane::Lane;
use super::mapped::Shown;
use super::ring::{Reading, Ring};
use super::{wait_for_writers, Buffer};
use crate::core::format::stats;
use crate::core::ring_buffer::{Event, Moved, NoPage, Reader, Resize, Stats};
use crate::kernel::context::PreemptOff;
use crate::kernel::hotplug;
use crate::kernel::pages::Pages;
use crate::kernel::raw_lock::RawGuard;
use core::ops::Deref;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};

/// The reading side of one CPU's part, and its lock: interrupts are off while it lives.
///
/// What consumes are methods of its own: the core's [`Reader`], to which it derefs, could else be
/// exchanged for another ring's, whose lock is not held. An [`Iter`](crate::core::ring_buffer::Iter)
/// takes that, and as it copies whole sub-buffers it may keep its place from one guard to the next
/// while a [`Hold`] keeps the ring.
pub(crate) struct ReaderGuard<'a> {
    reader: Reader<'a>,
    ring: &'a Ring,
    reading: RawGuard<'a, Reading>,
}

impl<'a> Deref for ReaderGuard<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Reader<'a> {
        &self.reader
    }
}

impl<'a> ReaderGuard<'a> {
    /// The next event, which stays the next. None when there is none yet.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<Event<'_>> {
        self.reader.peek()
    }

    /// The next event, consumed. None when there is none yet.
    pub(crate) fn consume(&mut self) -> Option<Event<'_>> {
        self.reader.consume()
    }

    /// The time of the oldest event that can be read.
    pub(crate) fn oldest_time(&mut self) -> Option<u64> {
        self.reader.oldest_time()
    }

    /// See [`Reader::copy_page`].
    pub(super) fn copy_page(
        &mut self,
        into: &mut [u8],
        length: usize,
        full: bool,
    ) -> Result<usize, NoPage> {
        self.reader.copy_page(into, length, full)
    }

    /// See [`Resize::finish`].
    pub(super) fn finish_resize(&mut self, resize: Resize<'a>) -> Moved<'a> {
        resize.finish(&mut self.reader)
    }

    /// Changes whenever positions in this CPU's part lose their meaning: it was emptied, or has
    /// another ring.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.ring.epoch.load(Relaxed)
    }

    /// The reader, its ring, and what that has while it is mapped.
    pub(super) fn parts(&mut self) -> (&mut Reader<'a>, &'a Ring, &mut Option<KBox<Shown>>) {
        (&mut self.reader, self.ring, &mut self.reading.shown)
    }

    /// Empties the ring.
    ///
    /// # Safety
    ///
    /// No writer is active on it or can become active until this returns. No resize of it is under
    /// way.
    pub(super) unsafe fn reset(&mut self) {
        // SAFETY: the reader lock is held by this guard. No writer is active until this returns, and
        // no resize is under way.
        unsafe { self.reader.reset() };
        let (reader, ring, shown) = self.parts();
        ring.renew();
        if let Some(shown) = shown {
            reader.show_header();
            shown.update(ring, reader.shown_page());
        }
    }

    /// How many sub-buffers there are, the reader's included.
    pub(crate) fn sub_buffers(&self) -> u32 {
        self.ring.sub_buffers()
    }

    /// The counts.
    pub(crate) fn counts(&self) -> Stats {
        self.ring.core.stats()
    }

    /// Swaps `page` for the next sub-buffer, if that is full and unread, and consumes it; gives the
    /// length of its header and records. `None`: copy it instead.
    pub(crate) fn swap_page(&mut self, page: &mut Pages) -> Option<usize> {
        if self.reading.shown.is_some()
            || self.ring.is_in_region()
            || page.size() != self.ring.core.sub_buffer_size() as usize
        {
            return None;
        }
        let mut address = page.address();
        // SAFETY: `page` owns its memory, of a sub-buffer's size; ownership is exchanged below. It
        // is not mapped.
        let length = unsafe { self.reader.swap_page(&mut address) }?;
        // SAFETY: `address` was a block of the ring, which gave it up, of the same order as all of
        // them.
        let taken = unsafe { Pages::from_raw(address, self.ring.shape().order) };
        let _now_the_rings = core::mem::replace(page, taken).into_raw();
        Some(length)
    }
}

/// A non-consuming reader is under way: until it goes, the rings it reads are not replaced; see
/// [`Buffer::hold`].
pub(crate) struct Hold<'a> {
    buffer: &'a Buffer,
    cpu: Option<CpuId>,
}

/// One CPU's part of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(super) buffer: &'a Buffer,
    pub(super) lane: &'a Lane,
}

impl<'a> Part<'a> {
    /// Which CPU's.
    pub(crate) fn cpu(self) -> CpuId {
        self.lane.cpu
    }

    /// Waits for the reader lock and takes it. Any context but NMI.
    #[inline]
    pub(crate) fn lock_reader(self) -> ReaderGuard<'a> {
        loop {
            let guard = self.guard(|ring| Some(ring.reader.lock()));
            if let Some(guard) = guard {
                return guard;
            }
        }
    }

    /// Takes the reader lock unless somebody has it. Any context.
    #[inline]
    pub(crate) fn try_lock_reader(self) -> Option<ReaderGuard<'a>> {
        self.guard(|ring| ring.reader.try_lock())
    }

    /// Whether there is nothing to read. Any context.
    pub(crate) fn is_empty(self) -> bool {
        self.buffer
            .with_ring(self.lane, |ring| ring.core.entries() == 0)
    }

    /// What `per_cpu/cpuN/stats` shows. Any context but NMI.
    pub(crate) fn stats(self) -> stats::Stats {
        let mut reader = self.lock_reader();
        let oldest = reader.oldest_time().unwrap_or(0);
        let Stats {
            entries,
            overrun,
            commit_overrun,
            bytes,
            dropped,
            read,
            ..
        } = reader.counts();
        drop(reader);
        let now = self.buffer.now();
        stats::Stats {
            entries,
            overrun,
            commit_overrun,
            bytes,
            oldest,
            now,
            dropped,
            read,
        }
    }

    /// Events that can be read. Any context.
    pub(crate) fn entries(self) -> u64 {
        self.buffer.with_ring(self.lane, |ring| ring.core.entries())
    }

    /// The counts, without the lock: each is of some moment during the call. Any context.
    pub(crate) fn counts(self) -> Stats {
        self.buffer.with_ring(self.lane, |ring| ring.core.stats())
    }

    /// [`ReaderGuard::epoch`] of now, without the lock: it may change at any time. Any context.
    #[inline]
    pub(crate) fn epoch(self) -> u64 {
        self.buffer
            .with_ring(self.lane, |ring| ring.epoch.load(Relaxed))
    }

    /// Bytes for records. Any context.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        self.buffer
            .with_ring(self.lane, |ring| ring.shape().bytes())
    }

    /// The size of a sub-buffer in bytes, its header included. Any context.
    #[inline]
    pub(crate) fn sub_buffer_size(self) -> usize {
        self.buffer
            .with_ring(self.lane, |ring| ring.core.sub_buffer_size() as usize)
    }

    /// Does the CPU record, as far as it alone is concerned? Any context.
    pub(crate) fn may_record(self) -> bool {
        self.buffer.lets_record(self.lane)
    }

    /// Stops recording on this CPU, until [`Part::enable`] was called as often. Any context.
    pub(crate) fn disable(self) {
        self.lane.disabled.fetch_add(1, ordering::Full);
        self.buffer
            .with_ring(self.lane, |ring| self.buffer.settle(self.lane, ring));
    }

    /// Undoes one [`Part::disable`]. Any context.
    ///
    /// # Safety
    ///
    /// There was one that nobody else undoes.
    pub(crate) unsafe fn enable(self) {
        self.lane.disabled.fetch_sub(1, ordering::Full);
        self.buffer
            .with_ring(self.lane, |ring| self.buffer.settle(self.lane, ring));
    }

    /// Empties it. Task context, sleeps.
    pub(crate) fn reset(self) {
        let _no_change = hotplug::Hold::new();
        let sizes = self.buffer.sizes.lock();
        let _rings = self.buffer.keep_rings_of(Some(self.lane.cpu));
        self.disable();
        wait_for_writers();
        self.buffer.empty(&sizes, Some(self.lane.cpu));
        // SAFETY: the one above.
        unsafe { self.enable() };
    }

    /// Locks the ring that the CPU has; none if `lock` gives none, or the ring was exchanged before
    /// it was locked.
    fn guard(
        self,
        lock: impl FnOnce(&'a Ring) -> Option<RawGuard<'a, Reading>>,
    ) -> Option<ReaderGuard<'a>> {
        let rings = &self.buffer.rings;
        let place = rings.get(self.lane.cpu).unwrap_or_else(|| rings.this());
        let _stays = PreemptOff::new();
        let address = place.load(ordering::Acquire);
        // SAFETY: by the type invariant a live ring, that goes only after a grace period.
        // Preemption off, and then the lock, which has interrupts off, hold that up.
        let ring: &'a Ring = unsafe { &*address };
        let reading = lock(ring)?;
        // From now on it is not replaced. If it goes to another buffer by a swap, then that comes
        // after this reading.
        if place.load(ordering::Acquire) != address {
            return None;
        }
        // SAFETY: the guard holds the reader lock.
        let reader = unsafe { ring.core.reader() };
        Some(ReaderGuard {
            reader,
            ring,
            reading,
        })
    }
}

impl Buffer {
    /// Does `lane` record, as far as it alone is concerned? A ring with a time that does not match
    /// records nothing any more. Any context.
    pub(super) fn lets_record(&self, lane: &Lane) -> bool {
        lane.may_record() && !self.with_ring(lane, |ring| ring.core.is_disabled())
    }

    /// Keeps the rings of `cpu`, or of all: resizing them is `EBUSY` until the result is dropped.
    /// Task context.
    pub(crate) fn hold(&self, cpu: Option<CpuId>) -> Hold<'_> {
        let _sizes = self.sizes.lock();
        self.hold_now(cpu)
    }

    /// Does anybody hold the rings of `cpu`, or any? Any context.
    pub(crate) fn is_held(&self, cpu: Option<CpuId>) -> bool {
        let mut lanes = self
            .all_lanes()
            .filter(|lane| cpu.is_none_or(|cpu| cpu == lane.cpu));
        lanes.any(|lane| lane.held.load(Relaxed) != 0)
    }

    /// [`Buffer::hold`] without sleeping. The caller makes sure that no resize runs. Any context.
    pub(super) fn hold_now(&self, cpu: Option<CpuId>) -> Hold<'_> {
        let hold = Hold { buffer: self, cpu };
        hold.lanes(|lane| _ = lane.held.fetch_add(1, Relaxed));
        hold
    }
}

impl Hold<'_> {
    fn lanes(&self, change: impl Fn(&Lane)) {
        self.buffer
            .all_lanes()
            .filter(|lane| self.cpu.is_none_or(|cpu| cpu == lane.cpu))
            .for_each(change);
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.lanes(|lane| _ = lane.held.fetch_sub(1, Relaxed));
    }
}
