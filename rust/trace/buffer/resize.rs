// SPDX-License-Identifier: GPL-2.0

//! Resizing: the data that fits stays, in order.
//!
//! All memory that is needed is there before anything changes: pages as far as the ring grows, and
//! its descriptors. Then recording pauses (what happens meanwhile is not recorded), writers leave,
//! and the core moves the pages ([`Resize`]) while readers go on; interrupts are off for a moment
//! only, when the pointer to the ring changes under the reader lock. No event is touched.
//!
//! Where sub-buffers get another size, the rings are new and empty.
//!
//! No CPU comes up or goes down meanwhile. The grace period does not wait for one that RCU does not
//! watch yet, and it may be in a traced function already.

use super::lane::Lane;
use super::ring::{Ring, Shape};
use super::{wait_for_writers, Buffer, Part, Sizes};
use crate::core::ring_buffer::{Moved, Resize};
use crate::kernel::hotplug;
use crate::kernel::pages::{Bulk, Pages};
use core::ptr::NonNull;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};
use kernel::sync::barrier::smp_mb;

/// So many sub-buffers that readers have taken meanwhile may be left to the moment at which the
/// ring's pointer changes.
const FEW: u64 = 32;

impl Buffer {
    /// Gives `cpu` (all of them: `None`) room for `bytes`, keeping what fits. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EBUSY` while somebody holds the ring ([`Buffer::hold`]). Nothing has changed
    /// then.
    pub(crate) fn resize(&self, cpu: Option<CpuId>, bytes: usize) -> Result {
        let _no_change = hotplug::Hold::new();
        let mut sizes = self.sizes.lock();
        let shape = Shape::with_room(bytes, sizes.order)?;
        if cpu.is_none() {
            // As in C, also where nothing is to change.
            self.check_unheld(|_| true)?;
        }
        self.move_pages(cpu, &|_| shape)?;
        sizes.expanded = true;
        if cpu.is_none() {
            sizes.full = bytes;
        }
        Ok(())
    }

    /// Has `cpu` exactly the room that [`Buffer::resize`] to so many `bytes` would give it? Task
    /// context.
    pub(crate) fn has_room(&self, cpu: CpuId, bytes: usize) -> bool {
        let sizes = self.sizes.lock();
        let shape = Shape::with_room(bytes, sizes.order);
        self.lane(cpu)
            .is_some_and(|lane| shape == Ok(self.with_ring(lane, |ring| ring.shape())))
    }

    /// The size of boot stays, now that somebody has asked for it. Task context.
    pub(crate) fn stay(&self) {
        self.sizes.lock().expanded = true;
    }

    /// Bytes per CPU that it is to grow to from the size of boot; none once it has. Task context.
    pub(crate) fn to_expand(&self) -> Option<usize> {
        let sizes = self.sizes.lock();
        (!sizes.expanded).then_some(sizes.full)
    }

    /// Shrinks to the least there can be, which keeps the newest events. Task context, sleeps.
    /// `ENOMEM`, `EBUSY`.
    pub(crate) fn shrink(&self) -> Result {
        let _no_change = hotplug::Hold::new();
        let mut sizes = self.sizes.lock();
        let shape = Shape::with_room(1, sizes.order)?;
        self.check_unheld(|_| true)?;
        self.move_pages(None, &|_| shape)?;
        sizes.expanded = true;
        Ok(())
    }

    /// Gives the memory back as far as can be: the least size in sub-buffers of one page. Forgets
    /// the data. Task context, sleeps. `ENOMEM`, `EBUSY`.
    pub(crate) fn give_back(&self) -> Result {
        let _no_change = hotplug::Hold::new();
        let mut sizes = self.sizes.lock();
        let shape = Shape::with_room(1, 0)?;
        if sizes.order == 0 {
            self.move_pages(None, &|_| shape)?;
        } else {
            self.reshape(None, &|_| shape)?;
        }
        sizes.order = 0;
        Ok(())
    }

    /// Gives the ring of `cpu`, or all, the shape that `other` has there. What fits of the data
    /// stays, unless sub-buffers differ in size. Task context, sleeps. `ENOMEM`, `EBUSY`.
    pub(crate) fn shape_like(&self, other: &Self, cpu: Option<CpuId>) -> Result {
        let _no_change = hotplug::Hold::new();
        let order = other.sizes.lock().order;
        let mut sizes = self.sizes.lock();
        let shape = |lane: &Lane| other.with_ring(lane, |ring| ring.shape());
        if order == sizes.order {
            self.move_pages(cpu, &shape)?;
        } else {
            self.reshape(cpu, &shape)?;
        }
        sizes.order = order;
        Ok(())
    }

