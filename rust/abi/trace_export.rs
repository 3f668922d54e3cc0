// SPDX-License-Identifier: GPL-2.0

//! Registration of exports, of `include/linux/trace.h`. Task context, sleeps.

use crate::kernel::trace_export::Export;
use crate::trace::events::console;
use crate::trace::instance::list;
use crate::trace::output::export;
use kernel::bindings;
use kernel::ffi::c_int;
use kernel::prelude::*;

/// Gives entries to `export` from now on; 0, or -1 if that cannot be.
///
/// # Safety
///
/// `export` is null, or stays until [`unregister_ftrace_export`].
#[export]
pub(crate) unsafe extern "C" fn register_ftrace_export(
    export: *mut bindings::trace_export,
) -> c_int {
    // SAFETY: `export` is null, or stays until it is unregistered.
    let added = unsafe { Export::new(export) }
        .ok_or(EINVAL)
        .and_then(export::add);
    let is_added = added.is_ok();
    let result = choose_anew(added);
    if is_added && result != 0 {
        // The caller may end it now.
        let _ = export::remove(|one| one.is(export));
    }
    result
}

/// Undoes [`register_ftrace_export`]; 0, or -1 if it is not there.
///
/// # Safety
///
/// `export` is not used but to be compared.
#[export]
pub(crate) unsafe extern "C" fn unregister_ftrace_export(
    export: *mut bindings::trace_export,
) -> c_int {
    choose_anew(export::remove(|one| one.is(export)))
}

/// Makes the recorders check again whether there are exports.
fn choose_anew(result: Result) -> c_int {
    let done = result.and_then(|()| {
        console::refresh()?;
        list::all().try_for_each(|instance| instance.refresh_tracer())
    });
    done.map_or(-1, |()| 0)
}
