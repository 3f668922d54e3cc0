// SPDX-License-Identifier: GPL-2.0

//! Instances for C callers: `struct trace_array` of `include/linux/trace.h` is an [`Instance`].
//! `printk.c` has the variadic function.
//!
//! A `struct trace_array *` that callers give came from [`trace_array_get_by_name`], and
//! [`trace_array_put`] was not called for it as often.

use super::printk::arguments;
use crate::core::parse::options::Flag;
use crate::trace::buffer::entry::Context;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::trace::events::systems::restrict;
use crate::trace::instance::{list, Held, Instance};
use crate::trace::output::printk;
use core::ptr::null_mut;
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::{c_char, c_int};
use kernel::prelude::*;
use kernel::sync::Arc;

/// # Safety
///
/// `tr` is null or as the module's head says.
pub(super) unsafe fn instance<'a>(tr: *mut bindings::trace_array) -> Option<&'a Instance> {
    // SAFETY: `tr` is null, or an instance that somebody holds until this returns.
    unsafe { tr.cast::<Instance>().as_ref() }
}

/// The instance called `name`, which is made if there is none; nobody can remove it until
/// [`trace_array_put`]. Null if it cannot be had. Task context, may sleep.
///
/// A new one has the events of `systems` alone, unless that is null.
///
/// # Safety
///
/// `name` is a NUL-terminated string, `systems` one or null.
#[export]
pub(crate) unsafe extern "C" fn trace_array_get_by_name(
    name: *const c_char,
    systems: *const c_char,
) -> *mut bindings::trace_array {
    // SAFETY: `name` is NUL-terminated, and so is `systems` if it is not null.
    let text = |text: *const c_char| unsafe { CStr::from_char_ptr(text) };
    let systems = (!systems.is_null()).then(|| text(systems).to_bytes());
    let held = list::get_prepared(text(name), |instance| {
        systems.map_or(Ok(()), |names| restrict(instance, names))
    });
    held.map_or(null_mut(), |held| {
        Arc::into_raw(held.into_arc()).cast_mut().cast()
    })
}

/// Without events there are none to leave out.
#[cfg(not(CONFIG_EVENT_TRACING))]
fn restrict(_: &Instance, _: &[u8]) -> Result {
    Ok(())
}

/// Lets the instance be removed. Task context.
///
/// # Safety
///
/// `tr` is null or as the module's head says, and is not used any more.
#[export]
pub(crate) unsafe extern "C" fn trace_array_put(tr: *mut bindings::trace_array) {
    if !tr.is_null() {
        // SAFETY: `trace_array_get_by_name` made it of an `Arc` for each such call, and has kept the
        // count, which nobody else takes back.
        drop(Held::from_arc(unsafe { Arc::from_raw(tr.cast()) }));
    }
}

/// Removes an instance that was put; it may have gone already. Task context, may sleep.
///
/// # Errors
///
/// `EINVAL` without one, `ENODEV` if it has gone, `EBUSY` while somebody uses it.
#[no_mangle]
pub(crate) extern "C" fn trace_array_destroy(tr: *mut bindings::trace_array) -> c_int {
    if tr.is_null() {
        return EINVAL.to_errno();
    }
    from_result(|| {
        list::remove(|instance| Arc::as_ptr(instance).cast_mut().cast() == tr)?;
        Ok(0)
    })
}

/// Prepares for [`rtrace_array_print`]. Task context, may sleep.
///
/// # Errors
///
/// `ENOENT` without an instance, `EINVAL` for the top one, `ENOMEM`.
///
/// # Safety
///
/// `tr` is null or as the module's head says.
#[export]
pub(crate) unsafe extern "C" fn trace_array_init_printk(tr: *mut bindings::trace_array) -> c_int {
    // SAFETY: `tr` is null, or an instance that somebody holds until this returns.
    let instance = unsafe { instance(tr) };
    from_result(|| {
        if instance.ok_or(ENOENT)?.is_top() {
            return Err(EINVAL);
        }
        printk::alloc_scratch()?;
        Ok(0)
    })
}

/// Records what `format` makes of `args` in an instance; gives the length of the text, 0 if option
/// `trace_printk` is off there or it is the top one, which is for `trace_printk()`. Any context.
///
/// # Errors
///
/// `ENOENT` without an instance.
///
/// # Safety
///
/// `tr` is null or as the module's head says; `format` is a NUL-terminated format that `args` fit,
/// which are the callee's.
#[export]
pub(crate) unsafe extern "C" fn rtrace_array_print(
    tr: *mut bindings::trace_array,
    ip: c_ulong,
    format: *const c_char,
    args: *mut bindings::va_list,
) -> c_int {
    // SAFETY: `tr` is null or an instance that is held; `args` fit `format`, and are this call's.
    let (instance, what) = unsafe { (instance(tr), arguments(format, args)) };
    match (instance, what) {
        (None, _) => ENOENT.to_errno(),
        (Some(to), Some(what)) if !to.is_top() && to.options().has(Flag::Printk) => {
            printk::print_to(to, Context::capture_all(), ip, what)
        }
        _ => 0,
    }
}

/// Records `size` characters at `text` in an instance, with a newline added if they lack one; gives
/// their number, 0 if they were not recorded. Any context.
///
/// # Safety
///
/// `tr` is as the module's head says; `size` bytes are readable at `text`.
#[export]
pub(crate) unsafe extern "C" fn __trace_array_puts(
    tr: *mut bindings::trace_array,
    ip: c_ulong,
    text: *const c_char,
    size: c_int,
) -> c_int {
    let context = Context::capture_all();
    // SAFETY: `tr` is an instance that is held.
    let Some(to) = (unsafe { instance(tr) }).filter(|to| to.options().has(Flag::Printk)) else {
        return 0;
    };
    // SAFETY: `size` bytes are readable at `text`.
    let text = unsafe {
        core::slice::from_raw_parts(text.cast::<u8>(), usize::try_from(size).unwrap_or(0))
    };
    printk::puts_to(to, context, ip, text)
}

crate::abi::same_in_c! {
    fn trace_array_destroy(_) -> _;
}
