// SPDX-License-Identifier: GPL-2.0

//! Other sizes: what fits of the data stays, in order.
//!
//! The new ring is made first, so that the old one is there as before when memory runs out. Then
//! recording pauses (what happens meanwhile is not recorded), writers leave, what the old ring
//! holds is written to the new one with its times, and the pointer changes under the reader lock.

use super::lane::Lane;
use super::ring::{Ring, Shape};
use super::{Buffer, Sizes};
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};
use kernel::sync::rcu;

impl Buffer {
    /// Gives `cpu` (all of them: `None`) room for `bytes`, keeping what fits. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EBUSY` while somebody holds the ring ([`Buffer::hold`]). Nothing has changed
    /// then.
    pub(crate) fn resize(&self, cpu: Option<CpuId>, bytes: usize) -> Result {
        let mut sizes = self.sizes.lock();
        let shape = Shape::with_room(bytes, sizes.order)?;
        self.reshape(cpu, |_| shape, true)?;
        sizes.expanded = true;
        if cpu.is_none() {
            sizes.full = bytes;
        }
        Ok(())
    }

    /// Grows from the size of boot to the full one, once. Task context, sleeps. `ENOMEM`.
    pub(crate) fn expand(&self) -> Result {
        let mut sizes = self.sizes.lock();
        if !sizes.expanded {
            let shape = Shape::with_room(sizes.full, sizes.order)?;
            self.reshape(None, |_| shape, true)?;
            sizes.expanded = true;
        }
        Ok(())
    }

    /// Shrinks to the least there can be, and forgets the data. Task context, sleeps. `ENOMEM`,
    /// `EBUSY`.
    pub(crate) fn shrink(&self) -> Result {
        let mut sizes = self.sizes.lock();
        let shape = Shape::with_room(1, sizes.order)?;
        self.reshape(None, |_| shape, false)?;
        sizes.expanded = true;
        Ok(())
    }

    /// Gives the memory back as far as can be: the least size in sub-buffers of one page. Forgets
    /// the data. Task context, sleeps. `ENOMEM`, `EBUSY`.
    pub(crate) fn give_back(&self) -> Result {
        let mut sizes = self.sizes.lock();
        let shape = Shape::with_room(1, 0)?;
        self.reshape(None, |_| shape, false)?;
        sizes.order = 0;
        Ok(())
    }

    /// Gives the ring of `cpu`, or all, the shape that `other` has there. What fits of the data
    /// stays, unless sub-buffers differ in size. Task context, sleeps. `ENOMEM`, `EBUSY`.
    pub(crate) fn shape_like(&self, other: &Self, cpu: Option<CpuId>) -> Result {
        let order = other.sizes.lock().order;
        let mut sizes = self.sizes.lock();
        self.reshape(
            cpu,
            |lane| other.with_ring(lane, |ring| ring.shape()),
            order == sizes.order,
        )?;
        sizes.order = order;
        Ok(())
    }

    /// Gives sub-buffers 2^`order` pages, and forgets the data. Task context, sleeps. `ENOMEM`,
    /// `EBUSY`.
    pub(crate) fn set_order(&self, order: u32) -> Result {
        let mut sizes = self.sizes.lock();
        if order == sizes.order {
            return Ok(());
        }
        // All that are wanted can be numbered.
        let bytes = |lane: &Lane| self.with_ring(lane, |ring| ring.shape().bytes());
        self.lanes()
            .try_for_each(|lane| Shape::with_room(bytes(lane), order).map(drop))?;
        self.reshape(
            None,
            |lane| Shape::with_room(bytes(lane), order).unwrap_or(Shape::LEAST),
            false,
        )?;
        sizes.order = order;
        Ok(())
    }

