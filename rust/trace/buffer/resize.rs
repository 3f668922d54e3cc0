// SPDX-License-Identifier: GPL-2.0

//! Other sizes: what fits of the data stays, in order.
//!
//! The new ring is made first, so that the old one is there as before when memory runs out. Then recording pauses
//! (what happens meanwhile is not recorded), writers leave, what the old ring holds is written to the new one with
//! its times, and the pointer changes under the reader lock.

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
    /// `ENOMEM`; `EBUSY` while somebody holds the ring ([`Buffer::hold`]). Nothing has changed then.
    pub(crate) fn resize(&self, cpu: Option<CpuId>, bytes: usize) -> Result {
        let mut sizes = self.sizes.lock();
        let shape = Shape::with_room(bytes, sizes.order)?;
        self.reshape(cpu, shape, true)?;
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
            self.reshape(None, Shape::with_room(sizes.full, sizes.order)?, true)?;
            sizes.expanded = true;
        }
        Ok(())
    }

    /// Shrinks to the least there can be, and forgets the data. Task context, sleeps. `ENOMEM`, `EBUSY`.
    pub(crate) fn shrink(&self) -> Result {
        let mut sizes = self.sizes.lock();
        self.reshape(None, Shape::with_room(1, sizes.order)?, false)?;
        sizes.expanded = true;
        Ok(())
    }

    /// Gives sub-buffers 2^`order` pages, and forgets the data. Task context, sleeps. `ENOMEM`, `EBUSY`.
    pub(crate) fn set_order(&self, order: u32) -> Result {
        let mut sizes = self.sizes.lock();
        if order == sizes.order {
            return Ok(());
        }
        let bytes = if sizes.expanded { sizes.full } else { 1 };
        self.reshape(None, Shape::with_room(bytes, order)?, false)?;
        sizes.order = order;
        Ok(())
    }

    /// Takes in a CPU that comes up, giving it the size the others have. Task context, sleeps. `ENOMEM`.
    pub(crate) fn prepare(&self, cpu: CpuId) -> Result {
        let sizes = self.sizes.lock();
        let Some(lane) = self.all_lanes().find(|lane| lane.cpu == cpu) else { return Ok(()) };
        if lane.present.load(Relaxed) {
            return Ok(());
        }
        let shape = self.usual(&sizes)?;
        if shape != self.with_ring(lane, |ring| ring.shape()) {
            let old = self.replace(lane, Ring::new(cpu, shape)?);
            rcu::synchronize_rcu();
            drop(old);
        }
        lane.present.store(true, Relaxed);
        Ok(())
    }

    /// The shape that most CPUs have: that of the first that is present.
    fn usual(&self, sizes: &Sizes) -> Result<Shape> {
        let first = self.lanes().next().map(|lane| self.with_ring(lane, |ring| ring.shape()));
        let bytes = if sizes.expanded { sizes.full } else { 1 };
        first.map_or_else(|| Shape::with_room(bytes, sizes.order), Ok)
    }

    /// Gives the present CPUs that `cpu` means rings of `shape`. All new rings are made before the first is used.
    fn reshape(&self, cpu: Option<CpuId>, shape: Shape, keep: bool) -> Result {
        let wanted = |lane: &&Lane| {
            cpu.is_none_or(|cpu| cpu == lane.cpu) && (!keep || self.with_ring(lane, |ring| ring.shape() != shape))
        };
        if self.lanes().filter(wanted).any(|lane| lane.held.load(Relaxed) != 0) {
            return Err(EBUSY);
        }
        let mut new = KVec::new();
        for lane in self.lanes().filter(wanted) {
            new.push((lane, Ring::new(lane.cpu, shape)?), GFP_KERNEL)?;
        }
        if new.is_empty() {
            return Ok(());
        }
        let mut scratch = KVVec::from_elem(0u8, kernel::page::PAGE_SIZE << self.largest_order(), GFP_KERNEL)?;
        let mut old = KVec::with_capacity(new.len(), GFP_KERNEL)?;

        let quiet = self.pause();
        rcu::synchronize_rcu();
        for (lane, ring) in new {
            if keep {
                self.carry(lane, &ring, &mut scratch);
            }
            // There is room for each.
            let _ = old.push_within_capacity(self.replace(lane, ring));
        }
        drop(quiet);
        // `with_ring` may still look at the old ones.
        rcu::synchronize_rcu();
        drop(old);
        Ok(())
    }

    fn largest_order(&self) -> u32 {
        self.lanes().map(|lane| self.with_ring(lane, |ring| ring.shape().order)).max().unwrap_or(0)
    }

    /// Copies what `lane`'s ring holds to `new`, and remembers its counts. Writers are out.
    fn carry(&self, lane: &Lane, new: &Ring, scratch: &mut [u8]) {
        let mut past = lane.reader.lock();
        self.with_ring(lane, |old| {
            new.refill(old, scratch);
            let counts = old.core.stats();
            past.overrun = past.overrun.wrapping_add(counts.overrun);
            past.commit_overrun = past.commit_overrun.wrapping_add(counts.commit_overrun);
            past.dropped = past.dropped.wrapping_add(counts.dropped);
            past.read = past.read.wrapping_add(counts.read);
        });
    }

    /// Puts `ring` in the place of the one that `lane` has, and gives that. The resize mutex is held.
    fn replace(&self, lane: &Lane, ring: KBox<Ring>) -> Option<KBox<Ring>> {
        let place = self.rings.get(lane.cpu)?;
        self.settle(lane, &ring);
        let old = {
            let _reader = lane.reader.lock();
            // INVARIANT: a box; resize mutex and reader lock are held.
            place.xchg(KBox::into_raw(ring), ordering::Full)
        };
        // A switch that was thrown since has only found the old ring.
        self.with_ring(lane, |ring| self.settle(lane, ring));
        lane.queue.wake_all();
        // SAFETY: by the type invariant; the caller lets a grace period pass before it drops the ring.
        Some(unsafe { KBox::from_raw(old) })
    }
}
