// SPDX-License-Identifier: GPL-2.0

//! The kernel stack of the running context, as return addresses.
//!
//! C header: `include/linux/stacktrace.h`.

use super::nested::Nested;
use kernel::bindings;
use kernel::prelude::*;

/// The deepest stack that is told in full.
const DEPTH: usize = 256;

/// Memory for stacks on every CPU.
pub(crate) struct Stacks(Nested<[usize; DEPTH]>);

impl Stacks {
    /// Allocates it. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(Nested::new([0; DEPTH])?))
    }

    /// Gives `f` the return addresses on the stack, innermost first. Any context; `f` runs with preemption off.
    ///
    /// None where RCU does not watch (the unwinder needs it) or the memory is in use many times over.
    #[inline(always)]
    pub(crate) fn with_current<R>(&self, f: impl FnOnce(&[usize]) -> R) -> Option<R> {
        // SAFETY: no preconditions.
        if !unsafe { bindings::rcu_is_watching() } {
            return None;
        }
        self.0.with(|calls| {
            // SAFETY: the memory has room for as many entries as are said.
            let count = unsafe { bindings::stack_trace_save(calls.as_mut_ptr(), DEPTH as c_uint, 0) };
            f(calls.get(..count as usize).unwrap_or(&[]))
        })
    }
}
