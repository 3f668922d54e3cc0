// SPDX-License-Identifier: GPL-2.0

//! A callback around hibernation.
//!
//! C header: `include/linux/suspend.h`.

use kernel::bindings::{self, notifier_block};
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::sync::SetOnce;
use kernel::types::Opaque;

/// What is called in the task that hibernates: with true before it begins, with false when it is
/// over, be it in the kernel that was saved. Task context, may sleep.
type Handler = fn(bool);

static HANDLER: SetOnce<Handler> = SetOnce::new();

/// In kernel data, and never unregistered.
struct Block(Opaque<notifier_block>);

// SAFETY: only the notifier chain looks at it, once `around` has registered it.
unsafe impl Sync for Block {}

static BLOCK: Block = Block(Opaque::zeroed());

/// Has `handler` called around each hibernation from now on. The first call counts. Task context,
/// sleeps.
pub(crate) fn around(handler: Handler) -> Result {
    if !HANDLER.populate(handler) {
        return Ok(());
    }
    let block = BLOCK.0.get();
    // SAFETY: `populate` said yes to this caller only, so nobody else has it yet; it is static.
    to_result(unsafe {
        (*block).notifier_call = Some(heard);
        bindings::register_pm_notifier(block)
    })
}

/// # Safety
///
/// As the notifier chain of power management calls it.
unsafe extern "C" fn heard(_: *mut notifier_block, what: c_ulong, _: *mut c_void) -> c_int {
    let begins = match what as u32 {
        bindings::PM_HIBERNATION_PREPARE => true,
        bindings::PM_POST_HIBERNATION => false,
        _ => return bindings::NOTIFY_DONE as c_int,
    };
    if let Some(handler) = HANDLER.as_ref() {
        handler(begins);
    }
    bindings::NOTIFY_DONE as c_int
}
