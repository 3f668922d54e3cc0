// SPDX-License-Identifier: GPL-2.0

//! Instances: `/sys/kernel/tracing/instances/NAME`.
//!
//! C header: `include/linux/trace.h`.

use crate::lock_order::outside;
use core::fmt::{self, Write};
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::slice;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::str::BStr;

/// A reference to an instance, which cannot be removed as long as there is one. Dropping it is for
/// task context.
///
/// # Examples
///
/// ```
/// use kernel::prelude::*;
/// use rtrace::instance::Instance;
///
/// let instance = Instance::open(c"rtrace_example")?;
/// instance.print(format_args!("{} apples", 3))?;
/// let mut reader = instance.reader()?;
/// assert!(reader.consume()?.is_some_and(|entry| entry.text.ends_with(b"3 apples")));
/// drop(reader);
/// instance.remove()?;
/// # Ok::<(), Error>(())
/// ```
pub struct Instance(NonNull<bindings::trace_array>);

// SAFETY: a reference may be dropped by any thread.
unsafe impl Send for Instance {}
// SAFETY: the functions that take `&self` may run in any context, on several CPUs at once.
unsafe impl Sync for Instance {}

/// The longest text that [`Instance::print`] writes, in bytes; what is longer is cut.
pub const TEXT_MAX: usize = 256;

impl Instance {
    /// The instance of this name, which is made if there is none. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a name that no directory can have, `EDEADLK` in a tracer's functions, `ENOMEM`.
    pub fn open(name: &CStr) -> Result<Self> {
        Self::get(name, true)
    }

    /// The instance of this name. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none, `EINVAL` for a name that no directory can have, `EDEADLK` in a tracer's
    /// functions.
    pub fn find(name: &CStr) -> Result<Self> {
        Self::get(name, false)
    }

    fn get(name: &CStr, make: bool) -> Result<Self> {
        outside()?;
        let mut found = ptr::null_mut();
        // SAFETY: the name is a string, and the place can be written to.
        to_result(unsafe { bindings::rtrace_array_get(name.as_char_ptr(), make, &mut found) })?;
        NonNull::new(found).map(Self).ok_or(ENOMEM)
    }

    /// Writes a text into the instance's buffer, as `trace_printk()` does into that of the top. A
    /// reader sees it with the time, and with the function that this was called from. A line feed is
    /// added where there is none. Any context, NMIs too; what `text` formats must be fit for it.
    ///
    /// # Errors
    ///
    /// `EBUSY` if it is not recorded: the instance's `tracing_on` or its option `trace_printk` is
    /// off, or its buffer refuses it.
    #[inline(always)]
    pub fn print(&self, text: fmt::Arguments<'_>) -> Result {
        // SAFETY: the instance is there as long as the reference is.
        unsafe { print(self.0, here(), text) }
    }

    /// Writes bytes with a number of the caller's into the instance's buffer, as a write to
    /// `trace_marker_raw` does. What they mean is between the writer and its reader. Any context,
    /// NMIs too.
    ///
    /// # Errors
    ///
    /// `EBUSY` if they are not recorded: `tracing_on` is off, the buffer refuses them, or they are too
    /// many for a sub-buffer.
    #[inline]
    pub fn write(&self, id: u32, bytes: &[u8]) -> Result {
        // SAFETY: the instance is there as long as the reference is.
        unsafe { write(self.0, id, bytes) }
    }

    /// Switches recording of an event into this instance on or off, as its file `enable` does; without
    /// `event` all those of the system. It stays so when the reference is dropped. Task context, may
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such event; `EDEADLK` in a tracer's functions; what the event's own
    /// function says.
    #[cfg(CONFIG_EVENT_TRACING)]
    pub fn set_event(&self, system: &CStr, event: Option<&CStr>, on: bool) -> Result {
        outside()?;
        let event = event.map_or(ptr::null(), CStr::as_char_ptr);
        // SAFETY: the instance is there as long as the reference is; the names are strings, or null.
        to_result(unsafe {
            bindings::trace_array_set_clr_event(self.0.as_ptr(), system.as_char_ptr(), event, on)
        })
    }

    /// Makes a tracer the current one of this instance, as its file `current_tracer` does. Task
    /// context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such tracer, `EBUSY` while there is a [`Reader`], `EDEADLK` in a tracer's
    /// functions, `ENOMEM`, and those of the tracer.
    pub fn set_tracer(&self, name: &CStr) -> Result {
        outside()?;
        // SAFETY: the instance is there as long as the reference is; the name is a string.
        to_result(unsafe { bindings::rtrace_array_set_tracer(self.0.as_ptr(), name.as_char_ptr()) })
    }

