// SPDX-License-Identifier: GPL-2.0

//! What is dropped later, by a kernel thread, without anybody waiting for it.
//!
//! C header: `include/linux/rcupdate.h`.

use super::queues;
use kernel::bindings::{self, callback_head};
use kernel::container_of;
use kernel::prelude::*;
use kernel::types::Opaque;
use kernel::workqueue::{self, new_work, Work, WorkItem};

/// Something that waits to be dropped.
#[pin_data]
struct Later<T> {
    #[pin]
    head: Opaque<callback_head>,
    _what: T,
    #[pin]
    work: Work<Self>,
}

// SAFETY: RCU alone uses the head, and the thread that drops the value may be another one.
unsafe impl<T: Send> Send for Later<T> {}

workqueue::impl_has_work! {
    impl{T: Send + 'static} HasWork<Self> for Later<T> { self.work }
}

impl<T: Send + 'static> WorkItem for Later<T> {
    type Pointer = Pin<KBox<Self>>;

    fn run(_this: Pin<KBox<Self>>) {
        // SAFETY: a worker may sleep. For code that RCU does not watch, as in `wait_for_readers`.
        #[cfg(CONFIG_TASKS_RUDE_RCU)]
        unsafe {
            bindings::synchronize_rcu_tasks_rude();
        }
    }
}

/// Drops `what` once all that runs now with interrupts or preemption off has ended. Task context, may
/// sleep; it does not wait.
///
/// # Errors
///
/// `what` itself, without memory.
pub(crate) fn after_readers<T: Send + 'static>(what: T) -> Result<(), T> {
    let Ok(room) = KBox::<Later<T>>::new_uninit(GFP_KERNEL) else {
        return Err(what);
    };
    let Ok(later) = room.write_pin_init(pin_init!(Later {
        head: Opaque::zeroed(),
        _what: what,
        work <- new_work!("rtrace::after_readers"),
    }));
    // SAFETY: it is not moved from here on: `readers_are_out` pins it again.
    let later = KBox::into_raw(unsafe { Pin::into_inner_unchecked(later) });
    // SAFETY: the value stays until `readers_are_out` has it, and nobody else uses its head.
    unsafe { bindings::call_rcu((&raw mut (*later).head).cast(), Some(readers_are_out::<T>)) };
    Ok(())
}

/// Has a kernel thread drop it: memory that may sleep when it is given back does not go in a softirq.
///
/// # Safety
///
/// `head` is that of a `Later<T>` that `after_readers` gave away.
unsafe extern "C" fn readers_are_out<T: Send + 'static>(head: *mut callback_head) {
    // SAFETY: the head of a `Later<T>` that came from a pinned box, which nobody else has.
    let later = unsafe {
        let later: *mut Later<T> =
            container_of!(head.cast::<Opaque<callback_head>>(), Later<T>, head);
        Pin::new_unchecked(KBox::from_raw(later))
    };
    queues::any_cpu().enqueue(later);
}
