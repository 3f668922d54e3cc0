// SPDX-License-Identifier: GPL-2.0

//! A tracepoint's arguments are those of its C prototype.

use kernel::prelude::*;

rtrace::tracepoint! {
    /// A system call begins; its first argument are the registers.
    pub struct SysEnter = sys_enter(c_long, c_long);
}
