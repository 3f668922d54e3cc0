// SPDX-License-Identifier: GPL-2.0

//! The clocks of `include/linux/trace_clock.h`. All are for any context, NMI included.

use crate::kernel::clock;

/// This CPU's scheduler clock: fast, nanoseconds, not coherent between CPUs.
#[no_mangle]
pub(crate) extern "C" fn trace_clock_local() -> u64 {
    clock::sched()
}

/// Nanoseconds, between CPUs off by a jiffy at most.
#[no_mangle]
pub(crate) extern "C" fn trace_clock() -> u64 {
    clock::perf()
}

/// Clock ticks of user space since boot.
#[no_mangle]
pub(crate) extern "C" fn trace_clock_jiffies() -> u64 {
    clock::uptime()
}

/// Nanoseconds that never run backwards over all CPUs.
#[no_mangle]
pub(crate) extern "C" fn trace_clock_global() -> u64 {
    clock::global()
}

/// One more at each call.
#[no_mangle]
pub(crate) extern "C" fn trace_clock_counter() -> u64 {
    clock::counter()
}

crate::abi::same_in_c! {
    fn trace_clock_local() -> _;
    fn trace_clock() -> _;
    fn trace_clock_jiffies() -> _;
    fn trace_clock_global() -> _;
    fn trace_clock_counter() -> _;
}
