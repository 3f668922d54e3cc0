// SPDX-License-Identifier: GPL-2.0

//! `ftrace_dump()` and what leads to it; `disable_trace_on_warning()`.
//!
//! C headers: [`include/linux/trace_printk.h`](srctree/include/linux/trace_printk.h),
//! [`include/linux/ftrace.h`](srctree/include/linux/ftrace.h). Settings are in `boot.c`.

use crate::core::parse::options::Flag;
use crate::trace::buffer::entry::Context;
use crate::trace::instance::Instance;
use crate::trace::output::dump::{self, Cpus};
use crate::trace::output::printk;
use core::ffi::{c_void, CStr};
use kernel::{
    bindings,
    ffi::{c_char, c_int, c_ulong},
    prelude::*,
};

const MAX: usize = bindings::RTRACE_DUMP_SETTING_MAX as usize;

/// A copy of the setting, up to its NUL.
fn setting() -> ([u8; MAX], usize) {
    // SAFETY: the array is static. A write to the sysctl meanwhile can mix two texts, which does no
    // harm: any bytes are a valid setting.
    let text = unsafe {
        core::ptr::read_volatile((&raw const bindings::rtrace_dump_on_oops).cast::<[u8; MAX]>())
    };
    let len = text.iter().position(|&c| c == 0).unwrap_or(MAX);
    (text, len)
}

fn dump_by_setting() {
    let (text, len) = setting();
    dump::by_setting(text.get(..len).unwrap_or(&[]));
}

/// Dumps the buffer to the console. Any context.
#[no_mangle]
pub(crate) extern "C" fn ftrace_dump(mode: bindings::ftrace_dump_mode) {
    match mode {
        bindings::ftrace_dump_mode_DUMP_NONE => {}
        bindings::ftrace_dump_mode_DUMP_ORIG => dump::top(Cpus::This),
        bindings::ftrace_dump_mode_DUMP_PARAM => dump_by_setting(),
        _ => dump::top(Cpus::All),
    }
}

fn on_oops() {
    let (text, len) = setting();
    if text.get(..len) != Some(b"0".as_slice()) {
        dump_by_setting();
    }
}

/// Hears of a die event. Any context.
#[no_mangle]
pub(crate) extern "C" fn rtrace_died(
    _: *mut bindings::notifier_block,
    event: c_ulong,
    _: *mut c_void,
) -> c_int {
    if event == bindings::die_val_DIE_OOPS as c_ulong {
        on_oops();
    }
    bindings::NOTIFY_DONE as c_int
}

/// Hears of a panic. Any context. What outlives the kernel is not to be filled with what comes
/// behind.
#[no_mangle]
pub(crate) extern "C" fn rtrace_panicked(
    _: *mut bindings::notifier_block,
    _: c_ulong,
    _: *mut c_void,
) -> c_int {
    on_oops();
    crate::trace::instance::list::stop_persistent();
    bindings::NOTIFY_DONE as c_int
}

/// Stops recording at a `WARN()` if the user wants that, in the top instance, and where
/// `trace_printk()` goes. With option `trace_printk` a text in the buffer says so. Any context.
#[no_mangle]
pub(crate) extern "C" fn disable_trace_on_warning() {
    // SAFETY: a static `int` that the sysctl writes whole.
    let wanted =
        unsafe { core::ptr::read_volatile(&raw const bindings::rtrace_traceoff_on_warning) } != 0;
    if !wanted {
        return;
    }
    // The look-up of the destination disables preemption.
    let context = Context::capture_all();
    let told = printk::with_destination(|to| to.options().has(Flag::Printk)) == Some(true);
    let stop = |instance: &Instance| {
        if told {
            let ip = disable_trace_on_warning as extern "C" fn() as usize;
            let text = b"Disabling tracing due to warning\n";
            // Where there is no room for it, the warning itself still tells.
            let _ = instance.record_text(context, ip, text);
        }
        instance.buffer().set_on(false);
    };
    if let Ok(top) = Instance::top() {
        stop(top);
    }
    printk::with_destination(|instance| {
        if !instance.is_top() {
            stop(instance);
        }
    });
}

/// Boot parameter `ftrace_dump_on_oops[=SETTING]` or `ftrace_dump_on_oops,INSTANCE…`.
///
/// # Safety
///
/// Called during boot, by one CPU; `param` is NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn rtrace_set_dump_on_oops(param: *mut c_char) -> c_int {
    // SAFETY: NUL-terminated, as boot parameters are.
    let param = unsafe { CStr::from_ptr(param.cast()) }.to_bytes();
    let parts: [&[u8]; 2] = match param {
        [] => [b"1", b""],
        [b',', ..] => [b"1", param],
        [b'=', rest @ ..] => [b"", rest],
        _ => return 0,
    };
    let mut text = [0; MAX];
    // The last byte stays NUL.
    for (to, from) in text
        .iter_mut()
        .take(MAX - 1)
        .zip(parts.into_iter().flatten())
    {
        *to = *from;
    }
    // SAFETY: the array is static and nobody else looks at it yet.
    unsafe {
        (&raw mut bindings::rtrace_dump_on_oops)
            .cast::<[u8; MAX]>()
            .write(text)
    };
    1
}

/// Boot parameter `traceoff_on_warning`; `=0` and `=off` leave it off.
///
/// # Safety
///
/// As [`rtrace_set_dump_on_oops`].
#[export]
pub(crate) unsafe extern "C" fn rtrace_set_traceoff_on_warning(param: *mut c_char) -> c_int {
    // SAFETY: NUL-terminated, as boot parameters are.
    let param = unsafe { CStr::from_ptr(param.cast()) }.to_bytes();
    if param != b"=0" && param != b"=off" {
        // SAFETY: a static `int` that nobody else uses yet.
        unsafe { bindings::rtrace_traceoff_on_warning = 1 };
    }
    1
}

crate::abi::same_in_c! {
    fn ftrace_dump(_);
    fn rtrace_died(_, _, _) -> _;
    fn rtrace_panicked(_, _, _) -> _;
    fn disable_trace_on_warning();
}
