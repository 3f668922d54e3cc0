// SPDX-License-Identifier: GPL-2.0

//! Console output without the prefix that `pr_*!` puts before each line. Any context, NMI included.
//!
//! C header: [`include/linux/printk.h`](srctree/include/linux/printk.h)

use kernel::{bindings, ffi::c_int};

/// Prints `text` at level `KERN_EMERG`, up to its first NUL if it has one. The kernel cuts text beyond about 1000 bytes.
pub(crate) fn emerg(text: &[u8]) {
    let len = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    // SAFETY: the format is NUL-terminated and takes an `int` and a pointer to as many readable bytes.
    unsafe { bindings::_printk(c"\x010%.*s".as_ptr().cast(), len, text.as_ptr()) };
}

/// Prints `text` at level `KERN_ERR`.
pub(crate) fn err(text: &[u8]) {
    let len = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    // SAFETY: as in `emerg`.
    unsafe { bindings::_printk(c"\x013%.*s".as_ptr().cast(), len, text.as_ptr()) };
}

/// Prints `text` at level `KERN_WARNING`.
pub(crate) fn warn(text: &[u8]) {
    let len = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    // SAFETY: as in `emerg`.
    unsafe { bindings::_printk(c"\x014%.*s".as_ptr().cast(), len, text.as_ptr()) };
}

/// Prints `text` at the default level.
pub(crate) fn default(text: &[u8]) {
    let len = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    // SAFETY: as in `emerg`.
    unsafe { bindings::_printk(c"%.*s".as_ptr().cast(), len, text.as_ptr()) };
}
