// SPDX-License-Identifier: GPL-2.0

//! Each CPU's memory for one entry, where that is looked at before anything is reserved for it.

use crate::kernel::percpu::PerCpu;
use core::cell::UnsafeCell;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::SetOnce;

/// Bytes of an entry that is looked at apart.
const ROOM: usize = 4096 - 8;

/// A CPU's memory for one entry.
pub(super) struct Scratch {
    /// Only this CPU's contexts change it, and each puts it back before it ends.
    used: Atomic<bool>,
    entry: UnsafeCell<[u64; ROOM / 8]>,
}

// SAFETY: the entry is only used by the context that has set `used`, on the CPU whose memory it
// is, with preemption off.
unsafe impl Sync for Scratch {}

static SCRATCH: SetOnce<PerCpu<Scratch>> = SetOnce::new();

/// Makes the memory in which entries are looked at, unless it is there. Task context, may sleep.
/// `ENOMEM`.
pub(super) fn prepare() -> Result {
    if SCRATCH.as_ref().is_none() {
        // If another task was faster, its memory is used.
        SCRATCH.populate(PerCpu::new(|_| Scratch {
            used: Atomic::new(false),
            entry: UnsafeCell::new([0; ROOM / 8]),
        })?);
    }
    Ok(())
}

impl Scratch {
    /// Memory for an entry, unless that is too long or an entry is there. Any context, preemption
    /// off until it is [given back](Scratch::give_back).
    #[inline(always)]
    pub(super) fn take(length: usize) -> Option<*mut u8> {
        let this = SCRATCH.as_ref()?.this();
        if length > ROOM || this.used.load(Relaxed) {
            return None;
        }
        this.used.store(true, Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(this.entry.get().cast())
    }

    /// Undoes a [`Scratch::take`] of this context.
    #[inline(always)]
    pub(super) fn give_back() {
        compiler_fence(Ordering::SeqCst);
        if let Some(all) = SCRATCH.as_ref() {
            all.this().used.store(false, Relaxed);
        }
    }
}
