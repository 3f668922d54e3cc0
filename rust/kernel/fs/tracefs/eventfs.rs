// SPDX-License-Identifier: GPL-2.0

//! `eventfs_create_dir()`: where an event's directory comes into being.
//!
//! A lazy directory finds its entries in a list of its owner's ([`super::LazyDir`]), so a new one is
//! there as soon as it is in that list. The owner puts it there through a C function with a patch
//! site, which has the name as its first argument, for those who trace or probe that.
//!
//! C header: `include/linux/tracefs.h`.

use core::ptr;
use kernel::{bindings, error::from_err_ptr, prelude::*};

/// What `struct eventfs_inode`, of which C knows only the name, is here: it enters the directory in
/// its owner's list.
struct Parent<'a>(&'a mut dyn FnMut() -> Result);

/// Has `enter` make the directory called `name`, once. Task context; sleeps where `enter` does. The
/// errors of `enter`.
pub(crate) fn create_dir<T>(name: &CStr, enter: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut enter = Some(enter);
    let mut made = None;
    let mut once = || {
        made = Some(enter.take().ok_or(EINVAL)?()?);
        Ok(())
    };
    let parent: *mut Parent<'_> = &mut Parent(&mut once);
    // SAFETY: `name` ends with a NUL; `parent` stays until the call returns, and is what `run()`
    // expects. There are no entries.
    let result = unsafe {
        bindings::eventfs_create_dir(
            name.as_char_ptr(),
            parent.cast(),
            ptr::null(),
            0,
            ptr::null_mut(),
        )
    };
    from_err_ptr(result)?;
    made.ok_or(EINVAL)
}

/// Does what `parent` stands for: the inner end of [`create_dir`].
///
/// # Safety
///
/// `parent` comes from [`create_dir`], which waits for this call, as its only one.
pub(crate) unsafe fn run(parent: *mut bindings::eventfs_inode) -> Result {
    // SAFETY: `create_dir` has made it from a `Parent`, and does nothing with that meanwhile.
    let parent = unsafe { &mut *parent.cast::<Parent<'_>>() };
    (parent.0)()
}
