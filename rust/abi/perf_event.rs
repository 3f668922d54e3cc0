// SPDX-License-Identifier: GPL-2.0

//! What perf's core and the generated code of events call, of `include/linux/trace_events.h`.

#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::core::event::probe::command::Place;
use crate::kernel::own_event::Class;
use crate::kernel::perf_trace;
use crate::kernel::trace_event::{Call, HeldCall};
use crate::trace::buffer::entry::Context;
#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::trace::events::dynamic::kprobe;
#[cfg(CONFIG_UPROBE_EVENTS)]
use crate::trace::events::dynamic::uprobe;
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::events::filter::is_function;
use crate::trace::events::filter::Filter;
use crate::trace::events::perf::{self, FunctionClass};
use crate::trace::events::registry;
use core::ptr::null_mut;
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::{c_char, c_int, c_void};
use kernel::prelude::*;

/// What [`perf`] cannot name.
enum Classes {}

impl FunctionClass for Classes {
    fn class() -> Option<Class> {
        #[cfg(CONFIG_FUNCTION_TRACER)]
        return Some(super::perf_function::CLASS);
        #[cfg(not(CONFIG_FUNCTION_TRACER))]
        return None;
    }
}

/// Has a new event of perf's see hits of the event whose type it asks for. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` without such an event, `EACCES`, `EPERM`, `ENOMEM`, and as the event's class says.
///
/// # Safety
///
/// `event` is live and new.
#[export]
pub(crate) unsafe extern "C" fn perf_trace_init(event: *mut bindings::perf_event) -> c_int {
    from_result(|| {
        // SAFETY: `event` is live and new; it stays until `perf_trace_destroy`. Its parent, if it has
        // one, was initialised here, holds the event, and is not destroyed before it.
        unsafe {
            let parent = (*event).parent;
            if parent.is_null() {
                perf::begin::<Classes>((*event).attr.config, |in_use, call| {
                    in_use.begin(call, event)
                })
            } else {
                // A new task has what its parent has. If that has ended, nothing has its type any
                // more, or something else.
                let call = Call::from_raw((*parent).tp_event);
                perf::begin_with(
                    || HeldCall::of(call),
                    |in_use, call| in_use.begin(call, event),
                )
            }
        }?;
        Ok(0)
    })
}

/// Undoes [`perf_trace_init`]. Task context, sleeps.
///
/// # Safety
///
/// That was done for `event`.
#[export]
pub(crate) unsafe extern "C" fn perf_trace_destroy(event: *mut bindings::perf_event) {
    // SAFETY: `perf_trace_init` was done for `event`; it has kept the event's module held, which
    // nobody else gives back, unless the event is one of the core's own, without a module.
    unsafe {
        let call = HeldCall::from_kept(Call::from_raw((*event).tp_event));
        perf::end(call, |in_use, call| in_use.end(call, event));
    }
}

/// # Safety
///
/// As perf's core calls the `add` of a PMU.
#[export]
pub(crate) unsafe extern "C" fn perf_trace_add(
    event: *mut bindings::perf_event,
    flags: c_int,
) -> c_int {
    from_result(|| {
        // SAFETY: perf's core calls this for an `event` that was initialised, on its CPU,
        // interrupts off.
        unsafe { perf_trace::add(event, flags) }?;
        Ok(0)
    })
}

/// # Safety
///
/// As perf's core calls the `del` of a PMU.
#[export]
pub(crate) unsafe extern "C" fn perf_trace_del(event: *mut bindings::perf_event, _flags: c_int) {
    // SAFETY: perf's core calls this for an `event` that was added, on its CPU, interrupts off.
    unsafe { perf_trace::del(event) };
}