    /// Gives sub-buffers 2^`order` pages, and forgets the data. Task context, sleeps. `ENOMEM`,
    /// `EBUSY`.
    pub(crate) fn set_order(&self, order: u32) -> Result {
        let _no_change = hotplug::Hold::new();
        let mut sizes = self.sizes.lock();
        if order == sizes.order {
            return Ok(());
        }
        // All that are wanted can be numbered.
        let bytes = |lane: &Lane| self.with_ring(lane, |ring| ring.shape().bytes());
        self.lanes()
            .try_for_each(|lane| Shape::with_room(bytes(lane), order).map(drop))?;
        self.reshape(None, &|lane| {
            Shape::with_room(bytes(lane), order).unwrap_or(Shape::LEAST)
        })?;
        sizes.order = order;
        Ok(())
    }

    /// Takes in a CPU that comes up, giving it the size the others have. Task context, sleeps.
    /// `ENOMEM`.
    pub(crate) fn prepare(&self, cpu: CpuId) -> Result {
        self.coming(cpu)?.take_in();
        Ok(())
    }

    /// What [`Buffer::prepare`] needs memory for; nothing has changed yet. Until the CPU is taken in
    /// nothing is resized: that waits for the end of the CPU's coming up, or nobody else knows the
    /// buffer. Task context, sleeps. `ENOMEM`.
    pub(crate) fn coming(&self, cpu: CpuId) -> Result<Coming<'_>> {
        let sizes = self.sizes.lock();
        let lane = self
            .any_lane(cpu)
            .filter(|lane| !lane.present.load(Relaxed));
        let mut ring = None;
        if let Some(lane) = lane {
            let shape = self.usual(&sizes)?;
            if self.with_ring(lane, |ring| !ring.is_in_region() && ring.shape() != shape) {
                ring = Some(Ring::new(cpu, shape)?);
            }
        }
        Ok(Coming {
            buffer: self,
            lane,
            ring,
        })
    }

    /// The shape that most CPUs have: that of the first that is present.
    pub(super) fn usual(&self, sizes: &Sizes) -> Result<Shape> {
        let first = self
            .lanes()
            .next()
            .map(|lane| self.with_ring(lane, |ring| ring.shape()));
        let bytes = if sizes.expanded { sizes.full } else { 1 };
        first.map_or_else(|| Shape::with_room(bytes, sizes.order), Ok)
    }

    /// Gives the present CPUs that `cpu` means rings of a shape, of sub-buffers of the same size as
    /// before, and moves what fits of the data. All new memory is there before anything changes.
    fn move_pages(&self, cpu: Option<CpuId>, shape: &dyn Fn(&Lane) -> Shape) -> Result {
        let has = |lane: &Lane| self.with_ring(lane, |ring| ring.shape());
        let wanted =
            |lane: &&Lane| cpu.is_none_or(|cpu| cpu == lane.cpu) && has(lane) != shape(lane);
        let more = |lane: &Lane| shape(lane).slots.saturating_sub(has(lane).slots) as usize;
        self.check_unheld(wanted)?;
        let mut new = KVec::new();
        {
            let pages = |lane: &Lane| more(lane) << shape(lane).order;
            let bulk = Bulk::begin(self.lanes().filter(wanted).map(pages).sum())?;
            for lane in self.lanes().filter(wanted) {
                let fresh = Ring::blocks(&bulk, lane.cpu, shape(lane).order, more(lane))?;
                new.push((lane, Ring::vacant(shape(lane))?, fresh), GFP_KERNEL)?;
            }
        }
        self.exchange(new, |(lane, ring, fresh)| self.move_ring(lane, ring, fresh))
    }

    /// Has `put` put each of `new` rings in the place of an old one, which it gives, while nothing is
    /// recorded.
    fn exchange<New, Old>(&self, new: KVec<New>, put: impl Fn(New) -> Old) -> Result {
        if new.is_empty() {
            return Ok(());
        }
        let mut old = KVec::with_capacity(new.len(), GFP_KERNEL)?;

        let _rings = self.keep_rings();
        let quiet = self.keep_quiet();
        wait_for_writers();
        for new in new {
            // There is room for each.
            let _ = old.push_within_capacity(put(new));
        }
        drop(quiet);
        // `with_ring` may still look at the old ones.
        wait_for_writers();
        drop(old);
        Ok(())
    }

    /// Moves what the ring of `lane` holds to `ring`, which is vacant, and puts that in its place.
    /// Readers go on meanwhile, and interrupts stay on. The resize mutex is held, the rings are
    /// kept, and writers are out.
    fn move_ring<'a>(
        &'a self,
        lane: &'a Lane,
        ring: KBox<Ring>,
        mut fresh: KVVec<Pages>,
    ) -> Option<OldRing<'a>> {
        let place = self.rings.get(lane.cpu)?;
        let part = Part { buffer: self, lane };
        let address = NonNull::new(place.load(ordering::Acquire))?;
        let new = NonNull::from(KBox::leak(ring));
        // SAFETY: from now on a live ring of this buffer, which is not replaced before the resize
        // mutex is free.
        let ring = unsafe { new.as_ref() };
        // SAFETY: writers are out until the caller lets them in; readers find `ring` only where it
        // is stored below, under the lock, and from then on not the old one. Who empties rings has
        // the resize mutex.
        let begun = unsafe { Resize::begin(&part.lock_reader(), &ring.core) };
        let mut resize = begun.ok()?;
        while resize.lay_out(u64::MAX) {}
        loop {
            let behind = resize.behind(&part.lock_reader());
            if behind <= FEW {
                break;
            }
            resize.catch_up(behind);
        }
        let mut moved = {
            let mut reading = part.lock_reader();
            let moved = reading.finish_resize(resize);
            self.settle(lane, ring);
            // INVARIANT: a box; resize mutex and reader lock are held, and the rings are kept.
            place.store(new.as_ptr(), ordering::Release);
            moved
        };
        self.settle_new(lane);
        moved.fill(|| fresh.pop().map(Pages::into_raw));
        lane.queue.wake_all();
        let order = ring.shape().order;
        // SAFETY: by the type invariant; it is in no place any more.
        let ring = unsafe { KBox::from_raw(address.as_ptr()) };
        Some(OldRing {
            moved: Some(moved),
            order,
            _ring: ring,
        })
    }

    /// Gives the present CPUs that `cpu` means new, empty rings of a shape. All are made before the
    /// first is used.
    fn reshape(&self, cpu: Option<CpuId>, shape: &dyn Fn(&Lane) -> Shape) -> Result {
        let wanted = |lane: &&Lane| cpu.is_none_or(|cpu| cpu == lane.cpu);
        self.check_unheld(wanted)?;
        let mut new = KVec::new();
        for lane in self.lanes().filter(wanted) {
            new.push((lane, Ring::new(lane.cpu, shape(lane))?), GFP_KERNEL)?;
        }
        self.exchange(new, |(lane, ring)| self.replace(lane, ring))
    }

    /// `EBUSY` if somebody holds one of the `wanted` rings.
    fn check_unheld(&self, wanted: impl Fn(&&Lane) -> bool) -> Result {
        let mut lanes = self.lanes().filter(wanted);
        if lanes.any(|lane| lane.held.load(Relaxed) != 0) {
            return Err(EBUSY);
        }
        Ok(())
    }

    /// Puts `ring` in the place of the one that `lane` has, and gives that. The resize mutex is
    /// held, and the rings are kept.
    fn replace(&self, lane: &Lane, ring: KBox<Ring>) -> Option<KBox<Ring>> {
        let place = self.rings.get(lane.cpu)?;
        let address = place.load(ordering::Acquire);
        {
            // SAFETY: by the type invariant a live ring; nobody else replaces or swaps it
            // meanwhile.
            let old = unsafe { &*address };
            let _reading = old.reader.lock();
            self.settle(lane, &ring);
            // INVARIANT: a box; resize mutex and reader lock are held, and the rings are kept.
            place.store(KBox::into_raw(ring), ordering::Release);
        }
        self.settle_new(lane);
        lane.queue.wake_all();
        // SAFETY: by the type invariant; the caller lets a grace period pass before it drops the
        // ring.
        Some(unsafe { KBox::from_raw(address) })
    }

    /// Gives the ring that `lane` has just got the switches that were thrown, and the mark that was
    /// left, while only the old one was found.
    fn settle_new(&self, lane: &Lane) {
        // Pairs with the barriers in `settle_all` and `mark`, as in `swap_lane`.
        smp_mb(ordering::Full);
        self.with_ring(lane, |ring| {
            self.settle(lane, ring);
            if lane.wanted.load(Relaxed) != 0 {
                ring.core.set_waiters(true);
            }
        });
    }
}

