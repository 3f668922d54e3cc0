// SPDX-License-Identifier: GPL-2.0

//! The stack tracer's boot step and sysctl, whose tables are in `stack_tracer.c`.

use crate::trace::profilers::stack_depth as stack_tracer;
use kernel::prelude::*;

/// Makes the tracer; see [`stack_tracer::init`]. Once, at boot.
///
/// # Safety
///
/// `filter` is NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn rtrace_stack_tracer_init(filter: *const c_char, on: bool) {
    // SAFETY: by the precondition.
    let filter = unsafe { CStr::from_char_ptr(filter) }.to_bytes();
    if let Err(error) = stack_tracer::init(filter, on) {
        pr_warn!("no stack tracer: {:?}\n", error);
    }
}

/// Switches the tracer on or off. Task context, sleeps.
#[no_mangle]
pub(crate) extern "C" fn rtrace_stack_tracer_set(on: bool) -> c_int {
    stack_tracer::set(on).map_or_else(Error::to_errno, |()| 0)
}

crate::abi::same_in_c! {
    fn rtrace_stack_tracer_set(_) -> _;
}
