// SPDX-License-Identifier: GPL-2.0

//! A static for one user at a time. A second user gets nothing and does not wait.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};

/// A value for one user at a time. Any context, NMI included; nobody waits for it.
///
/// # Invariants
///
/// `value` is touched only by the holder of the one [`TryGuard`], which exists while `taken` is
/// true.
pub(crate) struct TryLock<T> {
    taken: Atomic<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: by the invariant one context at a time touches the value, which may be sent between them.
unsafe impl<T: Send> Sync for TryLock<T> {}

impl<T> TryLock<T> {
    /// A free cell.
    pub(crate) const fn new(value: T) -> Self {
        // INVARIANT: nobody has a guard yet.
        Self {
            taken: Atomic::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, unless another user has it. Any context.
    pub(crate) fn try_take(&self) -> Option<TryGuard<'_, T>> {
        // INVARIANT: only the caller that turns `taken` to true gets a guard. The acquire pairs
        // with the release in `TryGuard::drop`. A guard is made only where the cell was taken:
        // dropping one frees the cell.
        (!self.taken.load(Relaxed) && !self.taken.xchg(true, Acquire))
            .then(|| TryGuard(self, PhantomData))
    }
}

/// The right to the value of a [`TryLock`]; dropping it gives the cell back.
///
/// It is shared between CPUs and sent to them as `&mut T` is: no type that must stay where it is, or
/// that one CPU at a time may look at, gets elsewhere by its guard.
#[must_use = "the cell is given back when the guard is dropped"]
pub(crate) struct TryGuard<'a, T>(&'a TryLock<T>, PhantomData<&'a mut T>);

impl<T> Deref for TryGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: by the cell's invariant nobody else touches the value while this guard exists.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for TryGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: by the cell's invariant nobody else touches the value while this guard exists,
        // which is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for TryGuard<'_, T> {
    fn drop(&mut self) {
        // Pairs with the acquire in `TryLock::try_take`.
        self.0.taken.store(false, Release);
    }
}
