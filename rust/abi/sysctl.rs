// SPDX-License-Identifier: GPL-2.0

//! Sysctls of one number that has no word in C's memory, of `include/linux/sysctl.h`.

use kernel::bindings;
use kernel::error::{from_result, to_result};
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;

/// Does what the handler of a number is called for: it reads as `now`, and `set` gets what is
/// written. Gives what the handler returns. Task context, sleeps.
///
/// # Safety
///
/// The others are a sysctl handler's arguments.
pub(super) unsafe fn number(
    table: *const bindings::ctl_table,
    write: c_int,
    buffer: *mut c_void,
    lenp: *mut usize,
    ppos: *mut bindings::loff_t,
    now: c_int,
    set: impl FnOnce(c_int) -> Result,
) -> c_int {
    let mut number = now;
    // SAFETY: the table is there, and of plain words.
    let mut row = unsafe { table.read() };
    row.data = (&raw mut number).cast();
    from_result(|| {
        // SAFETY: the handler's own arguments, but for a row whose number is here for the call.
        to_result(unsafe { bindings::proc_dointvec(&row, write, buffer, lenp, ppos) })?;
        if write != 0 {
            set(number)?;
        }
        Ok(0)
    })
}