/// Makes a kprobe or a kretprobe for one event of perf's alone, which sees its hits. Task context,
/// sleeps.
///
/// # Errors
///
/// As those of definitions and of [`perf_trace_init`]; `E2BIG` for a name that is too long.
///
/// # Safety
///
/// `event` is live and new.
#[cfg(CONFIG_KPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn perf_kprobe_init(
    event: *mut bindings::perf_event,
    is_retprobe: bool,
) -> c_int {
    from_result(|| {
        // SAFETY: `event` is live; the unions are those of a kprobe's event.
        let (name, address, offset) = unsafe {
            let attr = &raw const (*event).attr;
            (
                (*attr).__bindgen_anon_3.kprobe_func,
                (*attr).__bindgen_anon_4.kprobe_addr,
                (*attr).__bindgen_anon_4.probe_offset,
            )
        };
        let symbol = match name {
            0 => None,
            name => Some(perf_trace::user_text(
                name,
                bindings::KSYM_NAME_LEN as usize,
            )?),
        };
        let symbol = symbol.filter(|symbol| !symbol.is_empty());
        let place = match &symbol {
            Some(symbol) => Place::Symbol {
                symbol: symbol.to_bytes(),
                offset: offset as u32,
            },
            None => Place::Address(address),
        };
        kprobe::create_local(place, is_retprobe, |call| {
            perf::begin_with(
                // SAFETY: perf's own event is of the kernel.
                || unsafe { HeldCall::of(call) },
                // SAFETY: `event` is live and new; it stays until `perf_kprobe_destroy`.
                |in_use, call| unsafe { in_use.begin(call, event) },
            )
        })?;
        Ok(0)
    })
}

/// Ends the use of perf's own probe, and removes the probe with `destroy`. Task context, sleeps.
///
/// # Safety
///
/// `event` has begun to use it, and does not end that elsewhere.
#[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
unsafe fn end_local(event: *mut bindings::perf_event, destroy: impl FnOnce(&Call)) {
    // SAFETY: `event` has kept its call held, which nobody else releases, and the call stays until
    // `destroy`.
    unsafe {
        let call = Call::from_raw((*event).tp_event);
        let held = HeldCall::from_kept(call);
        perf::end(held, |in_use, call| in_use.end(call, event));
        destroy(call);
    }
}

/// Undoes [`perf_kprobe_init`]. Task context, sleeps.
///
/// # Safety
///
/// That was done for `event`.
#[cfg(CONFIG_KPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn perf_kprobe_destroy(event: *mut bindings::perf_event) {
    // SAFETY: `perf_kprobe_init` was done for `event`.
    unsafe { end_local(event, kprobe::destroy_local) };
}

/// Makes a uprobe or a uretprobe for one event of perf's alone, which sees its hits. Task context,
/// sleeps.
///
/// # Errors
///
/// `EINVAL` without a path, as those of definitions and of [`perf_trace_init`]; `E2BIG` for a path
/// that is too long.
///
/// # Safety
///
/// `event` is live and new.
#[cfg(CONFIG_UPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn perf_uprobe_init(
    event: *mut bindings::perf_event,
    ref_ctr_offset: usize,
    is_retprobe: bool,
) -> c_int {
    from_result(|| {
        // SAFETY: `event` is live; the unions are those of a uprobe's event.
        let (path, offset) = unsafe {
            let attr = &raw const (*event).attr;
            (
                (*attr).__bindgen_anon_3.uprobe_path,
                (*attr).__bindgen_anon_4.probe_offset,
            )
        };
        if path == 0 {
            return Err(EINVAL);
        }
        let path = perf_trace::user_text(path, bindings::PATH_MAX as usize)?;
        if path.is_empty() {
            return Err(EINVAL);
        }
        let counter = ref_ctr_offset as u64;
        uprobe::create_local(&path, offset, counter, is_retprobe, |call| {
            perf::begin_with(
                // SAFETY: perf's own event is of the kernel.
                || unsafe { HeldCall::of(call) },
                // SAFETY: `event` is live and new; it stays until `perf_uprobe_destroy`.
                |in_use, call| unsafe { in_use.begin(call, event) },
            )
        })?;
        Ok(0)
    })
}

