// SPDX-License-Identifier: GPL-2.0

//! Read-and-change on one CPU where no cheaper instruction is known, and under `loom` and Miri: the full atomics.

use super::imp::{AtomicU64, Ordering};

#[inline(always)]
pub(super) fn replace(word: &AtomicU64, old: u64, new: u64) -> bool {
    let done = word.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    super::barrier();
    done
}

#[inline(always)]
pub(super) fn holds(word: &AtomicU64, value: u64) -> bool {
    let same = word.load(Ordering::Relaxed) == value;
    super::barrier();
    same
}

#[inline(always)]
pub(super) fn and<const MASK: i32>(word: &AtomicU64) {
    word.fetch_and(i64::from(MASK) as u64, Ordering::Relaxed);
    super::barrier();
}

#[inline(always)]
pub(super) fn add(word: &AtomicU64, value: u64) {
    word.fetch_add(value, Ordering::Relaxed);
    super::barrier();
}
