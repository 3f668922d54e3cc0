// SPDX-License-Identifier: GPL-2.0

//! Per-CPU memory for one entry, which is checked before anything is reserved for it.

use crate::kernel::percpu::PerCpu;
use core::cell::UnsafeCell;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::SetOnce;

/// The largest entry, in bytes, that is checked in this memory.
const ROOM: usize = 4096 - 8;

/// The memory of one CPU.
pub(super) struct Scratch {
    /// Whether it holds an entry. Only contexts of this CPU change it, and each restores it before
    /// it ends.
    used: Atomic<bool>,
    entry: UnsafeCell<[u64; ROOM / 8]>,
}

// SAFETY: only the context that has set `used` accesses the entry, on the CPU of this memory, with
// preemption off.
unsafe impl Sync for Scratch {}

static SCRATCH: SetOnce<PerCpu<Scratch>> = SetOnce::new();

/// Allocates the memory if that was not done yet. Task context, may sleep. `ENOMEM`.
pub(super) fn prepare() -> Result {
    match SCRATCH.as_ref() {
        Some(_) => Ok(()),
        None => allocate(),
    }
}

/// Not a part of [`prepare`]: it takes a page of the stack.
#[cold]
#[inline(never)]
fn allocate() -> Result {
    // If another task was faster, its memory is used.
    SCRATCH.populate(PerCpu::new(|_| Scratch {
        used: Atomic::new(false),
        entry: UnsafeCell::new([0; ROOM / 8]),
    })?);
    Ok(())
}

impl Scratch {
    /// Memory for an entry. `None` if the entry is too long or the memory is in use. Any context.
    /// Preemption stays off until [`Scratch::give_back`].
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
