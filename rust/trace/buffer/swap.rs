// SPDX-License-Identifier: GPL-2.0

//! Two buffers exchange rings: this is how a snapshot is taken.
//!
//! Nobody is kept out. A writer that is between reserve and commit ends on the ring where it began;
//! a reader that holds a ring's lock reads on. Later ones find the other ring. So a ring that was
//! swapped out may still be written to until a grace period has passed.
//!
//! A writer that reserves in one call and commits in another, as C callers do, looks its ring up
//! twice. Buffers that have such writers are only swapped where none is under way
//! ([`Buffer::swap_at_rest`]). One that is about to be, having found its ring, cannot be seen; it
//! finds that ring again by [`Lane::gone`] if it is interrupted by a swap then.
//!
//! What empties or replaces rings relies on them to stay where they are, and keeps them meanwhile:
//! all of a buffer ([`Buffer::keep_rings`]), or one ([`Buffer::keep_rings_of`]). A snapshot of all CPUs
//! leaves out the latter.

use super::lane::Lane;
use super::ring::Ring;
use super::{wait_for_writers, Buffer};
use crate::kernel::context::PreemptCount;
use crate::kernel::hotplug;
use crate::kernel::raw_lock::RawLock;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};
use kernel::sync::barrier::smp_mb;

/// The swap lock. Held for a few instructions per CPU; nothing under it may be traced, as what a
/// traced function's callback does may be to take a snapshot.
static SWAPPING: RawLock<()> = RawLock::new(());

/// What is swapped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rings {
    /// That of a CPU.
    Of(CpuId),
    /// All.
    All,
    /// All but those that are emptied one by one.
    Free,
}

impl Rings {
    /// That of `cpu`, or all.
    pub(crate) fn of(cpu: Option<CpuId>) -> Self {
        cpu.map_or(Self::All, Self::Of)
    }
}

impl Buffer {
    /// Exchanges `rings` with those of `other`. Nothing is lost by it. Any context but NMI; never sleeps.
    ///
    /// # Errors
    ///
    /// `EBUSY` while one of the two is resized or emptied, and where two rings differ in shape; nothing
    /// has changed then.
    pub(crate) fn swap(&self, other: &Self, rings: Rings) -> Result {
        let pairs = || {
            self.all_lanes()
                .filter(move |lane| !matches!(rings, Rings::Of(cpu) if cpu != lane.cpu))
                .filter_map(|lane| Some((lane, other.any_lane(lane.cpu)?)))
        };
        {
            let _alone = SWAPPING.lock();
            let all_stay = self.kept.load(Relaxed) != 0 || other.kept.load(Relaxed) != 0;
            let stays = |lane: &Lane, twin: &Lane| lane.is_kept() || twin.is_kept();
            if all_stay || rings != Rings::Free && pairs().any(|(lane, twin)| stays(lane, twin)) {
                return Err(EBUSY);
            }
            let swapped = || pairs().filter(|(lane, twin)| !stays(lane, twin));
            if !swapped().all(|(lane, twin)| self.has_shape_of(lane, other, twin)) {
                return Err(EBUSY);
            }
            swapped().for_each(|(lane, twin)| self.swap_lane(lane, other, twin));
        }
        pairs().for_each(|(_, twin)| twin.wake_waiters());
        Ok(())
    }

    /// Has the ring of `lane` as many sub-buffers, and as large ones, as that of `other`'s `twin`?
    fn has_shape_of(&self, lane: &Lane, other: &Self, twin: &Lane) -> bool {
        self.with_ring(lane, |ring| ring.shape()) == other.with_ring(twin, |ring| ring.shape())
    }

    /// Exchanges the rings of `cpu` with those of `other`, unless an event is being written to one
    /// of the two. Any context but NMI, on that CPU or where its writers are kept out; never
    /// sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` when one has no such CPU, or they differ in size; `EAGAIN` while one is kept from
    /// recording; `EBUSY` while one is written to, mapped, resized or emptied, and in an interrupt
    /// where one of the two was swapped with a third. Nothing has changed then.
    pub(crate) fn swap_at_rest(&self, other: &Self, cpu: CpuId) -> Result {
        let (lane, twin) = self.lane(cpu).zip(other.lane(cpu)).ok_or(EINVAL)?;
        self.swap_lane_at_rest(lane, other, twin)?;
        twin.wake_waiters();
        Ok(())
    }

    fn swap_lane_at_rest(&self, lane: &Lane, other: &Self, twin: &Lane) -> Result {
        let _alone = SWAPPING.lock();
        if !self.has_shape_of(lane, other, twin) {
            return Err(EINVAL);
        }
        let records =
            |buffer: &Self, lane: &Lane| buffer.is_recording() && buffer.lets_record(lane);
        if !records(self, lane) || !records(other, twin) {
            return Err(EAGAIN);
        }
        let stays = |buffer: &Self, lane: &Lane| buffer.kept.load(Relaxed) != 0 || lane.is_kept();
        if stays(self, lane) || stays(other, twin) {
            return Err(EBUSY);
        }
        // Only an interrupt can come between a writer's two looks.
        let interrupts = PreemptCount::read().level() != 0;
        self.with_ring(lane, |gone| {
            other.with_ring(twin, |come| {
                // A CPU that is not writing now does not begin from here on, unless this interrupts
                // a writer which has looked already, and reserves on the ring that it found. It
                // then finds that again by `gone`.
                gone.core.disable();
                come.core.disable();
                let busy = gone.core.is_writing()
                    || come.core.is_writing()
                    || interrupts && !(lane.still_has_gone(come) && twin.still_has_gone(gone));
                if !busy {
                    self.swap_lane(lane, other, twin);
                }
                gone.core.enable();
                come.core.enable();
                if busy {
                    Err(EBUSY)
                } else {
                    Ok(())
                }
            })
        })
    }

