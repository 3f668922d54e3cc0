// SPDX-License-Identifier: GPL-2.0

//! `include/linux/tracefs.h`: tracefs for C.
//!
//! Functions named `rtrace_*` are behind those of `tracefs.c`, which can be traced. Of the
//! `eventfs_*` there is what makes an event's directory; no other file of the kernel on x86 has
//! events of its own to show.

use crate::kernel::fs::tracefs;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::kernel::fs::tracefs::eventfs;
use crate::kernel::interop::errno;
use crate::trace::files;
use core::ptr;
use kernel::{bindings, prelude::*, str::CStr};

/// What C callers are given: null says that it failed, not why.
fn or_null(made: Result<*mut bindings::dentry>) -> *mut bindings::dentry {
    made.unwrap_or(ptr::null_mut())
}

/// Creates a file; see `tracefs.h`. Task context, may sleep.
///
/// # Safety
///
/// `name` is a string, `parent` null (the root) or a directory of tracefs; `fops` is null or
/// operations that can deal with `data` as the inode's `i_private` and that stay until the file is
/// removed and closed.
#[export]
pub(crate) unsafe extern "C" fn rtrace_make_file(
    name: *const c_char,
    mode: bindings::umode_t,
    parent: *mut bindings::dentry,
    data: *mut c_void,
    fops: *const bindings::file_operations,
) -> *mut bindings::dentry {
    // SAFETY: `name` is NUL-terminated, `parent` null or a directory made here; `data` and `fops`
    // are good for each other and outlive the file.
    or_null(unsafe { tracefs::create_c_file(CStr::from_char_ptr(name), mode, parent, data, fops) })
}

/// Creates a directory; see `tracefs.h`. Task context, may sleep.
///
/// # Safety
///
/// `name` is a string, `parent` null (the root) or a directory of tracefs.
#[export]
pub(crate) unsafe extern "C" fn rtrace_make_dir(
    name: *const c_char,
    parent: *mut bindings::dentry,
) -> *mut bindings::dentry {
    // SAFETY: `name` is NUL-terminated, and `parent` null or a directory made here.
    or_null(unsafe { tracefs::create_c_dir(CStr::from_char_ptr(name), parent) })
}

/// Creates the one directory where users may `mkdir` and `rmdir`; see `tracefs.h`. Task context,
/// may sleep.
///
/// # Safety
///
/// As for [`rtrace_make_dir`]; the functions stay callable and create and remove the directory
/// themselves.
#[export]
pub(crate) unsafe extern "C" fn tracefs_create_instance_dir(
    name: *const c_char,
    parent: *mut bindings::dentry,
    mkdir: Option<unsafe extern "C" fn(*const c_char) -> c_int>,
    rmdir: Option<unsafe extern "C" fn(*const c_char) -> c_int>,
) -> *mut bindings::dentry {
    let (Some(mkdir), Some(rmdir)) = (mkdir, rmdir) else {
        return ptr::null_mut();
    };
    // SAFETY: `name` is NUL-terminated, `parent` null or a directory made here; the functions stay
    // callable.
    or_null(unsafe {
        tracefs::create_instance_dir(CStr::from_char_ptr(name), parent, mkdir, rmdir)
    })
}

/// Removes a file, or a directory with all that is in it; null and error pointers are ignored. Task
/// context, may sleep.
///
/// # Safety
///
/// `dentry` is null, an error pointer or the result of a function above, not removed yet.
#[export]
pub(crate) unsafe extern "C" fn rtrace_remove_entry(dentry: *mut bindings::dentry) {
    if let Ok(dentry) = kernel::error::from_err_ptr(dentry) {
        if !dentry.is_null() {
            // SAFETY: `dentry` was made here and not removed yet.
            unsafe { tracefs::remove(dentry) };
        }
    }
}

/// Creates the directory that `parent` stands for; see `eventfs.rs`. Task context, may sleep.
///
/// # Safety
///
/// `parent` comes from `eventfs::create_dir`, which waits for this call.
#[cfg(CONFIG_EVENT_TRACING)]
#[export]
pub(crate) unsafe extern "C" fn rtrace_make_event_dir(
    parent: *mut bindings::eventfs_inode,
) -> *mut bindings::eventfs_inode {
    // SAFETY: `eventfs::create_dir` is waiting for this call and has passed `parent`.
    match unsafe { eventfs::run(parent) } {
        Ok(()) => parent,
        Err(error) => error.to_ptr(),
    }
}

/// Whether tracefs is registered. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracefs_initialized() -> bool {
    tracefs::is_initialized()
}

/// The initcall that registers tracefs; `boot.c` places it.
#[no_mangle]
pub(crate) extern "C" fn rtrace_tracefs_init() -> c_int {
    errno(tracefs::init())
}

/// The initcall that creates the files, once the top instance is there; `boot.c` places it.
#[no_mangle]
pub(crate) extern "C" fn rtrace_files_init() -> c_int {
    errno(files::init())
}

crate::abi::same_in_c! {
    fn tracefs_initialized() -> _;
}