    /// Starts to read what is recorded in the instance, from the oldest entry on. Task context, may
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` while there is another reader of the instance, as is one of `trace_pipe`; `EDEADLK` in a
    /// tracer's functions; `ENOMEM`.
    pub fn reader(&self) -> Result<Reader> {
        outside()?;
        let mut reader = ptr::null_mut();
        // SAFETY: the instance is there as long as the reference is.
        to_result(unsafe { bindings::rtrace_reader_open(self.0.as_ptr(), &mut reader) })?;
        NonNull::new(reader).map(Reader).ok_or(ENOMEM)
    }

    /// Gives the reference back, and removes the instance with what was recorded. Task context, may
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` if others use it: a reader, another reference; `ENODEV` if somebody else has just
    /// removed it. The reference is gone all the same. `EDEADLK` in a tracer's functions, where it stays for
    /// good.
    pub fn remove(self) -> Result {
        let this = ManuallyDrop::new(self);
        outside()?;
        // SAFETY: the reference is this one's own, and not used again.
        to_result(unsafe { bindings::rtrace_array_remove(this.0.as_ptr()) })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's own.
        unsafe { bindings::trace_array_put(self.0.as_ptr()) };
    }
}

/// What a [`Tracer`](crate::tracer::Tracer) records to: an instance, which may be removed all the same;
/// then what is recorded goes nowhere. Dropping it is for task context, and may sleep.
pub struct Recorder(NonNull<bindings::trace_array>);

// SAFETY: a reference may be dropped by any thread.
unsafe impl Send for Recorder {}
// SAFETY: the functions that take `&self` may run in any context, on several CPUs at once.
unsafe impl Sync for Recorder {}

impl Recorder {
    /// # Safety
    ///
    /// `instance` is null or a reference that is handed over, for `rtrace_array_put()`.
    #[inline]
    pub(crate) unsafe fn from_raw(instance: *mut bindings::trace_array) -> Option<Self> {
        NonNull::new(instance).map(Self)
    }

    /// As [`Instance::print`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline(always)]
    pub fn print(&self, text: fmt::Arguments<'_>) -> Result {
        // SAFETY: the instance's memory is there as long as the reference is.
        unsafe { print(self.0, here(), text) }
    }

    /// As [`Instance::write`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn write(&self, id: u32, bytes: &[u8]) -> Result {
        // SAFETY: the instance's memory is there as long as the reference is.
        unsafe { write(self.0, id, bytes) }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's own.
        unsafe { bindings::rtrace_array_put(self.0.as_ptr()) };
    }
}

/// Where this is called.
#[inline(always)]
fn here() -> usize {
    let here: usize;
    // SAFETY: this only reads the instruction pointer.
    unsafe {
        core::arch::asm!(
            "lea {}, [rip]",
            out(reg) here,
            options(nomem, nostack, preserves_flags)
        )
    };
    here
}

/// # Safety
///
/// The instance's memory is there.
#[inline]
unsafe fn print(
    instance: NonNull<bindings::trace_array>,
    ip: usize,
    text: fmt::Arguments<'_>,
) -> Result {
    let mut line = Line {
        bytes: [0; TEXT_MAX + 1],
        length: 0,
    };
    // What does not fit is cut.
    let _ = line.write_fmt(text);
    // SAFETY: the instance is there; there are so many bytes, and a NUL after them.
    let written = unsafe {
        let start = line.bytes.as_ptr().cast();
        bindings::__trace_array_puts(instance.as_ptr(), ip, start, line.length as c_int)
    };
    match written {
        0 if line.length != 0 => Err(EBUSY),
        _ => Ok(()),
    }
}

/// # Safety
///
/// The instance's memory is there.
#[inline]
unsafe fn write(instance: NonNull<bindings::trace_array>, id: u32, bytes: &[u8]) -> Result {
    // SAFETY: the instance is there, and so many bytes.
    let written = unsafe {
        let start = bytes.as_ptr().cast();
        bindings::rtrace_array_write(instance.as_ptr(), id, start, bytes.len())
    };
    written.then_some(()).ok_or(EBUSY)
}

