// SPDX-License-Identifier: GPL-2.0

//! Boot parameters, as `boot.c` keeps them.

use core::ffi::CStr;
use kernel::bindings;

/// What a boot parameter was given.
#[derive(Clone, Copy)]
pub(super) struct Given(&'static [u8]);

impl Given {
    /// # Safety
    ///
    /// The command line has been parsed, and init memory is still there as long as the result or
    /// what came from it is used.
    pub(super) unsafe fn of(param: bindings::rtrace_param) -> Self {
        // SAFETY: a string in init memory, which is there.
        Self(unsafe { CStr::from_ptr(bindings::rtrace_given(param).cast()) }.to_bytes())
    }

    /// What it was given each time; without `=` that is nothing.
    pub(super) fn all(self) -> impl Iterator<Item = &'static [u8]> + Clone {
        self.0
            .split_inclusive(|byte| *byte == b'\t')
            .map(|text| text.strip_suffix(b"\t").unwrap_or(text))
    }

    /// What it was given last; nothing without it.
    pub(super) fn last(self) -> &'static [u8] {
        self.all().last().unwrap_or(b"")
    }

    /// Whether it is there.
    pub(super) fn is_given(self) -> bool {
        !self.0.is_empty()
    }
}
