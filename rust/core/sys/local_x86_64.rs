// SPDX-License-Identifier: GPL-2.0

//! Read-and-change on one CPU, x86-64: `cmpxchg`, `and` and `add` without the `lock` prefix, as the
//! kernel's `local_t` does; and words in memory as operands, which the compiler does not make of an
//! atomic load.
//!
//! An interrupt or NMI comes before or after an instruction, never in its middle. So for a word
//! that only one CPU changes the plain instruction is atomic, at a fraction of the price of the
//! locked one.

use core::arch::asm;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// What a jump leads to, kept apart: what callers make of it, by several of them, would be put
/// together otherwise, and what tells them from each other be stored before each jump.
#[inline(always)]
fn other() -> bool {
    // SAFETY: it is empty.
    unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
    false
}

#[inline(always)]
pub(super) fn replace(word: &AtomicU64, old: u64, new: u64) -> bool {
    // SAFETY: the operand is a live, aligned 64-bit word (`&AtomicU64`); the instructions touch
    // nothing else but `rax` and the flags, both declared.
    unsafe {
        asm!(
            "cmpxchg qword ptr [{word}], {new}",
            "jne {other}",
            word = in(reg) word.as_ptr(),
            new = in(reg) new,
            inout("rax") old => _,
            other = label { return other() },
            options(nostack),
        );
    }
    true
}

/// Compares a word, so many bytes into a structure, with an operand, and returns what that says:
/// false where it jumps.
macro_rules! compare {
    ($word:literal at $at:expr, in $structure:expr, jump $jump:literal, with $($operand:tt)+) => {{
        // SAFETY: `word` is at `at` in `structure`, which is borrowed; it is only read.
        unsafe {
            asm!(
                concat!("cmp ", $word, " ptr [{structure} + {at}], {value}"),
                concat!($jump, " {other}"),
                structure = in(reg) $structure,
                at = const $at,
                value = $($operand)+,
                other = label { return other() },
                options(nostack, readonly),
            );
        }
        true
    }};
}

/// Adds to a number, or takes from it, a word so many bytes into a structure.
macro_rules! combine {
    ($instruction:literal $value:ident, with the word at $at:expr, in $structure:expr) => {{
        let result;
        // SAFETY: `word` is at `at` in `structure`, which is borrowed; it is only read.
        unsafe {
            asm!(
                concat!($instruction, " {value}, qword ptr [{structure} + {at}]"),
                structure = in(reg) $structure,
                at = const $at,
                value = inout(reg) $value => result,
                options(nostack, readonly),
            );
        }
        result
    }};
}

/// # Safety
///
/// The word lies `AT` bytes into `structure`.
#[inline(always)]
pub(super) unsafe fn holds<const AT: usize, T>(
    structure: &T,
    _word: &AtomicU64,
    value: u64,
) -> bool {
    compare!("qword" at AT, in structure, jump "jne", with in(reg) value)
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn is<const AT: usize, const VALUE: i32, T>(
    structure: &T,
    _word: &AtomicU64,
) -> bool {
    compare!("qword" at AT, in structure, jump "jne", with const VALUE)
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn is_32<const AT: usize, const VALUE: i32, T>(
    structure: &T,
    _word: &AtomicU32,
) -> bool {
    compare!("dword" at AT, in structure, jump "jne", with const VALUE)
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn above<const AT: usize, T>(
    structure: &T,
    _word: &AtomicU64,
    value: u64,
) -> bool {
    compare!("qword" at AT, in structure, jump "jle", with in(reg) value)
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn minus<const AT: usize, T>(
    structure: &T,
    _word: &AtomicU64,
    value: u64,
) -> u64 {
    combine!("sub" value, with the word at AT, in structure)
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn add_at<const AT: usize, T>(structure: &T, _word: &AtomicU64, value: u64) {
    // SAFETY: as in `replace`.
    unsafe {
        asm!(
            "add qword ptr [{structure} + {at}], {value}",
            structure = in(reg) structure,
            at = const AT,
            value = in(reg) value,
            options(nostack),
        );
    }
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn plus<const AT: usize, const VALUE: i32, T>(structure: &T, _word: &AtomicU64) {
    // SAFETY: as in `replace`.
    unsafe {
        asm!(
            "add qword ptr [{structure} + {at}], {value}",
            structure = in(reg) structure,
            at = const AT,
            value = const VALUE,
            options(nostack),
        );
    }
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn and<const AT: usize, const MASK: i32, T>(structure: &T, _word: &AtomicU64) {
    // SAFETY: as in `replace`.
    unsafe {
        asm!(
            "and qword ptr [{structure} + {at}], {mask}",
            structure = in(reg) structure,
            at = const AT,
            mask = const MASK,
            options(nostack),
        );
    }
}

/// # Safety
///
/// As [`holds`].
#[inline(always)]
pub(super) unsafe fn pointer_plus<const AT: usize, T>(
    structure: &T,
    _word: &AtomicPtr<u8>,
    bytes: u64,
) -> *mut u8 {
    combine!("add" bytes, with the word at AT, in structure)
}

/// One instruction, of which the compiler makes two or three, in consideration of old processors.
#[inline(always)]
pub(super) fn plus_words<const MORE: i32>(sum: u64, words: u64) -> u64 {
    let result;
    // SAFETY: it computes, and nothing else.
    unsafe {
        asm!(
            "lea {result}, [{sum} + {words} * 4 + {more}]",
            result = lateout(reg) result,
            sum = in(reg) sum,
            words = in(reg) words,
            more = const MORE,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    result
}

#[inline(always)]
pub(super) fn apart(number: u64) -> u64 {
    let copy;
    // SAFETY: it copies, and nothing else.
    unsafe {
        asm!(
            "mov {copy}, {number}",
            copy = lateout(reg) copy,
            number = in(reg) number,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    copy
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
