// SPDX-License-Identifier: GPL-2.0

//! Wakes those who poll `hist` files.
//!
//! A table has a mark and a number. A poller takes the number and then sets the mark. A hit that
//! finds the mark takes it away, adds one to the number and wakes all pollers by irq_work, and each of
//! them looks again. Where there is no mark, the number has grown since anybody set it, so no poller
//! has it yet. A hit is counted before it looks for the mark, by a locked instruction (x86), so who
//! sets the mark and then does not find the hit in the table is told of it.

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
    /// A number that is this table's alone, another one after it was emptied, in the upper half. The
    /// changes since in the lower one.
    count: Atomic<u64>,
}

/// The upper half that was given to a table last.
static LAST: Atomic<u32> = Atomic::new(0);

/// No changes, of a new or emptied table.
fn none() -> u64 {
    u64::from(LAST.fetch_add(1, Relaxed)) << 32
}

impl Changes {
    /// Those of an empty table.
    pub(super) fn new() -> Self {
        Self {
            mark: Atomic::new(true),
            count: Atomic::new(none()),
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
        self.count.store(none(), Relaxed);
        self.mark.store(true, Relaxed);
    }

    /// What tells of the hits until now: 0 where there was none, and another number after the next one.
    /// Task context.
    pub(super) fn look(&self) -> u64 {
        let count = self.count.load(Relaxed);
        // Not before the load: the change of a hit in between would be taken for one that is known.
        smp_mb(ordering::Full);
        self.mark.store(true, Relaxed);
        smp_mb(ordering::Full);
        match count {
            count if count as u32 == 0 => 0,
            count => count,
        }
    }
}
