// SPDX-License-Identifier: GPL-2.0

//! The kernel's work queues. The queues that the `kernel` crate names have been replaced by these, and
//! the first work item on an old one is a warning in the log.

use kernel::bindings;
use kernel::workqueue::Queue;

/// The queue of items that run on the CPU that enqueues them.
pub(crate) fn per_cpu() -> &'static Queue {
    // SAFETY: made before any code of this crate can be here, and never removed.
    unsafe { Queue::from_raw(bindings::system_percpu_wq) }
}

/// The queue of items that run on any CPU.
pub(crate) fn any_cpu() -> &'static Queue {
    // SAFETY: as in `per_cpu`.
    unsafe { Queue::from_raw(bindings::system_dfl_wq) }
}
