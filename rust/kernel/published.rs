// SPDX-License-Identifier: GPL-2.0

//! A shared object in a static, which any context may look at while its owner puts another in its place.
//!
//! C header: `include/linux/rcupdate.h`.

use super::context::PreemptOff;
use super::relaxed;
use core::ptr;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::sync::{rcu, Arc};

/// At most one `T`, counted, to be looked at from any context.
///
/// # Invariants
///
/// The pointer is null or came from `Arc::into_raw`, whose count is given up only after a grace period in which
/// it was no longer here.
pub(crate) struct Published<T>(Atomic<*mut T>);

// SAFETY: it hands out `&T` and `Arc<T>` to any context and CPU.
unsafe impl<T: Send + Sync> Sync for Published<T> {}

impl<T> Published<T> {
    /// Nothing yet.
    pub(crate) const fn new() -> Self {
        // INVARIANT: null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// Is nothing there? Any context, by one load.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        relaxed::load(&self.0).is_null()
    }

    /// What is there now. Any context, by one load.
    ///
    /// # Safety
    ///
    /// As long as the result is used, interrupts or preemption are off on this CPU, and RCU waits for it: it watches, and the
    /// CPU is neither going nor coming.
    #[inline(always)]
    pub(crate) unsafe fn get<'a>(&self) -> Option<&'a T> {
        // Pairs with the exchange in `replace`.
        let now = self.0.load(ordering::Acquire);
        // SAFETY: by the type invariant null or a live `T`, that goes only after a grace period, which waits for the
        // caller.
        unsafe { now.as_ref() }
    }

    /// Runs `f` on what is there now, with preemption off. Any context, NMI included; `f` must not sleep.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(Option<&T>) -> R) -> R {
        let _stay = PreemptOff::new();
        let now = self.0.load(ordering::Acquire);
        // SAFETY: by the type invariant null or a live `T`, that goes only after a grace period, which preemption off
        // holds up.
        f(unsafe { now.as_ref() })
    }

    /// Puts `new` there and gives what was there before, which no context looks at any more. Task context, sleeps.
    pub(crate) fn replace(&self, new: Option<Arc<T>>) -> Option<Arc<T>> {
        let new = new.map_or(ptr::null_mut(), |new| Arc::into_raw(new).cast_mut());
        // INVARIANT: null or from `into_raw`.
        let old = self.0.xchg(new, ordering::Full);
        if old.is_null() {
            return None;
        }
        rcu::synchronize_rcu();
        // SAFETY: by the type invariant, and nobody can have found it here since the grace period.
        Some(unsafe { Arc::from_raw(old) })
    }
}
