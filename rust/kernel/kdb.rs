// SPDX-License-Identifier: GPL-2.0

//! What commands of the kernel debugger use. All here is for a command alone: all other CPUs stand
//! still, interrupts are off, and a lock may belong to code that does not go on.
//!
//! C header: [`include/linux/kdb.h`](srctree/include/linux/kdb.h)

use kernel::bindings;
use kernel::types::NotThreadSafe;

/// What the kernel prints goes to the debugger's user as long as this is there.
pub(crate) struct TrapPrintk(NotThreadSafe);

impl TrapPrintk {
    pub(crate) fn new() -> Self {
        // SAFETY: only this CPU runs, and the debugger does not interrupt itself.
        unsafe { bindings::kdb_trap_printk += 1 };
        Self(NotThreadSafe)
    }
}

impl Drop for TrapPrintk {
    fn drop(&mut self) {
        // SAFETY: as in `new`.
        unsafe { bindings::kdb_trap_printk -= 1 };
    }
}

/// Whether the user has broken the command off.
pub(crate) fn is_broken_off() -> bool {
    // SAFETY: the debugger changes it while it prints, on this CPU.
    let flags = unsafe { (&raw const bindings::kdb_flags).read_volatile() };
    flags & bindings::KDB_FLAG_CMD_INTERRUPT != 0
}
