// SPDX-License-Identifier: GPL-2.0

//! Per-CPU memory for entries, which are checked before anything is reserved for them.

use crate::kernel::context::LentOff;
use crate::kernel::percpu::PerCpu;
use core::cell::UnsafeCell;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::SetOnce;

/// The largest entry, in bytes, that is checked in this memory.
const ROOM: usize = 4096 - 8;

/// How many entries a CPU can have in this memory at once: those of hits that interrupt others, and
/// of synthetic events that a hit fires.
const ENTRIES: usize = 4;

/// The memory of one CPU for one entry.
pub(super) struct Scratch {
    /// In a CPU's first memory: how many hold an entry. Only contexts of this CPU change it, and
    /// each restores it before it ends.
    used: Atomic<u32>,
    entry: UnsafeCell<[u64; ROOM / 8]>,
}

// SAFETY: only the context that has raised `used` past an entry accesses it, on the CPU of this
// memory, with preemption off, until it gives it back: that is what `give_back` asks for.
unsafe impl Sync for Scratch {}

static SCRATCH: SetOnce<[PerCpu<Scratch>; ENTRIES]> = SetOnce::new();

/// Allocates the memory if that was not done yet. Task context, may sleep. `ENOMEM`.
pub(super) fn prepare() -> Result {
    match SCRATCH.as_ref() {
        Some(_) => Ok(()),
        None => allocate(),
    }
}

#[cold]
fn allocate() -> Result {
    // If another task was faster, its memory is used.
    SCRATCH.populate([memory()?, memory()?, memory()?, memory()?]);
    Ok(())
}

/// Not a part of [`allocate`]: it takes a page of the stack.
#[inline(never)]
fn memory() -> Result<PerCpu<Scratch>> {
    PerCpu::new(|_| Scratch {
        used: Atomic::new(0),
        entry: UnsafeCell::new([0; ROOM / 8]),
    })
}

impl Scratch {
    /// Memory for an entry. `None` if the entry is too long or all memory is in use. Any context. The
    /// memory is the context's as long as preemption stays off, until [`Scratch::give_back`].
    #[inline(always)]
    pub(super) fn take(_stay: LentOff<'_>, length: usize) -> Option<*mut u8> {
        let [first, others @ ..] = SCRATCH.as_ref()?;
        let first = first.this();
        if length > ROOM {
            return None;
        }
        let used = first.used.load(Relaxed);
        let place = match (used as usize).checked_sub(1) {
            None => first,
            Some(at) => others.get(at)?.this(),
        };
        first.used.store(used.wrapping_add(1), Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(place.entry.get().cast())
    }

    /// Calls `f` with an entry that is elsewhere counted as one in this memory: a hit inside of that
    /// entry's hit is told by [`Scratch::is_used`]. Any context.
    #[inline(always)]
    pub(super) fn stand_for(_stay: LentOff<'_>, f: impl FnOnce()) {
        let used = SCRATCH.as_ref().map(|[first, ..]| &first.this().used);
        let add = |more: u32| {
            if let Some(used) = used {
                used.store(used.load(Relaxed).wrapping_add(more), Relaxed);
            }
        };
        add(1);
        f();
        add(1_u32.wrapping_neg());
    }

    /// Whether the memory of this CPU holds an entry. Any context.
    pub(super) fn is_used(_stay: LentOff<'_>) -> bool {
        SCRATCH
            .as_ref()
            .is_some_and(|[first, ..]| first.this().used.load(Relaxed) != 0)
    }

    /// Undoes a [`Scratch::take`].
    ///
    /// # Safety
    ///
    /// It is the last one of this context that is not undone, with preemption off since, and nobody uses
    /// its memory any more.
    #[inline(always)]
    pub(super) unsafe fn give_back(_stay: LentOff<'_>) {
        compiler_fence(Ordering::SeqCst);
        if let Some([first, ..]) = SCRATCH.as_ref() {
            let used = &first.this().used;
            used.store(used.load(Relaxed).wrapping_sub(1), Relaxed);
        }
    }
}
