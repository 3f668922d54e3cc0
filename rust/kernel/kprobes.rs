// SPDX-License-Identifier: GPL-2.0

//! Keeping out of the way of kprobes.
//!
//! C header: `include/linux/kprobes.h`.

use super::context::PreemptOff;
use kernel::bindings;

/// To kprobes this CPU is in a handler of theirs: while it lives they call none here, but count
/// what they miss.
pub(crate) struct Busy {
    // Goes after what `drop` does.
    _stay: PreemptOff,
}

impl Busy {
    /// None if a handler of theirs runs already. Any context that they may come to.
    pub(crate) fn new() -> Option<Self> {
        let stay = PreemptOff::new();
        // SAFETY: preemption is off, says the guard; ended by the drop.
        if !unsafe { bindings::rtrace_kprobe_begin() } {
            return None;
        }
        Some(Self { _stay: stay })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // SAFETY: begun by `new`, on this CPU.
        unsafe { bindings::rtrace_kprobe_end() };
    }
}
