// SPDX-License-Identifier: GPL-2.0

//! What a call costs where it is not made.

use core::hint::black_box;

/// `value`, for a call that is seldom made in a hot function. A call gets the address of what two registers
/// do not hold, and what an address is taken of lies in memory from where it is made on, also where it goes
/// the other way. This is a copy, which is made here.
#[inline(always)]
pub(crate) fn copied<T>(value: T) -> T {
    black_box(value)
}
