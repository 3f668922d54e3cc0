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
#[inline]
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

/// Is this an address of the current task's memory, on a machine where that can be told?
#[cfg(CONFIG_DYNAMIC_EVENTS)]
#[inline(always)]
pub(crate) fn is_user(address: usize) -> bool {
    cfg!(CONFIG_ARCH_HAS_NON_OVERLAPPING_ADDRESS_SPACE) && address as isize >= 0
}

/// Reads memory to `to`; false if some of it cannot be read without a fault. As [`text`].
#[cfg(CONFIG_DYNAMIC_EVENTS)]
#[inline]
pub(crate) fn read(to: &mut [u8], address: usize, user: bool) -> bool {
    let place = to.as_mut_ptr().cast();
    // SAFETY: the place has that much room, and both functions take any address.
    let result = unsafe {
        match user {
            false => bindings::copy_from_kernel_nofault(place, address as *const c_void, to.len()),
            true => bindings::copy_from_user_nofault(place, address as *const c_void, to.len()),
        }
    };
    result == 0
}

/// Bytes of the text at `address`, its end included, but not more than `most`; 0 if it cannot be
/// read. As in C, of the task's memory there may be one more: the kernel tells so that a text is longer,
/// and its word of memory may have a few more. As [`text`].
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) fn text_length(address: usize, user: bool, most: usize) -> usize {
    if user {
        let most = c_long::try_from(most).unwrap_or(c_long::MAX);
        // SAFETY: takes any address.
        let length = unsafe { bindings::strnlen_user_nofault(address as *const c_void, most) };
        return usize::try_from(length).unwrap_or(0);
    }
    let mut piece = [0_u8; 64];
    let mut length = 0_usize;
    while length < most {
        // What is behind `most` need not be there.
        let size = piece.len().min(most.wrapping_sub(length));
        let room = piece.get_mut(..size).unwrap_or(&mut []);
        let Some(copied) = text(room, address.wrapping_add(length), false) else {
            return 0;
        };
        let copied = copied.len();
        length = length.wrapping_add(copied);
        // A whole piece ends with a NUL that was put there.
        if copied.wrapping_add(1) < size {
            return length.wrapping_add(1);
        }
        if size < piece.len() {
            break;
        }
    }
    most
}
