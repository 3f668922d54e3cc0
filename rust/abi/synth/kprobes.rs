// SPDX-License-Identifier: GPL-2.0

//! Commands that define kprobe events. The head of `synth.rs` says what callers owe.

use super::{bytes, from_result, init, Text};
use crate::core::event::probe::argument::ARGUMENTS_MAX;
use crate::trace::events::dynamic::{self, kprobe::Kprobes};
use kernel::bindings;
use kernel::ffi::c_int;
use kernel::prelude::*;

const KIND: bindings::dynevent_type = bindings::dynevent_type_DYNEVENT_TYPE_KPROBE;

/// Makes `cmd` a command for a kprobe event, with room for its text at `buf`.
///
/// # Safety
///
/// `cmd` is valid for writes; `buf` has `maxlen` bytes and is used for nothing else until the command
/// was run.
#[export]
pub(crate) unsafe extern "C" fn kprobe_event_cmd_init(
    cmd: *mut bindings::dynevent_cmd,
    buf: *mut c_char,
    maxlen: c_int,
) {
    // SAFETY: `cmd` is valid for writes, and `buf` has `maxlen` bytes.
    unsafe { init(cmd, buf, maxlen, KIND, run) };
}

/// Begins the command: an event called `name` at `place`.
///
/// # Errors
///
/// `EINVAL` for another command and without a place, `E2BIG`.
///
/// # Safety
///
/// As the head of `synth.rs` says.
#[export]
pub(crate) unsafe extern "C" fn rtrace_kprobe_start(
    cmd: *mut bindings::dynevent_cmd,
    is_return: bool,
    name: *const c_char,
    place: *const c_char,
) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised, and the texts are NUL-terminated.
        let (mut text, name, place) =
            unsafe { (Text::of(cmd, KIND)?, bytes(name)?, bytes(place)?) };
        let kind: &[u8] = if is_return { b"r" } else { b"p" };
        text.add_all(&[kind, b":kprobes/", name, b" ", place, b" "])?;
        Ok(0)
    })
}

/// Adds a field to the command. `EINVAL`, `E2BIG`.
///
/// # Safety
///
/// As the head of `synth.rs` says.
#[export]
pub(crate) unsafe extern "C" fn rtrace_kprobe_add(
    cmd: *mut bindings::dynevent_cmd,
    field: *const c_char,
) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised, and `field` is NUL-terminated.
        let (mut text, field) = unsafe { (Text::of(cmd, KIND)?, bytes(field)?) };
        text.count(ARGUMENTS_MAX)?;
        text.add_all(&[b" ", field, b" "])?;
        Ok(0)
    })
}

/// Runs the command. Task context, sleeps. Errors as a write to `kprobe_events`.
///
/// # Safety
///
/// As the head of `synth.rs` says.
unsafe extern "C" fn run(cmd: *mut bindings::dynevent_cmd) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised.
        let text = unsafe { Text::of(cmd, KIND) }?;
        dynamic::command(text.text()?, Some(&Kprobes))?;
        Ok(0)
    })
}

/// Removes the kprobe event called `name`. Task context, sleeps. `ENOENT`, `EBUSY`, `ENOMEM`.
///
/// # Safety
///
/// `name` is NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn kprobe_event_delete(name: *const c_char) -> c_int {
    from_result(|| {
        // SAFETY: `name` is NUL-terminated.
        let name = unsafe { bytes(name) }?;
        let mut text = KVec::new();
        text.extend_from_slice(b"-:", GFP_KERNEL)?;
        text.extend_from_slice(name, GFP_KERNEL)?;
        dynamic::command(&text, Some(&Kprobes))?;
        Ok(0)
    })
}
