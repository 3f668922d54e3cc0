// SPDX-License-Identifier: GPL-2.0

//! What the code that `TRACE_EVENT()` generates calls, and other users of events, of
//! `include/linux/trace_events.h`. `events.c` has the exports and the steps of boot.
//!
//! What a `struct trace_event_file *` is, is said here once: the address of a
//! [`HotFile`], which stays as long as the probe that it was registered with, or until
//! [`trace_put_event_file`].

use super::sysctl;
use crate::kernel::context::PreemptOff;
use crate::kernel::trace_event::{
    self as calls, Call, FlagsHandle, HeldCall, RawField, Registered, Reservation,
};
use crate::kernel::trace_event_types as types;
use crate::trace::events::file::{Hot, HotFile};
use crate::trace::events::matching::Match;
use crate::trace::events::{boot, console, recording, registry};
use crate::trace::instance::{list, Held, Instance};
use core::mem::ManuallyDrop;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::{c_char, c_int, c_void};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// Reserves `len` bytes for an entry in the instance of `trace_file`; gives where it is to be
/// filled in, with the common fields there, or null. In the event's probe, any context.
///
/// # Safety
///
/// `fbuffer` is the caller's; `trace_file` is as the module's head says. If preemption is off, it stays
/// so until [`trace_event_buffer_commit`]; if it is on, it is off between these two.
#[export]
pub(crate) unsafe extern "C" fn trace_event_buffer_reserve(
    fbuffer: *mut bindings::trace_event_buffer,
    trace_file: *mut bindings::trace_event_file,
    len: c_ulong,
) -> *mut c_void {
    // SAFETY: `trace_file` is the `HotFile` that the probe was registered with, and `fbuffer` a
    // place of its own. Preemption is off until the commit, or `reserve` finds that it is not; the guard
    // is not dropped.
    let (stay, file, at) = unsafe {
        (
            ManuallyDrop::new(PreemptOff::assume()),
            HotFile::from_raw(trace_file),
            Reservation::from_raw(fbuffer),
        )
    };
    recording::reserve(stay.lend(), file, at, len).cast()
}

/// Ends what [`trace_event_buffer_reserve`] gave. In the event's probe.
///
/// # Safety
///
/// `fbuffer` is what that has filled in, in this context, with preemption off since, and has not ended;
/// later ones of this context have ended. The entry is complete.
#[export]
pub(crate) unsafe extern "C" fn trace_event_buffer_commit(
    fbuffer: *mut bindings::trace_event_buffer,
) {
    // SAFETY: `fbuffer` is what `trace_event_buffer_reserve` has filled in, in this context, with
    // preemption off since and until this returns; the guard is not dropped. The file stays as long as
    // its probe, which calls this. The entry is complete.
    unsafe {
        let stay = ManuallyDrop::new(PreemptOff::assume());
        recording::commit(stay.lend(), Reservation::from_raw(fbuffer));
    }
}

/// Is no entry to be made of this hit? Does what triggers are for that need none. Any context.
///
/// # Safety
///
/// `file` is as the module's head says.
#[export]
pub(crate) unsafe extern "C" fn __trace_trigger_soft_disabled(
    file: *mut bindings::trace_event_file,
) -> bool {
    // SAFETY: `file` is the `HotFile` that the probe was registered with.
    recording::is_not_recorded(unsafe { HotFile::from_raw(file) })
}

/// Is the hit of a task whose events the instance does not record? Any context, preemption off.
///
/// # Safety
///
/// `trace_file` is as the module's head says.
#[export]
pub(crate) unsafe extern "C" fn trace_event_ignore_this_pid(
    trace_file: *mut bindings::trace_event_file,
) -> bool {
    // SAFETY: `trace_file` is the `HotFile` that the probe was registered with.
    recording::ignores_current(unsafe { HotFile::from_raw(trace_file) })
}

