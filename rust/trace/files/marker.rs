// SPDX-License-Identifier: GPL-2.0

//! `trace_marker` and `trace_marker_raw`: user space writes into the ring buffer.
//!
//! The text is copied from user memory before an event is reserved, so a page fault happens outside
//! the recording path. The copy has the layout of the entry. Short texts are copied to the stack,
//! longer ones to allocated memory.

use super::{Node, Place};
use crate::core::format::entry::{Common, Entry, Print, RawData, Words as _};
use crate::core::parse::options::Flag;
use crate::kernel::context::PreemptOff;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, Seek, WriteCall};
use crate::kernel::trace_export::Export;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::trace::events::{file::HotFile, print};
use crate::trace::instance::feature::{Feature, OptionEffect};
use crate::trace::instance::message::EntryFunction;
use crate::trace::instance::{list, Instance};
use crate::trace::output::export;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The most bytes taken of one write.
const MAX: usize = 4096;
/// Writes up to these sizes use the stack. Most writes fit into the smaller array, which is cheaper
/// to clear.
const TINY: usize = 48;
const SHORT: usize = 256;
/// Bytes after a text: a newline, if it lacks one, and NUL. Both bytes are always reserved, as in
/// C.
const END: usize = 2;

/// The file `trace_marker`.
pub(crate) struct Marker;

/// The file `trace_marker_raw`.
pub(crate) struct RawMarker;

impl Node for Marker {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::new(OpenMarker {
            at: at.clone(),
            form: Form::Text,
        })
    }
}

impl Node for RawMarker {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::new(OpenMarker {
            at: at.clone(),
            form: Form::Raw,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Raw,
}

impl Form {
    /// Records `text` in `instance`, or, for the top instance, in each instance that takes copies.
    /// Returns how many bytes of the text were taken. Task context.
    #[inline(always)]
    fn record(self, instance: &Instance, text: Text<'_>) -> Result<usize> {
        let record = match self {
            Self::Text => record_text,
            Self::Raw => record_raw,
        };
        if instance.is_top() {
            for_each_copy(instance, |copy| record(copy, text))
        } else {
            record(instance, text)
        }
    }
}

/// The number of instances other than the top one with option `copy_trace_marker`.
static COPIES: Atomic<u32> = Atomic::new(0);

/// The feature that handles option `copy_trace_marker`. An instance with this option also records
/// what is written to `trace_marker` of the top instance.
pub(crate) struct MarkerCopies;

impl Feature for MarkerCopies {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self, GFP_KERNEL)?)
    }

    fn options(&self) -> &'static [OptionEffect] {
        &[(Flag::CopyTraceMarker, |instance, on| {
            if instance.is_copy() {
                return Err(EACCES);
            }
            count_copy(instance, on);
            Ok(())
        })]
    }

    fn retire(&self, instance: &Arc<Instance>) {
        if instance.options().has(Flag::CopyTraceMarker) {
            instance.set_option_bit(Flag::CopyTraceMarker, false);
            count_copy(instance, false);
        }
    }
}

/// Counts `instance` when its option is set, and uncounts it when it is cleared.
fn count_copy(instance: &Instance, on: bool) {
    if !instance.is_top() {
        // OVERFLOW: at most one for each instance.
        let _ = if on {
            COPIES.fetch_add(1, Relaxed)
        } else {
            COPIES.fetch_sub(1, Relaxed)
        };
    }
}

/// Runs `f` on each instance that records the writes to `trace_marker` of the top instance: the
/// newest first and the top last. Stops at the first error. Returns the last result. Task
/// context.
///
/// # Errors
///
/// `ENODEV` when there is no such instance, and the errors of `f`.
fn for_each_copy<R>(top: &Instance, mut f: impl FnMut(&Instance) -> Result<R>) -> Result<R> {
    let copies = |instance: &Instance| instance.options().has(Flag::CopyTraceMarker);
    let mut last = Err(ENODEV);
    if COPIES.load(Relaxed) != 0 {
        let others = list::all_newest_first().filter(|instance| !instance.is_top());
        for instance in others.filter(|instance| copies(instance)) {
            last = Ok(f(&instance)?);
        }
    }
    if copies(top) {
        last = Ok(f(top)?);
    }
    last
}

/// The written bytes, in the layout of the tail of a `print` entry.
#[derive(Clone, Copy)]
struct Text<'a> {
    tail: &'a [u8],
    /// Length of the text without the bytes after it.
    len: usize,
}

impl<'a> Text<'a> {
    /// Copies as many bytes as fit into `room` before the bytes of [`END`]. `EFAULT`.
    #[inline(always)]
    fn read(call: &mut WriteCall<'_>, room: &'a mut [u8]) -> Result<Self> {
        let (text, end) = room.split_last_chunk_mut::<END>().ok_or(EINVAL)?;
        call.reader().read_slice(text)?;
        *end = end_of(text);
        let len = text.len();
        Ok(Self { tail: room, len })
    }

    fn text(&self) -> &'a [u8] {
        self.tail.get(..self.len).unwrap_or(&[])
    }
}

/// The bytes after `text`.
#[inline(always)]
fn end_of(text: &[u8]) -> [u8; END] {
    if text.last() == Some(&b'\n') {
        *b"\0\0"
    } else {
        *b"\n\0"
    }
}

struct OpenMarker {
    at: Place,
    form: Form,
}

