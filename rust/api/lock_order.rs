// SPDX-License-Identifier: GPL-2.0

//! The order of mutexes that callers keep: some may not be taken in a function of a
//! [`Tracer`](crate::tracer::Tracer).

use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// `EDEADLK` in a function of a tracer.
pub(crate) fn outside() -> Result {
    // SAFETY: no preconditions.
    to_result(unsafe { bindings::rtrace_outside_tracers() })
}