    /// Takes in a CPU that comes up, giving it the size the others have. Task context, sleeps.
    /// `ENOMEM`.
    pub(crate) fn prepare(&self, cpu: CpuId) -> Result {
        let sizes = self.sizes.lock();
        let Some(lane) = self.all_lanes().find(|lane| lane.cpu == cpu) else {
            return Ok(());
        };
        if lane.present.load(Relaxed) {
            return Ok(());
        }
        let shape = self.usual(&sizes)?;
        if self.with_ring(lane, |ring| !ring.is_in_region() && ring.shape() != shape) {
            let _rings = self.keep_rings();
            let old = self.replace(lane, Ring::new(cpu, shape)?, None);
            rcu::synchronize_rcu();
            drop(old);
        }
        lane.present.store(true, Relaxed);
        Ok(())
    }

    /// The shape that most CPUs have: that of the first that is present.
    fn usual(&self, sizes: &Sizes) -> Result<Shape> {
        let first = self
            .lanes()
            .next()
            .map(|lane| self.with_ring(lane, |ring| ring.shape()));
        let bytes = if sizes.expanded { sizes.full } else { 1 };
        first.map_or_else(|| Shape::with_room(bytes, sizes.order), Ok)
    }

    /// Gives the present CPUs that `cpu` means rings of a shape. All new rings are made before the
    /// first is used.
    fn reshape(&self, cpu: Option<CpuId>, shape: impl Fn(&Lane) -> Shape, keep: bool) -> Result {
        let wanted = |lane: &&Lane| {
            let differs = || self.with_ring(lane, |ring| ring.shape()) != shape(lane);
            cpu.is_none_or(|cpu| cpu == lane.cpu) && (!keep || differs())
        };
        if self
            .lanes()
            .filter(wanted)
            .any(|lane| lane.held.load(Relaxed) != 0)
        {
            return Err(EBUSY);
        }
        let mut new = KVec::new();
        for lane in self.lanes().filter(wanted) {
            new.push((lane, Ring::new(lane.cpu, shape(lane))?), GFP_KERNEL)?;
        }
        if new.is_empty() {
            return Ok(());
        }
        let mut scratch = KVVec::from_elem(
            0u8,
            kernel::page::PAGE_SIZE << self.largest_order(),
            GFP_KERNEL,
        )?;
        let mut old = KVec::with_capacity(new.len(), GFP_KERNEL)?;

        let _rings = self.keep_rings();
        let quiet = self.pause();
        rcu::synchronize_rcu();
        for (lane, ring) in new {
            // There is room for each.
            let _ =
                old.push_within_capacity(self.replace(lane, ring, keep.then_some(&mut scratch)));
        }
        drop(quiet);
        // `with_ring` may still look at the old ones.
        rcu::synchronize_rcu();
        drop(old);
        Ok(())
    }

    fn largest_order(&self) -> u32 {
        self.lanes()
            .map(|lane| self.with_ring(lane, |ring| ring.shape().order))
            .max()
            .unwrap_or(0)
    }

    /// Puts `ring` in the place of the one that `lane` has, and gives that. With `scratch` what
    /// that one holds goes over; writers are out then. The resize mutex is held, and the rings are
    /// kept.
    fn replace(
        &self,
        lane: &Lane,
        ring: KBox<Ring>,
        scratch: Option<&mut KVVec<u8>>,
    ) -> Option<KBox<Ring>> {
        let place = self.rings.get(lane.cpu)?;
        let address = place.load(ordering::Acquire);
        {
            // SAFETY: by the type invariant a live ring; nobody else replaces or swaps it
            // meanwhile.
            let old = unsafe { &*address };
            let reading = old.reader.lock();
            if let Some(scratch) = scratch {
                ring.take_over(old, &reading.past, scratch);
            }
            self.settle(lane, &ring);
            // INVARIANT: a box; resize mutex and reader lock are held, and the rings are kept.
            place.store(KBox::into_raw(ring), ordering::Release);
        }
        // A switch that was thrown since has only found the old ring.
        self.with_ring(lane, |ring| self.settle(lane, ring));
        lane.queue.wake_all();
        // SAFETY: by the type invariant; the caller lets a grace period pass before it drops the
        // ring.
        Some(unsafe { KBox::from_raw(address) })
    }
}
