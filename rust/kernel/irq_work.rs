// SPDX-License-Identifier: GPL-2.0

//! Work that any context, NMI included, leaves for the next moment at which interrupts are handled.
//!
//! C header: `include/linux/irq_work.h`.

use core::marker::PhantomPinned;
use kernel::prelude::*;
use kernel::types::Opaque;
use kernel::{bindings, container_of};

/// What an [`IrqWork`] runs: in hard interrupt context; with `PREEMPT_RT` in a thread of the CPU's.
/// Work that is queued again while it runs may run on two CPUs at a time.
pub(crate) trait Run: Send + Sync {
    /// The work. Must not sleep.
    fn run(&self);
}

/// A work item around its data.
///
/// # Invariants
///
/// `work` is initialised with `call::<T>` and lies in an `IrqWork<T>`.
#[pin_data(PinnedDrop)]
pub(crate) struct IrqWork<T: Run> {
    #[pin]
    work: Opaque<bindings::irq_work>,
    data: T,
    #[pin]
    _pin: PhantomPinned,
}

// SAFETY: the C side has its own synchronisation; `T` may be sent anywhere (`Run`).
unsafe impl<T: Run> Send for IrqWork<T> {}
// SAFETY: any CPU may queue the work by a shared reference, and `T` may be used from all (`Run`).
unsafe impl<T: Run> Sync for IrqWork<T> {}

impl<T: Run> IrqWork<T> {
    /// Work that will run `data`.
    pub(crate) fn new(data: T) -> impl PinInit<Self> {
        pin_init!(Self {
            // SAFETY: `slot` is the place of the work. INVARIANT: it is initialised here with
            // `call::<T>`.
            work <- Opaque::ffi_init(|slot| unsafe { bindings::init_irq_work(slot, Some(call::<T>)) }),
            data,
            _pin: PhantomPinned,
        })
    }

    /// Asks for a run; nothing happens when one is asked for already. Any context.
    pub(crate) fn queue(&self) {
        // SAFETY: the work is initialised, pinned, and `drop` waits for it.
        unsafe { bindings::irq_work_queue(self.work.get()) };
    }

    /// As [`IrqWork::queue`], but runs the work on a housekeeping CPU where this one is kept free
    /// of the kernel's noise (`nohz_full=`); an NMI cannot interrupt another CPU. Any context.
    pub(crate) fn queue_housekeeping(&self) {
        // SAFETY: the work is initialised, pinned, and `drop` waits for it on whatever CPU it is.
        unsafe { bindings::rtrace_irq_work_queue_housekeeping(self.work.get()) };
    }
}

/// # Safety
///
/// `work` is the field of a live `IrqWork<T>`.
unsafe extern "C" fn call<T: Run>(work: *mut bindings::irq_work) {
    // SAFETY: `work` is the field of a live `IrqWork<T>`.
    let this = unsafe { &*container_of!(Opaque::cast_from(work), IrqWork<T>, work) };
    this.data.run();
}

#[pinned_drop]
impl<T: Run> PinnedDrop for IrqWork<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: the work is initialised; once this returns it does not run any more, and nobody
        // is left to queue it. Owners of buffers go in task context, where waiting is allowed.
        unsafe { bindings::irq_work_sync(self.work.get()) };
    }
}
