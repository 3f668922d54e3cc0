// SPDX-License-Identifier: GPL-2.0

//! Wakes those who poll `hist` files.
//!
//! A table has a mark, and a number of changes that pollers have known. A poller sets the mark and
//! then looks at the number. A hit that finds the mark takes it away, adds one to the number and
//! wakes all pollers by irq_work, and each of them looks again. A hit that finds no mark was behind
//! one that took it away, and before the poller has looked: that number tells of both. A hit is
//! counted before it looks for the mark, by a locked instruction, so a reader who sets the mark and
//! does not see the hit in the table is told of it.

use crate::kernel::fs::pseudo_fs::PollCall;
use crate::kernel::irq_work::{IrqWork, Run};
use crate::kernel::relaxed;
use crate::kernel::wait_queue::WaitQueue;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::barrier::smp_mb;
use kernel::sync::{Arc, SetOnce};

static WAKER: SetOnce<Pin<KBox<IrqWork<Waker>>>> = SetOnce::new();
static QUEUE: SetOnce<Arc<WaitQueue>> = SetOnce::new();

struct Waker(Arc<WaitQueue>);

impl Run for Waker {
    fn run(&self) {
        self.0.wake_all();
    }
}

/// Makes the queue if there is none. Task context, may sleep; the event mutex is held. `ENOMEM`.
pub(crate) fn prepare() -> Result {
    if WAKER.as_ref().is_some() {
        return Ok(());
    }
    let queue = Arc::pin_init(
        WaitQueue::new(c"hist_pollers", kernel::static_lock_class!()),
        GFP_KERNEL,
    )?;
    // All memory comes first: both have the same queue, or none is there.
    let waker = KBox::pin_init(IrqWork::new(Waker(queue.clone())), GFP_KERNEL)?;
    QUEUE.populate(queue);
    WAKER.populate(waker);
    Ok(())
}

/// Adds a poller, which [looks](Changes::look) afterwards. Task context.
pub(crate) fn wait<'f>(call: &PollCall<'f>) {
    if let Some(queue) = QUEUE.as_ref() {
        call.wait_on(queue);
    }
}

/// Wakes the pollers: a table has changed, or an event goes. Any context.
#[cold]
#[inline(never)]
pub(crate) fn wake() {
    if let Some(waker) = WAKER.as_ref() {
        waker.queue();
    }
}

/// The changes of a table, for pollers.
pub(super) struct Changes {
    /// The next hit is a change that pollers do not know yet.
    mark: Atomic<bool>,
    /// How often the table was emptied, in the upper half, and the changes since in the lower one.
    count: Atomic<u64>,
}

impl Changes {
    /// Those of an empty table.
    pub(super) const fn new() -> Self {
        Self {
            mark: Atomic::new(true),
            count: Atomic::new(0),
        }
    }

    /// After a hit was counted. Any context.
    #[inline(always)]
    pub(super) fn hit(&self) {
        if relaxed::load(&self.mark) {
            self.note();
        }
    }

    #[cold]
    #[inline(never)]
    fn note(&self) {
        self.mark.store(false, Relaxed);
        self.count.fetch_add(1, ordering::Full);
        wake();
    }

    /// The table was emptied, and no hit is under way. Task context.
    pub(super) fn emptied(&self) {
        let times = (self.count.load(Relaxed) >> 32).wrapping_add(1);
        self.count.store(times << 32, Relaxed);
        self.mark.store(true, Relaxed);
    }

    /// The changes until now, 0 where there was no hit. It is another number after the next hit. Task
    /// context.
    pub(super) fn look(&self) -> u64 {
        self.mark.store(true, Relaxed);
        smp_mb(ordering::Full);
        match self.count.load(Relaxed) {
            count if count as u32 == 0 => 0,
            count => count,
        }
    }
}
