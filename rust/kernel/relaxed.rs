// SPDX-License-Identifier: GPL-2.0

//! Relaxed loads that are in line on every architecture: the `kernel` crate's atomics read through
//! C helpers, which are calls where `CONFIG_RUST_INLINE_HELPERS` is not to be had (User Mode
//! Linux).

use kernel::sync::atomic::{Atomic, AtomicType};

/// `word.load(Relaxed)`. Any context.
#[inline(always)]
pub(crate) fn load<T: AtomicType>(word: &Atomic<T>) -> T {
    // SAFETY: a live, aligned word, read as a whole; it is an atomic one, so that others may change
    // it meanwhile.
    unsafe { word.as_ptr().read_volatile() }
}
