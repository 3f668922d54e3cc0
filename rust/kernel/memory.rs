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

/// Whether it is in the text of a module. Any context in which RCU watches.
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) fn is_module_text(addr: usize) -> bool {
    // SAFETY: it looks an address up.
    unsafe { bindings::is_module_text_address(addr) }
}

/// A part of the kernel's text in which no function has a patch site.
#[cfg(CONFIG_FUNCTION_TRACER)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SitelessText {
    /// Init text, which is gone after boot.
    Init,
    /// `.noinstr.text`.
    NoInstr,
    /// Entries from user space, of interrupts and exceptions.
    Entry,
    /// The jumps of static calls.
    StaticCall,
}

#[cfg(CONFIG_FUNCTION_TRACER)]
impl SitelessText {
    /// The part that an address is in.
    pub(crate) fn of(addr: usize) -> Option<Self> {
        let mut parts = [[0usize; 2]; 4];
        // SAFETY: it stores the bounds of four parts.
        unsafe { bindings::rtrace_siteless_text(parts.as_mut_ptr()) };
        let kinds = [Self::Init, Self::NoInstr, Self::Entry, Self::StaticCall];
        let holds = |[start, end]: [usize; 2]| (start..end).contains(&addr);
        let mut parts = parts.into_iter().zip(kinds);
        parts.find_map(|(bounds, kind)| holds(bounds).then_some(kind))
    }
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
