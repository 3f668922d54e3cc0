// SPDX-License-Identifier: GPL-2.0

//! `struct trace_iterator`: what C's printing functions of events are given.
//!
//! C header: [`include/linux/trace_events.h`](srctree/include/linux/trace_events.h).

use crate::kernel::trace_seq::TraceSeq;
use kernel::bindings;
use kernel::prelude::*;

/// Bits of `iter_flags`, of which C has the lowest ones: names of Rust functions are wanted as paths; a
/// format was printed that has them so; one was printed that may have others.
pub(super) const WANTS_PATHS: usize = 1 << 29;
pub(super) const HAS_PATHS: usize = 1 << 30;
pub(super) const LACKS_PATHS: usize = 1 << 31;

/// A record that is being printed, as C sees it.
///
/// # Invariants
///
/// `ent` points to `ent_size` bytes, a record with its common header.
#[repr(transparent)]
pub(crate) struct TraceIterator(bindings::trace_iterator);

impl TraceIterator {
    /// The iterator that C got and hands back.
    ///
    /// # Safety
    ///
    /// `iter` is valid, `ent` points to a record of `ent_size` bytes, and nobody else uses it for
    /// `'a`.
    pub(crate) unsafe fn from_raw<'a>(iter: *mut bindings::trace_iterator) -> &'a mut Self {
        // SAFETY: `iter` is nobody else's for `'a`; the types have the same layout. INVARIANT:
        // `ent` points to a record of `ent_size` bytes.
        unsafe { &mut *iter.cast::<Self>() }
    }

    /// The line, and the record that it is about.
    pub(crate) fn line(&mut self) -> (&mut TraceSeq, &[u8]) {
        // SAFETY: the line is this object's, which is borrowed exclusively, and the record is not
        // part of it. The record has so many bytes by the invariant.
        unsafe {
            (
                TraceSeq::from_raw(&mut self.0.seq),
                core::slice::from_raw_parts(self.0.ent.cast::<u8>(), self.0.ent_size as usize),
            )
        }
    }

    /// Where values are put that the line's format then refers to.
    pub(crate) fn scratch(&mut self) -> &mut TraceSeq {
        // SAFETY: the scratch line is this object's, which is borrowed exclusively; it is zeroed or
        // initialised.
        unsafe { TraceSeq::from_raw(&mut self.0.tmp_seq) }
    }

    /// Whether names of Rust functions are to be shown as paths.
    pub(crate) fn wants_paths(&self) -> bool {
        self.0.iter_flags & WANTS_PATHS != 0
    }

    /// Tells whoever has the record printed whether all of a format's are.
    pub(crate) fn tell_paths(&mut self, all: bool) {
        self.0.iter_flags |= if all { HAS_PATHS } else { LACKS_PATHS };
    }

    /// The instance that the record is from, null where that is not known.
    pub(crate) fn trace_array(&self) -> *mut bindings::trace_array {
        self.0.tr
    }
}

/// The name of an event.
///
/// # Safety
///
/// `call` is a valid event; the name lives as long as it does.
pub(crate) unsafe fn event_name<'a>(call: *mut bindings::trace_event_call) -> &'a CStr {
    // SAFETY: `call` is a valid event; the name lives as long as it does.
    let name = unsafe { bindings::trace_event_name(call) };
    if name.is_null() {
        return c"(null)";
    }
    // SAFETY: NUL-terminated, as names are.
    unsafe { CStr::from_char_ptr(name) }
}
