// SPDX-License-Identifier: GPL-2.0

//! Addresses as `%p` prints them: one address has one number, which does not tell where it is, unless
//! the kernel was booted with `no_hash_pointers`.
//!
//! C header: `include/linux/sprintf.h`.

use core::fmt;
use kernel::bindings;
use kernel::prelude::*;

/// Bytes of `%p`, its end included.
const ROOM: usize = 24;

/// An address that is not to be known.
pub(crate) struct HashedPointer(*const c_void);

impl HashedPointer {
    /// That of `of`.
    #[cfg(CONFIG_HIST_TRIGGERS_DEBUG)]
    pub(crate) fn new<T>(of: &T) -> Self {
        Self(core::ptr::from_ref(of).cast())
    }

    /// This one.
    #[cfg(CONFIG_KPROBE_EVENTS)]
    pub(crate) fn at(address: usize) -> Self {
        Self(core::ptr::without_provenance(address))
    }
}

impl fmt::Display for HashedPointer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; ROOM];
        // SAFETY: there is room for `ROOM` bytes; the pointer is printed, not followed.
        unsafe { bindings::snprintf(text.as_mut_ptr().cast(), ROOM, c"%p".as_char_ptr(), self.0) };
        let text = CStr::from_bytes_until_nul(&text).map_err(|_| fmt::Error)?;
        to.write_str(text.to_str().map_err(|_| fmt::Error)?)
    }
}
