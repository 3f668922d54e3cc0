// SPDX-License-Identifier: GPL-2.0

//! Events that C code defines by commands, and synthetic events that it fires, of
//! `include/linux/trace_events.h`. `dynamic.c` has the functions with any number of arguments.
//!
//! A `struct dynevent_cmd` collects the text of a command in the caller's memory. The caller of each
//! function owes that it was initialised, and that texts are NUL-terminated.

use core::ptr::null_mut;
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::c_int;
use kernel::prelude::*;

#[cfg(CONFIG_SYNTH_EVENTS)]
mod fire;
#[cfg(CONFIG_KPROBE_EVENTS)]
mod kprobes;
#[cfg(CONFIG_SYNTH_EVENTS)]
mod synthetic;

/// A command that is being put together.
struct Text<'a>(&'a mut bindings::dynevent_cmd);

impl<'a> Text<'a> {
    /// The command that C means. `EINVAL` if it is not of type `kind`.
    ///
    /// # Safety
    ///
    /// `cmd` is valid, initialised, and nobody else uses it for `'a`.
    unsafe fn of(
        cmd: *mut bindings::dynevent_cmd,
        kind: bindings::dynevent_type,
    ) -> Result<Text<'a>> {
        // SAFETY: `cmd` is valid and nobody else's for `'a`.
        let cmd = unsafe { &mut *cmd };
        match cmd.type_ == kind {
            true => Ok(Text(cmd)),
            false => Err(EINVAL),
        }
    }

    /// Adds all of `parts`, and an end for who prints the caller's memory. `E2BIG`; nothing can be added
    /// behind what is missing then.
    fn add_all(&mut self, parts: &[&[u8]]) -> Result {
        let seq = &mut self.0.seq;
        let has_room = |&end: &usize| end < seq.size;
        let end = parts.iter().try_fold(seq.len, |end, part| {
            end.checked_add(part.len()).filter(has_room)
        });
        let start = seq.buffer.cast::<u8>();
        let Some(end) = end else {
            if seq.len < seq.size {
                // SAFETY: the caller's memory has `size` bytes.
                unsafe { start.add(seq.len).write(0) };
            }
            // As `seq_buf_set_overflow()`.
            seq.len = seq.size.saturating_add(1);
            return Err(E2BIG);
        };
        for part in parts {
            // SAFETY: the caller's memory has `size` bytes, of which so many are free.
            unsafe {
                let place = start.add(seq.len);
                place.copy_from_nonoverlapping(part.as_ptr(), part.len());
            }
            seq.len += part.len();
        }
        // SAFETY: `end` is below the size.
        unsafe { start.add(end).write(0) };
        Ok(())
    }

    /// Counts one more field. `EINVAL` for more than `most`.
    fn count(&mut self, most: usize) -> Result {
        self.0.n_fields = self.0.n_fields.saturating_add(1);
        match self.0.n_fields as usize <= most {
            true => Ok(()),
            false => Err(EINVAL),
        }
    }

    /// The text so far. `E2BIG` if something is missing.
    fn text(&self) -> Result<&[u8]> {
        let seq = &self.0.seq;
        if seq.len > seq.size {
            return Err(E2BIG);
        }
        // SAFETY: the caller's memory has `size` bytes, of which `len` were written.
        Ok(unsafe { core::slice::from_raw_parts(seq.buffer.cast::<u8>(), seq.len) })
    }
}

/// Initialises `cmd`.
///
/// # Safety
///
/// `cmd` is valid for writes; `buf` has `maxlen` bytes and is used for nothing else until the command
/// was run.
unsafe fn init(
    cmd: *mut bindings::dynevent_cmd,
    buf: *mut c_char,
    maxlen: c_int,
    kind: bindings::dynevent_type,
    run: unsafe extern "C" fn(*mut bindings::dynevent_cmd) -> c_int,
) {
    let seq = bindings::seq_buf {
        buffer: buf,
        size: usize::try_from(maxlen).unwrap_or(0),
        len: 0,
    };
    // SAFETY: `cmd` is valid for writes.
    unsafe {
        cmd.write(bindings::dynevent_cmd {
            seq,
            event_name: null_mut(),
            n_fields: 0,
            type_: kind,
            run_command: Some(run),
            private_data: null_mut(),
        });
    }
}

/// The text at `text`. `EINVAL` for null.
///
/// # Safety
///
/// It is null, or NUL-terminated and stays for `'a`.
unsafe fn bytes<'a>(text: *const c_char) -> Result<&'a [u8]> {
    match text.is_null() {
        true => Err(EINVAL),
        // SAFETY: `text` is NUL-terminated and stays for `'a`.
        false => Ok(unsafe { CStr::from_char_ptr(text) }.to_bytes()),
    }
}

/// Runs a command: makes the event. Task context, sleeps.
///
/// # Errors
///
/// As a write of the command's text to the file of its kind.
///
/// # Safety
///
/// As the module's head says.
#[export]
pub(crate) unsafe extern "C" fn dynevent_create(cmd: *mut bindings::dynevent_cmd) -> c_int {
    from_result(|| {
        // SAFETY: `cmd` was initialised, and its function takes it.
        unsafe {
            let run = (*cmd).run_command.ok_or(EINVAL)?;
            Ok(run(cmd))
        }
    })
}
