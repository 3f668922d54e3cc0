// SPDX-License-Identifier: GPL-2.0

//! Reports times of records that do not match (`CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS`).

use crate::core::ring_buffer::validate::Mismatch;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering::Full, Atomic, Relaxed, Release};

/// Writes a report to the log, unless another one is being written, and warns the first time since
/// boot. Recording into the ring has stopped, so there is one for each at most. Any context.
#[cold]
pub(super) fn report(found: &Mismatch<'_>) {
    static BUSY: Atomic<bool> = Atomic::new(false);
    static WARNED: Atomic<bool> = Atomic::new(false);
    if BUSY.xchg(true, Full) {
        return;
    }
    found.report(CpuId::current().as_u32(), &|line| pr_warn!("{line}\n"));
    if !WARNED.xchg(true, Relaxed) {
        kernel::warn_on!(true);
    }
    BUSY.store(false, Release);
}
