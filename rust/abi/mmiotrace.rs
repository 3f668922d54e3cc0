// SPDX-License-Identifier: GPL-2.0

//! What x86 calls when it has caught an access to the memory of a device, or when such memory is
//! mapped: `include/linux/mmiotrace.h`. `printk.c` has the marks.

use crate::core::format::entry::mmio::{MmioMap, MmioRw};
use crate::trace::tracers::mmiotrace::record;
use kernel::bindings;
use kernel::prelude::*;

/// Records an access. Any context but NMI.
///
/// # Safety
///
/// `rw` can be read.
#[export]
pub(crate) unsafe extern "C" fn mmio_trace_rw(rw: *mut bindings::mmiotrace_rw) {
    // SAFETY: the access can be read.
    let rw = unsafe { &*rw };
    let entry = MmioRw {
        phys: rw.phys,
        value: rw.value,
        pc: rw.pc,
        map_id: rw.map_id,
        opcode: rw.opcode,
        width: rw.width,
        ..MmioRw::default()
    };
    record(mmio_trace_rw as *const () as usize, entry);
}

/// Records that memory is mapped or not any more. Any context but NMI.
///
/// # Safety
///
/// `map` can be read.
#[export]
pub(crate) unsafe extern "C" fn mmio_trace_mapping(map: *mut bindings::mmiotrace_map) {
    // SAFETY: the mapping can be read.
    let map = unsafe { &*map };
    let entry = MmioMap {
        phys: map.phys,
        virt: map.virt,
        len: map.len,
        map_id: map.map_id,
        opcode: map.opcode,
        ..MmioMap::default()
    };
    record(mmio_trace_mapping as *const () as usize, entry);
}
