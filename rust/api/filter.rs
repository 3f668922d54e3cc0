// SPDX-License-Identifier: GPL-2.0

//! The functions that an ops is for, as users of it name them.

use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// Makes the filter of `ops` of `patterns`. After an error it may have a part of them.
///
/// # Errors
///
/// `EINVAL` if there is no pattern, one that begins with `!` or a digit, one with `:mod:`, or one that no
/// function matches; `ENOMEM`.
///
/// # Safety
///
/// `ops` is not registered.
#[inline]
pub(crate) unsafe fn set(ops: *mut bindings::ftrace_ops, patterns: &[&CStr]) -> Result {
    // Without a filter it would be called at every function. A pattern that removes functions may
    // leave none. A number would be that of a line of `available_filter_functions`.
    let is_wrong = |pattern: &&CStr| matches!(pattern.to_bytes(), [b'!' | b'0'..=b'9', ..]);
    if patterns.is_empty() || patterns.iter().any(is_wrong) {
        return Err(EINVAL);
    }
    patterns.iter().try_for_each(|pattern| {
        let text = pattern.to_bytes();
        let length = c_int::try_from(text.len())?;
        let start = text.as_ptr().cast_mut();
        // SAFETY: the ops is there; the tracing core does not write to the pattern.
        to_result(unsafe { bindings::ftrace_set_filter(ops, start, length, 0) })
    })
}
