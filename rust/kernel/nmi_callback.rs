// SPDX-License-Identifier: GPL-2.0

//! Whether NMIs call the tracers of noise at their entry and exit.
//!
//! C header: `include/linux/ftrace_irq.h`.

use core::sync::atomic::{compiler_fence, Ordering};
use kernel::bindings;

/// A tracer with such a callback.
#[derive(Clone, Copy)]
pub(crate) enum Callee {
    /// `trace_hwlat_callback()`.
    #[cfg(CONFIG_HWLAT_TRACER)]
    Hwlat,
    /// `trace_osnoise_callback()`.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    Osnoise,
}

impl Callee {
    fn switch(self) -> *mut bool {
        match self {
            #[cfg(CONFIG_HWLAT_TRACER)]
            Self::Hwlat => &raw mut bindings::trace_hwlat_callback_enabled,
            #[cfg(CONFIG_OSNOISE_TRACER)]
            Self::Osnoise => &raw mut bindings::trace_osnoise_callback_enabled,
        }
    }
}

/// Has NMIs call `callee` from now on, or no longer. What this CPU did before is seen by those that hit
/// it afterwards. Any context.
pub(crate) fn set(callee: Callee, on: bool) {
    compiler_fence(Ordering::SeqCst);
    // SAFETY: a static of one byte, which does not tear.
    unsafe { callee.switch().write_volatile(on) };
    compiler_fence(Ordering::SeqCst);
}
