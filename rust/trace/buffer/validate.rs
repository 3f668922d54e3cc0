// SPDX-License-Identifier: GPL-2.0

//! Reports times of records that do not match (`CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS`).

use crate::core::ring_buffer::validate::Mismatch;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// Writes a report to the log, the first time since boot. Recording into the buffer has stopped.
/// Any context.
#[cold]
pub(super) fn report(found: &Mismatch<'_>) {
    static SAID: Atomic<bool> = Atomic::new(false);
    if !SAID.xchg(true, Relaxed) {
        found.report(CpuId::current().as_u32(), &|line| pr_warn!("{line}\n"));
        kernel::warn_on!(true);
    }
}
