// SPDX-License-Identifier: GPL-2.0

//! The current task's memory, where it may be faulted in. Task context, sleeps.
//!
//! C header: `include/linux/uaccess.h`.

use kernel::bindings;
#[cfg(CONFIG_UPROBE_EVENTS)]
use kernel::ffi::c_long;
use kernel::prelude::*;
use kernel::uaccess::{UserPtr, UserSlice};

/// Reads memory to `to`; false if some of it is not there.
#[cfg(CONFIG_UPROBE_EVENTS)]
pub(crate) fn read(to: &mut [u8], address: usize) -> bool {
    let from = UserSlice::new(UserPtr::from_addr(address), to.len());
    from.reader().read_slice(to).is_ok()
}

/// Bytes of the text at `address`, its end included; 0 if it is not there, or longer than `most`.
#[cfg(CONFIG_UPROBE_EVENTS)]
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
#[cfg(CONFIG_UPROBE_EVENTS)]
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

/// A structure of the program's at `address`, which begins with its size in 4 bytes. That is `least`
/// bytes or more; what `N` bytes lack is zero, and what is behind them must be.
///
/// # Errors
///
/// `EINVAL` for one that is too short, `E2BIG` for one that is longer than a page, or has more than is
/// known; `EFAULT`.
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) fn sized<const N: usize>(address: usize, least: usize) -> Result<[u8; N]> {
    let reader = |length| UserSlice::new(UserPtr::from_addr(address), length).reader();
    let size = reader(size_of::<u32>()).read::<u32>()? as usize;
    if size > bindings::PAGE_SIZE {
        return Err(E2BIG);
    }
    if size < least {
        return Err(EINVAL);
    }
    let mut known = [0; N];
    let mut all = reader(size);
    all.read_slice(known.get_mut(..size.min(N)).ok_or(EINVAL)?)?;
    while !all.is_empty() {
        if all.read::<u8>()? != 0 {
            return Err(E2BIG);
        }
    }
    Ok(known)
}

/// The text at `address`, which has at most `MOST` bytes with its end.
///
/// # Errors
///
/// `EINVAL` for a longer one, `EFAULT`, `ENOMEM`.
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) fn whole_text<const MOST: usize>(address: usize) -> Result<KVec<u8>> {
    let mut room = KVec::from_elem(0, MOST.saturating_add(1), GFP_KERNEL)?;
    let from = UserSlice::new(UserPtr::from_addr(address), room.len());
    let length = from.reader().strcpy_into_buf(&mut room)?.to_bytes().len();
    if length >= MOST {
        return Err(EINVAL);
    }
    room.truncate(length);
    Ok(room)
}

/// Writes `bytes` to `address`. `EFAULT`.
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) fn write(address: usize, bytes: &[u8]) -> Result {
    let to = UserSlice::new(UserPtr::from_addr(address), bytes.len());
    to.writer().write_slice(bytes)
}

/// Whether a program can have `size` bytes at `address` at all. Any context.
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) fn is_user_memory(address: usize, size: usize) -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::rtrace_is_user_memory(address, size) }
}
