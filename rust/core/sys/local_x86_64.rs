// SPDX-License-Identifier: GPL-2.0

//! Read-and-change on one CPU, x86-64: `cmpxchg` and `add` without the `lock` prefix, as the kernel's `local_t` does.
//!
//! An interrupt or NMI comes before or after an instruction, never in its middle. So for a word that only one CPU
//! changes the plain instruction is atomic, at a fraction of the price of the locked one.

use core::arch::asm;
use core::sync::atomic::AtomicU64;

#[inline(always)]
pub(super) fn replace(word: &AtomicU64, old: u64, new: u64) -> bool {
    let seen: u64;
    // SAFETY: the operand is a live, aligned 64-bit word (`&AtomicU64`); the instruction touches nothing else but
    // `rax` and the flags, both declared.
    unsafe {
        asm!(
            "cmpxchg qword ptr [{word}], {new}",
            word = in(reg) word.as_ptr(),
            new = in(reg) new,
            inout("rax") old => seen,
            options(nostack),
        );
    }
    seen == old
}

#[inline(always)]
pub(super) fn add(word: &AtomicU64, value: u64) {
    // SAFETY: as in `replace`.
    unsafe {
        asm!(
            "add qword ptr [{word}], {value}",
            word = in(reg) word.as_ptr(),
            value = in(reg) value,
            options(nostack),
        );
    }
}
