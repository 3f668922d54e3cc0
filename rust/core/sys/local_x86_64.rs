// SPDX-License-Identifier: GPL-2.0

//! Read-and-change on one CPU, x86-64: `cmpxchg`, `and` and `add` without the `lock` prefix, as the kernel's `local_t`
//! does. What is found out goes by the flags, into a jump.
//!
//! An interrupt or NMI comes before or after an instruction, never in its middle. So for a word that only one CPU
//! changes the plain instruction is atomic, at a fraction of the price of the locked one.

use core::arch::asm;
use core::sync::atomic::AtomicU64;

#[inline(always)]
pub(super) fn replace(word: &AtomicU64, old: u64, new: u64) -> bool {
    // SAFETY: the operand is a live, aligned 64-bit word (`&AtomicU64`); the instructions touch nothing else but
    // `rax` and the flags, both declared.
    unsafe {
        asm!(
            "cmpxchg qword ptr [{word}], {new}",
            "jne {other}",
            word = in(reg) word.as_ptr(),
            new = in(reg) new,
            inout("rax") old => _,
            other = label { return false },
            options(nostack),
        );
    }
    true
}

#[inline(always)]
pub(super) fn holds(word: &AtomicU64, value: u64) -> bool {
    // SAFETY: as in `replace`; the word is only read.
    unsafe {
        asm!(
            "cmp qword ptr [{word}], {value}",
            "jne {other}",
            word = in(reg) word.as_ptr(),
            value = in(reg) value,
            other = label { return false },
            options(nostack, readonly),
        );
    }
    true
}

#[inline(always)]
pub(super) fn and<const MASK: i32>(word: &AtomicU64) {
    // SAFETY: as in `replace`.
    unsafe {
        asm!(
            "and qword ptr [{word}], {mask}",
            word = in(reg) word.as_ptr(),
            mask = const MASK,
            options(nostack),
        );
    }
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
