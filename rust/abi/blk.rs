// SPDX-License-Identifier: GPL-2.0

//! What `kernel/trace/blktrace.c` calls of the tracer `blk`.

use crate::core::format::entry::Blk;
use crate::trace::tracers::blk;
use kernel::bindings;
use kernel::ffi::c_void;
use kernel::prelude::*;

/// Whether [`rtrace_blk_record`] gets the events. Any context.
#[no_mangle]
pub(crate) extern "C" fn rtrace_blk_enabled() -> bool {
    blk::is_on()
}

/// Whether events have the id of a cgroup. Any context.
#[no_mangle]
pub(crate) extern "C" fn rtrace_blk_records_cgroups() -> bool {
    blk::records_cgroups()
}

/// Records an event of the function around `ip`: `event`, the id of a cgroup if it is not 0, and
/// data. Any context but NMI.
///
/// # Safety
///
/// `event` can be read, and so can `data_len` bytes at `data`.
#[export]
pub(crate) unsafe extern "C" fn rtrace_blk_record(
    ip: c_ulong,
    event: *const bindings::blk_io_trace2,
    cgroup: u64,
    data: *const c_void,
    data_len: usize,
) {
    // SAFETY: the event can be read.
    let event = unsafe { &*event };
    let data: &[u8] = match data_len {
        0 => &[],
        // SAFETY: so many bytes can be read.
        _ => unsafe { core::slice::from_raw_parts(data.cast::<u8>(), data_len) },
    };
    let id = cgroup.to_ne_bytes();
    let id: &[u8] = if cgroup != 0 { &id } else { &[] };
    let entry = Blk {
        sector: event.sector,
        bytes: event.bytes,
        pid: event.pid,
        action: event.action,
        device: event.device,
        cpu: event.cpu,
        error: event.error,
        // Events are far shorter than this can say.
        pdu_len: id.len().wrapping_add(data.len()) as u16,
        ..Blk::default()
    };
    blk::record(ip, entry, [id, data]);
}

crate::abi::same_in_c! {
    fn rtrace_blk_enabled() -> _;
    fn rtrace_blk_records_cgroups() -> _;
}
