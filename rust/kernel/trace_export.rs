// SPDX-License-Identifier: GPL-2.0

//! Exports: C code that gets entries besides the buffer, `struct trace_export` of
//! `include/linux/trace.h`.

use core::ptr::NonNull;
use kernel::bindings;

/// One of them.
///
/// # Invariants
///
/// The structure stays, with a function in it, until this is dropped and nobody runs that any more.
#[derive(Clone, Copy)]
pub(crate) struct Export(NonNull<bindings::trace_export>);

// SAFETY: its function is called from any context on any CPU, as the header says.
unsafe impl Send for Export {}
// SAFETY: its function is called from any context on any CPU, as the header says, several at a
// time.
unsafe impl Sync for Export {}

impl Export {
    /// `TRACE_EXPORT_FUNCTION`: the function tracer's entries.
    pub(crate) const FUNCTION: u32 = 1 << 0;
    /// `TRACE_EXPORT_EVENT`: events.
    pub(crate) const EVENT: u32 = 1 << 1;
    /// `TRACE_EXPORT_MARKER`: what is written to `trace_marker`.
    pub(crate) const MARKER: u32 = 1 << 2;

    /// The one at `export`; none if that is null or has no function.
    ///
    /// # Safety
    ///
    /// It stays until [`Export::is`] was used to find it, and nobody has it any more.
    pub(crate) unsafe fn new(export: *mut bindings::trace_export) -> Option<Self> {
        // SAFETY: null, or a structure that stays until it was taken away again.
        NonNull::new(export)
            .filter(|export| unsafe { export.as_ref() }.write.is_some())
            // INVARIANT: by the precondition.
            .map(Self)
    }

    /// Is it the one there?
    pub(crate) fn is(self, export: *mut bindings::trace_export) -> bool {
        self.0.as_ptr() == export
    }

    /// What it takes.
    pub(crate) fn wants(self) -> u32 {
        // SAFETY: by the type invariant the structure is there.
        unsafe { (*self.0.as_ptr()).flags as u32 }
    }

    /// Gives it an entry, common fields included. Any context, preemption off.
    pub(crate) fn write(self, entry: &[u8]) {
        let length = u32::try_from(entry.len()).unwrap_or(u32::MAX);
        // SAFETY: by the type invariant the structure and its function are there; it takes as many
        // bytes as it is told.
        unsafe {
            if let Some(write) = (*self.0.as_ptr()).write {
                write(self.0.as_ptr(), entry.as_ptr().cast(), length);
            }
        }
    }
}
