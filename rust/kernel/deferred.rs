// SPDX-License-Identifier: GPL-2.0

//! A function that is called later, by a kernel thread. Many requests may become one call.

use crate::kernel::queues;
use kernel::prelude::*;
use kernel::sync::Arc;
use kernel::workqueue::{self, new_work, Work, WorkItem};

/// The function.
#[pin_data]
pub(crate) struct Deferred {
    function: fn(),
    #[pin]
    work: Work<Self>,
}

workqueue::impl_has_work! {
    impl HasWork<Self> for Deferred { self.work }
}

impl WorkItem for Deferred {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        (this.function)();
    }
}

impl Deferred {
    /// One that is not to be called yet. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(function: fn()) -> Result<Arc<Self>> {
        let new = pin_init!(Self {
            function,
            work <- new_work!("rtrace::deferred"),
        });
        Ok(Arc::pin_init(new, GFP_KERNEL)?)
    }

    /// Has it called: a call begins after this. Any context but NMI.
    pub(crate) fn request(this: &Arc<Self>) {
        // It is queued already if this fails, and has not begun.
        let _ = queues::per_cpu().enqueue(this.clone());
    }
}
