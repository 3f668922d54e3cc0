// SPDX-License-Identifier: GPL-2.0

//! The current task's memory, where it may be faulted in. Task context, sleeps.
//!
//! C header: `include/linux/uaccess.h`.

use kernel::bindings;
use kernel::ffi::c_long;
use kernel::prelude::*;
use kernel::uaccess::{UserPtr, UserSlice};

/// Reads memory to `to`; false if some of it is not there.
pub(crate) fn read(to: &mut [u8], address: usize) -> bool {
    let from = UserSlice::new(UserPtr::from_addr(address), to.len());
    from.reader().read_slice(to).is_ok()
}

/// Bytes of the text at `address`, its end included; 0 if it is not there, or longer than `most`.
pub(crate) fn text_length(address: usize, most: usize) -> usize {
    let limit = c_long::try_from(most).unwrap_or(c_long::MAX);
    // SAFETY: takes any address.
    let length = unsafe { bindings::strnlen_user(address as *const c_char, limit) };
    let length = usize::try_from(length).unwrap_or(0);
    if length > most {
        0
    } else {
        length
    }
}

/// Copies the text at `address` as far as there is room, and ends it; how many bytes that was with
/// its end, 0 if it is not there.
pub(crate) fn text(to: &mut [u8], address: usize) -> usize {
    let room = c_long::try_from(to.len()).unwrap_or(0);
    // SAFETY: there is that much room, and the function takes any address.
    let copied =
        unsafe { bindings::strncpy_from_user(to.as_mut_ptr(), address as *const c_char, room) };
    match usize::try_from(copied) {
        Err(_) => 0,
        Ok(copied) if copied < to.len() => copied.wrapping_add(1),
        Ok(_) => {
            if let Some(last) = to.last_mut() {
                *last = 0;
            }
            to.len()
        }
    }
}