/// A CPU that comes up, and the ring that it gets if it needs another one ([`Buffer::coming`]).
#[must_use = "the CPU is not taken in"]
pub(crate) struct Coming<'a> {
    buffer: &'a Buffer,
    /// None if it was up before.
    lane: Option<&'a Lane>,
    ring: Option<KBox<Ring>>,
}

impl Coming<'_> {
    /// Takes the CPU in. Task context, sleeps.
    pub(crate) fn take_in(self) {
        let Some(lane) = self.lane else {
            return;
        };
        let _sizes = self.buffer.sizes.lock();
        if let Some(ring) = self.ring {
            let _ring = self.buffer.keep_rings_of(Some(lane.cpu));
            let old = self.buffer.replace(lane, ring);
            wait_for_writers();
            drop(old);
        }
        lane.present.store(true, Relaxed);
        // Who waits for any CPU's events has left no mark here.
        self.buffer.all.wake_all();
    }
}

/// A ring whose content has moved, to be dropped after a grace period.
struct OldRing<'a> {
    /// Refers to the ring.
    moved: Option<Moved<'a>>,
    order: u32,
    _ring: KBox<Ring>,
}

impl Drop for OldRing<'_> {
    fn drop(&mut self) {
        if let Some(moved) = self.moved.take() {
            // SAFETY: a block of the ring's order, which the ring gives up.
            moved.left_over(|memory| drop(unsafe { Pages::from_raw(memory, self.order) }));
        }
    }
}
