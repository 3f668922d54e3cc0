// SPDX-License-Identifier: GPL-2.0

//! Functions without kprobes, and regions in which none is called.
//!
//! C header: `include/linux/kprobes.h`.

#[cfg(CONFIG_FPROBE)]
use super::context::PreemptOff;
#[cfg(CONFIG_FPROBE)]
use kernel::bindings;

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
