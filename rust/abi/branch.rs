// SPDX-License-Identifier: GPL-2.0

//! What each `likely()` and `unlikely()` of the kernel's C code calls: `include/linux/compiler.h`.
//!
//! The hot path of kernels with `CONFIG_TRACE_BRANCH_PROFILING`. As long as nobody traces it
//! counts, and calls nothing. `Documentation/branch-tracer.md` says where each instruction goes.

use crate::kernel::branch_sites::Annotated;
#[cfg(CONFIG_BRANCH_TRACER)]
use crate::kernel::context::UserClosed;
#[cfg(CONFIG_BRANCH_TRACER)]
use crate::trace::tracers::branch::recording;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::prelude::*;

/// The condition of the site `data` was `value`, and `expected` was foretold; `constant` says that
/// the compiler knew it. Any context whatever: before anything is set up, within access to user
/// memory, where RCU does not watch.
///
/// # Safety
///
/// `data` is a site of the kernel or of a module that stays meanwhile.
#[export]
pub(crate) unsafe extern "C" fn ftrace_likely_update(
    data: *mut bindings::ftrace_likely_data,
    value: c_int,
    expected: c_int,
    constant: c_int,
) {
    // SAFETY: a site of the kernel, or of a module that stays meanwhile; neither is at 0.
    let site = unsafe { Annotated::from_raw(NonNull::new_unchecked(data)) };
    // What the compiler knew is correct.
    let correct = constant != 0 || value == expected;
    if constant != 0 {
        site.count_constant();
    }
    site.count(correct);
    #[cfg(CONFIG_BRANCH_TRACER)]
    if recording::is_on() {
        let _closed = UserClosed::new();
        recording::record(site, correct);
    }
}
