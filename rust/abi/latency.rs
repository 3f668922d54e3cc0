// SPDX-License-Identifier: GPL-2.0

//! Where interrupts and preemption are turned off and on: `include/linux/irqflags.h`,
//! `include/linux/ftrace.h`.
//!
//! The functions that need their caller's address are in `latency.c` and end here. As long as no
//! tracer of such times is at work each costs a load and a branch.

use crate::kernel::context::{PreemptCount, PreemptOff};
use crate::trace::tracers::critical_timings::CURRENT;
use kernel::bindings;
use kernel::prelude::*;

/// Interrupts were turned off by the code at `ip`. They are off; any context that RCU watches.
#[no_mangle]
pub(crate) extern "C" fn tracer_hardirqs_off(ip: c_ulong) {
    // SAFETY: interrupts are off until the caller returns, and RCU watches.
    if let Some(critical) = unsafe { CURRENT.get() } {
        critical.irqs_off(ip);
    }
}

/// The code at `ip` is about to turn interrupts on. They are still off; any context that RCU
/// watches.
#[no_mangle]
pub(crate) extern "C" fn tracer_hardirqs_on(ip: c_ulong) {
    // SAFETY: interrupts are off until the caller returns, and RCU watches. Where code that does not
    // tell has turned them on before, no section is open on this CPU.
    if let Some(critical) = unsafe { CURRENT.get() } {
        critical.irqs_on(ip, tracer_hardirqs_on as extern "C" fn(c_ulong) as usize);
    }
}

/// Preemption was turned off by the code at `ip`, on behalf of `parent` if that is not 0.
#[cfg(CONFIG_TRACE_PREEMPT_TOGGLE)]
#[no_mangle]
pub(crate) extern "C" fn tracer_preempt_off(ip: c_ulong, parent: c_ulong) {
    // SAFETY: preemption is off until the caller returns, and RCU watches.
    if let Some(critical) = unsafe { CURRENT.get() } {
        critical.preempt_off(ip, parent);
    }
}

/// The code at `ip`, on behalf of `parent` if that is not 0, is about to turn preemption on.
#[cfg(CONFIG_TRACE_PREEMPT_TOGGLE)]
#[no_mangle]
pub(crate) extern "C" fn tracer_preempt_on(ip: c_ulong, parent: c_ulong) {
    // SAFETY: preemption is off until the caller returns, and RCU watches.
    if let Some(critical) = unsafe { CURRENT.get() } {
        critical.preempt_on(
            ip,
            parent,
            tracer_preempt_on as extern "C" fn(c_ulong, c_ulong) as usize,
        );
    }
}

/// `start_critical_timings()`, called at `ip`: what [`rtrace_stop_critical_timings`] suspended goes
/// on. Any context that RCU watches.
#[no_mangle]
pub(crate) extern "C" fn rtrace_start_critical_timings(ip: c_ulong) {
    let count = PreemptCount::read();
    let _stay = PreemptOff::new();
    // SAFETY: preemption is off, says the guard, and RCU watches.
    if let Some(critical) = unsafe { CURRENT.get() } {
        critical.go_on(count, ip);
    }
}

/// `stop_critical_timings()`, called at `ip`: the CPU is going to be idle, or to print; that is not
/// to count. Any context that RCU watches.
#[no_mangle]
pub(crate) extern "C" fn rtrace_stop_critical_timings(ip: c_ulong) {
    let count = PreemptCount::read();
    let _stay = PreemptOff::new();
    // SAFETY: preemption is off, says the guard, and RCU watches.
    if let Some(critical) = unsafe { CURRENT.get() } {
        critical.suspend(
            count,
            ip,
            bindings::stop_critical_timings as unsafe extern "C" fn() as usize,
        );
    }
}

crate::abi::same_in_c! {
    fn tracer_hardirqs_off(_);
    fn tracer_hardirqs_on(_);
    fn rtrace_start_critical_timings(_);
    fn rtrace_stop_critical_timings(_);
}
#[cfg(CONFIG_TRACE_PREEMPT_TOGGLE)]
crate::abi::same_in_c! {
    fn tracer_preempt_off(_, _);
    fn tracer_preempt_on(_, _);
}
