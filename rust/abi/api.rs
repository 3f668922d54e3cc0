// SPDX-License-Identifier: GPL-2.0

//! What the interface for Rust code (`rust/api`) calls and C has no function for.

use super::trace_array::instance;
use crate::core::format::entry::RawData;
use crate::kernel::interop::errno;
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::fgraph::{self, ret_stack, UserRef};
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::ftrace::ops;
use crate::trace::instance::{list, Held, Instance};
use crate::trace::output::reader::Reader;
use kernel::bindings;
use kernel::ffi::{c_char, c_int, c_void};
use kernel::prelude::*;
use kernel::sync::{Arc, ArcBorrow};

#[cfg(CONFIG_FUNCTION_TRACER)]
const _: () = assert!(ret_stack::MAX_DATA_BYTES == bindings::RTRACE_GRAPH_DATA_MAX as usize);

/// Unregisters a user of the function graph, waits until none of its functions runs any more, and
/// gives its filter back. Task context, sleeps.
///
/// # Safety
///
/// `user` was registered, and stays until this returns.
#[cfg(CONFIG_FUNCTION_TRACER)]
#[export]
pub(crate) unsafe extern "C" fn rtrace_unregister_graph(user: *mut bindings::fgraph_ops) {
    // SAFETY: the user is null or stays.
    if let Some(user) = unsafe { UserRef::from_raw(user) } {
        fgraph::unregister(user);
        fgraph::wait();
        ops::free_sets(user.ops());
    }
}

/// Gets the instance called `name`, to be given back by `trace_array_put()`. With `make` it is made if
/// there is none. Task context, may sleep.
///
/// # Errors
///
/// `EINVAL` for a name that no directory can have, `ENOENT` if there is none, `ENOMEM`.
///
/// # Safety
///
/// `name` is a NUL-terminated string; `tr` can be written to.
#[export]
pub(crate) unsafe extern "C" fn rtrace_array_get(
    name: *const c_char,
    make: bool,
    tr: *mut *mut bindings::trace_array,
) -> c_int {
    // SAFETY: the caller's string.
    let name = unsafe { CStr::from_char_ptr(name) };
    let held = match name.to_bytes() {
        b"" | b"." | b".." => Err(EINVAL),
        bytes if bytes.contains(&b'/') => Err(EINVAL),
        _ if make => list::get(name),
        bytes => list::hold(bytes),
    };
    errno(held.map(|held| {
        // SAFETY: the caller's place for it.
        unsafe { tr.write(Arc::into_raw(held.into_arc()).cast_mut().cast()) }
    }))
}

/// Gives a reference back and removes the instance. Task context, may sleep.
///
/// # Errors
///
/// `ENODEV` if it has gone already, `EBUSY` while others use it.
///
/// # Safety
///
/// `tr` came from [`rtrace_array_get`], and this is the end of that reference.
#[export]
pub(crate) unsafe extern "C" fn rtrace_array_remove(tr: *mut bindings::trace_array) -> c_int {
    // SAFETY: it was made of an `Arc`, whose count was kept.
    let instance: Arc<Instance> = unsafe { Arc::from_raw(tr.cast()) };
    drop(Held::from_arc(instance.clone()));
    errno(list::remove(|other| Arc::ptr_eq(other, &instance)))
}

/// Whether a tracepoint can call `probe`. To kCFI, an enum is a type of its own, which bindings have as a
/// number. Task context.
///
/// # Safety
///
/// `tp` is a tracepoint, and `probe` a function.
#[export]
pub(crate) unsafe extern "C" fn rtrace_probe_fits(
    tp: *const bindings::tracepoint,
    probe: *mut c_void,
) -> bool {
    // SAFETY: the stub is a function of the tracepoint's prototype, so both have what the compiler puts
    // in front of functions.
    unsafe { bindings::rtrace_type_hash((*tp).probestub) == bindings::rtrace_type_hash(probe) }
}

/// Records `size` bytes with the number `id` in an instance, as a write to `trace_marker_raw` does. Was
/// there room, and is recording on? Any context.
///
/// # Safety
///
/// `tr` came from `trace_array_get_by_name()` and was not put as often, or is what a tracer's start got
/// and has not ended: such an instance stays, but may be gone from the list. `size` bytes are readable
/// at `data`.
#[export]
pub(crate) unsafe extern "C" fn rtrace_array_write(
    tr: *mut bindings::trace_array,
    id: u32,
    data: *const c_void,
    size: usize,
) -> bool {
    // SAFETY: the instance is held; so many bytes are readable.
    let (instance, bytes) = unsafe {
        (
            instance(tr),
            core::slice::from_raw_parts(data.cast::<u8>(), size),
        )
    };
    instance.is_some_and(|instance| instance.buffer().write(RawData { id }, [bytes]).is_some())
}

/// Makes a reader of an instance, which holds that. Task context, may sleep. Errors as
/// [`Reader::open`], and `ENODEV` if the instance is going.
///
/// # Safety
///
/// `tr` came from `trace_array_get_by_name()` and was not put as often; `reader` can be written to.
#[export]
pub(crate) unsafe extern "C" fn rtrace_reader_open(
    tr: *mut bindings::trace_array,
    reader: *mut *mut bindings::rtrace_reader,
) -> c_int {
    // SAFETY: the instance is held, and all of them are in `Arc`s.
    let instance: Arc<Instance> = unsafe { ArcBorrow::from_raw(tr.cast::<Instance>()) }.into();
    let made = instance
        .hold()
        .and_then(Reader::open)
        .and_then(|made| Ok(KBox::new(made, GFP_KERNEL)?));
    errno(made.map(|made| {
        // SAFETY: the caller's place for it.
        unsafe { reader.write(KBox::into_raw(made).cast()) }
    }))
}

/// Takes the oldest entry. Is there one? Task context, may sleep.
///
/// # Safety
///
/// `reader` came from [`rtrace_reader_open`], and nobody else uses it or its last entry; `entry` can
/// be written to.
#[export]
pub(crate) unsafe extern "C" fn rtrace_reader_next(
    reader: *mut bindings::rtrace_reader,
    entry: *mut bindings::rtrace_entry,
) -> bool {
    // SAFETY: a reader that nobody else uses.
    let reader = unsafe { &mut *reader.cast::<Reader>() };
    let Some((record, text)) = reader.next() else {
        return false;
    };
    let read = bindings::rtrace_entry {
        time: record.ts,
        lost: record.lost.map_or(0, |lost| lost.get()),
        record: record.data.as_ptr(),
        record_length: record.data.len(),
        text: text.as_ptr(),
        text_length: text.len(),
        cpu: record.cpu.as_u32(),
    };
    // SAFETY: the caller's place for it.
    unsafe { entry.write(read) };
    true
}

/// Task context, may sleep.
///
/// # Safety
///
/// `reader` came from [`rtrace_reader_open`]; nobody uses it any more.
#[export]
pub(crate) unsafe extern "C" fn rtrace_reader_close(reader: *mut bindings::rtrace_reader) {
    // SAFETY: it came from a box, and is the caller's own.
    drop(unsafe { KBox::from_raw(reader.cast::<Reader>()) });
}
