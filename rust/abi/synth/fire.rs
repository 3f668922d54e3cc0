// SPDX-License-Identifier: GPL-2.0

//! Synthetic events that C code fires.
//!
//! A `struct trace_event_file *` is what `trace_get_event_file()` has given for a synthetic event.
//! Between `synth_event_trace_start()` and `synth_event_trace_end()` preemption is off, and the
//! `struct synth_event_trace_state` has the entry that is being made; `n_u64` is its length, and `buffer`
//! the ring on which nesting ends with it.

use super::{bytes, from_result};
use crate::kernel::context::PreemptOff;
use crate::kernel::dynamic_event::{CFunctions, DynamicEvent};
use crate::kernel::trace_event::{flag, Reservation, COMMON};
use crate::trace::events::dynamic::synthetic::{self, Fields};
use crate::trace::events::file::{Hot, HotFile};
use crate::trace::events::recording;
use core::mem::{zeroed, ManuallyDrop};
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::ffi::{c_int, c_uint};
use kernel::prelude::*;

type State = bindings::synth_event_trace_state;

/// The fields of the event of `file`. `EINVAL` if it is no synthetic event.
///
/// # Safety
///
/// The file is there for `'a`.
unsafe fn fields_of<'a>(file: &'a HotFile) -> Result<&'a Fields> {
    let call = file.call().as_ptr();
    // SAFETY: the event has a class, and stays as long as its file.
    let reg = unsafe { (*(*call).class).reg };
    if reg.map(|reg| reg as usize) != Some(Hot::REG as usize) {
        return Err(EINVAL);
    }
    // SAFETY: by its class the event is a `DynamicEvent`.
    let event = unsafe { DynamicEvent::<Hot>::from_raw(call) };
    synthetic::fields_of(event).ok_or(EINVAL)
}

/// Whether `file` is of a synthetic event with just these fields, in this order. Any context.
///
/// # Safety
///
/// `file` is as the module's head says; there are `count` fields, whose texts are NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn rtrace_synth_event_has(
    file: *mut bindings::trace_event_file,
    fields: *const bindings::synth_field_desc,
    count: c_uint,
) -> bool {
    // SAFETY: the file is there during the call, and there are `count` fields.
    let (found, asked) = unsafe {
        let asked = match count {
            0 => &[],
            count => core::slice::from_raw_parts(fields, count as usize),
        };
        (fields_of(HotFile::from_raw(file)), asked)
    };
    // SAFETY: the texts of a field are NUL-terminated.
    let is = |text: &[u8], asked| text == unsafe { CStr::from_char_ptr(asked) }.to_bytes();
    found.is_ok_and(|found| {
        let mut pairs = found.all().iter().zip(asked);
        found.all().len() == asked.len()
            && pairs
                .all(|(field, asked)| is(field.ty(), asked.type_) && is(field.name(), asked.name))
    })
}

fn is_off(file: &HotFile) -> bool {
    file.flags() & flag::ENABLED == 0 || recording::is_left_out(file)
}

/// Records an entry with these values, one for each field: a number, or the address of a text. Any
/// context.
///
/// # Errors
///
/// `EINVAL` for another number of values, or if `file` is of no synthetic event.
///
/// # Safety
///
/// `file` is as the module's head says; there are `n_vals` values.
#[export]
pub(crate) unsafe extern "C" fn synth_event_trace_array(
    file: *mut bindings::trace_event_file,
    vals: *mut u64,
    n_vals: c_uint,
) -> c_int {
    from_result(|| {
        // SAFETY: the file is there during the call, and there are `n_vals` values.
        let (file, fields, values) = unsafe {
            let file = HotFile::from_raw(file);
            let values = match n_vals {
                0 => &[],
                count => core::slice::from_raw_parts(vals, count as usize),
            };
            (file, fields_of(file)?, values)
        };
        if file.flags() & flag::ENABLED == 0 {
            return Ok(0);
        }
        if values.len() != fields.all().len() {
            return Err(EINVAL);
        }
        // As in C, inside of entries that this context has begun, however many.
        file.instance()
            .buffer()
            .with_nesting(|| synthetic::record(&PreemptOff::new(), file, fields, values));
        Ok(0)
    })
}

