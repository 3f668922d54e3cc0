// SPDX-License-Identifier: GPL-2.0

//! What tasks do that have user events: the functions of `include/linux/user_events.h`.

use crate::trace::events::dynamic::user::enablers::{self, Space};
use kernel::bindings;
use kernel::prelude::*;

/// A task with a copy of the memory of `old` is made. Task context, sleeps. Without memory its bits are
/// no longer written.
///
/// # Safety
///
/// `task` does not run yet, and has memory of its own; `old` is that of the current task.
#[export]
pub(crate) unsafe extern "C" fn user_event_mm_dup(
    task: *mut bindings::task_struct,
    old: *mut bindings::user_event_mm,
) {
    // SAFETY: the task does not run yet and has memory; `old` is that of the current task.
    let _no_memory = unsafe { Space::dup(task, old, enablers::copied, enablers::begin_copy) };
}

/// A task exits, or has begun another program. Task context, sleeps.
///
/// # Safety
///
/// `task` is the current one, and has a `user_event_mm`.
#[export]
pub(crate) unsafe extern "C" fn user_event_mm_remove(task: *mut bindings::task_struct) {
    // SAFETY: `task` is the current one, and has one.
    if let Some(space) = unsafe { Space::left(task) } {
        enablers::end(&space);
    }
}
