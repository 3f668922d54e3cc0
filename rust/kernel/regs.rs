// SPDX-License-Identifier: GPL-2.0

//! Registers, as probes find them where they hit, and places that definitions of probes name.
//!
//! C header: `include/linux/ptrace.h`.

use core::mem::size_of;
use kernel::bindings;
use kernel::types::Opaque;

/// Where a directory entry has the address of its name.
pub(crate) const DENTRY_NAME: usize = bindings::RTRACE_DENTRY_NAME;
/// Where an open file has that of its directory entry.
pub(crate) const FILE_DENTRY: usize = bindings::RTRACE_FILE_DENTRY;
/// Words of a task's stack.
pub(crate) const STACK_WORDS: usize = bindings::RTRACE_THREAD_SIZE / size_of::<usize>();

/// Registers at a hit.
#[repr(transparent)]
pub(crate) struct Regs(Opaque<bindings::pt_regs>);

impl Regs {
    /// # Safety
    ///
    /// `regs` are those of a hit, and stay for the lifetime that the caller picks.
    #[inline(always)]
    pub(super) unsafe fn from_raw<'a>(regs: *mut bindings::pt_regs) -> &'a Self {
        // SAFETY: `regs` are those of a hit and stay for `'a`; the type is transparent.
        unsafe { &*regs.cast() }
    }

    /// The ones at the address that [`Regs::as_ptr`] gave.
    ///
    /// # Safety
    ///
    /// They are still borrowed, for the lifetime that the caller picks.
    #[cfg(CONFIG_KPROBE_EVENTS)]
    pub(crate) unsafe fn at<'a>(addr: usize) -> &'a Self {
        // SAFETY: they are borrowed for `'a`.
        unsafe { Self::from_raw(addr as *mut bindings::pt_regs) }
    }

    /// As C code knows them.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut bindings::pt_regs {
        self.0.get()
    }

    /// The register at this place, see [`register`]; 0 for one beyond them.
    #[inline(always)]
    pub(crate) fn register(&self, at: u16) -> usize {
        // SAFETY: the registers are there; the function looks at the place.
        unsafe { bindings::regs_get_register(self.0.get(), at.into()) }
    }

    /// A word of the kernel's stack; 0 for one beyond it.
    #[inline(always)]
    pub(crate) fn stack(&self, at: u32) -> usize {
        // SAFETY: the registers are there; the function looks at the place.
        unsafe { bindings::regs_get_kernel_stack_nth(self.0.get(), at) }
    }

    /// The stack pointer.
    #[inline(always)]
    pub(crate) fn stack_pointer(&self) -> usize {
        // SAFETY: the registers are there.
        unsafe { bindings::kernel_stack_pointer(self.0.get()) }
    }

    /// The stack pointer of the program, which the hit is in.
    #[cfg(CONFIG_UPROBE_EVENTS)]
    #[inline(always)]
    pub(crate) fn user_stack_pointer(&self) -> usize {
        // SAFETY: the registers are there.
        unsafe { bindings::user_stack_pointer(self.0.get()) }
    }

    /// The instruction that is reached.
    #[cfg(any(CONFIG_UPROBE_EVENTS, CONFIG_BPF_EVENTS))]
    #[inline(always)]
    pub(crate) fn instruction(&self) -> usize {
        // SAFETY: the registers are there.
        unsafe { bindings::instruction_pointer(self.0.get()) }
    }

    /// What a function returns.
    #[inline(always)]
    pub(crate) fn returned(&self) -> usize {
        // SAFETY: the registers are there.
        unsafe { bindings::regs_return_value(self.0.get()) }
    }

    /// An argument of the function that is entered, counted from 0.
    #[inline(always)]
    pub(crate) fn argument(&self, at: u16) -> usize {
        // SAFETY: the registers are there; the function looks at the place.
        unsafe { bindings::regs_get_kernel_argument(self.0.get(), at.into()) }
    }
}

/// The place of a register by its name.
pub(crate) fn register(name: &[u8]) -> Option<u16> {
    let mut buf = [0_u8; 16];
    let room = buf.len().wrapping_sub(1);
    let place = buf.get_mut(..name.len()).filter(|_| name.len() <= room)?;
    place.copy_from_slice(name);
    // SAFETY: the name is NUL-terminated.
    let offset = unsafe { bindings::regs_query_register_offset(buf.as_ptr().cast()) };
    u16::try_from(offset).ok()
}
