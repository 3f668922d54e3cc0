// SPDX-License-Identifier: GPL-2.0

//! Wakes those who poll `hist` files.
//!
//! A poller sets a mark and then looks at the number of hits. A hit is counted before it looks for
//! the mark. The count is a locked instruction, so one of the two sees what the other has done. A
//! hit that finds the mark wakes all pollers by irq_work, and each of them looks again.

use crate::kernel::fs::pseudo_fs::PollCall;
use crate::kernel::irq_work::{IrqWork, Run};
use crate::kernel::relaxed;
use crate::kernel::wait_queue::WaitQueue;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::barrier::smp_mb;
use kernel::sync::{Arc, SetOnce};

/// Whether anyone polls.
static MARK: Atomic<bool> = Atomic::new(false);

static WAKER: SetOnce<Pin<KBox<IrqWork<Waker>>>> = SetOnce::new();
static QUEUE: SetOnce<Arc<WaitQueue>> = SetOnce::new();

struct Waker(Arc<WaitQueue>);

impl Run for Waker {
    fn run(&self) {
        MARK.store(false, Relaxed);
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

/// Adds a poller, which looks at the number of hits afterwards. Task context.
pub(crate) fn wait<'f>(call: &PollCall<'f>) {
    if let Some(queue) = QUEUE.as_ref() {
        call.wait_on(queue);
        MARK.store(true, Relaxed);
        smp_mb(ordering::Full);
    }
}

/// Wakes the pollers, after a hit was counted, or when an event goes. Any context.
#[inline(always)]
pub(crate) fn notify() {
    if relaxed::load(&MARK) {
        wake();
    }
}

#[cold]
#[inline(never)]
fn wake() {
    if let Some(waker) = WAKER.as_ref() {
        waker.queue();
    }
}
