// SPDX-License-Identifier: GPL-2.0

//! The state of one CPU's part of a buffer that its writers seldom need: waiters and holders.

use super::ring::Ring;
use crate::core::ring_buffer;
use crate::kernel::irq_work::{IrqWork, Run};
use crate::kernel::pages::Pages;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::wait_queue::WaitQueue;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::Arc;

/// Wakes the waiters of one CPU, and those of any CPU.
pub(super) struct Wakers {
    own: Arc<WaitQueue>,
    all: Arc<WaitQueue>,
}

impl Run for Wakers {
    fn run(&self) {
        self.own.wake_all();
        self.all.wake_all();
    }
}

/// See the module's head.
#[pin_data]
pub(super) struct Lane {
    pub(super) cpu: CpuId,
    /// Was the CPU ever up since the buffer exists? Until then its ring has the least size.
    pub(super) present: Atomic<bool>,
    /// Whether it may record, as far as `tracing_cpumask` says.
    pub(super) allowed: Atomic<bool>,
    /// How many C callers do not want it to record.
    pub(super) disabled: Atomic<u32>,
    /// The ring that was swapped away last: a writer in two calls may have found it before, and
    /// reserved on it after. To be looked at by such a writer only, since when the ring cannot end.
    pub(super) gone: Atomic<*mut Ring>,
    /// Non-consuming readers that must not see the ring replaced.
    pub(super) held: Atomic<u32>,
    /// How many need this ring to stay; see [`Buffer::keep_rings_of`](super::Buffer::keep_rings_of).
    pub(super) kept: Atomic<u32>,
    /// A page for the next reader of whole sub-buffers.
    pub(super) spare: RawLock<Option<Pages>>,
    /// One more than the least percentage that anybody waits for (0: any event); none waits: 0.
    pub(super) wanted: Atomic<u32>,
    /// Whether somebody maps the ring: each commit is shown there.
    pub(super) mapped: Atomic<bool>,
    /// The sub-buffer that the last commit was shown in, or `u32::MAX`.
    pub(super) shown: Atomic<u32>,
    /// How often the sleepers of this CPU alone were woken.
    pub(super) wakes: Atomic<u32>,
    pub(super) queue: Arc<WaitQueue>,
    #[pin]
    pub(super) work: IrqWork<Wakers>,
}

impl Lane {
    /// The part of `cpu`; `all` is the queue of the waiters of any CPU.
    pub(super) fn new(cpu: CpuId, all: Arc<WaitQueue>) -> Result<Pin<KBox<Self>>> {
        let queue = super::queue()?;
        let wakers = Wakers {
            own: queue.clone(),
            all,
        };
        KBox::pin_init(
            pin_init!(Self {
                cpu,
                present: Atomic::new(false),
                allowed: Atomic::new(true),
                disabled: Atomic::new(0),
                gone: Atomic::new(core::ptr::null_mut()),
                held: Atomic::new(0),
                kept: Atomic::new(0),
                spare: RawLock::new(None),
                wanted: Atomic::new(0),
                mapped: Atomic::new(false),
                shown: Atomic::new(0),
                wakes: Atomic::new(0),
                queue,
                work <- IrqWork::new(wakers),
            }),
            GFP_KERNEL,
        )
    }

    /// Whether it may record, as far as this CPU alone is concerned.
    pub(super) fn may_record(&self) -> bool {
        self.allowed.load(Relaxed) && self.disabled.load(Relaxed) == 0
    }

    /// Does anybody need its ring to stay? With the swap lock held.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Relaxed) != 0
    }

    /// Does a writer that looks for [`Lane::gone`] find its ring once `coming` is the lane's?
    pub(super) fn still_has_gone(&self, coming: &Ring) -> bool {
        let gone = self.gone.load(Relaxed);
        gone.is_null() || core::ptr::eq(gone, coming)
    }

    /// Asks to be woken: by any event, or once `percent` of the ring is filled. Undone by the
    /// wake-up itself.
    pub(super) fn want(&self, ring: &Ring, percent: u32) {
        let own = percent.saturating_add(1);
        loop {
            let wanted = self.wanted.load(Relaxed);
            let least = if wanted == 0 { own } else { own.min(wanted) };
            if self.wanted.cmpxchg(wanted, least, ordering::Full).is_ok() {
                break;
            }
        }
        ring.core.set_waiters(true);
    }

    /// From now on each commit on `ring` is shown in its memory, until `mapped` is false. Task context.
    pub(super) fn show_commits(&self, ring: &Ring) {
        self.shown.store(u32::MAX, Relaxed);
        self.mapped.store(true, Relaxed);
        // Pairs with the exchange in `committed`.
        ring.core.set_waiters(true);
    }

    /// An event was committed while somebody waits or maps the ring. Any context; the CPU's own,
    /// preemption off.
    #[cold]
    #[inline(never)]
    pub(super) fn committed(&self, ring: &Ring) {
        let mapped = self.mapped.load(Relaxed);
        if mapped {
            let shown = ring.core.show_commit(self.shown.load(Relaxed));
            self.shown.store(shown, Relaxed);
        }
        loop {
            let wanted = self.wanted.load(Relaxed);
            if mapped && wanted == 0 {
                return;
            }
            let enough = match wanted {
                0 => false,
                1 => true,
                more => filled(ring, more - 1),
            };
            if wanted != 0 && !enough {
                return;
            }
            // The ring's first: a waiter that asks after the exchange below sets the ring's flag
            // again, and one that has asked before it makes the exchange fail.
            ring.core.set_waiters(false);
            if self.wanted.cmpxchg(wanted, 0, ordering::Full).is_ok() {
                if self.mapped.load(Relaxed) {
                    ring.core.set_waiters(true);
                }
                if enough {
                    self.work.queue_housekeeping();
                }
                return;
            }
            ring.core.set_waiters(true);
        }
    }

    /// Wakes the waiters of this CPU and of any CPU, if there are some. Any context; no raw lock is
    /// held.
    pub(super) fn wake_waiters(&self) {
        if self.wanted.xchg(0, ordering::Full) != 0 {
            self.work.queue_housekeeping();
        }
    }
}

/// Is at least `percent` of the ring's sub-buffers in use? As ftrace counts, the one being written
/// included; but not while that is the one that the reader has.
pub(super) fn filled(ring: &Ring, percent: u32) -> bool {
    let ring_buffer::Stats {
        dirty_sub_buffers, ..
    } = ring.core.stats();
    dirty_sub_buffers != 0
        && dirty_sub_buffers * 100 >= u64::from(percent) * u64::from(ring.core.nr_slots())
}