impl OpenMarker {
    fn take(&self, call: &mut WriteCall<'_>, room: &mut [u8]) -> Result<usize> {
        self.form.record(&self.at.instance, Text::read(call, room)?)
    }
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
        match call.len().min(MAX) {
            len @ ..=TINY => self.take(
                call,
                [0; TINY + END]
                    .get_mut(..len.wrapping_add(END))
                    .ok_or(EINVAL)?,
            ),
            len @ ..=SHORT => self.take(
                call,
                [0; SHORT + END]
                    .get_mut(..len.wrapping_add(END))
                    .ok_or(EINVAL)?,
            ),
            len => self.take(
                call,
                &mut KVVec::from_elem(0, len.wrapping_add(END), GFP_KERNEL)?,
            ),
        }
    }

    fn seek(&self) -> Seek {
        Seek::Never
    }
}

/// The function whose address the entries of `trace_marker` carry.
pub(crate) struct TracingMarkWrite;

/// A text that fits into a sub-buffer.
#[derive(Clone, Copy)]
struct Cut<'a> {
    entry: Print,
    /// The text, and the bytes after it if it is whole.
    tail: &'a [u8],
    /// Length of the text.
    len: usize,
    is_whole: bool,
}

impl<'a> Cut<'a> {
    /// Cuts `text` to what this CPU has room for.
    #[inline(always)]
    fn new(text: Text<'a>, buffer: &Buffer, stay: &PreemptOff) -> Self {
        let room = buffer.max_entry_here(stay).saturating_sub(Print::SIZE);
        let is_whole = text.tail.len() <= room;
        let tail = match is_whole {
            true => text.tail,
            false => text.tail.get(..room.saturating_sub(END)).unwrap_or(&[]),
        };
        Self {
            entry: Print {
                ip: TracingMarkWrite::address(),
            },
            tail,
            len: if is_whole { text.len } else { tail.len() },
            is_whole,
        }
    }

    fn text(self) -> &'a [u8] {
        self.tail.get(..self.len).unwrap_or(&[])
    }

    /// Records it. Any context. `None` as with [`Buffer::write`].
    #[inline(always)]
    fn write(self, buffer: &Buffer) -> Option<()> {
        match self.is_whole {
            true => buffer.write(self.entry, [self.tail]),
            false => buffer.write(self.entry, [self.tail, &end_of(self.tail)]),
        }
    }

    /// Passes it to the exports if it was `made`. Returns how many bytes of the text were taken. Task
    /// context, may sleep. `EBADF`.
    #[inline(always)]
    fn finish(self, made: Option<()>) -> Result<usize> {
        made.ok_or(EBADF)?;
        if export::wanted(Export::MARKER) {
            // Without memory the exports miss this entry.
            let _ = self.export();
        }
        Ok(self.len)
    }

    /// Task context, may sleep. `ENOMEM`.
    #[cold]
    fn export(self) -> Result {
        let text = self.text();
        let length = Print::SIZE.saturating_add(text.len()).saturating_add(END);
        let mut made = KVec::with_capacity(length, GFP_KERNEL)?;
        made.extend_with(Print::SIZE, 0, GFP_KERNEL)?;
        made.extend_from_slice(text, GFP_KERNEL)?;
        made.extend_from_slice(&end_of(text), GFP_KERNEL)?;
        // Taken last, as with PREEMPT_RT memory may be neither asked for nor freed with preemption off.
        let _stay = PreemptOff::new();
        let header = Context::capture_all().header(Print::ID);
        self.entry.words(header).store(&mut made);
        export::write(Export::MARKER, &made);
        Ok(())
    }
}

/// Records a text. Adds a newline if it lacks one. Cuts it to the size of one sub-buffer. Hits the
/// event `ftrace:print` of the instance. Returns how many bytes of the text were taken. Task
/// context.
///
/// # Errors
///
/// `EBADF` when nothing was recorded.
fn record_text(instance: &Instance, text: Text<'_>) -> Result<usize> {
    #[cfg(CONFIG_EVENT_TRACING)]
    if let Some(file) = print::triggered(instance) {
        return record_and_hit(&file, text);
    }
    let buffer = instance.buffer();
    // Markers are recorded with preemption off, as in C, and the entry's flags show it.
    let stay = PreemptOff::new();
    let cut = Cut::new(text, buffer, &stay);
    let made = cut.write(buffer);
    drop(stay);
    cut.finish(made)
}

/// [`record_text`] where the event has triggers.
#[cfg(CONFIG_EVENT_TRACING)]
#[cold]
fn record_and_hit(file: &HotFile, text: Text<'_>) -> Result<usize> {
    let cut = Cut::new(text, file.instance().buffer(), &PreemptOff::new());
    let (text, end) = (cut.text(), end_of(cut.text()));
    cut.finish(print::record(file, cut.entry, text, end))
}

/// Records an id and the data after it, all of it or nothing.
fn record_raw(instance: &Instance, data: Text<'_>) -> Result<usize> {
    let buffer = instance.buffer();
    let (id, bytes) = data.text().split_first_chunk().ok_or(EINVAL)?;
    let entry = RawData {
        id: u32::from_ne_bytes(*id),
    };
    let stay = PreemptOff::new();
    if data.len.saturating_add(Common::SIZE) > buffer.max_entry_here(&stay) {
        return Err(EINVAL);
    }
    buffer.write(entry, [bytes]).ok_or(EBADF)?;
    Ok(data.len)
}
