// SPDX-License-Identifier: GPL-2.0

//! `struct trace_seq`: the line that C's printing functions add to.
//!
//! What does not fit is left out whole and marks the line full; then nothing is added any more, and
//! what is there stays. The memory may be all zeros at first.
//!
//! C headers: [`include/linux/trace_seq.h`](srctree/include/linux/trace_seq.h),
//! [`include/linux/seq_buf.h`](srctree/include/linux/seq_buf.h).

use crate::core::format::printf::{self, Refused};
use crate::core::format::values::unhash_pointers;
use crate::core::format::{copy_short, Out};
use crate::kernel::format::Arguments;
use core::fmt;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// A line of C's.
///
/// # Invariants
///
/// `seq.size` is 0, or `seq.buffer` has that many bytes, which are the line's alone.
#[repr(transparent)]
pub(crate) struct TraceSeq(bindings::trace_seq);

impl TraceSeq {
    /// The line that C means.
    ///
    /// # Safety
    ///
    /// `seq` is valid, all zeros or initialised, and nobody else uses it for `'a`.
    pub(crate) unsafe fn from_raw<'a>(seq: *mut bindings::trace_seq) -> &'a mut Self {
        // SAFETY: `seq` is nobody else's for `'a`; the types have the same layout. INVARIANT: C's
        // functions, too, keep it, and zeros mean a size of 0.
        let seq = unsafe { &mut *seq.cast::<Self>() };
        if seq.0.seq.size == 0 {
            seq.init();
        }
        seq
    }

    /// Empties the line.
    pub(crate) fn init(&mut self) {
        // INVARIANT: the line's own memory.
        self.0.seq.buffer = self.0.buffer.as_mut_ptr();
        self.0.seq.size = self.0.buffer.len();
        self.0.seq.len = 0;
        self.0.buffer[0] = 0;
        self.0.full = 0;
        self.0.readpos = 0;
    }

