// SPDX-License-Identifier: GPL-2.0

//! Events that C code adds while the kernel runs, and the single steps of a hit, of
//! `include/linux/trace_events.h`. `events.rs` says what a `struct trace_event_file *` is.

use crate::kernel::trace_event::Registered;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use crate::kernel::trace_event::{Call, HeldCall};
use crate::trace::buffer::entry::{Context, CpuFlag, EntryMade};
use crate::trace::events::added;
use crate::trace::events::file::HotFile;
use crate::trace::events::filter::Filter;
use crate::trace::events::recording;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use crate::trace::events::registry;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::{c_int, c_uint, c_ulong, c_void};
use kernel::prelude::*;

/// Adds an event. Users and perf can enable it like any other. It has no module, whatever its flags
/// say. Task context, sleeps; the caller holds no lock of the tracing core.
///
/// # Errors
///
/// `EINVAL` without a name, what the event's class says, `ENODEV` before there are events, `ENOMEM`.
///
/// # Safety
///
/// `call` is complete and new, and stays with its class until [`trace_remove_event_call`].
#[export]
pub(crate) unsafe extern "C" fn trace_add_event_call(
    call: *mut bindings::trace_event_call,
) -> c_int {
    from_result(|| {
        let call = NonNull::new(call).ok_or(EINVAL)?;
        // SAFETY: `call` is complete and new, and stays until `trace_remove_event_call`.
        added::add(unsafe { Registered::dynamic(call) }?)?;
        Ok(0)
    })
}

/// Removes an event of [`trace_add_event_call`]. After success nobody uses `call`. Task context,
/// sleeps.
///
/// # Errors
///
/// `ENOENT` when it is not known, `EBUSY` while it is enabled in an instance, seen by perf or held,
/// `ENOMEM`.
///
/// # Safety
///
/// `call` is not used but to be compared.
#[export]
pub(crate) unsafe extern "C" fn trace_remove_event_call(
    call: *mut bindings::trace_event_call,
) -> c_int {
    from_result(|| {
        added::remove(|event| event.as_ptr() == call)?;
        Ok(0)
    })
}

/// Holds an event that was made while the kernel runs, until [`trace_event_dyn_put_ref`]; says whether
/// it is known. Task context, sleeps; the caller holds no lock of the tracing core.
///
/// # Safety
///
/// `call` is not used but to be compared.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn trace_event_dyn_try_get_ref(
    call: *mut bindings::trace_event_call,
) -> bool {
    registry::lock().is_ok_and(|registry| {
        let mut events = registry.events().iter();
        let found = events.find(|event| event.as_ptr() == call && event.has(Call::DYNAMIC));
        let held = found.and_then(|event| HeldCall::new(event.registered()));
        held.map(HeldCall::keep).is_some()
    })
}

/// Undoes one [`trace_event_dyn_try_get_ref`]. Task context.
///
/// # Safety
///
/// That has held `call`, for the caller.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn trace_event_dyn_put_ref(call: *mut bindings::trace_event_call) {
    // SAFETY: `call` is held until here, by what `trace_event_dyn_try_get_ref` has left.
    drop(unsafe { HeldCall::from_kept(Call::from_raw(call)) });
}

/// Whether an event that was made while the kernel runs is held or seen by perf. Task context.
///
/// # Safety
///
/// `call` is of a known event, or held.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn trace_event_dyn_busy(
    call: *mut bindings::trace_event_call,
) -> bool {
    // SAFETY: `call` is complete, and stays during the call.
    unsafe { Call::from_raw(call) }.is_in_use()
}

