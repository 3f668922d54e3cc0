// SPDX-License-Identifier: GPL-2.0

//! The scheduler's clock.
//!
//! C header: [`include/linux/sched/clock.h`](srctree/include/linux/sched/clock.h)

use kernel::bindings;

/// Nanoseconds since boot as this CPU counts them; any context.
pub(crate) fn local_clock() -> u64 {
    // SAFETY: `local_clock` reads per-CPU data of its own and has no preconditions.
    unsafe { bindings::local_clock() }
}