    /// Whether something did not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.0.full != 0 || self.0.seq.len > self.0.seq.size
    }

    fn used(&self) -> usize {
        self.0.seq.len.min(self.0.seq.size)
    }

    /// Where the next piece will begin. It is a string once [`Self::end_string`] was called.
    pub(crate) fn end(&self) -> *const c_char {
        self.0.seq.buffer.cast_const().wrapping_add(self.used())
    }

    fn room(&mut self) -> &mut [u8] {
        let (used, size) = (self.used(), self.0.seq.size);
        // SAFETY: by the invariant; the line is borrowed exclusively, and `used` is at most `size`.
        unsafe {
            let start = self.0.seq.buffer.cast::<u8>().add(used);
            core::slice::from_raw_parts_mut(start, size.wrapping_sub(used))
        }
    }

    /// Adds the names of the flags in `flags`, a `gfp_t`.
    #[cfg(CONFIG_SYNTH_EVENTS)]
    pub(crate) fn gfp_flags(&mut self, flags: u32) {
        // SAFETY: the line is borrowed exclusively.
        unsafe { bindings::rtrace_print_gfp(&mut self.0, flags as usize) };
    }

    /// Adds a NUL, so that what was added since [`Self::end`] is a string, also where the line is
    /// full.
    pub(crate) fn end_string(&mut self) {
        if Out::bytes(self, b"\0").is_err() {
            match self.room().first_mut() {
                Some(byte) => *byte = 0,
                // SAFETY: by the invariant; the size is not 0, since `from_raw` saw to that.
                None => unsafe {
                    *self.0.seq.buffer.add(self.0.seq.size.saturating_sub(1)) = 0;
                },
            }
        }
    }

    /// Takes `length` bytes to be filled in by the caller at the address that [`Self::end`] gave.
    /// False, with nothing taken, where there are not as many.
    pub(crate) fn take(&mut self, length: usize) -> bool {
        let fits = length <= self.room().len();
        if fits {
            self.0.seq.len = self.used().wrapping_add(length);
        }
        fits
    }

    /// Runs `write`; where not all of it fits, nothing of it is added.
    pub(crate) fn whole(&mut self, write: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        let before = self.0.seq.len;
        let result = write(self);
        if result.is_err() {
            self.0.seq.len = before;
        }
        result
    }

    /// Runs a function of C's that adds to a `seq_buf`. What did not fit is left out.
    fn add(&mut self, add: impl FnOnce(*mut bindings::seq_buf)) -> fmt::Result {
        if self.0.full != 0 {
            return Err(fmt::Error);
        }
        let before = self.0.seq.len;
        add(&mut self.0.seq);
        if self.is_full() {
            self.0.seq.len = before;
            self.0.full = 1;
            return Err(fmt::Error);
        }
        Ok(())
    }

    /// Adds what a format of C's makes of its arguments. With `paths`, names of Rust functions are shown
    /// as paths: all of them, if it gives true. Any context.
    pub(crate) fn format(&mut self, arguments: Arguments, paths: bool) -> Result<bool, fmt::Error> {
        if self.is_full() {
            return Err(fmt::Error);
        }
        let (format, mut taken) = arguments.taken(paths);
        // As C's, it has an end behind it.
        let Some((_, room)) = self.room().split_last_mut() else {
            self.0.full = 1;
            return Err(fmt::Error);
        };
        match printf::write(format, &mut taken, room) {
            Ok(length) => {
                self.0.seq.len = self.used().wrapping_add(length);
                if let Some(end) = self.room().first_mut() {
                    *end = 0;
                }
                Ok(!taken.lacks_paths())
            }
            Err(Refused::Unknown) => self.format_by_c(arguments).map(|()| false),
            Err(Refused::Full) => {
                self.0.full = 1;
                Err(fmt::Error)
            }
        }
    }

    fn format_by_c(&mut self, arguments: Arguments) -> fmt::Result {
        let (format, list) = arguments.into_raw();
        // SAFETY: the arguments fit the format, by the invariant of `Arguments`.
        self.add(|seq| unsafe {
            bindings::rtrace_seq_buf_vprintf(seq, format.as_ptr(), list.as_ptr());
        })
    }

    /// The same with addresses for pointers that a format would print as hashes. Any context.
    ///
    /// The changed format lies at the end of the line's memory meanwhile; where there is no room
    /// for it, hashes are printed.
    pub(crate) fn format_unhashed(&mut self, arguments: Arguments) -> fmt::Result {
        let (format, list) = arguments.into_raw();
        // SAFETY: NUL-terminated by the invariant of `Arguments`.
        let text = unsafe { CStr::from_char_ptr(format.as_ptr()) }.to_bytes();
        // At most one byte is added for every two.
        let most = text.len().saturating_add(text.len() / 2).saturating_add(1);
        let room = self.room();
        let at = room.len().saturating_sub(most);
        let changed = room.get_mut(at..).filter(|_| at != 0);
        let changed = changed.and_then(|memory| unhash_pointers(text, memory).map(|_| &*memory));
        let Some(changed) = changed.map(|format| format.as_ptr()) else {
            // SAFETY: the same arguments, not used yet.
            return self.format_by_c(unsafe { Arguments::new(format, list) });
        };
        let size = self.0.seq.size;
        let smaller = self.used().wrapping_add(at);
        // INVARIANT: the memory before the format.
        self.0.seq.size = smaller;
        // SAFETY: the changed format is NUL-terminated and takes the same arguments; it lies behind
        // what is written to.
        let result = self.add(|seq| unsafe {
            bindings::rtrace_seq_buf_vprintf(seq, changed.cast(), list.as_ptr());
        });
        // INVARIANT: the whole memory again.
        self.0.seq.size = size;
        result
    }

    /// Adds what a format of C's makes of packed arguments. Any context.
    ///
    /// # Safety
    ///
    /// `format` is NUL-terminated, and `packed` is what `vbin_printf()` made of arguments that fit
    /// it.
    pub(crate) unsafe fn format_packed(
        &mut self,
        format: NonNull<c_char>,
        packed: *const u32,
    ) -> fmt::Result {
        // SAFETY: `format` is NUL-terminated, and `packed` is what `vbin_printf()` made of
        // arguments that fit it.
        self.add(|seq| unsafe {
            bindings::seq_buf_bprintf(seq, format.as_ptr(), packed);
        })
    }

    /// Adds the bytes as words in hexadecimal digits, each followed by a blank.
    pub(crate) fn words(&mut self, bytes: &[u8]) -> fmt::Result {
        if bytes.len().saturating_mul(2) > self.room().len() {
            self.0.full = 1;
            return Err(fmt::Error);
        }
        // SAFETY: the bytes are as many.
        self.add(|seq| unsafe {
            bindings::seq_buf_putmem_hex(seq, bytes.as_ptr().cast(), bytes.len() as c_uint);
        })
    }

    /// Adds the name of `path`, newlines escaped. Task context.
    ///
    /// # Safety
    ///
    /// `path` is a path that the caller holds.
    pub(crate) unsafe fn path(&mut self, path: NonNull<bindings::path>) -> fmt::Result {
        // SAFETY: `path` is held until this returns.
        self.add(|seq| unsafe {
            bindings::seq_buf_path(seq, path.as_ptr(), c"\n".as_char_ptr());
        })
    }

    /// Adds rows as `print_hex_dump()` makes them.
    ///
    /// # Safety
    ///
    /// `prefix` is NUL-terminated.
    pub(crate) unsafe fn hex_dump(
        &mut self,
        prefix: *const c_char,
        prefix_type: c_int,
        row: c_int,
        group: c_int,
        bytes: &[u8],
        ascii: bool,
    ) -> fmt::Result {
        // SAFETY: `prefix` is NUL-terminated, and the bytes are as many.
        self.add(|seq| unsafe {
            bindings::seq_buf_hex_dump(
                seq,
                prefix,
                prefix_type,
                row,
                group,
                bytes.as_ptr().cast(),
                bytes.len(),
                ascii,
            );
        })
    }

    /// Moves the line to a `seq_file`; it stays where that has no room.
    ///
    /// # Safety
    ///
    /// `file` is a `seq_file` that is being shown.
    pub(crate) unsafe fn print_to(&mut self, file: *mut bindings::seq_file) -> Result {
        // SAFETY: `file` is a `seq_file` that is being shown, and the line is initialised.
        to_result(unsafe { bindings::seq_buf_print_seq(file, &mut self.0.seq) })?;
        self.init();
        Ok(())
    }

    /// Hands the next `count` bytes to a user and remembers how far it came. Task context, may
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` where nothing is left, `EFAULT`; the number is then negative.
    pub(crate) fn to_user(&mut self, to: *mut c_char, count: c_int) -> c_int {
        // SAFETY: the line is initialised; the function checks the user's memory.
        let done = unsafe { bindings::seq_buf_to_user(&mut self.0.seq, to, self.0.readpos, count) };
        if let Ok(done) = usize::try_from(done) {
            self.0.readpos = self.0.readpos.saturating_add(done);
        }
        done
    }
}

impl fmt::Write for TraceSeq {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for TraceSeq {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let room = if self.0.full == 0 {
            self.room().get_mut(..bytes.len())
        } else {
            None
        };
        let Some(room) = room else {
            self.0.full = 1;
            return Err(fmt::Error);
        };
        copy_short(room, bytes);
        self.0.seq.len = self.used().wrapping_add(bytes.len());
        Ok(())
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        let full = self.0.full != 0;
        let room = self.room();
        let wrote = if full { room.len() } else { write(room) };
        if wrote >= self.room().len() {
            self.0.full = 1;
            return Err(fmt::Error);
        }
        self.0.seq.len = self.used().wrapping_add(wrote);
        Ok(())
    }
}
