// SPDX-License-Identifier: GPL-2.0

//! The texts of `include/linux/trace_printk.h`. `printk.c` has the variadic functions and the
//! exports.
//!
//! Recording: any context.

use crate::kernel::format::{Arguments, Constant};
use crate::trace::output::printk;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::ffi::{c_char, c_int};
use kernel::prelude::*;

/// Records `text`, with a newline added if it lacks one; gives its length, 0 if it was not
/// recorded.
///
/// # Safety
///
/// `text` is a NUL-terminated string.
#[export]
pub(crate) unsafe extern "C" fn __trace_puts(ip: c_ulong, text: *const c_char) -> c_int {
    // SAFETY: `text` is NUL-terminated.
    printk::puts(ip, unsafe { CStr::from_char_ptr(text) }.to_bytes())
}

/// Records the address of a constant; gives 1, 0 if it was not recorded.
///
/// # Safety
///
/// `text` is a NUL-terminated constant of the kernel, or one that [`keep_formats`] has kept;
/// or null, where there was no memory to keep it.
#[export]
pub(crate) unsafe extern "C" fn __trace_bputs(ip: c_ulong, text: *const c_char) -> c_int {
    NonNull::new(text.cast_mut()).map_or(0, |text| {
        // SAFETY: `text` is null, a constant of the kernel, or one that `keep_formats` has kept.
        printk::puts_constant(ip, unsafe { Constant::new(text) })
    })
}

/// Does option `trace_printk` allow recording?
#[no_mangle]
pub(crate) extern "C" fn rtrace_printk_enabled() -> bool {
    printk::is_enabled()
}

/// Records what `format` makes of `args`; gives its length.
///
/// # Safety
///
/// `format` is a NUL-terminated format that `args` fit, which are the callee's.
#[export]
pub(crate) unsafe extern "C" fn rtrace_print(
    ip: c_ulong,
    format: *const c_char,
    args: *mut bindings::va_list,
) -> c_int {
    // SAFETY: `format` is a NUL-terminated format that `args` fit, and these are this call's.
    unsafe { arguments(format, args) }.map_or(0, |what| printk::print(ip, what))
}

/// Records `args` and the address of `format`; gives the number of words the arguments take.
///
/// # Safety
///
/// As [`rtrace_print`], and `format` is a constant of the kernel or a kept one, as with
/// [`__trace_bputs`].
#[export]
pub(crate) unsafe extern "C" fn rtrace_print_packed(
    ip: c_ulong,
    format: *const c_char,
    args: *mut bindings::va_list,
) -> c_int {
    // SAFETY: `format` is a NUL-terminated format that `args` fit, and these are this call's.
    unsafe { arguments(format, args) }.map_or(0, |what| printk::print_packed(ip, what))
}

/// # Safety
///
/// `format` is null or a NUL-terminated format that `args` fit, which are the callee's.
pub(super) unsafe fn arguments(
    format: *const c_char,
    args: *mut bindings::va_list,
) -> Option<Arguments> {
    let (format, args) = (NonNull::new(format.cast_mut())?, NonNull::new(args)?);
    // SAFETY: `format` is not null here, and `args` fit it and are this call's.
    Some(unsafe { Arguments::new(format, args) })
}

/// Prepares for callers of `trace_printk()`, with C's warning in the log. Task context, may sleep.
#[no_mangle]
pub(crate) extern "C" fn trace_printk_init_buffers() {
    // SAFETY: reads a variable.
    printk::init_buffers(unsafe { bindings::rtrace_printk_running() });
}

/// The initcall that starts to save names for callers in the kernel itself; `boot.c` places it.
#[no_mangle]
pub(crate) extern "C" fn rtrace_printk_start() -> c_int {
    printk::late_init();
    0
}

/// Keeps the formats and constants of a module that comes, and gives it the kept ones. Task context.
///
/// # Safety
///
/// `module` is there, and nobody else uses its formats.
pub(super) unsafe fn keep_formats(module: *mut bindings::module) {
    // SAFETY: the module is there.
    let (start, count) = unsafe {
        (
            (*module).trace_bprintk_fmt_start,
            (*module).num_trace_bprintk_fmt as usize,
        )
    };
    if count != 0 {
        trace_printk_init_buffers();
        // SAFETY: the section holds so many pointers, which nobody else uses.
        for text in unsafe { core::slice::from_raw_parts_mut(start, count) } {
            if !text.is_null() {
                // SAFETY: a string constant of the module.
                *text = printk::keep(unsafe { CStr::from_char_ptr(*text) });
            }
        }
    }
}

crate::abi::same_in_c! {
    fn rtrace_printk_enabled() -> _;
    fn trace_printk_init_buffers();
    fn rtrace_printk_start() -> _;
}
