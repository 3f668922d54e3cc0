// SPDX-License-Identifier: GPL-2.0

//! Addresses as `%p` prints them: one address has one number, which does not tell where it is, unless
//! the kernel was booted with `no_hash_pointers`.
//!
//! C header: `include/linux/sprintf.h`.

use crate::core::format::printf::hexadecimal;
use core::fmt;
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::SetOnce;

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

/// `address` as C prints it.
fn by_c(address: usize) -> [u8; ROOM] {
    let mut text = [0; ROOM];
    let pointer: *const c_void = core::ptr::without_provenance(address);
    // SAFETY: there is room for `ROOM` bytes; the pointer is printed, not followed.
    unsafe { bindings::snprintf(text.as_mut_ptr().cast(), ROOM, c"%p".as_char_ptr(), pointer) };
    text
}

impl fmt::Display for HashedPointer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = by_c(self.0 as usize);
        let text = CStr::from_bytes_until_nul(&text).map_err(|_| fmt::Error)?;
        to.write_str(text.to_str().map_err(|_| fmt::Error)?)
    }
}

/// What `%p` makes of `address`. `None` if only C knows: before there are hashes, and where the kernel
/// was booted with others or with none. Any context.
pub(crate) fn digits(address: usize) -> Option<[u8; 16]> {
    if address == 0 || address > usize::MAX - bindings::MAX_ERRNO as usize {
        return Some(hexadecimal(address as u64));
    }
    /// Whether C prints the hash that it gives. That does not change once there are hashes.
    static IS_SHOWN: SetOnce<bool> = SetOnce::new();
    let mut hash = 0;
    // SAFETY: the pointer is not followed, and the number is written.
    let done =
        unsafe { bindings::ptr_to_hashval(core::ptr::without_provenance(address), &mut hash) };
    if done != 0 {
        return None;
    }
    let digits = hexadecimal(hash as u64);
    let is_shown = IS_SHOWN.copy().unwrap_or_else(|| {
        let is_shown = by_c(address).starts_with(&digits);
        IS_SHOWN.populate(is_shown);
        is_shown
    });
    is_shown.then_some(digits)
}
