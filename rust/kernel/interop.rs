// SPDX-License-Identifier: GPL-2.0

//! What C code gets: results as it knows them, and tables of functions.

use kernel::ffi::c_int;
use kernel::prelude::*;

/// 0, or the errno as a negative number.
pub(crate) fn errno(result: Result) -> c_int {
    result.map_or_else(|error| error.to_errno(), |()| 0)
}

/// A table that may be a static though there are raw pointers in it. It is never written.
#[repr(transparent)]
pub(super) struct Table<T>(pub(super) T);

// SAFETY: what can be copied has nothing that changes through a shared reference, and who follows
// its pointers answers for it.
unsafe impl<T: Copy> Sync for Table<T> {}
