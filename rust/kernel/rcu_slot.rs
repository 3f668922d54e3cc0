// SPDX-License-Identifier: GPL-2.0

//! A place for a value that comes and goes while code looks at it that must not wait for anything.
//!
//! C side: `rcu_assign_pointer()`, `synchronize_rcu()` of `include/linux/rcupdate.h`.

use core::ptr;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::sync::{rcu, Arc};

/// Empty, or holds a `T`.
///
/// # Invariants
///
/// `value` is null, or came from `Arc::into_raw` and is given back a grace period after it was taken out.
pub(crate) struct RcuSlot<T> {
    value: Atomic<*mut T>,
}

// SAFETY: it hands out shared references to `T` in any context, and drops it in task context.
unsafe impl<T: Send + Sync> Sync for RcuSlot<T> {}

impl<T> RcuSlot<T> {
    /// Nothing is there.
    pub(crate) const fn empty() -> Self {
        // INVARIANT: null.
        Self { value: Atomic::new(ptr::null_mut()) }
    }

    /// What is there. Any context, by one load.
    ///
    /// # Safety
    ///
    /// As long as the result is used, interrupts or preemption are off on this CPU, and RCU watches it.
    #[inline(always)]
    pub(crate) unsafe fn get<'a>(&self) -> Option<&'a T> {
        // Pairs with the exchange in `fill`.
        let value = self.value.load(ordering::Acquire);
        // SAFETY: null or live by the type invariant, as the grace period waits for the caller.
        unsafe { value.as_ref() }
    }

    /// Puts `value` there. Task context.
    ///
    /// # Errors
    ///
    /// `EBUSY` when the place is taken.
    pub(crate) fn fill(&'static self, value: Arc<T>) -> Result<Filled<T>> {
        let value = Arc::into_raw(value).cast_mut();
        // INVARIANT: it came from `into_raw`.
        match self.value.cmpxchg(ptr::null_mut(), value, ordering::Full) {
            Ok(_) => Ok(Filled(self)),
            Err(_) => {
                // SAFETY: it came from `into_raw` just now, and nobody else has seen it.
                drop(unsafe { Arc::from_raw(value) });
                Err(EBUSY)
            }
        }
    }
}

/// A value is in its place; dropping this takes it out, waits until nobody looks at it any more, and gives it back.
/// Task context, sleeps.
pub(crate) struct Filled<T: 'static>(&'static RcuSlot<T>);

impl<T> Filled<T> {
    /// Puts `value` in the place of what is there. Task context, sleeps.
    pub(crate) fn replace(&mut self, value: Arc<T>) {
        // INVARIANT: it came from `into_raw`.
        let old = self.0.value.xchg(Arc::into_raw(value).cast_mut(), ordering::Full);
        // SAFETY: it was in the place.
        unsafe { give_back(old) };
    }
}

/// Waits until nobody looks at `value` any more, and gives it back. Task context, sleeps.
///
/// # Safety
///
/// It was taken out of a slot just now.
unsafe fn give_back<T>(value: *mut T) {
    rcu::synchronize_rcu();
    if !value.is_null() {
        // SAFETY: by the precondition and the slot's invariant from `into_raw`, and the grace period is over.
        drop(unsafe { Arc::from_raw(value) });
    }
}

impl<T> Drop for Filled<T> {
    fn drop(&mut self) {
        // INVARIANT: null again.
        let value = self.0.value.xchg(ptr::null_mut(), ordering::Full);
        // SAFETY: it was in the place.
        unsafe { give_back(value) };
    }
}
