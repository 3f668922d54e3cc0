// SPDX-License-Identifier: GPL-2.0

//! Exports: C code that gets entries besides the buffer, `struct trace_export` of
//! `include/linux/trace.h`.

use super::context::PreemptOff;
use core::ptr::{self, NonNull};
use kernel::bindings;
use kernel::sync::atomic::{Atomic, Relaxed};

/// One of them, until [`Export::end`].
///
/// # Invariants
///
/// The pointer is null, or that of a structure with a function in it, which stays as long as
/// whoever may have seen the pointer here holds off preemption.
pub(crate) struct Export(Atomic<*mut bindings::trace_export>);

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
    /// It stays until it has ended, and [`wait_for_readers`](super::rcu_slot::wait_for_readers)
    /// has waited since.
    pub(crate) unsafe fn new(export: *mut bindings::trace_export) -> Option<Self> {
        // SAFETY: null, or a structure that stays until it was taken away again.
        NonNull::new(export)
            .filter(|export| unsafe { export.as_ref() }.write.is_some())
            // INVARIANT: by the precondition.
            .map(|export| Self(Atomic::new(export.as_ptr())))
    }

    /// Whether it is the one there.
    pub(crate) fn is(&self, export: *mut bindings::trace_export) -> bool {
        !export.is_null() && self.0.load(Relaxed) == export
    }

    /// Whether it has not ended.
    pub(crate) fn is_there(&self) -> bool {
        !self.0.load(Relaxed).is_null()
    }

    /// Lets it end: who looks at it from now on finds nothing.
    pub(crate) fn end(&self) {
        // INVARIANT: null.
        self.0.store(ptr::null_mut(), Relaxed);
    }

    /// Another of the same structure.
    ///
    /// # Safety
    ///
    /// It ends when `self` does, or is not used from then on.
    pub(crate) unsafe fn again(&self) -> Self {
        Self(Atomic::new(self.0.load(Relaxed)))
    }

    /// What it takes; nothing after its end. Any context.
    pub(crate) fn wants(&self) -> u32 {
        let _stay = PreemptOff::new();
        // SAFETY: by the type invariant, with preemption off.
        unsafe { self.0.load(Relaxed).as_ref() }.map_or(0, |export| export.flags as u32)
    }

    /// Gives it an entry of `kind`, common fields included, if it takes such. Any context.
    pub(crate) fn write(&self, kind: u32, entry: &[u8]) {
        let length = u32::try_from(entry.len()).unwrap_or(u32::MAX);
        let _stay = PreemptOff::new();
        let export = self.0.load(Relaxed);
        // SAFETY: by the type invariant, with preemption off; the function takes as many bytes as
        // it is told.
        unsafe {
            if let Some(&bindings::trace_export {
                write: Some(write),
                flags,
                ..
            }) = export.as_ref()
            {
                if flags as u32 & kind != 0 {
                    write(export, entry.as_ptr().cast(), length);
                }
            }
        }
    }
}