/// What classes of tracepoints' events do when asked to (`trace_event_reg()`): the probe comes or
/// goes. Task context, sleeps. Errors as those of tracepoints; `ENODEV` for a custom event that is not
/// attached to one yet, of which C takes the name for the tracepoint.
///
/// # Safety
///
/// `call` is complete; `data` is what `what` asks for.
#[export]
pub(crate) unsafe extern "C" fn rtrace_tracepoint_reg(
    call: *mut bindings::trace_event_call,
    what: bindings::trace_reg,
    data: *mut c_void,
) -> c_int {
    // SAFETY: `call` is complete.
    let is_attached = unsafe { Call::from_raw(call) }.has(Call::TRACEPOINT);
    if !is_attached {
        // Nothing of it was registered.
        return match what {
            bindings::trace_reg_TRACE_REG_REGISTER => ENODEV.to_errno(),
            #[cfg(CONFIG_PERF_EVENTS)]
            bindings::trace_reg_TRACE_REG_PERF_REGISTER => ENODEV.to_errno(),
            _ => 0,
        };
    }
    // SAFETY: `call` is complete; `data` is what `what` asks for; by its flags the event has a
    // tracepoint.
    unsafe {
        let tracepoint = (*call).__bindgen_anon_1.tp;
        let class = (*call).class;
        match what {
            bindings::trace_reg_TRACE_REG_REGISTER => {
                bindings::tracepoint_probe_register(tracepoint, (*class).probe, data)
            }
            bindings::trace_reg_TRACE_REG_UNREGISTER => {
                bindings::tracepoint_probe_unregister(tracepoint, (*class).probe, data);
                0
            }
            #[cfg(CONFIG_PERF_EVENTS)]
            bindings::trace_reg_TRACE_REG_PERF_REGISTER => match (*class).perf_probe.is_null() {
                true => ENODEV.to_errno(),
                false => bindings::tracepoint_probe_register(
                    tracepoint,
                    (*class).perf_probe,
                    call.cast(),
                ),
            },
            #[cfg(CONFIG_PERF_EVENTS)]
            bindings::trace_reg_TRACE_REG_PERF_UNREGISTER => {
                bindings::tracepoint_probe_unregister(tracepoint, (*class).perf_probe, call.cast());
                0
            }
            _ => 0,
        }
    }
}

/// What classes do with an event before it is known (`raw_init`): its entries get a type. Task
/// context, may sleep. `ENODEV` when there is none.
///
/// # Safety
///
/// `call` is complete, and stays while it is known.
#[export]
pub(crate) unsafe extern "C" fn trace_event_raw_init(
    call: *mut bindings::trace_event_call,
) -> c_int {
    // SAFETY: `call` is complete, and nobody knows it yet, nor its class, which no other event has.
    #[cfg(CONFIG_FTRACE_SYSCALLS)]
    unsafe {
        super::syscalls::take_over(call)
    };
    // SAFETY: `event` is a field of `call`, and so not at 0.
    let event = unsafe { NonNull::new_unchecked(&raw mut (*call).event) };
    // SAFETY: `call` stays while it is known, and `event` is part of it.
    match unsafe { types::register(event, true) } {
        Ok(_) => 0,
        Err(_) => ENODEV.to_errno(),
    }
}

/// Gives entries a type, and says how they are printed; gives the type, or 0. Task context, may
/// sleep.
///
/// # Safety
///
/// `event` stays until [`unregister_trace_event`].
#[export]
pub(crate) unsafe extern "C" fn register_trace_event(event: *mut bindings::trace_event) -> c_int {
    NonNull::new(event)
        // SAFETY: `event` is there until `unregister_trace_event`.
        .filter(|event| unsafe { !event.as_ref().funcs.is_null() })
        // SAFETY: `event` is there until `unregister_trace_event`, and has functions.
        .and_then(|event| unsafe { types::register(event, false) }.ok())
        .map_or(0, c_int::from)
}

/// Undoes [`register_trace_event`]; nobody prints by it any more. Task context, sleeps.
///
/// # Safety
///
/// `event` was registered.
#[export]
pub(crate) unsafe extern "C" fn unregister_trace_event(event: *mut bindings::trace_event) -> c_int {
    // SAFETY: `event` was registered, and stays until this returns.
    types::unregister(unsafe { (*event).type_ } as u16);
    types::wait_for_printing();
    0
}

/// Tells a field of an event's entries. While the event is made known. `ENOMEM`.
///
/// # Safety
///
/// `call` is complete; the texts live as long as it.
#[export]
pub(crate) unsafe extern "C" fn trace_define_field(
    call: *mut bindings::trace_event_call,
    ty: *const c_char,
    name: *const c_char,
    offset: c_int,
    size: c_int,
    is_signed: c_int,
    filter_type: c_int,
) -> c_int {
    let field = RawField {
        ty,
        name,
        offset: offset as u32,
        size: size as u32,
        signed: is_signed != 0,
        filter: filter_type,
        len: 0,
    };
    from_result(|| {
        // SAFETY: `call` is complete, nobody knows it yet, and the texts live as long as it does.
        unsafe { Call::from_raw(call).define_field(field, GFP_KERNEL) }?;
        Ok(0)
    })
}

/// Where an entry's fields end, without what is dynamic. Task context.
///
/// # Safety
///
/// `call` is of a known event.
#[export]
pub(crate) unsafe extern "C" fn trace_event_get_offsets(
    call: *mut bindings::trace_event_call,
) -> c_int {
    // SAFETY: `call` is that of a known event.
    let last = unsafe { Call::from_raw(call) }.fields().last();
    last.map_or(0, |field| (field.offset + field.size) as c_int)
}

