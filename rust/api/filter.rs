// SPDX-License-Identifier: GPL-2.0

//! The functions that an ops is for, as users of it name them.

use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// Makes the filter of `ops` of `patterns`. After an error it may have a part of them.
///
/// # Errors
///
/// `EINVAL` if there is no pattern, one that begins with `!`, or one that no function matches;
/// `ENOMEM`.
///
/// # Safety
///
/// `ops` is not registered.
#[inline]
pub(crate) unsafe fn set(ops: *mut bindings::ftrace_ops, patterns: &[&CStr]) -> Result {
    // Without a filter it would be called at every function. A pattern that removes functions may
    // leave none.
    let removes = |pattern: &&CStr| pattern.to_bytes().starts_with(b"!");
    if patterns.is_empty() || patterns.iter().any(removes) {
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
