// SPDX-License-Identifier: GPL-2.0

//! Wait queues: tasks that sleep until a condition holds, woken from any context but NMI.
//!
//! C header: `include/linux/wait.h`.

use core::pin::Pin;
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::{rcu, LockClassKey};
use kernel::types::Opaque;

/// A queue of sleeping tasks, and of pollers.
#[pin_data(PinnedDrop)]
pub(crate) struct WaitQueue {
    #[pin]
    head: Opaque<bindings::wait_queue_head>,
}

// SAFETY: the queue has a lock of its own; it may be used and dropped anywhere.
unsafe impl Send for WaitQueue {}
// SAFETY: the queue has a lock of its own, which all that shared references do takes.
unsafe impl Sync for WaitQueue {}

impl WaitQueue {
    /// An empty queue of the given lock class.
    pub(crate) fn new(name: &'static CStr, key: Pin<&'static LockClassKey>) -> impl PinInit<Self> {
        pin_init!(Self {
            // SAFETY: `slot` is the queue's place, which stays where it is; name and key live
            // forever.
            head <- Opaque::ffi_init(|slot| unsafe {
                bindings::__init_waitqueue_head(slot, name.as_char_ptr(), key.as_ptr())
            }),
        })
    }

    /// Sleeps until `ready` says true, looking again after each [`wake_all`](Self::wake_all) and at
    /// least once every `ticks` jiffies. Task context. `ready` must not sleep: the task is marked as
    /// asleep already.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` when a signal comes first.
    pub(crate) fn wait(&self, ticks: isize, mut ready: impl FnMut() -> bool) -> Result {
        let entry = Opaque::<bindings::wait_queue_entry>::uninit();
        // SAFETY: `entry` is a live local; it leaves the queue (`finish_wait`) before it goes.
        unsafe { bindings::init_wait_entry(entry.get(), 0) };
        let result = loop {
            // SAFETY: the queue is initialised, `entry` too.
            let signal = unsafe {
                bindings::prepare_to_wait_event(
                    self.head.get(),
                    entry.get(),
                    bindings::TASK_INTERRUPTIBLE as c_int,
                )
            };
            if ready() {
                break Ok(());
            }
            if signal != 0 {
                break Err(ERESTARTSYS);
            }
            // SAFETY: this is task context, where one may sleep.
            unsafe { bindings::schedule_timeout(ticks) };
        };
        // SAFETY: the queue is initialised, and `entry` is live; this takes it off the queue.
        unsafe { bindings::finish_wait(self.head.get(), entry.get()) };
        result
    }

    /// Wakes everybody who waits or polls. Any context but NMI, no scheduler lock held.
    pub(crate) fn wake_all(&self) {
        // SAFETY: the queue is initialised.
        unsafe {
            bindings::__wake_up(
                self.head.get(),
                bindings::TASK_NORMAL,
                0,
                core::ptr::null_mut(),
            )
        };
    }

    /// The C queue, for `poll_wait()`: it lives as long as `self`, and pollers that are still in it
    /// then are taken out.
    pub(super) fn as_ptr(&self) -> *mut bindings::wait_queue_head {
        self.head.get()
    }
}

#[pinned_drop]
impl PinnedDrop for WaitQueue {
    fn drop(self: Pin<&mut Self>) {
        let head = self.head.get();
        // SAFETY: the queue is initialised. Nobody sleeps there, as sleepers refer to it; but who
        // polls a file may be in it.
        let had_pollers = unsafe { bindings::rtrace_wake_up_pollfree(head) };
        // Such a one looks at the queue once more under RCU. Queues go in task context, where
        // waiting is allowed. A buffer has a queue for each CPU, so without pollers it does not wait.
        if had_pollers {
            rcu::synchronize_rcu();
        }
    }
}
