// SPDX-License-Identifier: GPL-2.0

//! Reading strings at addresses that may be invalid.
//!
//! C header: `include/linux/uaccess.h`.

use kernel::bindings;
use kernel::ffi::c_long;
use kernel::prelude::*;

/// Copies the text at `address` to `to`, as far as it fits, and gives what was copied, without NUL.
/// `user` says that it is the current task's memory. `None` if it cannot be read without a fault.
/// Any context.
pub(crate) fn text(to: &mut [u8], address: usize, user: bool) -> Option<&[u8]> {
    let room = c_long::try_from(to.len()).ok()?;
    let place = to.as_mut_ptr();
    // SAFETY: the place has that much room, and both functions take any address.
    let copied = unsafe {
        match user {
            false => {
                bindings::strncpy_from_kernel_nofault(place.cast(), address as *const c_void, room)
            }
            true => {
                bindings::strncpy_from_user_nofault(place.cast(), address as *const c_void, room)
            }
        }
    };
    let copied = to.get(..usize::try_from(copied).ok()?)?;
    Some(copied.strip_suffix(b"\0").unwrap_or(copied))
}
