// SPDX-License-Identifier: GPL-2.0

//! A per-CPU flag: has this CPU made a trace entry since its tasks' names were last saved?
//!
//! The flag is `rtrace_entry_made` of `rust/abi/boot.c`, as Rust cannot define static per-CPU
//! data.

use kernel::bindings;

/// Sets it, by one instruction. Any context.
#[inline(always)]
pub(crate) fn set() {
    // SAFETY: no preconditions; a task that moves meanwhile sets the flag of a CPU it ran on.
    unsafe { bindings::set_entry_made(true) };
}

/// Clears it. Any context.
pub(crate) fn clear() {
    // SAFETY: as in `set`.
    unsafe { bindings::set_entry_made(false) };
}

/// Reads it. Any context.
pub(crate) fn get() -> bool {
    // SAFETY: as in `set`.
    unsafe { bindings::get_entry_made() }
}
