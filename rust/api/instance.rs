// SPDX-License-Identifier: GPL-2.0

//! Instances: `/sys/kernel/tracing/instances/NAME`.
//!
//! C header: `include/linux/trace.h`.

use core::fmt::{self, Write};
use core::ptr::{self, NonNull};
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

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
    /// `ENOMEM` if it could be neither found nor made.
    pub fn open(name: &CStr) -> Result<Self> {
        // SAFETY: the name is a string; null stands for the events of all systems.
        let found = unsafe { bindings::trace_array_get_by_name(name.as_char_ptr(), ptr::null()) };
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
        let here: usize;
        // SAFETY: this only reads the instruction pointer.
        unsafe {
            core::arch::asm!(
                "lea {}, [rip]",
                out(reg) here,
                options(nomem, nostack, preserves_flags)
            )
        };
        self.print_from(here, text)
    }

    #[inline]
    fn print_from(&self, ip: usize, text: fmt::Arguments<'_>) -> Result {
        let mut line = Line {
            bytes: [0; TEXT_MAX + 1],
            length: 0,
        };
        // What does not fit is cut.
        let _ = line.write_fmt(text);
        // SAFETY: the instance is there as long as the reference is; there are so many bytes, and a
        // NUL after them.
        let written = unsafe {
            let start = line.bytes.as_ptr().cast();
            bindings::__trace_array_puts(self.0.as_ptr(), ip, start, line.length as c_int)
        };
        match written {
            0 if line.length != 0 => Err(EBUSY),
            _ => Ok(()),
        }
    }

    /// Gives the reference back, and removes the instance with what was recorded. Task context, may
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` if others use it: a reader, another reference; `ENODEV` if somebody else has just
    /// removed it. The reference is gone all the same.
    pub fn remove(self) -> Result {
        let instance = self.0.as_ptr();
        drop(self);
        // SAFETY: the pointer is only looked up in the list of instances.
        to_result(unsafe { bindings::trace_array_destroy(instance) })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's own.
        unsafe { bindings::trace_array_put(self.0.as_ptr()) };
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
