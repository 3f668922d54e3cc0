// SPDX-License-Identifier: GPL-2.0

//! What BPF's own code asks of the events that its programs are at. That code, `bpf_trace.c`, is C.

#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::kernel::bpf;
use crate::kernel::bpf::Target;
use crate::kernel::dynamic_event::DynamicEvent;
#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::kernel::kprobe::{entry_at, entry_of, Entry};
use crate::trace::events::file::Hot;
use core::ptr::null;
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::c_int;
#[cfg(CONFIG_KPROBE_EVENTS)]
use kernel::ffi::c_ulong;
use kernel::prelude::*;

/// What the event's first probe is at. `EINVAL` for an event without probes.
///
/// # Safety
///
/// `call` is of a kprobe's or of a uprobe's event, and that is known.
unsafe fn with_target<R>(
    call: *mut bindings::trace_event_call,
    f: impl FnOnce(&Target<'_>) -> R,
) -> Result<R> {
    // SAFETY: such events are `DynamicEvent`s, and this one stays during the call.
    let event = unsafe { DynamicEvent::<Hot>::from_raw(call) };
    let (mut f, mut result) = (Some(f), None);
    event.ops().with_target(&mut |target| {
        result = f.take().map(|f| f(target));
    });
    result.ok_or(EINVAL)
}

/// Whether the event of a kprobe is at the entry of a function. Task context, may sleep.
///
/// # Safety
///
/// `call` is of a kprobe's event that perf uses.
#[cfg(CONFIG_KPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn trace_kprobe_on_func_entry(
    call: *mut bindings::trace_event_call,
) -> bool {
    let is_entry = |target: &Target<'_>| match (target.address, target.name) {
        (0, Some(symbol)) => entry_of(symbol, target.offset as usize) == Entry::Yes,
        (address, _) => entry_at(address as usize, 0) == Entry::Yes,
    };
    // SAFETY: `call` is of a kprobe's event, which stays as long as perf uses it.
    unsafe { with_target(call, is_entry) }.unwrap_or(false)
}

/// Whether errors may be injected into the function that the event of a kprobe is at. Task context, may
/// sleep.
///
/// # Safety
///
/// As [`trace_kprobe_on_func_entry`].
#[cfg(CONFIG_KPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn trace_kprobe_error_injectable(
    call: *mut bindings::trace_event_call,
) -> bool {
    let may_fail = |target: &Target<'_>| bpf::may_fail(target.address as usize);
    // SAFETY: `call` is of a kprobe's event, which stays as long as perf uses it.
    unsafe { with_target(call, may_fail) }.unwrap_or(false)
}

/// Describes the kprobe that one of perf's events is of. Addresses are 0 for who may not see them. Task
/// context, may sleep. `EINVAL` for an event without probes.
///
/// # Safety
///
/// `event` is live and of a kprobe's event; there is room for all but `missed`, which may be null. The
/// symbol stays as long as `event`, also where its probe is removed.
#[cfg(CONFIG_KPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn bpf_get_kprobe_info(
    event: *const bindings::perf_event,
    fd_type: *mut u32,
    symbol: *mut *const c_char,
    probe_offset: *mut u64,
    probe_addr: *mut u64,
    missed: *mut c_ulong,
    _perf_type_tracepoint: bool,
) -> c_int {
    from_result(|| {
        // SAFETY: `event` is of a kprobe's event, which stays as long as perf uses it; there is room
        // for what is asked for.
        unsafe {
            with_target((*event).tp_event, |target| {
                *fd_type = match target.is_return {
                    true => bindings::bpf_task_fd_type_BPF_FD_TYPE_KRETPROBE,
                    false => bindings::bpf_task_fd_type_BPF_FD_TYPE_KPROBE,
                };
                *symbol = target.name.map_or(null(), CStr::as_char_ptr);
                *probe_offset = target.offset;
                *probe_addr = match bpf::may_see_addresses() {
                    true => target.address,
                    false => 0,
                };
                if !missed.is_null() {
                    *missed = target.missed;
                }
            })
        }?;
        Ok(0)
    })
}

/// Describes the uprobe that one of perf's events is of. Task context, may sleep. `EINVAL` for an event
/// without probes.
///
/// # Safety
///
/// `event` is live and of a uprobe's event; there is room for all. The path stays as long as `event`, also where
/// its probe is removed.
#[cfg(CONFIG_UPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn bpf_get_uprobe_info(
    event: *const bindings::perf_event,
    fd_type: *mut u32,
    filename: *mut *const c_char,
    probe_offset: *mut u64,
    probe_addr: *mut u64,
    _perf_type_tracepoint: bool,
) -> c_int {
    from_result(|| {
        // SAFETY: `event` is of a uprobe's event, which stays as long as perf uses it; there is room
        // for what is asked for.
        unsafe {
            with_target((*event).tp_event, |target| {
                *fd_type = match target.is_return {
                    true => bindings::bpf_task_fd_type_BPF_FD_TYPE_URETPROBE,
                    false => bindings::bpf_task_fd_type_BPF_FD_TYPE_UPROBE,
                };
                *filename = target.name.map_or(null(), CStr::as_char_ptr);
                *probe_offset = target.offset;
                *probe_addr = target.address;
            })
        }?;
        Ok(0)
    })
}
