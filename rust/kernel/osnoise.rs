// SPDX-License-Identifier: GPL-2.0

//! The events `osnoise:*`, the interrupts that an architecture has its own tracepoints for, and the end
//! of a kernel that is to stop at a noise.
//!
//! Events: any context that RCU watches. Each costs a branch while nobody wants it.
//!
//! C header: `include/trace/events/osnoise.h`.

use super::tracepoint::TaskView;
use core::marker::PhantomData;
use core::ptr;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// The contents of an event `osnoise_sample`.
pub(crate) use bindings::rtrace_osnoise_sample as Sample;

/// A name that C hands over for the time of a call.
///
/// # Invariants
///
/// It is null or a string, which stays for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a>(*const c_char, PhantomData<&'a CStr>);

impl Name<'_> {
    /// # Safety
    ///
    /// `name` is null or a string, which stays for the lifetime that the caller picks.
    pub(crate) unsafe fn new(name: *const c_char) -> Self {
        // INVARIANT: as the caller promises.
        Self(name, PhantomData)
    }
}

/// `osnoise_sample`: the noise of a period.
pub(crate) fn sample(sample: &Sample) {
    // SAFETY: `sample` is live.
    unsafe { bindings::rtrace_osnoise_sample(sample) };
}

/// `timerlat_sample`: a latency.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) fn timerlat_sample(seqnum: u32, context: i32, latency: u64) {
    // SAFETY: numbers.
    unsafe { bindings::rtrace_timerlat_sample(seqnum, context, latency) };
}

/// `thread_noise`: `task` has run.
pub(crate) fn thread_noise(task: TaskView<'_>, start: u64, duration: u64) {
    // SAFETY: the task is live.
    unsafe { bindings::rtrace_thread_noise(task.as_ptr().as_ptr(), start, duration) };
}

/// `softirq_noise`: a softirq has run.
#[cfg(not(CONFIG_PREEMPT_RT))]
pub(crate) fn softirq_noise(vector: u32, start: u64, duration: u64) {
    // SAFETY: numbers.
    unsafe { bindings::rtrace_softirq_noise(vector as c_int, start, duration) };
}

/// `irq_noise`: the interrupt called `name` has run.
pub(crate) fn irq_noise(vector: i32, name: Name<'_>, start: u64, duration: u64) {
    // SAFETY: by the invariant null, which the event prints as such, or a live string.
    unsafe { bindings::rtrace_irq_noise(vector, name.0, start, duration) };
}

/// `nmi_noise`: an NMI has run.
pub(crate) fn nmi_noise(start: u64, duration: u64) {
    // SAFETY: numbers.
    unsafe { bindings::rtrace_nmi_noise(start, duration) };
}

/// `sample_threshold`: a noise was found.
pub(crate) fn sample_threshold(start: u64, duration: u64, interference: u64) {
    // SAFETY: numbers.
    unsafe { bindings::rtrace_sample_threshold(start, duration, interference) };
}

/// Ends the kernel: `cpu` has met a condition to stop, or an exception.
pub(crate) fn panic(cpu: u32, exception: Option<&CStr>) -> ! {
    let exception = exception.map_or(ptr::null(), |text| text.as_char_ptr());
    // SAFETY: null or a live string.
    unsafe { bindings::rtrace_osnoise_panic(cpu, exception) }
}

/// While it lives, the interrupts of the architecture call `osnoise_trace_irq_entry()` and
/// `osnoise_trace_irq_exit()`. Dropping it: task context, sleeps.
pub(crate) struct ArchInterrupts(());

impl ArchInterrupts {
    /// Task context, sleeps. Errors as those of tracepoints.
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: task context; undone by `drop`.
        to_result(unsafe { bindings::osnoise_arch_register() })?;
        Ok(Self(()))
    }
}

impl Drop for ArchInterrupts {
    fn drop(&mut self) {
        // SAFETY: undoes `new`.
        unsafe { bindings::osnoise_arch_unregister() };
    }
}
