// SPDX-License-Identifier: GPL-2.0

//! The clocks of `include/linux/trace_clock.h`. All are for any context, NMI included.

use crate::kapi::clock;
use kernel::prelude::*;

/// This CPU's scheduler clock: fast, nanoseconds, not coherent between CPUs.
#[export]
pub extern "C" fn trace_clock_local() -> u64 {
    clock::sched()
}

/// Nanoseconds, between CPUs off by a jiffy at most.
#[export]
pub extern "C" fn trace_clock() -> u64 {
    clock::perf()
}

/// Clock ticks of user space since boot.
#[export]
pub extern "C" fn trace_clock_jiffies() -> u64 {
    clock::uptime()
}

/// Nanoseconds that never run backwards over all CPUs.
#[export]
pub extern "C" fn trace_clock_global() -> u64 {
    clock::global()
}

/// One more at each call.
#[export]
pub extern "C" fn trace_clock_counter() -> u64 {
    clock::counter()
}
