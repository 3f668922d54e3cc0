// SPDX-License-Identifier: GPL-2.0

//! Switches and stacks of `include/linux/trace_printk.h`, whose texts are in `printk.rs`, and the
//! boot steps of `include/linux/ftrace.h`. `trace.c` has the exports.

use crate::kernel::reserved::module_text;
use crate::trace::boot;
use crate::trace::instance::{snapshot, Instance};
use crate::trace::tasks::stack;
use kernel::bindings;
use kernel::ffi::{c_char, c_int};
use kernel::prelude::*;

/// Makes the top instance and starts what the command line asks for. Early boot, one CPU, memory
/// can be had.
#[no_mangle]
pub(crate) extern "C" fn early_trace_init() {
    // SAFETY: once, and no tracer was set before.
    #[cfg(CONFIG_BRANCH_TRACER)]
    unsafe {
        crate::trace::tracers::branch::recording::init_lock();
    }
    // SAFETY: the command line has been parsed, and init memory is still there.
    let text = |read: unsafe extern "C" fn() -> *const c_char| {
        unsafe { CStr::from_char_ptr(read()) }.to_bytes()
    };
    boot::early(&boot::Parameters {
        tracer: text(bindings::rtrace_boot_tracer),
        clock: text(bindings::rtrace_boot_clock),
        options: text(bindings::rtrace_boot_options),
        size: text(bindings::rtrace_boot_size),
        // SAFETY: as above.
        snapshot: unsafe { bindings::rtrace_boot_snapshot() },
    });
}

/// Makes the instances that the command line asks for. Boot, one CPU, behind [`early_trace_init`].
#[no_mangle]
pub(crate) extern "C" fn trace_init() {
    #[cfg(CONFIG_EVENT_TRACING)]
    super::events::start();
    // SAFETY: the command line has been parsed, and init memory is still there.
    let text = |read: unsafe extern "C" fn() -> *const c_char| {
        unsafe { CStr::from_char_ptr(read()) }.to_bytes()
    };
    boot::instances(
        text(bindings::rtrace_boot_instances),
        text(bindings::rtrace_boot_snapshots),
    );
}

/// A module comes, or goes: where its text is matters to what outlives the kernel. Task context,
/// sleeps.
///
/// # Safety
///
/// The module is there during the call.
#[export]
pub(crate) unsafe extern "C" fn rtrace_module_changed(module: *mut bindings::module, comes: bool) {
    // SAFETY: by the precondition.
    unsafe {
        module_text(module, |name, text| {
            boot::note_module(name, comes.then_some(text))
        })
    };
}

/// Switches recording of the top instance on. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_on() {
    if let Ok(top) = Instance::top() {
        top.buffer().set_on(true);
    }
}

/// Switches recording of the top instance off. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_off() {
    if let Ok(top) = Instance::top() {
        top.buffer().set_on(false);
    }
}

/// Is recording of the top instance switched on? Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_is_on() -> c_int {
    Instance::top().is_ok_and(|top| top.tracing_on()).into()
}

/// Takes a snapshot of the top instance, or says in its buffer why not. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_snapshot() {
    if let Ok(top) = Instance::top() {
        snapshot::tracing_snapshot_instance_cond(top);
    }
}

/// Allocates the snapshot of the top instance if there is none, and takes one. Task context,
/// sleeps.
#[no_mangle]
pub(crate) extern "C" fn tracing_snapshot_alloc() {
    if let Ok(top) = Instance::top() {
        if top.allocate_snapshot().is_ok() {
            snapshot::tracing_snapshot_instance_cond(top);
        }
    }
}

/// Boot has ended, and init memory is still there: takes the snapshot that the command line may
/// have asked for.
#[no_mangle]
pub(crate) extern "C" fn ftrace_boot_snapshot() {
    // SAFETY: the command line has been parsed, and init memory is still there.
    if unsafe { bindings::rtrace_boot_snapshot_at_end() } {
        boot::end_with_snapshot(ftrace_boot_snapshot as extern "C" fn() as usize);
    }
}

/// Records the stack from the frame that returns to `from`, or `skip` frames on. Any context.
#[no_mangle]
pub(crate) extern "C" fn rtrace_dump_stack(from: c_ulong, skip: c_int) {
    if let Ok(top) = Instance::top() {
        stack::record_skipping(top.buffer(), from, skip.try_into().unwrap_or(0));
    }
}

crate::abi::same_in_c! {
    fn early_trace_init();
    fn trace_init();
    fn tracing_on();
    fn tracing_off();
    fn tracing_is_on() -> _;
    fn rtrace_dump_stack(_, _);
    fn tracing_snapshot();
    fn tracing_snapshot_alloc();
    fn ftrace_boot_snapshot();
}
