// SPDX-License-Identifier: GPL-2.0

//! A timer that expires on the CPU which starts it, in hard interrupt context with `PREEMPT_RT`, too.
//!
//! C header: `include/linux/hrtimer.h`.

use core::marker::PhantomPinned;
use kernel::prelude::*;
use kernel::types::Opaque;
use kernel::{bindings, container_of};

/// What a [`PinnedTimer`] calls when it expires: in hard interrupt context.
pub(crate) trait Expire: Send + Sync {
    /// The work. Must not sleep.
    fn expired(&self);
}

/// A timer around its data.
///
/// # Invariants
///
/// `timer` is initialised with `call::<T>` and lies in a `PinnedTimer<T>`.
#[pin_data(PinnedDrop)]
pub(crate) struct PinnedTimer<T: Expire> {
    #[pin]
    timer: Opaque<bindings::hrtimer>,
    data: T,
    #[pin]
    _pin: PhantomPinned,
}

// SAFETY: the C side has its own synchronisation; `T` may be sent anywhere (`Expire`).
unsafe impl<T: Expire> Send for PinnedTimer<T> {}
// SAFETY: any CPU may start and cancel it by a shared reference, and `T` may be used from all
// (`Expire`).
unsafe impl<T: Expire> Sync for PinnedTimer<T> {}

impl<T: Expire> PinnedTimer<T> {
    const MODE: bindings::hrtimer_mode = bindings::hrtimer_mode_HRTIMER_MODE_ABS_PINNED_HARD;

    /// A timer that is not started.
    pub(crate) fn new(data: T) -> impl PinInit<Self> {
        pin_init!(Self {
            // INVARIANT: it is initialised here with `call::<T>`.
            timer <- Opaque::ffi_init(|slot| {
                // SAFETY: `slot` is the place of the timer.
                unsafe {
                    bindings::hrtimer_setup(
                        slot,
                        Some(call::<T>),
                        bindings::CLOCK_MONOTONIC as bindings::clockid_t,
                        Self::MODE,
                    )
                }
            }),
            data,
            _pin: PhantomPinned,
        })
    }

    /// Has it expire at `time`, by [`clock::timers`](super::clock::timers), once; instead of any earlier start. Any context but NMI.
    pub(crate) fn start(&self, time: u64) {
        // SAFETY: the timer is initialised, pinned, and `drop` waits for it.
        unsafe {
            bindings::hrtimer_start_range_ns(
                self.timer.get(),
                time as bindings::ktime_t,
                0,
                Self::MODE,
            )
        };
    }

    /// The data.
    pub(crate) fn data(&self) -> &T {
        &self.data
    }
}

/// The address of what calls [`Expire::expired`] of a `T`, to find its frame on the stack.
pub(crate) fn caller_of<T: Expire>() -> usize {
    call::<T> as unsafe extern "C" fn(*mut bindings::hrtimer) -> bindings::hrtimer_restart as usize
}

/// # Safety
///
/// `timer` is the field of a live `PinnedTimer<T>`.
unsafe extern "C" fn call<T: Expire>(timer: *mut bindings::hrtimer) -> bindings::hrtimer_restart {
    // SAFETY: `timer` is the field of a live `PinnedTimer<T>`.
    let this = unsafe { &*container_of!(Opaque::cast_from(timer), PinnedTimer<T>, timer) };
    this.data.expired();
    bindings::hrtimer_restart::HRTIMER_NORESTART
}

#[pinned_drop]
impl<T: Expire> PinnedDrop for PinnedTimer<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: the timer is initialised; once this returns it does not run any more, and nobody
        // is left to start it. Owners go in task context, where waiting is allowed.
        unsafe { bindings::hrtimer_cancel(self.timer.get()) };
    }
}
