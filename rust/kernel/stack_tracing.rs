// SPDX-License-Identifier: GPL-2.0

//! The per-CPU count of those who do not want the stack tracer to look.
//!
//! C header: `stack_tracer_disable()` of `include/linux/ftrace.h`. The counter is in
//! `rust/abi/stack_tracer.c`, as Rust cannot define static per-CPU data.

use kernel::bindings;
use kernel::types::NotThreadSafe;

/// The stack tracer does not look at this CPU's functions while it lives. Preemption must be off
/// meanwhile, which the borrow checker does not see: a CPU's counter would be left wrong, no more.
pub(crate) struct Disabled(NotThreadSafe);

impl Disabled {
    /// Keeps it away. Any context.
    pub(crate) fn new() -> Self {
        // SAFETY: no preconditions.
        unsafe { bindings::rtrace_stack_tracer_count(1) };
        Self(NotThreadSafe)
    }

    /// Keeps it away, unless somebody does already. Any context.
    pub(crate) fn first() -> Option<Self> {
        // SAFETY: no preconditions.
        match unsafe { bindings::rtrace_stack_tracer_count(0) } {
            0 => Some(Self::new()),
            _ => None,
        }
    }
}

impl Drop for Disabled {
    fn drop(&mut self) {
        // SAFETY: no preconditions.
        unsafe { bindings::rtrace_stack_tracer_count(-1) };
    }
}
