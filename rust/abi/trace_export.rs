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
    // SAFETY: `export` is null, or stays until it was unregistered, which waits for its users.
    let added = unsafe { Export::new(export) }
        .ok_or(EINVAL)
        .and_then(export::add);
    let result = added.and_then(|()| {
        choose_anew().inspect_err(|_| {
            // The caller may end it now.
            let _ = export::remove(|one| one.is(export));
        })
    });
    result.map_or(-1, |()| 0)
}

/// Undoes [`register_ftrace_export`]; 0, or -1 if it is not there. It needs no memory.
///
/// # Safety
///
/// `export` is not used but to be compared.
#[export]
pub(crate) unsafe extern "C" fn unregister_ftrace_export(
    export: *mut bindings::trace_export,
) -> c_int {
    let result = export::remove(|one| one.is(export));
    if result.is_ok() {
        // Recorders that fail here still look for exports, and find none.
        let _ = choose_anew();
    }
    result.map_or(-1, |()| 0)
}

/// Makes the recorders check again whether there are exports. `ENOMEM`.
fn choose_anew() -> Result {
    console::refresh()?;
    list::all().try_for_each(|instance| instance.refresh_tracer())
}
