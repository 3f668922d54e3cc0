// SPDX-License-Identifier: GPL-2.0

//! The kernel debugger's command `ftdump`, which `boot.c` registers.
//!
//! C header: [`include/linux/kdb.h`](srctree/include/linux/kdb.h)

use crate::core::parse::number;
use crate::kernel::cpus;
use crate::trace::output::kdb;
use core::ffi::CStr;
use kernel::cpu::CpuId;
use kernel::{
    bindings,
    ffi::{c_char, c_int},
    prelude::*,
};

/// `ftdump [skip_#entries] [cpu]`. Answers what the debugger prints errors by.
///
/// # Safety
///
/// A call of the debugger for a command: `argv` has `argc` NUL-terminated texts behind the name of
/// the command.
#[export]
pub(crate) unsafe extern "C" fn rtrace_kdb_ftdump(argc: c_int, argv: *mut *const c_char) -> c_int {
    let argument = |place: c_int| {
        // SAFETY: it is there by the condition above, as `place` is not above `argc`.
        (place <= argc).then(|| unsafe { CStr::from_ptr((*argv.add(place as usize)).cast()) })
    };
    if argc > 2 {
        return bindings::KDB_ARGCOUNT;
    }
    let skip = argument(1).map_or(Ok(0), |text| number::signed(text.to_bytes(), 0));
    let Some(skip) = skip.ok().filter(|&skip| i32::try_from(skip).is_ok()) else {
        return bindings::KDB_BADINT;
    };
    let only = match argument(2).map(|text| online(text.to_bytes())) {
        Some(None) => return bindings::KDB_BADINT,
        Some(cpu) => cpu,
        None => None,
    };
    kdb::print(skip, only);
    0
}

/// The CPU of this number, if it is up.
fn online(number: &[u8]) -> Option<CpuId> {
    let number = number::signed(number, 0).ok()?;
    let cpu = CpuId::from_u32(u32::try_from(number).ok()?)?;
    cpus::is_online(cpu).then_some(cpu)
}
