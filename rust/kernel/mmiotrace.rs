// SPDX-License-Identifier: GPL-2.0

//! Catching accesses to the memory of devices.
//!
//! C header: `include/linux/mmiotrace.h`.

use kernel::bindings;

/// While it exists, accesses to memory that is mapped meanwhile are caught.
pub(crate) struct Enabled(());

impl Enabled {
    /// Takes all CPUs but one offline. Task context, sleeps.
    pub(crate) fn new() -> Self {
        // SAFETY: no preconditions; this may sleep.
        unsafe { bindings::enable_mmiotrace() };
        Self(())
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        // SAFETY: no preconditions; this may sleep.
        unsafe { bindings::disable_mmiotrace() };
    }
}
