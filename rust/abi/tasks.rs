// SPDX-License-Identifier: GPL-2.0

//! What C code that records entries itself asks for beside them, of `include/linux/trace_events.h`: the
//! context that an entry is made in, and that tasks' names and thread groups are saved.

use crate::core::format::line::flag;
use crate::kernel::tracepoint::TaskView;
use crate::trace::buffer::entry::Context;
use crate::trace::tasks::cmdlines;
use kernel::bindings;
use kernel::ffi::{c_int, c_uint};
use kernel::prelude::*;

/// `TRACE_RECORD_CMDLINE`, a macro that bindgen does not see through.
const NAME: c_int = 1 << 0;
/// `TRACE_RECORD_TGID`.
const TGID: c_int = 1 << 1;

/// The context as `trace_event_buffer_lock_reserve()` gets it: flags, and how deep preemption and
/// migration are off. `irqs_status` is the flag that says whether interrupts are. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_gen_ctx_irq_test(irqs_status: c_uint) -> c_uint {
    let header = Context::capture_all().header(0);
    let flags = (header >> 16) as c_uint & 0xff & !c_uint::from(flag::IRQS_OFF);
    let depths = (header >> 24) as c_uint & 0xff;
    (flags | irqs_status) << 16 | depths
}

/// Saves what `flags` say of `task`, if this CPU has recorded an entry since the last save. Any
/// context but NMI, preemption off.
///
/// # Safety
///
/// `task` is a task that stays during the call.
#[export]
pub(crate) unsafe extern "C" fn tracing_record_taskinfo(
    task: *mut bindings::task_struct,
    flags: c_int,
) {
    // SAFETY: `task` stays during the call.
    let task = unsafe { TaskView::new(task) };
    cmdlines::record(&[task], flags & NAME != 0, flags & TGID != 0);
}

/// [`tracing_record_taskinfo`] of both tasks of a switch.
///
/// # Safety
///
/// Both stay during the call.
#[export]
pub(crate) unsafe extern "C" fn tracing_record_taskinfo_sched_switch(
    prev: *mut bindings::task_struct,
    next: *mut bindings::task_struct,
    flags: c_int,
) {
    // SAFETY: both stay during the call.
    let tasks = unsafe { [TaskView::new(prev), TaskView::new(next)] };
    cmdlines::record(&tasks, flags & NAME != 0, flags & TGID != 0);
}

/// [`tracing_record_taskinfo`] of the name.
///
/// # Safety
///
/// As there.
#[export]
pub(crate) unsafe extern "C" fn tracing_record_cmdline(task: *mut bindings::task_struct) {
    // SAFETY: `task` stays during the call.
    unsafe { tracing_record_taskinfo(task, NAME) };
}

/// [`tracing_record_taskinfo`] of the thread group.
///
/// # Safety
///
/// As there.
#[export]
pub(crate) unsafe extern "C" fn tracing_record_tgid(task: *mut bindings::task_struct) {
    // SAFETY: `task` stays during the call.
    unsafe { tracing_record_taskinfo(task, TGID) };
}

crate::abi::same_in_c! {
    fn tracing_gen_ctx_irq_test(_) -> _;
}
