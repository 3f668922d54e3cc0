// SPDX-License-Identifier: GPL-2.0

//! Read-modify-write on one CPU for x86-64: `cmpxchg`, `and` and `add` without the `lock` prefix,
//! as in the kernel's `local_t`. Also words in memory as operands, which the compiler does not use
//! for an atomic load.
//!
//! An interrupt or NMI comes before or after an instruction, never in the middle. So for a word
//! that only one CPU changes, the plain instruction is atomic, and much cheaper than the locked
//! one.

use core::arch::asm;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// The target of a jump, kept separate. Otherwise the compiler merges the code of several callers
/// and stores a value before each jump to tell them apart.
#[inline(always)]
fn other() -> bool {
    // SAFETY: it is empty.
    unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
    false
}

#[inline(always)]
pub(super) fn replace(word: &AtomicU64, old: u64, new: u64) -> bool {
    // SAFETY: the operand is a live, aligned 64-bit word (`&AtomicU64`); the instructions change
    // only this word, `rax` and the flags, all of them declared.
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

/// Compares a word at an offset of a structure with an operand. Returns the result: false if it
/// jumps.
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

/// Adds a word at an offset of a structure to a number, or subtracts it.
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
/// The word is at offset `AT` of `structure`.
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

/// One instruction. The compiler would use two or three, in consideration of old processors.
#[inline(always)]
pub(super) fn plus_words<const MORE: i32>(sum: u64, words: u64) -> u64 {
    let result;
    // SAFETY: it only computes a value.
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
pub(super) fn computed(number: u64) -> u64 {
    let same;
    // SAFETY: it does nothing. Not `pure`: it keeps its place among the others.
    unsafe {
        asm!(
            "/* {number} */",
            number = inlateout(reg) number => same,
            options(nomem, nostack, preserves_flags),
        );
    }
    same
}

#[inline(always)]
pub(super) fn constant<const NUMBER: u32>() -> u64 {
    let number;
    // SAFETY: it only makes a value. Not `pure`: it keeps its place among the others.
    unsafe {
        asm!(
            "mov {number:e}, {constant}",
            number = lateout(reg) number,
            constant = const NUMBER,
            options(nomem, nostack, preserves_flags),
        );
    }
    number
}

/// # Safety
///
/// The word is there.
#[inline(always)]
pub(super) unsafe fn word_holds<const AHEAD: isize>(
    base: *const u64,
    index: usize,
    value: u64,
) -> bool {
    // SAFETY: the word is there; it is only read.
    unsafe {
        asm!(
            "cmp qword ptr [{base} + {index} * 8 + {ahead} * 8], {value}",
            "jne {other}",
            base = in(reg) base,
            index = in(reg) index,
            ahead = const AHEAD,
            value = in(reg) value,
            other = label { return other() },
            options(nostack, readonly),
        );
    }
    true
}

/// # Safety
///
/// The word is there.
#[inline(always)]
pub(super) unsafe fn acquires<const AT: usize, T>(structure: &T, value: u64) -> bool {
    compare!("qword" at AT, in structure, jump "jne", with in(reg) value)
}

/// # Safety
///
/// The word is there, and no other CPU changes it.
#[inline(always)]
pub(super) unsafe fn add_here<const AT: usize, const VALUE: i32, T>(structure: *mut T) {
    // SAFETY: the instruction changes the word, which is there, and the flags.
    unsafe {
        asm!(
            "add dword ptr [{structure} + {at}], {value}",
            structure = in(reg) structure,
            at = const AT,
            value = const VALUE,
            options(nostack),
        );
    }
}

#[inline(always)]
pub(super) fn apart(number: u64) -> u64 {
    let copy;
    // SAFETY: it only copies a value.
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
