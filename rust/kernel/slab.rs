// SPDX-License-Identifier: GPL-2.0

//! Memory for values of a size that `kmalloc()` would round up by much.
//!
//! C header: `include/linux/slab.h`.

use core::marker::PhantomData;
use core::ptr::NonNull;
use kernel::ffi::c_uint;
use kernel::prelude::*;
use kernel::{bindings, str::CStr};

/// Where `T`s are allocated.
///
/// # Invariants
///
/// It is a cache of objects as large as a `T`, and is never destroyed.
pub(crate) struct Cache<T>(NonNull<bindings::kmem_cache>, PhantomData<fn() -> T>);

// SAFETY: a cache locks itself.
unsafe impl<T> Send for Cache<T> {}
// SAFETY: a cache locks itself.
unsafe impl<T> Sync for Cache<T> {}

impl<T: Zeroable> Cache<T> {
    /// A cache by this name. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(name: &'static CStr) -> Result<Self> {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        // SAFETY: the name stays.
        let cache =
            unsafe { bindings::rtrace_make_cache(name.as_char_ptr(), size_of::<T>() as c_uint) };
        // INVARIANT: it was made for that size; nobody else knows it.
        Ok(Self(NonNull::new(cache).ok_or(ENOMEM)?, PhantomData))
    }

    /// A value of zeros. With `waits`, in task context, and may sleep; else in any context but an NMI,
    /// and failures are not reported. `ENOMEM`.
    pub(crate) fn zeroed(&self, waits: bool) -> Result<KBox<T>> {
        let flags = match waits {
            true => bindings::GFP_KERNEL,
            false => bindings::GFP_ATOMIC | bindings::__GFP_NOWARN,
        };
        // SAFETY: by the invariant the cache stays.
        let value = unsafe {
            bindings::kmem_cache_alloc_noprof(self.0.as_ptr(), flags | bindings::__GFP_ZERO)
        };
        if value.is_null() {
            return Err(ENOMEM);
        }
        // SAFETY: it is as large and aligned as a `T`, for which zeros are valid; a `KBox` ends by
        // `kfree()`, which takes the objects of all caches.
        Ok(unsafe { KBox::from_raw(value.cast()) })
    }
}
