// SPDX-License-Identifier: GPL-2.0

//! Addresses as `%p` prints them: one object has one number, which does not tell where it is.
//!
//! C header: `include/linux/string.h`.

use core::fmt;
use kernel::bindings;
use kernel::prelude::*;

/// The address of an object.
pub(crate) struct HashedPointer(*const c_void);

impl HashedPointer {
    /// That of `of`.
    pub(crate) fn new<T>(of: &T) -> Self {
        Self(core::ptr::from_ref(of).cast())
    }
}

impl fmt::Display for HashedPointer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = 0;
        // SAFETY: the number goes to `hash`; the pointer is not followed.
        match unsafe { bindings::ptr_to_hashval(self.0, &mut hash) } {
            0 => write!(to, "{hash:016x}"),
            // Early at boot, before there are random numbers.
            _ => to.write_str("(____ptrval____)"),
        }
    }
}
