// SPDX-License-Identifier: GPL-2.0

//! Commands that define synthetic events. The head of `synth.rs` says what callers owe.

use super::{bytes, from_result, init, Text};
use crate::core::event::synth::command::FIELDS_MAX;
use crate::core::event::synth::types;
use crate::kernel::module::Owner;
use crate::trace::events::dynamic::synthetic;
use kernel::bindings;
use kernel::ffi::{c_int, c_uint};
use kernel::prelude::*;

const KIND: bindings::dynevent_type = bindings::dynevent_type_DYNEVENT_TYPE_SYNTH;
/// Bytes of a whole command, its end included.
const ROOM: usize = bindings::MAX_DYNEVENT_CMD_LEN as usize;

/// Makes `cmd` a command for a synthetic event, with room for its text at `buf`.
///
/// # Safety
///
/// `cmd` is valid for writes; `buf` has `maxlen` bytes and is used for nothing else until the command
/// was run.
#[export]
pub(crate) unsafe extern "C" fn synth_event_cmd_init(
    cmd: *mut bindings::dynevent_cmd,
    buf: *mut c_char,
    maxlen: c_int,
) {
    // SAFETY: `cmd` is valid for writes, and `buf` has `maxlen` bytes.
    unsafe { init(cmd, buf, maxlen, KIND, run) };
}

/// Begins the command: an event called `name`, of `module`.
///
/// # Errors
///
/// `EINVAL` for another command, `E2BIG`.
///
/// # Safety
///
/// As the head of `synth.rs` says; `module` is null, or goes after the event.
#[export]
pub(crate) unsafe extern "C" fn rtrace_synth_start(
    cmd: *mut bindings::dynevent_cmd,
    name: *const c_char,
    module: *mut bindings::module,
) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised, and `name` is NUL-terminated.
        let (mut text, named) = unsafe { (Text::of(cmd, KIND)?, bytes(name)?) };
        text.0.event_name = name;
        text.0.private_data = module.cast();
        text.add_all(&[b" ", named, b" "])?;
        Ok(0)
    })
}

/// Adds a field. The size of an array is looked at when the command is run.
///
/// # Errors
///
/// `EINVAL` for another command, without a type or a name, for an unknown type, and for too many
/// fields; `E2BIG`.
///
/// # Safety
///
/// As the head of `synth.rs` says.
#[export]
pub(crate) unsafe extern "C" fn synth_event_add_field(
    cmd: *mut bindings::dynevent_cmd,
    ty: *const c_char,
    name: *const c_char,
) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised, and the texts are NUL-terminated or null.
        let (mut text, ty, name) = unsafe { (Text::of(cmd, KIND)?, bytes(ty)?, bytes(name)?) };
        if !types::is_possible(ty) {
            return Err(EINVAL);
        }
        text.add_all(&[b" ", ty, b" ", name, b";"])?;
        text.count(FIELDS_MAX)?;
        Ok(0)
    })
}

/// As [`synth_event_add_field`], with type and name as one text, which is looked at when the command
/// is run.
///
/// # Safety
///
/// As the head of `synth.rs` says.
#[export]
pub(crate) unsafe extern "C" fn synth_event_add_field_str(
    cmd: *mut bindings::dynevent_cmd,
    type_name: *const c_char,
) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised, and the text is NUL-terminated or null.
        let (mut text, field) = unsafe { (Text::of(cmd, KIND)?, bytes(type_name)?) };
        text.add_all(&[b" ", field, b";"])?;
        text.count(FIELDS_MAX)?;
        Ok(0)
    })
}

/// [`synth_event_add_field`] for each of `fields`.
///
/// # Safety
///
/// As the head of `synth.rs` says; there are `n_fields` of them.
#[export]
pub(crate) unsafe extern "C" fn synth_event_add_fields(
    cmd: *mut bindings::dynevent_cmd,
    fields: *mut bindings::synth_field_desc,
    n_fields: c_uint,
) -> c_int {
    for at in 0..n_fields as usize {
        // SAFETY: there are `n_fields` fields, and `cmd` was initialised.
        let result = unsafe {
            let field = &*fields.add(at);
            synth_event_add_field(cmd, field.type_, field.name)
        };
        if result != 0 {
            return result;
        }
    }
    0
}

/// Begins a command with fields. Errors as those of both.
///
/// # Safety
///
/// As [`rtrace_synth_start`] and [`synth_event_add_fields`].
#[export]
pub(crate) unsafe extern "C" fn synth_event_gen_cmd_array_start(
    cmd: *mut bindings::dynevent_cmd,
    name: *const c_char,
    module: *mut bindings::module,
    fields: *mut bindings::synth_field_desc,
    n_fields: c_uint,
) -> c_int {
    if n_fields as usize > FIELDS_MAX {
        return EINVAL.to_errno();
    }
    // SAFETY: `cmd` was initialised, the texts are NUL-terminated, and there are so many fields.
    unsafe {
        match rtrace_synth_start(cmd, name, module) {
            0 => synth_event_add_fields(cmd, fields, n_fields),
            error => error,
        }
    }
}

/// Runs the command. Task context, sleeps. Errors as a write to `synthetic_events`.
///
/// # Safety
///
/// As the head of `synth.rs` says.
unsafe extern "C" fn run(cmd: *mut bindings::dynevent_cmd) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised; its module goes after the event.
        let (text, owner) = unsafe {
            let text = Text::of(cmd, KIND)?;
            let module = text.0.private_data;
            (text, Owner::from_raw(module.cast()))
        };
        let line = text.text()?.trim_ascii_start();
        synthetic::run(line, owner)?;
        Ok(0)
    })
}

/// Makes a synthetic event. Task context, sleeps. Errors as those of a command's steps, `ENOMEM`.
///
/// # Safety
///
/// As [`synth_event_gen_cmd_array_start`].
#[export]
pub(crate) unsafe extern "C" fn synth_event_create(
    name: *const c_char,
    fields: *mut bindings::synth_field_desc,
    n_fields: c_uint,
    module: *mut bindings::module,
) -> c_int {
    let Ok(mut room) = KVec::from_elem(0_u8, ROOM, GFP_KERNEL) else {
        return ENOMEM.to_errno();
    };
    let mut cmd = core::mem::MaybeUninit::uninit();
    // SAFETY: the room has that many bytes and outlives the command; the rest is as the caller owes.
    unsafe {
        synth_event_cmd_init(cmd.as_mut_ptr(), room.as_mut_ptr().cast(), ROOM as c_int);
        match synth_event_gen_cmd_array_start(cmd.as_mut_ptr(), name, module, fields, n_fields) {
            0 => run(cmd.as_mut_ptr()),
            error => error,
        }
    }
}

/// Removes the synthetic event called `name`. Task context, sleeps. `ENOENT`, `EBUSY`, `ENOMEM`.
///
/// # Safety
///
/// `name` is NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn synth_event_delete(name: *const c_char) -> c_int {
    from_result(|| {
        // SAFETY: `name` is NUL-terminated.
        let name = unsafe { bytes(name) }?;
        synthetic::remove(name)?;
        Ok(0)
    })
}
