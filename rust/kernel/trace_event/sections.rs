// SPDX-License-Identifier: GPL-2.0

//! The events, and the names in their formats, that the kernel and its modules are built with.

use core::ptr::NonNull;
use kernel::bindings;
use kernel::prelude::*;

/// The events of the kernel itself, in the order of the linker's; `None` in the place of those that are
/// not made by C. Boot.
///
/// # Safety
///
/// Init memory, where the list is, stays while the result is used.
pub(crate) unsafe fn built_in() -> impl Iterator<Item = Option<NonNull<bindings::trace_event_call>>>
{
    let start =
        (&raw const bindings::__start_ftrace_events).cast::<*mut bindings::trace_event_call>();
    let end = (&raw const bindings::__stop_ftrace_events) as usize;
    let count = end.wrapping_sub(start as usize) / size_of::<usize>();
    // SAFETY: the linker script puts them around an array of pointers, which is there as long as
    // init memory is.
    (0..count).map(move |at| NonNull::new(unsafe { *start.add(at) }))
}

/// The events of a module that comes.
///
/// # Safety
///
/// The module is there while the result is used.
pub(crate) unsafe fn of_module(
    module: *const bindings::module,
) -> impl Iterator<Item = NonNull<bindings::trace_event_call>> {
    // SAFETY: the module is there while the result is used, and its loader has found the array.
    let (start, count) = unsafe { ((*module).trace_events, (*module).num_trace_events) };
    // SAFETY: `at` is below the number of pointers in the array, and the module is there.
    (0..count as usize).filter_map(move |at| NonNull::new(unsafe { *start.add(at) }))
}

/// What a name in the formats of a system's events stands for.
#[derive(Clone, Copy)]
pub(crate) struct Eval<'a> {
    /// As [`Call::system_key`](super::Call::system_key).
    pub(crate) system: usize,
    /// The system's name.
    #[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
    pub(crate) system_name: &'a CStr,
    /// The name of an enumerator, or `sizeof(…)`.
    pub(crate) name: &'a CStr,
    /// The number.
    pub(crate) value: i64,
}

/// # Safety
///
/// `map` stays for the lifetime that the caller picks.
unsafe fn eval<'a>(map: *const bindings::trace_eval_map) -> Eval<'a> {
    // SAFETY: `map` stays for `'a`, and its names are NUL-terminated.
    unsafe {
        Eval {
            system: (*map).system as usize,
            #[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
            system_name: CStr::from_char_ptr((*map).system),
            name: CStr::from_char_ptr((*map).eval_string),
            value: (*map).eval_value as i64,
        }
    }
}

/// The names of the kernel's own events. Boot.
///
/// # Safety
///
/// Init memory, where they are, stays while the result and what it gives are used.
pub(crate) unsafe fn built_in_evals<'a>() -> impl Iterator<Item = Eval<'a>> {
    let start =
        (&raw const bindings::__start_ftrace_eval_maps).cast::<*mut bindings::trace_eval_map>();
    let end = (&raw const bindings::__stop_ftrace_eval_maps) as usize;
    let count = end.wrapping_sub(start as usize) / size_of::<usize>();
    // SAFETY: the linker script puts them around an array of pointers to maps, which are there as
    // long as init memory is.
    (0..count).map(move |at| unsafe { eval(*start.add(at)) })
}

/// The names of a module's events.
///
/// # Safety
///
/// The module comes, and is there while the result is used.
pub(crate) unsafe fn evals_of_module<'a>(
    module: *const bindings::module,
) -> impl Iterator<Item = Eval<'a>> {
    // SAFETY: the module comes and is there while the result is used, and its loader has found the
    // array.
    let (start, count) = unsafe { ((*module).trace_evals, (*module).num_trace_evals) };
    // SAFETY: `at` is below the number of maps in the array, and the module is there with them.
    (0..count as usize).map(move |at| unsafe { eval(*start.add(at)) })
}
