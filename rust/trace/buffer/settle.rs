// SPDX-License-Identifier: GPL-2.0

//! The switches of a buffer, its rings that follow them, and emptying.
//!
//! A switch is thrown in the buffer first, and then in each ring that it finds. Who brings a ring to
//! its place, by a swap or a resize, looks at the switches after that.

use super::lane::Lane;
use super::ring::Ring;
use super::{wait_for_writers, Buffer, Part, Sizes};
use crate::kernel::context::PreemptOff;
use crate::kernel::hotplug;
use crate::kernel::relaxed;
use kernel::cpu::CpuId;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::barrier::smp_mb;

impl Buffer {
    /// Turns recording on or off and says what it was. Any context.
    pub(crate) fn set_on(&self, on: bool) -> bool {
        let was = self.on.xchg(on, ordering::Full);
        self.settle_all();
        was
    }

    /// Whether somebody has paused recording. It stands still, too, while rings are emptied or replaced;
    /// that does not count. Any context.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Relaxed) != 0
    }

    /// Stops recording until the result is dropped; may be nested. Any context.
    pub(crate) fn pause(&self) -> Pause<'_> {
        Pause::new(self, &self.paused)
    }

    /// Stops recording until the result is dropped, for who empties or replaces rings. Any context.
    pub(super) fn keep_quiet(&self) -> Pause<'_> {
        Pause::new(self, &self.quiet)
    }

    /// [`Buffer::pause`] without a guard; undone by [`Buffer::resume_recording`].
    pub(crate) fn pause_recording(&self) {
        core::mem::forget(self.pause());
    }

    /// Undoes one [`Buffer::pause_recording`], which nobody else undoes.
    pub(crate) fn resume_recording(&self) {
        drop(Pause {
            buffer: self,
            count: &self.paused,
        });
    }

    /// Sets whether full rings lose their oldest events (true) or take no more. Any context.
    pub(crate) fn set_overwrite(&self, overwrite: bool) {
        self.overwrite.store(overwrite, Relaxed);
        self.settle_all();
    }

    /// Gives every entry from now on its full time, or no longer. Any context.
    pub(crate) fn set_absolute(&self, absolute: bool) {
        self.absolute.store(absolute, Relaxed);
        self.settle_all();
    }

    /// Does the buffer record, as far as all of it is concerned? Any context.
    pub(crate) fn is_recording(&self) -> bool {
        self.is_on() && !self.stands_still()
    }

    /// Waits until it is not resized or emptied, and no CPU comes. Any of that may begin again at
    /// once. Task context, sleeps.
    pub(crate) fn await_rest(&self) {
        let _no_change = hotplug::Hold::new();
        drop(self.sizes.lock());
    }

    /// Empties the buffer. Task context, sleeps.
    pub(crate) fn reset(&self) {
        let _no_change = hotplug::Hold::new();
        let sizes = self.sizes.lock();
        let _rings = self.keep_rings();
        let _quiet = self.keep_quiet();
        wait_for_writers();
        self.empty(&sizes, None);
    }

    /// Empties; writers are out: the rings that it empties are kept, and after that a pause and a grace period came
    /// before, while no CPU could come up: the grace period does not wait for one that RCU does not
    /// watch yet. `_sizes` are of this buffer: no resize is under way.
    pub(super) fn empty(&self, _sizes: &Sizes, cpu: Option<CpuId>) {
        if cpu.is_none() {
            // First, as the clock of another CPU may be a little behind this one's.
            self.started.store(self.now(), Relaxed);
        }
        for lane in self
            .all_lanes()
            .filter(|lane| cpu.is_none_or(|cpu| cpu == lane.cpu))
        {
            let mut reader = Part { buffer: self, lane }.lock_reader();
            // SAFETY: the rings are kept, and nothing is recorded since before a grace period. The
            // resize mutex is held.
            unsafe { reader.reset() };
        }
    }

    /// Makes every ring record, or not, as the switches say now. Any context.
    #[inline(never)]
    pub(super) fn settle_all(&self) {
        // The switch was thrown before. Pairs with the barrier in `swap_lane`.
        smp_mb(ordering::Full);
        for lane in self.all_lanes() {
            self.with_ring(lane, |ring| self.settle(lane, ring));
        }
    }

    /// Makes `ring` record, or not, as the switches say. Two that settle at the same time agree in
    /// the end, as each looks at the switches again after it has acted. Any context.
    pub(super) fn settle(&self, lane: &Lane, ring: &Ring) {
        loop {
            let on = self.wants(lane);
            let overwrite = self.overwrite.load(Relaxed);
            let absolute = self.absolute.load(Relaxed);
            let in_line = self.clock_in_line.load(Relaxed);
            ring.core.set_on(on);
            ring.core.set_overwrite(overwrite);
            ring.core.set_absolute_stamps(absolute);
            ring.core.set_short_clock(in_line);
            smp_mb(ordering::Full);
            let same = overwrite == self.overwrite.load(Relaxed)
                && absolute == self.absolute.load(Relaxed)
                && in_line == self.clock_in_line.load(Relaxed);
            if same && on == self.wants(lane) {
                return;
            }
        }
    }

    pub(super) fn wants(&self, lane: &Lane) -> bool {
        self.is_recording() && lane.may_record()
    }

    fn stands_still(&self) -> bool {
        self.is_paused() || self.quiet.load(Relaxed) != 0
    }

    pub(super) fn all_lanes(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().flatten().map(|lane| &**lane)
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.all_lanes().filter(|lane| lane.present.load(Relaxed))
    }

    pub(super) fn lane(&self, cpu: CpuId) -> Option<&Lane> {
        self.any_lane(cpu)
            .filter(|lane| relaxed::load(&lane.present))
    }

    /// The part of `cpu`, whether that was ever up or not.
    pub(super) fn any_lane(&self, cpu: CpuId) -> Option<&Lane> {
        self.lanes.get(cpu.as_u32() as usize)?.as_deref()
    }

    /// Runs `f` on the ring that `lane` has at the moment. Any context; `f` must not sleep.
    #[inline]
    pub(super) fn with_ring<R>(&self, lane: &Lane, f: impl FnOnce(&Ring) -> R) -> R {
        let _stays = PreemptOff::new();
        let ring = self
            .rings
            .get(lane.cpu)
            .unwrap_or_else(|| self.rings.this())
            .load(ordering::Acquire);
        // SAFETY: by the type invariant a live ring, that goes only after a grace period, which
        // preemption off holds up.
        f(unsafe { &*ring })
    }
}

/// Recording stands still; see [`Buffer::pause`] and [`Buffer::keep_quiet`].
#[must_use = "recording goes on when this is dropped"]
pub(crate) struct Pause<'a> {
    buffer: &'a Buffer,
    /// Of `buffer`: recording stands still while it is not 0. This one is counted in it.
    count: &'a Atomic<u32>,
}

impl<'a> Pause<'a> {
    fn new(buffer: &'a Buffer, count: &'a Atomic<u32>) -> Self {
        count.fetch_add(1, ordering::Full);
        buffer.settle_all();
        Self { buffer, count }
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, ordering::Full);
        self.buffer.settle_all();
    }
}