/// Hits the triggers of `file`, of which those with a filter look at the entry `rec`, which may be
/// null; gives those that [`event_triggers_post_call`] is to hit when the entry has been recorded.
/// Any context.
///
/// # Safety
///
/// `file` came from `trace_get_event_file()` or is what a probe got; `rec` is null or a complete
/// entry of its event.
#[export]
pub(crate) unsafe extern "C" fn event_triggers_call(
    file: *mut bindings::trace_event_file,
    _buffer: *mut bindings::trace_buffer,
    rec: *mut c_void,
    _event: *mut bindings::ring_buffer_event,
) -> bindings::event_trigger_type {
    // SAFETY: `file` is the `HotFile` that was given out for it.
    let file: &HotFile = unsafe { HotFile::from_raw(file) };
    // SAFETY: `rec` is null or a complete entry of the event, and the caller's meanwhile.
    let entry = (!rec.is_null()).then(|| unsafe { file.call().entry_at(rec.cast()) });
    added::hit_triggers(file, entry)
}

/// Hits the triggers that [`event_triggers_call`] has left. Any context.
///
/// # Safety
///
/// `file` is as there.
#[export]
pub(crate) unsafe extern "C" fn event_triggers_post_call(
    file: *mut bindings::trace_event_file,
    tt: bindings::event_trigger_type,
) {
    // SAFETY: `file` is the `HotFile` that was given out for it.
    added::hit_triggers_after(unsafe { HotFile::from_raw(file) }, tt);
}

/// Reserves `len` bytes in the buffer of the instance of `trace_file`, which it tells, and writes the
/// common fields of an entry of type `type_`, with flags and depth of preemption from `trace_ctx`.
/// Null while nothing is recorded there. Preemption stays off until `ring_buffer_unlock_commit()` or
/// `ring_buffer_discard_commit()` on that buffer; filters and triggers are the caller's. Any context.
///
/// # Safety
///
/// `current_buffer` is the caller's; `trace_file` came from `trace_get_event_file()` or is what a
/// probe got; `len` is as much as the common fields have at least.
#[export]
pub(crate) unsafe extern "C" fn trace_event_buffer_lock_reserve(
    current_buffer: *mut *mut bindings::trace_buffer,
    trace_file: *mut bindings::trace_event_file,
    type_: c_int,
    len: c_ulong,
    trace_ctx: c_uint,
) -> *mut bindings::ring_buffer_event {
    const FLAGS: u64 = 0xffff << 16;
    // SAFETY: `trace_file` is the `HotFile` that was given out for it.
    let file: &HotFile = unsafe { HotFile::from_raw(trace_file) };
    let buffer = file.instance().buffer();
    // SAFETY: `current_buffer` is the caller's.
    unsafe { *current_buffer = core::ptr::from_ref(buffer).cast_mut().cast() };
    let header = Context::capture_all().header(type_ as u16);
    let flags = u64::from(trace_ctx >> 16 & 0xff) << 16 | u64::from(trace_ctx & 0xff) << 24;
    let Some(event) = buffer.reserve(len) else {
        return null_mut();
    };
    let head = recording::header_of(len);
    // SAFETY: a payload of at least the common fields lies behind the record's header, and nobody
    // else writes there.
    unsafe {
        let entry = event.as_ptr().wrapping_add(head).cast::<u64>();
        entry.write_unaligned(header & !FLAGS | flags);
    }
    EntryMade::set(true);
    event.as_ptr().cast()
}

/// Whether an entry passes a filter. All pass where there is none. Any context, preemption off.
///
/// # Safety
///
/// `filter` is null, or that of a `struct trace_event_file` or of a `struct perf_event`, and `rec` a complete
/// entry of the same event.
#[export]
pub(crate) unsafe extern "C" fn filter_match_preds(
    filter: *mut bindings::event_filter,
    rec: *mut c_void,
) -> c_int {
    if filter.is_null() {
        return 1;
    }
    // SAFETY: both places have a `Filter`, which is waited for before it goes; `rec` is a complete
    // entry of the event that it is for.
    let (filter, entry) = unsafe {
        let filter = &*filter.cast::<Filter>();
        (filter, filter.reach().entry_at(rec.cast()))
    };
    filter.passes(entry).into()
}
