// SPDX-License-Identifier: GPL-2.0

//! The stack tracer's boot step and sysctl.

use super::boot::Given;
use super::sysctl;
use crate::trace::profilers::stack_depth;
use kernel::bindings;
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// Makes the tracer; see [`stack_depth::init`]. `stacktrace_filter=` switches it on, too. Once, at
/// boot.
#[no_mangle]
pub(crate) extern "C" fn rtrace_stack_tracer_init() -> c_int {
    // SAFETY: this is an initcall, so that init memory is there.
    let given = |param| unsafe { Given::of(param) };
    let filter = given(bindings::rtrace_param_RTRACE_PARAM_STACK_FILTER);
    let on = given(bindings::rtrace_param_RTRACE_PARAM_STACK_TRACE);
    let on = on.is_given() || filter.is_given();
    if let Err(error) = stack_depth::init(filter.last(), on) {
        pr_warn!("no stack tracer: {:?}\n", error);
    }
    0
}

/// The number that was written last, which is what is read.
static WRITTEN: Atomic<c_int> = Atomic::new(0);

/// `kernel.stack_tracer_enabled`. Task context, sleeps.
///
/// # Safety
///
/// A sysctl handler's arguments.
#[export]
pub(crate) unsafe extern "C" fn rtrace_stack_tracer_sysctl(
    table: *const bindings::ctl_table,
    write: c_int,
    buffer: *mut c_void,
    lenp: *mut usize,
    ppos: *mut bindings::loff_t,
) -> c_int {
    let on = stack_depth::is_on();
    let written = WRITTEN.load(Relaxed);
    let now = if (written != 0) == on {
        written
    } else {
        c_int::from(on)
    };
    let set = |number| stack_depth::set(number != 0).inspect(|()| WRITTEN.store(number, Relaxed));
    // SAFETY: the arguments are those that the sysctl code gives its handlers.
    unsafe { sysctl::number(table, write, buffer, lenp, ppos, now, set) }
}

crate::abi::same_in_c! {
    fn rtrace_stack_tracer_init() -> _;
}
