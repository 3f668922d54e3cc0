// SPDX-License-Identifier: GPL-2.0

//! Events that users define, as C code reaches them: their class, their printing, steps of boot.
//! `dynamic.c` has what only C can make.
//!
//! A `struct trace_event_call *` is a [`DynamicEvent`] here.

use super::trace_array::instance;
use crate::core::parse::options::Flag;
use crate::kernel::dynamic_event::{CFunctions, DynamicEvent, VERBOSE};
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::kernel::module::Module;
use crate::kernel::own_event::Reg;
use crate::kernel::trace_event::File;
use crate::kernel::trace_iterator::TraceIterator;
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::events::dynamic;
use crate::trace::events::file::Hot;
use core::mem::offset_of;
#[cfg(CONFIG_UPROBE_EVENTS)]
use core::ptr::NonNull;
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;
use kernel::types::Opaque;

// SAFETY: both lead to functions below, which take an event for a `DynamicEvent<Hot>`.
unsafe impl CFunctions for Hot {
    const REG: Reg = bindings::rtrace_dynamic_class_reg;

    fn funcs() -> &'static Opaque<bindings::trace_event_functions> {
        // SAFETY: a static of C's; the type is transparent.
        unsafe { &*(&raw const bindings::rtrace_dynamic_funcs).cast() }
    }
}

/// The `reg` of their class: gives hits to a file or to perf, or no longer. Task context, sleeps.
/// The caller holds the events lock.
///
/// # Errors
///
/// As the kind of the event, `ENOMEM`.
///
/// # Safety
///
/// As the module's head says; `data` is what `what` asks for.
#[export]
pub(crate) unsafe extern "C" fn rtrace_dynamic_reg(
    call: *mut bindings::trace_event_call,
    what: bindings::trace_reg,
    data: *mut c_void,
) -> c_int {
    from_result(|| {
        // SAFETY: `call` is part of a `DynamicEvent`, and `data` is the file for the first two; a
        // file stays until it was removed and readers were waited for. Where perf's events open and
        // close, it is one, which stays until it was closed.
        unsafe {
            let event = DynamicEvent::<Hot>::from_raw(call);
            match what {
                bindings::trace_reg_TRACE_REG_REGISTER => {
                    event.add_file(File::from_raw(data.cast()))
                }
                bindings::trace_reg_TRACE_REG_UNREGISTER => {
                    event.remove_file(File::from_raw(data.cast()));
                    Ok(())
                }
                #[cfg(CONFIG_PERF_EVENTS)]
                bindings::trace_reg_TRACE_REG_PERF_REGISTER => event.set_for_perf(true),
                #[cfg(CONFIG_PERF_EVENTS)]
                bindings::trace_reg_TRACE_REG_PERF_UNREGISTER => event.set_for_perf(false),
                #[cfg(CONFIG_UPROBE_EVENTS)]
                bindings::trace_reg_TRACE_REG_PERF_OPEN => {
                    NonNull::new(data.cast()).map_or(Ok(()), |data| event.perf_begins(data))
                }
                #[cfg(CONFIG_UPROBE_EVENTS)]
                bindings::trace_reg_TRACE_REG_PERF_CLOSE => {
                    if let Some(data) = NonNull::new(data.cast()) {
                        event.perf_ends(data);
                    }
                    Ok(())
                }
                _ => Ok(()),
            }
        }?;
        Ok(0)
    })
}

/// Prints an entry.
///
/// # Safety
///
/// `iter` is the one that the caller was given to print with, and `event` is part of an event as the
/// module's head says.
#[export]
pub(crate) unsafe extern "C" fn rtrace_dynamic_print(
    iter: *mut bindings::trace_iterator,
    flags: c_int,
    event: *mut bindings::trace_event,
) -> bindings::print_line_t {
    let start = event
        .cast::<u8>()
        .wrapping_sub(offset_of!(bindings::trace_event_call, event));
    // SAFETY: `iter` is the one that the caller was given to print with, and `start` is that of a
    // `DynamicEvent`.
    let (iter, event) = unsafe {
        (
            TraceIterator::from_raw(iter),
            DynamicEvent::<Hot>::from_raw(start.cast()),
        )
    };
    // SAFETY: the iterator's instance is null or an instance that is held while it is printed.
    let verbose = unsafe { instance(iter.trace_array()) }
        .is_some_and(|instance| instance.options().has(Flag::Verbose));
    let flags = if verbose { flags | VERBOSE } else { flags };
    let (seq, entry) = iter.line();
    let _full = event.print(entry, flags, seq);
    match seq.is_full() {
        true => bindings::print_line_t_TRACE_TYPE_PARTIAL_LINE,
        false => bindings::print_line_t_TRACE_TYPE_HANDLED,
    }
}

/// Registers the probes that wait for a module that is being loaded. Task context, sleeps.
///
/// # Safety
///
/// The module is there during the call.
#[cfg(CONFIG_FUNCTION_TRACER)]
#[export]
pub(crate) unsafe extern "C" fn rtrace_dynamic_module(module: *mut bindings::module) {
    // SAFETY: the module is there during the call.
    dynamic::module_comes(unsafe { Module::from_raw(module) }.name());
}

/// A module's tracepoints are there. Task context, sleeps.
#[cfg(CONFIG_FPROBE_EVENTS)]
#[export]
pub(crate) extern "C" fn rtrace_dynamic_tracepoints() {
    dynamic::tracepoints_change(&dynamic::Change::Comes);
}

/// A module is about to go. Task context, sleeps.
///
/// # Safety
///
/// The module is there during the call.
#[cfg(CONFIG_FPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn rtrace_dynamic_module_goes(module: *mut bindings::module) {
    // SAFETY: the module is there during the call.
    let text = unsafe { Module::from_raw(module) }.text();
    dynamic::tracepoints_change(&dynamic::Change::Goes(text));
}

/// Makes the events of the command line. Boot, with text patching.
///
/// # Safety
///
/// `kprobes` is NUL-terminated.
#[cfg(CONFIG_KPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn rtrace_dynamic_boot(kprobes: *const c_char) {
    // SAFETY: `kprobes` is NUL-terminated.
    let kprobes = unsafe { CStr::from_char_ptr(kprobes) }.to_bytes();
    #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
    if !kprobes.is_empty() {
        crate::trace::boot::selftest::leave_out("running kprobe events");
    }
    dynamic::kprobe::boot(kprobes);
}
