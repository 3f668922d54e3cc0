// SPDX-License-Identifier: GPL-2.0

//! Functions without kprobes, regions in which none is called, and lockdown of probes.
//!
//! C header: `include/linux/kprobes.h`.

#[cfg(CONFIG_FPROBE)]
use super::context::PreemptOff;
#[cfg(any(CONFIG_FPROBE, CONFIG_KPROBE_EVENTS))]
use kernel::bindings;
#[cfg(any(CONFIG_FPROBE_EVENTS, CONFIG_KPROBE_EVENTS))]
use kernel::error::to_result;
#[cfg(any(CONFIG_FPROBE_EVENTS, CONFIG_KPROBE_EVENTS))]
use kernel::prelude::*;

/// Checks that probes may be made now. Task context. `EPERM` where the kernel is locked down.
#[cfg(any(CONFIG_FPROBE_EVENTS, CONFIG_KPROBE_EVENTS))]
pub(crate) fn check_lockdown() -> Result {
    // SAFETY: no preconditions.
    to_result(unsafe { bindings::security_locked_down(bindings::lockdown_reason_LOCKDOWN_KPROBES) })
}

/// A function's place in the list of those that no kprobe is put into.
#[repr(transparent)]
pub(crate) struct NoKprobe(pub(crate) *const ());

// SAFETY: the address of code.
unsafe impl Sync for NoKprobe {}

/// Keeps kprobes out of functions that are on the way to their own handlers, where another
/// breakpoint could be one too many. As `NOKPROBE_SYMBOL()` of `linux/kprobes.h`.
macro_rules! no_kprobe {
    ($($function:expr),* $(,)?) => {$(
        #[cfg(CONFIG_KPROBES)]
        const _: () = {
            #[used]
            #[link_section = "_kprobe_blacklist"]
            static LISTED: $crate::kernel::kprobes::NoKprobe =
                $crate::kernel::kprobes::NoKprobe($function as *const ());
        };
    )*};
}
pub(crate) use no_kprobe;

/// While it lives this CPU counts as being in a kprobe handler: kprobes call no handler here, and
/// count what they miss.
#[cfg(CONFIG_FPROBE)]
pub(crate) struct Busy {
    // Goes after what `drop` does.
    _stay: PreemptOff,
}

#[cfg(CONFIG_FPROBE)]
impl Busy {
    /// None if a kprobe handler runs on this CPU already. Any context.
    pub(crate) fn new() -> Option<Self> {
        let stay = PreemptOff::new();
        // SAFETY: preemption is off, says the guard; ended by the drop.
        if !unsafe { bindings::rtrace_kprobe_begin() } {
            return None;
        }
        Some(Self { _stay: stay })
    }
}

#[cfg(CONFIG_FPROBE)]
impl Drop for Busy {
    fn drop(&mut self) {
        // SAFETY: begun by `new`, on this CPU.
        unsafe { bindings::rtrace_kprobe_end() };
    }
}
