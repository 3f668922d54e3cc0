// SPDX-License-Identifier: GPL-2.0

//! Keeping the lockup detectors quiet during a long job.
//!
//! C header: [`include/linux/nmi.h`](srctree/include/linux/nmi.h)

use kernel::bindings;

/// Keeps the hard and soft lockup detectors of this CPU quiet for another while. Any context.
pub(crate) fn touch() {
    // SAFETY: has no preconditions.
    unsafe { bindings::touch_nmi_watchdog() }
}
