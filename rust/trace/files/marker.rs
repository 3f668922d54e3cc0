// SPDX-License-Identifier: GPL-2.0

//! `trace_marker` and `trace_marker_raw`: user space writes into the buffer.
//!
//! The text is copied from the user before anything is reserved, so that a page fault happens outside the
//! recording path. Short ones go by way of the stack, longer ones through memory of their own.

use super::{Node, Place};
use crate::{
    kapi::{
        context::PreemptOff,
        pseudo_fs::{OpenFile, OpenFlags, Opening, Seek, WriteCall},
    },
    rcore::text::options::Flag,
    trace::{entry::kind, instance::Instance, instances},
};
use kernel::prelude::*;

/// At most so many bytes are taken of one write.
const MAX: usize = 4096;
/// Writes up to this size need no memory of their own.
const SHORT: usize = 256;
/// Bytes of a `print` entry before its text: the address, after the common header.
const IP: usize = size_of::<usize>();
const COMMON: usize = 8;

/// `trace_marker`.
pub(crate) struct Marker;

/// `trace_marker_raw`.
pub(crate) struct RawMarker;

impl Node for Marker {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::new(OpenMarker { at: at.clone(), form: Form::Text })
    }
}

impl Node for RawMarker {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::new(OpenMarker { at: at.clone(), form: Form::Raw })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Raw,
}

impl Form {
    /// Records `text` in `instance`, where that is the top one in those that take copies, and says how much of it was
    /// taken.
    fn record(self, instance: &Instance, text: &[u8]) -> Result<usize> {
        let record = match self {
            Self::Text => tracing_mark_write,
            Self::Raw => raw,
        };
        if instance.is_top() {
            instances::for_each_marker_copy(instance, |copy| record(copy, text))
        } else {
            record(instance, text)
        }
    }
}

struct OpenMarker {
    at: Place,
    form: Form,
}

impl OpenFile for OpenMarker {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let instance = &*self.at.instance;
        if !instance.options().has(Flag::Markers) {
            return Err(EINVAL);
        }
        if self.form == Form::Raw && !(size_of::<u32>()..=MAX).contains(&call.len()) {
            return Err(EINVAL);
        }
        let len = call.len().min(MAX);
        if len <= SHORT {
            let mut text = [0; SHORT];
            let text = text.get_mut(..len).ok_or(EINVAL)?;
            call.reader().read_slice(text)?;
            return self.form.record(instance, text);
        }
        let mut text = KVVec::from_elem(0, len, GFP_KERNEL)?;
        call.reader().read_slice(&mut text)?;
        self.form.record(instance, &text)
    }

    fn seek(&self) -> Seek {
        Seek::Never
    }
}

/// Records a text, with a newline added if it lacks one, cut to what one sub-buffer holds.
///
/// The name is what the line in `trace` begins with: entries carry this function's address.
#[no_mangle]
fn tracing_mark_write(instance: &Instance, text: &[u8]) -> Result<usize> {
    let buffer = instance.buffer();
    let room = buffer.max_entry().saturating_sub(COMMON + IP + b"\n\0".len());
    let text = text.get(..room).unwrap_or(text);
    let end: &[u8] = if text.last() == Some(&b'\n') { b"\0" } else { b"\n\0" };
    let ip = tracing_mark_write as fn(&Instance, &[u8]) -> Result<usize> as usize;
    // The entry says so: markers are made with preemption off, as in C.
    let _stay = PreemptOff::new();
    buffer.write(kind::PRINT, &[&ip.to_ne_bytes(), text, end]).ok_or(EBADF)?;
    Ok(text.len())
}

/// Records an id and what follows it, whole or not at all.
fn raw(instance: &Instance, data: &[u8]) -> Result<usize> {
    let buffer = instance.buffer();
    if data.len().saturating_add(COMMON) > buffer.max_entry() {
        return Err(EINVAL);
    }
    let _stay = PreemptOff::new();
    buffer.write(kind::RAW_DATA, &[data]).ok_or(EBADF)?;
    Ok(data.len())
}
