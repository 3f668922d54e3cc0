// SPDX-License-Identifier: GPL-2.0

//! [`Reservation`]: what the code of a probe keeps of an entry that it makes.

use super::File;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::types::Opaque;

/// What the generated code of a probe keeps between the reservation of an entry and its end
/// (`struct trace_event_buffer`). On its stack.
#[repr(transparent)]
pub(crate) struct Reservation(Opaque<bindings::trace_event_buffer>);

impl Reservation {
    /// A structure before its first reservation.
    #[cfg(any(
        CONFIG_FTRACE_SYSCALLS,
        CONFIG_TRACE_EVENT_INJECT,
        CONFIG_DYNAMIC_EVENTS
    ))]
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self(Opaque::uninit())
    }

    /// The one at `buffer`.
    ///
    /// # Safety
    ///
    /// It is the caller's own for the lifetime that is picked.
    #[inline(always)]
    pub(crate) unsafe fn from_raw<'a>(buffer: *mut bindings::trace_event_buffer) -> &'a mut Self {
        // SAFETY: `buffer` is nobody else's for `'a`; the type is transparent.
        unsafe { &mut *buffer.cast() }
    }

    /// Stores the file of the reservation and its mark.
    #[inline(always)]
    pub(crate) fn set<T>(&mut self, file: &File<T>, mark: u32) {
        let raw = self.0.get();
        // SAFETY: it is borrowed mutably; the fields may hold anything.
        unsafe {
            (*raw).trace_file = file.as_ptr();
            (*raw).trace_ctx = mark;
        }
    }

    /// Stores the address of the entry.
    pub(crate) fn set_entry(&mut self, entry: *mut u8) {
        // SAFETY: it is borrowed mutably; the field may hold anything.
        unsafe { (*self.0.get()).entry = entry.cast() };
    }

    /// Stores the place of the ring on which the entry is reserved.
    #[inline(always)]
    pub(crate) fn set_ring<T>(&mut self, ring: NonNull<T>) {
        // SAFETY: it is borrowed mutably; the field may hold anything.
        unsafe { (*self.0.get()).buffer = ring.as_ptr().cast() };
    }

    /// The place that [`Reservation::set_ring`] has stored.
    ///
    /// # Safety
    ///
    /// It was called, with a `T`: before that the word is not initialised.
    #[inline(always)]
    pub(crate) unsafe fn ring<T>(&self) -> NonNull<T> {
        // SAFETY: `set_ring` has written the word, which is not null.
        unsafe { NonNull::new_unchecked((*self.0.get()).buffer.cast()) }
    }

    /// Stores a word that says where the stack of the hit begins.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) fn set_start(&mut self, word: usize) {
        // SAFETY: it is borrowed mutably; the field may hold anything.
        unsafe { (*self.0.get()).regs = word as *mut bindings::pt_regs };
    }

    /// The word that [`Reservation::set_start`] has stored.
    ///
    /// # Safety
    ///
    /// [`Reservation::set_start`] was called: before that the word is not initialised.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) unsafe fn start(&self) -> usize {
        // SAFETY: `set_start` has written the word.
        unsafe { (*self.0.get()).regs as usize }
    }

    /// The file's address.
    ///
    /// # Safety
    ///
    /// [`Reservation::set`] was called: before that the word is not initialised.
    #[inline(always)]
    pub(crate) unsafe fn file(&self) -> *const bindings::trace_event_file {
        // SAFETY: `set` has written the word.
        unsafe { (*self.0.get()).trace_file }
    }

    /// The mark.
    ///
    /// # Safety
    ///
    /// [`Reservation::set`] was called: before that the word is not initialised.
    #[inline(always)]
    pub(crate) unsafe fn mark(&self) -> u32 {
        // SAFETY: `set` has written the word.
        unsafe { (*self.0.get()).trace_ctx }
    }

    /// Where the entry is.
    ///
    /// # Safety
    ///
    /// [`Reservation::set_entry`] was called: before that the word is not initialised.
    pub(crate) unsafe fn entry(&self) -> *mut u8 {
        // SAFETY: `set_entry` has written the word.
        unsafe { (*self.0.get()).entry.cast() }
    }
}
