// SPDX-License-Identifier: GPL-2.0

//! Lockdown, as far as tracefs is concerned.

use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// Refuses when tracefs is locked down: `EPERM`. Task context.
pub(crate) fn check_lockdown() -> Result {
    // SAFETY: no preconditions.
    to_result(unsafe { bindings::security_locked_down(bindings::lockdown_reason_LOCKDOWN_TRACEFS) })
}