/// Reads what is recorded in an instance, and takes it out, as a reader of `trace_pipe` does: text,
/// and entries of all events that are on there.
///
/// As long as there is a reader, the instance stays, its tracer cannot be changed, and nobody else can
/// open `trace_pipe`. Dropping it is for task context, and may sleep.
///
/// # Examples
///
/// ```
/// use kernel::prelude::*;
/// use rtrace::instance::Instance;
///
/// let instance = Instance::open(c"rtrace_read_example")?;
/// instance.write(7, b"pear")?;
/// let mut reader = instance.reader()?;
/// let entry = reader.consume()?.ok_or(ENOENT)?;
/// assert_eq!(entry.written(), Some((7, &b"pear"[..])));
/// pr_info!("{} on cpu {}: {}\n", entry.time, entry.cpu, entry.text);
/// assert!(reader.consume()?.is_none());
/// drop(reader);
/// instance.remove()?;
/// # Ok::<(), Error>(())
/// ```
pub struct Reader(NonNull<bindings::rtrace_reader>);

// SAFETY: a reader may be used by any thread; its functions take `&mut self`.
unsafe impl Send for Reader {}
// SAFETY: nothing takes `&self`.
unsafe impl Sync for Reader {}

/// An entry that was read.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// When it was recorded, by the instance's clock.
    pub time: u64,
    /// The CPU that recorded it.
    pub cpu: u32,
    /// How many entries of this CPU were lost right before it.
    pub lost: u64,
    /// Its bytes, as the event's `format` describes them: `common_type` is first.
    pub bytes: &'a [u8],
    /// What `trace_pipe` shows for it: a line, or several, without the last line feed.
    pub text: &'a BStr,
}

impl<'a> Entry<'a> {
    /// Bytes of the common fields.
    const COMMON: usize = 8;
    /// What [`Instance::write`] writes: `events/ftrace/raw_data` in tracefs.
    const RAW_DATA: u16 = 19;

    /// Which event it is: `ID` in its `format`.
    pub fn event(&self) -> u16 {
        self.bytes
            .first_chunk()
            .map_or(0, |id| u16::from_ne_bytes(*id))
    }

    /// The task that was interrupted or running when it was recorded.
    pub fn pid(&self) -> i32 {
        let pid = self.bytes.get(4..).and_then(|bytes| bytes.first_chunk());
        pid.map_or(0, |pid| i32::from_ne_bytes(*pid))
    }

    /// Number and bytes of an entry that [`Instance::write`] or a writer of `trace_marker_raw` has
    /// written; `None` for others. Their length is a multiple of four: what was written may have a few others
    /// behind it.
    pub fn written(&self) -> Option<(u32, &'a [u8])> {
        let (id, bytes) = self.bytes.get(Self::COMMON..)?.split_first_chunk()?;
        (self.event() == Self::RAW_DATA).then_some((u32::from_ne_bytes(*id), bytes))
    }
}

impl Reader {
    /// Takes the oldest entry of all CPUs out of the buffer. `None` if there is none now. It can be
    /// looked at until the next is asked for. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EDEADLK` in a tracer's functions, as this takes the instance's mutex.
    pub fn consume(&mut self) -> Result<Option<Entry<'_>>> {
        outside()?;
        let mut read: bindings::rtrace_entry = pin_init::zeroed();
        // SAFETY: the reader is there as long as `self` is, which is borrowed as long as its last
        // entry is used.
        if !unsafe { bindings::rtrace_reader_next(self.0.as_ptr(), &mut read) } {
            return Ok(None);
        }
        // SAFETY: so many bytes are there until the reader is used again.
        let (bytes, text) = unsafe {
            (
                slice::from_raw_parts(read.record, read.record_length),
                slice::from_raw_parts(read.text, read.text_length),
            )
        };
        Ok(Some(Entry {
            time: read.time,
            cpu: read.cpu,
            lost: read.lost,
            bytes,
            text: BStr::from_bytes(text.strip_suffix(b"\n").unwrap_or(text)),
        }))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: the reader is this one's own.
        unsafe { bindings::rtrace_reader_close(self.0.as_ptr()) };
    }
}

/// Takes text as long as there is room. The last byte stays NUL.
struct Line {
    bytes: [u8; TEXT_MAX + 1],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = TEXT_MAX.wrapping_sub(self.length);
        let taken = text.len().min(room);
        let end = self.length.wrapping_add(taken);
        if let (Some(to), Some(from)) = (
            self.bytes.get_mut(self.length..end),
            text.as_bytes().get(..taken),
        ) {
            to.copy_from_slice(from);
            self.length = end;
        }
        match taken == text.len() {
            true => Ok(()),
            false => Err(fmt::Error),
        }
    }
}