/// Begins an entry of which each field is set by itself. The event may have no fields of any length.
/// [`synth_event_trace_end`] must follow, also after an error. Any context.
///
/// # Errors
///
/// `EINVAL` without a state, if `file` is of no synthetic event, or without room in the buffer;
/// `ENOTSUPP`.
///
/// # Safety
///
/// `file` is as the module's head says; `state` is null or valid for writes.
#[export]
pub(crate) unsafe extern "C" fn synth_event_trace_start(
    file: *mut bindings::trace_event_file,
    state: *mut State,
) -> c_int {
    from_result(|| {
        if state.is_null() {
            return Err(EINVAL);
        }
        // SAFETY: `state` is valid for writes, and zeros are a state; the file is there.
        let (state, file) = unsafe {
            state.write(zeroed());
            (&mut *state, HotFile::from_raw(file))
        };
        state.disabled = true;
        // SAFETY: the file is there.
        let fields = unsafe { fields_of(file) }?;
        if is_off(file) {
            return Ok(0);
        }
        if fields.has_dynamic() {
            return Err(Error::from_errno(-(bindings::ENOTSUPP as i32)));
        }
        let stay = PreemptOff::new();
        // SAFETY: the state's memory is the reservation's until the end.
        let at = unsafe { Reservation::from_raw(&mut state.fbuffer) };
        // As in C, inside of others that this context has begun.
        let (entry, nested) = recording::reserve_nested(stay.lend(), file, at, fields.size());
        if entry.is_null() {
            return Err(EINVAL);
        }
        // SAFETY: so many bytes were reserved, which are this context's.
        unsafe { entry.add(COMMON).write_bytes(0, fields.size() - COMMON) };
        state.entry = entry.cast();
        state.buffer = nested.map_or(null_mut(), |ring| ring.as_ptr().cast());
        state.event = core::ptr::from_ref(fields).cast_mut().cast();
        state.n_u64 = fields.size() as u32;
        state.disabled = false;
        // `synth_event_trace_end` turns it on again.
        let _kept = ManuallyDrop::new(stay);
        Ok(0)
    })
}

/// Sets the field called `name`, or the next one for null.
///
/// # Safety
///
/// As [`synth_event_add_val`].
unsafe fn add(name: *const c_char, value: u64, state: *mut State) -> Result {
    if state.is_null() {
        return Err(EINVAL);
    }
    // SAFETY: the state was begun and is nobody else's.
    let state = unsafe { &mut *state };
    let by_name = !name.is_null();
    if by_name && state.add_next || !by_name && state.add_name {
        return Err(EINVAL);
    }
    state.add_name = by_name;
    state.add_next = !by_name;
    if state.disabled {
        return Ok(());
    }
    // SAFETY: the state was begun: it has the fields of an event, whose file is held, and an entry of
    // this length.
    let (fields, entry) = unsafe {
        let fields = &*state.event.cast::<Fields>();
        let start = state.entry.cast::<u8>().add(COMMON);
        let length = state.n_u64 as usize - COMMON;
        (fields, core::slice::from_raw_parts_mut(start, length))
    };
    let mut places = fields.places();
    let (at, field) = match by_name {
        true => {
            // SAFETY: `name` is NUL-terminated.
            let name = unsafe { bytes(name) }?;
            places.find(|(_, field)| field.name() == name)
        }
        false => {
            let next = state.cur_field as usize;
            state.cur_field = state.cur_field.saturating_add(1);
            places.nth(next)
        }
    }
    .ok_or(EINVAL)?;
    if field.is_text() && value == 0 {
        return Err(EINVAL);
    }
    Fields::store_one(field, value, entry, at - COMMON);
    Ok(())
}

/// Sets the next field of an entry.
///
/// # Errors
///
/// `EINVAL` without a state, after the last field, for a null text, and after a field was set by name.
///
/// # Safety
///
/// `state` is null, or was begun in this context.
#[export]
pub(crate) unsafe extern "C" fn synth_event_add_next_val(val: u64, state: *mut State) -> c_int {
    // SAFETY: `state` is null, or was begun in this context.
    from_result(|| unsafe { add(core::ptr::null(), val, state) }.map(|()| 0))
}

/// Sets the field called `field_name` of an entry.
///
/// # Errors
///
/// `EINVAL` without a state or such a field, for a null text, and after a field was set without a name.
///
/// # Safety
///
/// `field_name` is NUL-terminated; `state` is null, or was begun in this context.
#[export]
pub(crate) unsafe extern "C" fn synth_event_add_val(
    field_name: *const c_char,
    val: u64,
    state: *mut State,
) -> c_int {
    // SAFETY: the name is NUL-terminated; `state` is null, or was begun in this context.
    from_result(|| unsafe { add(field_name, val, state) }.map(|()| 0))
}

/// Records the entry. `EINVAL` without a state.
///
/// # Safety
///
/// `state` is null, or was begun in this context and not ended; its file is still there, and states that
/// were begun later have ended.
#[export]
pub(crate) unsafe extern "C" fn synth_event_trace_end(state: *mut State) -> c_int {
    if state.is_null() {
        return EINVAL.to_errno();
    }
    // SAFETY: the state was begun; unless nothing was reserved, preemption is off since then by a guard
    // that was forgotten, the entry is complete and not committed, and `buffer` is the ring that
    // `reserve_nested` gave with it, or null.
    unsafe {
        if !(*state).disabled {
            (*state).disabled = true;
            let stay = PreemptOff::assume();
            let nested = NonNull::new((*state).buffer.cast());
            let at = Reservation::from_raw(&mut (*state).fbuffer);
            recording::commit_nested(stay.lend(), at, nested);
        }
    }
    0
}
