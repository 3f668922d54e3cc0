// SPDX-License-Identifier: GPL-2.0

//! Console output without the prefix that `pr_*!` puts before each line. Any context, NMI included.
//!
//! C header: [`include/linux/printk.h`](srctree/include/linux/printk.h)

use core::ffi::CStr;
#[cfg(CONFIG_PRINTK)]
use kernel::{bindings, ffi::c_int};

/// Prints `text` at level `KERN_EMERG`, up to its first NUL if it has one. The kernel cuts text
/// beyond about 1000 bytes.
pub(crate) fn emerg(text: &[u8]) {
    print(c"\x010", text);
}

/// Prints `text` at level `KERN_ERR`.
pub(crate) fn err(text: &[u8]) {
    print(c"\x013", text);
}

/// Prints `text` at level `KERN_WARNING`.
pub(crate) fn warn(text: &[u8]) {
    print(c"\x014", text);
}

/// Prints `text` at the default level.
pub(crate) fn default(text: &[u8]) {
    print(c"", text);
}

/// Without `CONFIG_PRINTK` nobody could read it.
#[cfg(not(CONFIG_PRINTK))]
fn print(_level: &CStr, _text: &[u8]) {}

#[cfg(CONFIG_PRINTK)]
fn print(level: &CStr, text: &[u8]) {
    let len = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    // SAFETY: the format is NUL-terminated and takes a string, and an `int` with a pointer to as
    // many readable bytes.
    unsafe {
        bindings::_printk(
            c"%s%.*s".as_ptr().cast(),
            level.as_ptr(),
            len,
            text.as_ptr(),
        )
    };
}
