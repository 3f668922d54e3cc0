// SPDX-License-Identifier: GPL-2.0

//! User Mode Linux's scheduler clock: it counts ticks, unless time travels.
//!
//! C side: `sched_clock()` of `kernel/sched/clock.c`, `arch/um/kernel/time.c`.

use kernel::bindings;

/// Can writers use [`sched_native`] for [`sched`](super::sched)?
pub(crate) fn sched_is_native() -> bool {
    true
}

/// [`sched`](super::sched), in line.
///
/// # Safety
///
/// None here; elsewhere preemption must be off.
#[inline(always)]
pub(crate) unsafe fn sched_native() -> u64 {
    const NS_PER_TICK: u64 = 1_000_000_000 / super::HZ as u64;
    if cfg!(CONFIG_UML_TIME_TRAVEL_SUPPORT) {
        return super::sched();
    }
    // SAFETY: a single word, which does not tear.
    let ticks = unsafe { (&raw const bindings::jiffies_64).read_volatile() };
    ticks
        .wrapping_sub(super::initial_jiffies())
        .wrapping_mul(NS_PER_TICK)
}
