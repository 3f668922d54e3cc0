// SPDX-License-Identifier: GPL-2.0

//! Conditional snapshots for C callers. As in C no public header declares these functions.
//!
//! A `struct trace_array *` is as `trace_array.rs` says.

use super::trace_array::instance;
use crate::trace::instance::{snapshot, Instance};
use core::any::Any;
use core::ptr::null_mut;
use kernel::bindings::trace_array;
use kernel::error::from_result;
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;

/// Whether a snapshot is to be taken, by what the taker has given.
type Update = unsafe extern "C" fn(*mut trace_array, *mut c_void) -> bool;

/// The owner of a snapshot for a C caller.
struct Owner {
    data: *mut c_void,
    update: Update,
}

// SAFETY: `data` is only handed back to C code.
unsafe impl Send for Owner {}
// SAFETY: as above; `update` may be called on any CPU.
unsafe impl Sync for Owner {}

fn owner_of(owner: &dyn Any) -> Option<&Owner> {
    owner.downcast_ref()
}

/// # Safety
///
/// `tr` is null, for the top instance, or as the module's head says.
unsafe fn given<'a>(tr: *mut trace_array) -> Result<&'a Instance> {
    // SAFETY: `tr` is null, or an instance that somebody holds until the caller returns.
    match unsafe { instance(tr) } {
        Some(instance) => Ok(instance),
        None => Ok(Instance::top()?),
    }
}

/// Has `update` decide on the snapshots of an instance. Task context, sleeps. Errors as
/// [`Instance::own_snapshot`].
///
/// # Safety
///
/// `tr` is null or as the module's head says. `update` may be called in any context but NMI until
/// [`tracing_snapshot_cond_disable`] has returned.
#[no_mangle]
pub(crate) unsafe extern "C" fn tracing_snapshot_cond_enable(
    tr: *mut trace_array,
    data: *mut c_void,
    update: Update,
) -> c_int {
    from_result(|| {
        let owner = KBox::new(Owner { data, update }, GFP_KERNEL)?;
        // SAFETY: `tr` is null, or an instance that somebody holds until this returns.
        unsafe { given(tr) }?.own_snapshot(owner)?;
        Ok(0)
    })
}

/// Undoes [`tracing_snapshot_cond_enable`]. Task context, sleeps. `EINVAL` without an owner.
///
/// # Safety
///
/// `tr` is null or as the module's head says.
#[no_mangle]
pub(crate) unsafe extern "C" fn tracing_snapshot_cond_disable(tr: *mut trace_array) -> c_int {
    from_result(|| {
        // SAFETY: `tr` is null, or an instance that somebody holds until this returns.
        unsafe { given(tr) }?.disown_snapshot()?;
        Ok(0)
    })
}

/// Takes a snapshot if the owner's function accepts `data`, or if there is no owner. Any context.
///
/// # Safety
///
/// `tr` is null or as the module's head says; `data` is what the owner's function takes.
#[no_mangle]
pub(crate) unsafe extern "C" fn tracing_snapshot_cond(tr: *mut trace_array, data: *mut c_void) {
    // SAFETY: `tr` is null, or an instance that somebody holds until this returns.
    if let Ok(instance) = unsafe { given(tr) } {
        let owned = instance.snapshot_cond(|owner, take| {
            // SAFETY: the owner was given with its function, which takes `data`.
            if owner_of(owner).is_some_and(|owner| unsafe { (owner.update)(tr, data) }) {
                take();
            }
        });
        if !owned {
            snapshot::take_or_report(instance);
        }
    }
}

/// What [`tracing_snapshot_cond_enable`] was given as data; null without an owner. Any context.
///
/// # Safety
///
/// `tr` is null or as the module's head says.
#[no_mangle]
pub(crate) unsafe extern "C" fn tracing_cond_snapshot_data(tr: *mut trace_array) -> *mut c_void {
    // SAFETY: `tr` is null, or an instance that somebody holds until this returns.
    let instance = unsafe { given(tr) }.ok();
    let data = |owner: &dyn Any| owner_of(owner).map(|owner| owner.data);
    let data = instance.and_then(|instance| instance.with_snapshot_owner(data)?);
    data.unwrap_or(null_mut())
}
