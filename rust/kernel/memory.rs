// SPDX-License-Identifier: GPL-2.0

//! Kinds of kernel memory, and perf's record of code made at run time.
//!
//! C headers: `include/asm-generic/sections.h`, `include/linux/perf_event.h`.

use kernel::{
    bindings,
    str::{CStr, CStrExt as _},
};

/// Whether it is in the kernel's own data, which is never freed.
pub(crate) fn is_kernel_core_data(addr: usize) -> bool {
    // SAFETY: a comparison of addresses.
    unsafe { bindings::rtrace_is_kernel_core_data(addr) }
}

/// Whether it is in kernel text, or, while that exists, in its init text.
pub(crate) fn is_kernel_text(addr: usize) -> bool {
    // SAFETY: a comparison of addresses.
    unsafe { bindings::rtrace_is_kernel_text(addr) }
}

/// The text of the functions that interrupts begin with.
pub(crate) fn irq_entry_text() -> core::ops::Range<usize> {
    let mut range = [0usize; 2];
    // SAFETY: it stores two words.
    unsafe { bindings::rtrace_irq_entry_text(range.as_mut_ptr()) };
    let [start, end] = range;
    start..end
}

/// Tells perf that code appeared at (`made`) or is about to vanish from `addr..addr + size`. Task
/// context.
///
/// # Safety
///
/// So many bytes of code are there during the call.
pub(crate) unsafe fn announce_code(addr: usize, size: usize, name: &'static CStr, made: bool) {
    // SAFETY: perf copies the bytes, which are there, and the name is NUL-terminated.
    unsafe { bindings::rtrace_announce_code(addr, size as u32, name.as_char_ptr(), made) };
}