/// Switches the events of a system and a name, of which a null one means any, in the top instance.
/// Task context, sleeps. `EINVAL` if there is none, `ENODEV` before there are events.
///
/// # Safety
///
/// Both are null or NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn trace_set_clr_event(
    system: *const c_char,
    event: *const c_char,
    set: c_int,
) -> c_int {
    from_result(|| {
        // SAFETY: `system` and `event` are null or NUL-terminated.
        unsafe { switch(Instance::top()?, system, event, set != 0) }
    })
}

/// [`trace_set_clr_event`] in an instance; `ENOENT` without one.
///
/// # Safety
///
/// As there; `tr` is null or came from `trace_array_get_by_name()`.
#[export]
pub(crate) unsafe extern "C" fn trace_array_set_clr_event(
    tr: *mut bindings::trace_array,
    system: *const c_char,
    event: *const c_char,
    enable: bool,
) -> c_int {
    from_result(|| {
        // SAFETY: `system` and `event` are null or NUL-terminated.
        unsafe { switch(&instance_at(tr)?, system, event, enable) }
    })
}

/// The instance that C code knows as `tr`. `ENOENT` if there is none.
fn instance_at(tr: *mut bindings::trace_array) -> Result<Arc<Instance>> {
    list::all()
        .find(|instance| Arc::as_ptr(instance).cast_mut().cast() == tr)
        .ok_or(ENOENT)
}

/// Switches the events of an instance that `buf` names as a line of `set_event` does; those of a module
/// that is not loaded when it is. Task context, sleeps.
///
/// # Errors
///
/// `ENOENT` without an instance, `EINVAL` if there is no such event, `ENODEV` before there are events,
/// and what switching says.
///
/// # Safety
///
/// `tr` is null or came from `trace_array_get_by_name()`; `buf` is NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn ftrace_set_clr_event(
    tr: *mut bindings::trace_array,
    buf: *mut c_char,
    set: c_int,
) -> c_int {
    from_result(|| {
        let instance = instance_at(tr)?;
        // SAFETY: `buf` is NUL-terminated, and stays during the call.
        let text = unsafe { CStr::from_char_ptr(buf) }.to_bytes();
        registry::lock()?.enable_or_wait(&instance, &Match::parse(text), set != 0)?;
        Ok(0)
    })
}

/// # Safety
///
/// Both texts are null or NUL-terminated.
unsafe fn switch(
    instance: &Arc<Instance>,
    system: *const c_char,
    event: *const c_char,
    on: bool,
) -> Result<c_int> {
    let text = |text: *const c_char| {
        // SAFETY: it is not null, so NUL-terminated.
        (!text.is_null()).then(|| unsafe { CStr::from_char_ptr(text) }.to_bytes())
    };
    let wanted = Match {
        system: text(system),
        event: text(event),
        ..Match::default()
    };
    registry::lock()?.enable_matching(instance, &wanted, on)?;
    Ok(0)
}

/// The file of an event in the instance called `instance`, or the top one for null; until
/// [`trace_put_event_file`] neither goes. Task context, sleeps.
///
/// # Errors
///
/// As a pointer: `ENOENT` without the instance, `EINVAL` without the event, `EBUSY` while its
/// module goes, `ENOMEM`.
///
/// # Safety
///
/// The texts are NUL-terminated, the first may be null.
#[export]
pub(crate) unsafe extern "C" fn trace_get_event_file(
    instance: *const c_char,
    system: *const c_char,
    event: *const c_char,
) -> *mut bindings::trace_event_file {
    let found = || {
        // SAFETY: `text` is NUL-terminated.
        let text = |text: *const c_char| unsafe { CStr::from_char_ptr(text) }.to_bytes();
        let held = match instance.is_null() {
            true => Instance::top()?.hold()?,
            false => list::hold(text(instance))?,
        };
        let instance = held.instance().clone();
        let mut registry = registry::lock()?;
        let known = registry
            .find_in(&instance, text(system), text(event))
            .ok_or(EINVAL)?;
        let id = known.id();
        let call = HeldCall::new(known.registered()).ok_or(EBUSY)?;
        let file = registry.file_made(&instance, id)?.flags_handle();
        call.keep();
        let _kept = Arc::into_raw(held.into_arc());
        Ok(file.keep())
    };
    found().unwrap_or_else(|error: Error| error.to_ptr())
}

/// Gives back what [`trace_get_event_file`] gave. Task context, sleeps.
///
/// # Safety
///
/// It came from there, and is not used any more.
#[export]
pub(crate) unsafe extern "C" fn trace_put_event_file(file: *mut bindings::trace_event_file) {
    // SAFETY: `file` came from `trace_get_event_file`, which has kept it, and the event and the instance
    // held. An event that Rust code declares may have ended since: what was kept is there all the same.
    unsafe {
        let instance = Held::from_arc(Arc::from_raw((*file).tr.cast()));
        let file = FlagsHandle::<Hot>::from_kept(file);
        let call = HeldCall::from_kept(file.call());
        drop(file);
        drop(call);
        drop(instance);
    }
}

