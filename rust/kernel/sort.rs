// SPDX-License-Identifier: GPL-2.0

//! Sorting in place without recursion: `sort_r()` of `lib/sort.c`, a heapsort.
//!
//! The sorts of `core` keep kilobytes of elements on the stack, once for each level of their
//! recursion; a kernel stack has no room for that.

use core::cmp::Ordering;
use core::ffi::{c_int, c_void};
use kernel::bindings;

/// Sorts `slice` by `order`, equal elements in any order. O(*n* log *n*). Task context; does not
/// sleep.
pub(crate) fn sort_by<T: Copy, F: Fn(&T, &T) -> Ordering>(slice: &mut [T], order: F) {
    // SAFETY: the slice is ours alone, `compare::<T, F>` is given elements of it and `order`, which
    // both outlive the call, and any order of `Copy` elements is a valid one.
    unsafe {
        bindings::sort_r(
            slice.as_mut_ptr().cast(),
            slice.len(),
            size_of::<T>(),
            Some(compare::<T, F>),
            None,
            core::ptr::from_ref(&order).cast(),
        )
    }
}

/// # Safety
///
/// `a` and `b` point to a `T` each, and `order` to an `F`.
unsafe extern "C" fn compare<T, F: Fn(&T, &T) -> Ordering>(
    a: *const c_void,
    b: *const c_void,
    order: *const c_void,
) -> c_int {
    // SAFETY: `a` and `b` point to a `T` each, and `order` to an `F`.
    let (a, b, order) = unsafe { (&*a.cast::<T>(), &*b.cast::<T>(), &*order.cast::<F>()) };
    order(a, b) as c_int
}
