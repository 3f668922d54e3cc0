// SPDX-License-Identifier: GPL-2.0

//! Readers that sleep until there is something to read.
//!
//! A sleeper leaves a mark with the rings it waits for; the next writer that commits sees the mark
//! and wakes it by irq_work. Writers do not pay for a barrier between committing and looking for
//! the mark, so one that commits at the very moment may miss it: sleepers therefore look again by
//! themselves a few times a second, and a poller that finds nothing interrupts the writers' CPUs, but for
//! those that are idle, where nobody can be writing, and those that `nohz_full=` keeps free of noise.

use super::lane::{self, Lane};
use super::Buffer;
use crate::kernel::clock::HZ;
use crate::kernel::cpus;
use crate::kernel::fs::pseudo_fs::{PollCall, PollEvents};
use crate::kernel::wait_queue::WaitQueue;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};
use kernel::sync::barrier::smp_mb;

/// How long a sleeper trusts its mark, in jiffies.
const LOOK_AGAIN: isize = if HZ < 8 { 1 } else { (HZ / 8) as isize };

/// When a mark is left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Always,
    UnlessReady,
}

impl Buffer {
    /// Sleeps until `cpu` has events that fill `percent` of it (0: any event), or any CPU has any
    /// (`None`), or the sleepers are woken ([`Buffer::wake_all`], [`Buffer::nudge`]). Task context.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` when a signal comes first, `ENODEV` for a CPU that was never up.
    pub(crate) fn wait(&self, cpu: Option<CpuId>, percent: u32) -> Result {
        let lane = cpu.and_then(|cpu| self.lane(cpu));
        let wakes = || {
            let own = lane.map_or(0, |lane| lane.wakes.load(Relaxed));
            self.wakes.load(Relaxed).wrapping_add(own)
        };
        let before = wakes();
        self.wait_or(cpu, percent, || wakes() != before)
    }

    /// [`Buffer::wait`] for the events or until `enough` says true, which is asked each time that
    /// the sleeper is woken.
    pub(crate) fn wait_or(
        &self,
        cpu: Option<CpuId>,
        percent: u32,
        mut enough: impl FnMut() -> bool,
    ) -> Result {
        let queue = self.queue(cpu).ok_or(ENODEV)?;
        let ready = || self.is_ready(cpu, percent, Marks::UnlessReady);
        queue.wait(LOOK_AGAIN, || ready() || enough())
    }

    /// Answers a poll of a file of this buffer: readable when [`Buffer::is_ready`]. Task context.
    pub(crate) fn poll<'f>(
        &'f self,
        cpu: Option<CpuId>,
        percent: u32,
        call: &PollCall<'f>,
    ) -> PollEvents {
        let Some(queue) = self.queue(cpu) else {
            return PollEvents::ERROR;
        };
        call.wait_on(queue);
        // As in C, who polls for any event leaves a mark even if there are some: an edge-triggered
        // poller asks once more while it reports those, and is told of the next then.
        let marks = match (cpu, percent) {
            (Some(_), 1..) => Marks::UnlessReady,
            _ => Marks::Always,
        };
        let ready = || self.is_ready(cpu, percent, marks);
        // A poller does not look again by itself. So the writers' CPUs are interrupted: afterwards
        // they see the mark, or their commits are seen here.
        //
        // A CPU that RCU does not watch needs no interrupt. RCU changes its word for the CPU, by an
        // operation that is a full barrier, both after the CPU's last commit and before its next one.
        // If the word is seen here after the first change, that commit is seen, too; if before the
        // second one, the next commit comes after the barrier below, and so sees the mark. Idle CPUs
        // are left to sleep by that.
        //
        // Of the CPUs that are kept free of noise, those that are in the kernel now are not asked, nor
        // can one that is on its way up or down be. The next event there wakes the poller at the latest,
        // as in C.
        let sees_mark = || {
            smp_mb(ordering::Full);
            self.lanes()
                .filter(|lane| cpu.is_none_or(|cpu| cpu == lane.cpu))
                .filter(|lane| cpus::is_watched(lane.cpu) && cpus::is_housekeeping(lane.cpu))
                .for_each(|lane| cpus::interrupt(lane.cpu));
        };
        if ready() || {
            sees_mark();
            ready()
        } {
            PollEvents::READABLE
        } else {
            PollEvents::NONE
        }
    }

    /// Are there events as [`Buffer::wait`] means it? Where a mark is left, the next ones will wake
    /// the queue. Any context but NMI.
    fn is_ready(&self, cpu: Option<CpuId>, percent: u32, marks: Marks) -> bool {
        // A share of all CPUs' memory means nothing to a reader of all.
        let percent = if cpu.is_some() { percent } else { 0 };
        let mut ready = false;
        for lane in self
            .lanes()
            .filter(|lane| cpu.is_none_or(|cpu| cpu == lane.cpu))
        {
            ready |= self.mark(lane, percent, marks);
        }
        ready
    }

    /// Leaves the mark, then looks: on the ring that is there both before and after.
    fn mark(&self, lane: &Lane, percent: u32, marks: Marks) -> bool {
        loop {
            let (marked, enough) = self.with_ring(lane, |ring| {
                let any = || ring.core.entries() != 0;
                let enough = || any() && (percent == 0 || lane::filled(ring, percent));
                let enough = marks == Marks::UnlessReady && enough() || {
                    lane.want(ring, percent);
                    enough()
                };
                (core::ptr::from_ref(ring), enough)
            });
            // Pairs with the barriers in `swap_lane` and `settle_new`: a ring that comes after this
            // gets the mark from them.
            smp_mb(ordering::Full);
            if enough && marks == Marks::UnlessReady
                || self.with_ring(lane, |ring| core::ptr::eq(ring, marked))
            {
                return enough;
            }
        }
    }

    /// The queue to poll for `cpu`, or for all; none for a CPU that was never up. Any context.
    fn queue(&self, cpu: Option<CpuId>) -> Option<&WaitQueue> {
        match cpu {
            None => Some(&self.all),
            Some(cpu) => self.lane(cpu).map(|lane| &*lane.queue),
        }
    }

    /// Wakes the waiters of `cpu`, or all waiters, by irq_work. Any context.
    pub(crate) fn wake_later(&self, cpu: Option<CpuId>) {
        self.wakes.fetch_add(1, Relaxed);
        self.lanes()
            .filter(|lane| cpu.is_none_or(|cpu| cpu == lane.cpu))
            .for_each(|lane| lane.work.queue_housekeeping());
    }

    /// Wakes the sleepers of `cpu`, which check their condition again. Those of [`Buffer::wait`]
    /// end their wait. Any context but NMI.
    pub(crate) fn nudge(&self, cpu: CpuId) {
        if let Some(lane) = self.lane(cpu) {
            lane.wakes.fetch_add(1, Relaxed);
            lane.queue.wake_all();
        }
    }

    /// Wakes all sleepers, which end their wait. Any context but NMI.
    pub(crate) fn wake_all(&self) {
        self.wakes.fetch_add(1, Relaxed);
        self.all.wake_all();
        self.lanes().for_each(|lane| lane.queue.wake_all());
    }
}