    /// The swap lock is held, so nothing is called here that could be traced. The caller wakes the
    /// waiters of `twin` after it has released the lock.
    fn swap_lane(&self, lane: &Lane, other: &Self, twin: &Lane) {
        let (Some(here), Some(there)) = (self.rings.get(lane.cpu), other.rings.get(twin.cpu))
        else {
            return;
        };
        let (going, coming) = (here.load(Relaxed), there.load(Relaxed));
        // SAFETY: by the type invariant both are live, and nobody replaces them while the swap lock
        // is held.
        let (gone, come): (&Ring, &Ring) = unsafe { (&*going, &*coming) };
        self.settle(lane, come);
        lane.gone.store(going, Relaxed);
        twin.gone.store(coming, Relaxed);
        // INVARIANT: each is still in one place; the swap lock is held.
        here.store(coming, ordering::Release);
        there.store(going, ordering::Release);
        // Pairs with the barriers in `settle_all` and `mark`: a change of a switch, or a mark,
        // either finds the rings in their new places or is seen by what follows.
        smp_mb(ordering::Full);
        // A switch that was thrown since the first look has found the old ring.
        self.settle(lane, come);
        other.settle(twin, gone);
        for (lane, ring) in [(lane, come), (twin, gone)] {
            if lane.wanted.load(Relaxed) != 0 {
                ring.core.set_waiters(true);
            }
        }
    }

    /// Keeps swaps away until the result is dropped; may be nested. Task context.
    #[inline(never)]
    pub(crate) fn keep_rings(&self) -> Kept<'_> {
        let _alone = SWAPPING.lock();
        self.kept.fetch_add(1, Relaxed);
        Kept(self)
    }

    /// [`Buffer::keep_rings`] for the ring of `cpu` alone, or for all.
    pub(crate) fn keep_rings_of(&self, cpu: Option<CpuId>) -> KeptOf<'_> {
        let one = cpu.and_then(|cpu| self.any_lane(cpu));
        if let Some(lane) = one {
            let _alone = SWAPPING.lock();
            lane.kept.fetch_add(1, Relaxed);
        }
        KeptOf {
            _all: one.is_none().then(|| self.keep_rings()),
            one,
        }
    }

    /// Undoes one [`Buffer::keep_rings`] whose result was forgotten.
    ///
    /// # Safety
    ///
    /// There was one that nobody else undoes.
    pub(super) unsafe fn unkeep_rings(&self) {
        drop(Kept(self));
    }

    /// A buffer that only gets rings with entries by swaps, of the least size and not offering its
    /// rings yet. Task context, sleeps. `ENOMEM`.
    pub(crate) fn new_spare() -> impl PinInit<Self, Error> {
        Self::new(1, true).pin_chain(|spare| {
            spare.offer_rings(false);
            Ok(())
        })
    }

    /// Lets the rings be swapped (true), or no longer. Task context.
    pub(crate) fn offer_rings(&self, offer: bool) {
        let _alone = SWAPPING.lock();
        if self.offered.xchg(offer, Relaxed) != offer {
            match offer {
                true => self.kept.fetch_sub(1, Relaxed),
                false => self.kept.fetch_add(1, Relaxed),
            };
        }
    }

    /// Empties the part of `cpu`, or all, of a buffer whose rings only get entries by swaps. What
    /// was begun before the last swap is waited for. Task context, sleeps.
    pub(crate) fn clear_spare(&self, cpu: Option<CpuId>) {
        let _no_change = hotplug::Hold::new();
        let sizes = self.sizes.lock();
        let _rings = self.keep_rings_of(cpu);
        wait_for_writers();
        self.empty(&sizes, cpu);
    }
}

/// Rings stay in their places; see [`Buffer::keep_rings`].
#[must_use = "rings can be exchanged once this is dropped"]
pub(crate) struct Kept<'a>(&'a Buffer);

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.0.kept.fetch_sub(1, Relaxed);
    }
}

/// One ring, or all, stay; see [`Buffer::keep_rings_of`].
#[must_use = "rings can be exchanged once this is dropped"]
pub(crate) struct KeptOf<'a> {
    _all: Option<Kept<'a>>,
    one: Option<&'a Lane>,
}

impl Drop for KeptOf<'_> {
    fn drop(&mut self) {
        if let Some(lane) = self.one {
            lane.kept.fetch_sub(1, Relaxed);
        }
    }
}