/// The text of `trace_trigger=`. Boot, before init memory is freed.
pub(super) fn boot_triggers() -> &'static [u8] {
    // SAFETY: the command line has been parsed, and init memory is still there.
    unsafe { CStr::from_char_ptr(bindings::rtrace_boot_triggers()) }.to_bytes()
}

/// The events of the kernel itself become known. Boot, behind the top instance.
pub(super) fn start() {
    // SAFETY: the command line has been parsed, and init memory is still there.
    let wanted = unsafe { CStr::from_char_ptr(bindings::rtrace_boot_events()) }.to_bytes();
    let triggers = boot_triggers();
    #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
    for (given, reason) in [
        (wanted, "running event tracing"),
        (triggers, "running event triggers"),
    ] {
        if !given.is_empty() {
            crate::trace::boot::selftest::leave_out(reason);
        }
    }
    // SAFETY: boot: init memory is still there until this has returned.
    let calls = unsafe { calls::built_in() };
    // SAFETY: the kernel's own, which are new and stay.
    let events = calls.map(|call| Some(unsafe { Registered::new(call?, null_mut()) }));
    // SAFETY: the command line has been parsed, and init memory is still there.
    let printed = unsafe { bindings::rtrace_printk_at_boot() };
    let known = || {
        if printed {
            rtrace_tracepoint_printk(true);
        }
    };
    boot::start(events, known, wanted, triggers);
}

/// Has entries printed to the kernel log as they are made, or no longer. Task context, sleeps; what
/// goes wrong is said in the log.
#[no_mangle]
pub(crate) extern "C" fn rtrace_tracepoint_printk(on: bool) {
    let prepared = if on { console::prepare() } else { Ok(()) };
    match prepared.and_then(|()| console::set(on)) {
        Ok(()) => PRINTK.store(c_int::from(on), Relaxed),
        Err(error) => pr_err!("no events in the log: {:?}\n", error),
    }
}

/// What was written to the sysctl, which is what it reads as.
static PRINTK: Atomic<c_int> = Atomic::new(0);

/// `kernel.tracepoint_printk`, which stays 0 in a kernel that was booted without `tp_printk`. Task
/// context, sleeps.
///
/// # Safety
///
/// A sysctl handler's arguments.
#[export]
pub(crate) unsafe extern "C" fn rtrace_tracepoint_printk_sysctl(
    table: *const bindings::ctl_table,
    write: c_int,
    buffer: *mut c_void,
    lenp: *mut usize,
    ppos: *mut bindings::loff_t,
) -> c_int {
    let set = |number| {
        console::set(number != 0)?;
        PRINTK.store(if console::is_on() { number } else { 0 }, Relaxed);
        Ok(())
    };
    // SAFETY: the arguments are those that the sysctl code gives its handlers.
    unsafe { sysctl::number(table, write, buffer, lenp, ppos, PRINTK.load(Relaxed), set) }
}

/// There is a first task: see [`boot::again`]. Boot.
#[no_mangle]
pub(crate) extern "C" fn rtrace_events_again() {
    // SAFETY: the command line has been parsed, and init memory is still there.
    boot::again(unsafe { CStr::from_char_ptr(bindings::rtrace_boot_events()) }.to_bytes());
}

/// Numbers for names in the formats of the kernel's events. Boot.
#[no_mangle]
pub(crate) extern "C" fn rtrace_events_evals() {
    // SAFETY: boot: init memory is still there until this has returned.
    boot::replace(unsafe { calls::built_in_evals() });
}

/// A module comes or goes. Task context, sleeps.
///
/// # Safety
///
/// The module is there during the call.
#[export]
pub(crate) unsafe extern "C" fn rtrace_events_module(module: *mut bindings::module, comes: bool) {
    if !comes {
        return boot::module_goes(module as usize);
    }
    // SAFETY: the module is there during the call; its events are new when it comes, and stay until
    // it goes.
    unsafe {
        let has_events = (*module).num_trace_events != 0;
        if !has_events && (*module).num_trace_evals == 0 {
            return;
        }
        if bindings::trace_module_has_bad_taint(module) {
            if !has_events {
                return;
            }
            let name = CStr::from_char_ptr((&raw const (*module).name).cast());
            return pr_err!(
                "{}: module has bad taint, not creating trace events\n",
                name
            );
        }
        boot::module_comes(
            module as usize,
            calls::of_module(module).map(|call| Registered::new(call, module)),
            calls::evals_of_module(module),
        );
    }
}

crate::abi::same_in_c! {
    fn rtrace_events_again();
    fn rtrace_events_evals();
    fn rtrace_tracepoint_printk(_);
}
