// SPDX-License-Identifier: GPL-2.0

//! Read-modify-write on one CPU by full atomics: where no cheaper instruction is known, and under
//! `loom` and Miri.

use super::imp::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

#[inline(always)]
pub(super) fn replace(word: &AtomicU64, old: u64, new: u64) -> bool {
    let done = word
        .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok();
    super::barrier();
    done
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn holds<const AT: usize, T>(
    _structure: &T,
    word: &AtomicU64,
    value: u64,
) -> bool {
    let same = word.load(Ordering::Relaxed) == value;
    super::barrier();
    same
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn is<const AT: usize, const VALUE: i32, T>(
    structure: &T,
    word: &AtomicU64,
) -> bool {
    // SAFETY: no preconditions.
    unsafe { holds::<AT, T>(structure, word, i64::from(VALUE) as u64) }
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn is_32<const AT: usize, const VALUE: i32, T>(
    _structure: &T,
    word: &AtomicU32,
) -> bool {
    let same = word.load(Ordering::Relaxed) == VALUE as u32;
    super::barrier();
    same
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn above<const AT: usize, T>(
    _structure: &T,
    word: &AtomicU64,
    value: u64,
) -> bool {
    let more = word.load(Ordering::Acquire) as i64 > value as i64;
    super::barrier();
    more
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn minus<const AT: usize, T>(
    _structure: &T,
    word: &AtomicU64,
    value: u64,
) -> u64 {
    let difference = value.wrapping_sub(word.load(Ordering::Relaxed));
    super::barrier();
    difference
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn add_at<const AT: usize, T>(_structure: &T, word: &AtomicU64, value: u64) {
    add(word, value);
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn plus<const AT: usize, const VALUE: i32, T>(_structure: &T, word: &AtomicU64) {
    add(word, i64::from(VALUE) as u64);
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn and<const AT: usize, const MASK: i32, T>(_structure: &T, word: &AtomicU64) {
    word.fetch_and(i64::from(MASK) as u64, Ordering::Relaxed);
    super::barrier();
}

/// # Safety
///
/// None here.
#[inline(always)]
pub(super) unsafe fn pointer_plus<const AT: usize, T>(
    _structure: &T,
    word: &AtomicPtr<u8>,
    bytes: u64,
) -> *mut u8 {
    let sum = word.load(Ordering::Relaxed).wrapping_add(bytes as usize);
    super::barrier();
    sum
}

#[inline(always)]
pub(super) fn plus_words<const MORE: i32>(sum: u64, words: u64) -> u64 {
    sum.wrapping_add(words.wrapping_mul(4))
        .wrapping_add(i64::from(MORE) as u64)
}

#[inline(always)]
pub(super) fn constant<const NUMBER: u32>() -> u64 {
    NUMBER.into()
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
    let at = base.wrapping_add(index).wrapping_offset(AHEAD);
    // SAFETY: the word is there.
    let same = unsafe { at.read_volatile() } == value;
    super::barrier();
    same
}

/// # Safety
///
/// The word is there.
#[inline(always)]
pub(super) unsafe fn acquires<const AT: usize, T>(structure: &T, value: u64) -> bool {
    let at = core::ptr::from_ref(structure)
        .wrapping_byte_add(AT)
        .cast_mut();
    // SAFETY: the word is there.
    let word = unsafe { core::sync::atomic::AtomicU64::from_ptr(at.cast()) };
    word.load(core::sync::atomic::Ordering::Acquire) == value
}

/// # Safety
///
/// The word is there, and no other CPU changes it.
#[inline(always)]
pub(super) unsafe fn add_here<const AT: usize, const VALUE: i32, T>(structure: *mut T) {
    // SAFETY: the word is there.
    let word =
        unsafe { core::sync::atomic::AtomicI32::from_ptr(structure.wrapping_byte_add(AT).cast()) };
    word.fetch_add(VALUE, core::sync::atomic::Ordering::Relaxed);
    super::barrier();
}

#[inline(always)]
pub(super) fn apart(number: u64) -> u64 {
    number
}

#[inline(always)]
pub(super) fn computed(number: u64) -> u64 {
    number
}

#[inline(always)]
pub(super) fn add(word: &AtomicU64, value: u64) {
    word.fetch_add(value, Ordering::Relaxed);
    super::barrier();
}