/// Undoes [`perf_uprobe_init`]. Task context, sleeps.
///
/// # Safety
///
/// That was done for `event`.
#[cfg(CONFIG_UPROBE_EVENTS)]
#[export]
pub(crate) unsafe extern "C" fn perf_uprobe_destroy(event: *mut bindings::perf_event) {
    // SAFETY: `perf_uprobe_init` was done for `event`.
    unsafe { end_local(event, uprobe::destroy_local) };
}

/// Memory for an entry of `size` bytes, or null; its registers and its context's number go to where
/// the others point. In a probe of perf's, any context.
///
/// # Safety
///
/// `regs` is null or may be written, `rctxp` may be.
#[export]
pub(crate) unsafe extern "C" fn perf_trace_buf_alloc(
    size: c_int,
    regs: *mut *mut bindings::pt_regs,
    rctxp: *mut c_int,
) -> *mut c_void {
    // SAFETY: the probe of an event that perf uses asks, so that the memory is there.
    let Some((room, its_regs, context)) = (unsafe { perf_trace::room(size as usize) }) else {
        return null_mut();
    };
    // SAFETY: `regs` is null or may be written, and `rctxp` may be.
    unsafe {
        if !regs.is_null() {
            *regs = its_regs;
        }
        *rctxp = context;
    }
    room.as_ptr().cast()
}

/// Writes the common fields of an entry of that type. Any context.
///
/// # Safety
///
/// They may be written at `record`.
#[export]
pub(crate) unsafe extern "C" fn perf_trace_buf_update(record: *mut c_void, kind: u16) {
    let header = Context::capture_all().header(kind);
    // SAFETY: `record` is an entry, of which these are the first eight bytes.
    unsafe { record.cast::<u64>().write_unaligned(header) };
}

crate::kernel::kprobes::no_kprobe!(perf_trace_buf_alloc, perf_trace_buf_update);

/// Gives one of perf's events a filter, which has to pass what it is to see. Task context, may
/// sleep.
///
/// # Errors
///
/// `EINVAL` for an event that is none of ours, `EEXIST` for a second filter, what is wrong with the
/// filter, `ENOMEM`.
///
/// # Safety
///
/// `event` is live; `filter_str` is NUL-terminated. The caller holds none of our locks.
#[export]
pub(crate) unsafe extern "C" fn ftrace_profile_set_filter(
    event: *mut bindings::perf_event,
    _event_id: c_int,
    filter_str: *mut c_char,
) -> c_int {
    from_result(|| {
        // Of two that give it one at a time, perf keeps neither out.
        let _alone = registry::lock()?;
        // SAFETY: `event` is live, only the holder of the event mutex gives it a filter, and its
        // `tp_event` is held; `filter_str` is NUL-terminated.
        unsafe {
            if (*event).tp_event.is_null() {
                return Err(EINVAL);
            }
            if !(*event).filter.is_null() {
                return Err(EEXIST);
            }
            let text = CStr::from_char_ptr(filter_str).to_bytes();
            let call = Call::from_raw((*event).tp_event);
            let filter = Filter::of_perf(call, text)?;
            #[cfg(CONFIG_FUNCTION_TRACER)]
            if is_function(call) {
                super::perf_function::set_filter(event, &filter)?;
                return Ok(0);
            }
            (*event).filter = KBox::into_raw(filter).cast();
        }
        Ok(0)
    })
}

/// Ends the filter of one of perf's events. Any context in which memory may be freed.
///
/// # Safety
///
/// `event` is going, and nobody asks about its filter any more.
#[export]
pub(crate) unsafe extern "C" fn ftrace_profile_free_filter(event: *mut bindings::perf_event) {
    // SAFETY: `event` is going, and nobody asks about its filter any more; a filter that is there
    // came from `ftrace_profile_set_filter`.
    unsafe {
        let filter = core::mem::replace(&mut (*event).filter, null_mut());
        if !filter.is_null() {
            drop(KBox::<Filter>::from_raw(filter.cast()));
        }
    }
}
