// SPDX-License-Identifier: GPL-2.0

//! Reading and changing kernel text.

use super::insn::{self, Insn};
use crate::trace::ftrace::arch::{self, Found, Target};
use kernel::{bindings, types::NotThreadSafe};

/// The 5 bytes at `addr`, which need not be mapped.
pub(super) fn read(addr: usize) -> Option<Insn> {
    let mut bytes: Insn = [0; insn::SITE_SIZE];
    // SAFETY: the destination has the length given; the source is checked by the function.
    let ret = unsafe {
        bindings::copy_from_kernel_nofault(bytes.as_mut_ptr().cast(), addr as _, bytes.len())
    };
    (ret == 0).then_some(bytes)
}

/// A batch of patches.
///
/// # Invariants
///
/// `text_mutex` is held by this task from [`Patcher::lock`] to the drop.
pub(crate) struct Patcher(NotThreadSafe);

impl Patcher {
    pub(super) fn lock() -> Self {
        // SAFETY: `text_mutex` is a static mutex of the kernel; callers are in task context.
        unsafe { bindings::mutex_lock(&raw mut bindings::text_mutex) };
        // INVARIANT: It was just taken.
        Patcher(NotThreadSafe)
    }

    /// Queues writing an instruction that is safe to run at any moment of the change.
    ///
    /// # Safety
    ///
    /// `at` is the start of a 5-byte NOP, call or jump in text that stays.
    pub(super) unsafe fn replace(&self, at: usize, new: &Insn) {
        // SAFETY: `at` is the start of an instruction of as many bytes as `new` has, in text that stays;
        // `text_mutex` is held by the type invariant.
        unsafe {
            bindings::smp_text_poke_batch_add(
                at as _,
                new.as_ptr().cast(),
                new.len(),
                core::ptr::null(),
            )
        };
    }
}

impl Drop for Patcher {
    fn drop(&mut self) {
        // SAFETY: `text_mutex` is held by the type's invariant.
        unsafe {
            bindings::smp_text_poke_batch_finish();
            bindings::mutex_unlock(&raw mut bindings::text_mutex);
        }
    }
}

/// The instruction that takes the site at `addr` to `target`.
fn encode(addr: usize, target: Target) -> Option<Insn> {
    if target.is_off() {
        Some(insn::NOP)
    } else if target.is_jump() {
        insn::jmp(addr, target.addr())
    } else {
        insn::call(addr, target.addr())
    }
}

impl arch::Patcher for Patcher {
    fn verify(&self, addr: usize, old: Target) -> Result<(), Found> {
        match read(addr) {
            None => Err(Found::Fault),
            Some(i) if old.is_off() && insn::is_nop(&i) => Ok(()),
            Some(i) if Some(i) == encode(addr, old) => Ok(()),
            Some(i) => Err(Found::Other(i)),
        }
    }

    fn reaches(&self, addr: usize, new: Target) -> bool {
        encode(addr, new).is_some()
    }

    unsafe fn write(&mut self, addr: usize, new: Target) {
        if let Some(insn) = encode(addr, new) {
            // SAFETY: `addr` is a site, which holds one of the three.
            unsafe { self.replace(addr, &insn) };
        }
    }
}
