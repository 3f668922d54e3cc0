// SPDX-License-Identifier: GPL-2.0

//! The kernel stack of the running context, as return addresses.
//!
//! C header: `include/linux/stacktrace.h`.

use super::context::{PreemptOff, LEVELS};
use super::percpu::PerCpu;
use core::cell::UnsafeCell;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// The deepest stack that is told in full.
const DEPTH: usize = 256;

/// A CPU's memory for stacks: one piece for each context that may interrupt another.
struct Pieces {
    /// How many are in use; only this CPU's contexts change it, and each puts it back before it ends.
    used: Atomic<u32>,
    pieces: [UnsafeCell<[usize; DEPTH]>; LEVELS as usize],
}

// SAFETY: a piece is only used by the context that has raised `used` past it, on the CPU whose memory it is.
unsafe impl Sync for Pieces {}

/// Memory for stacks on every CPU.
pub(crate) struct Stacks(PerCpu<Pieces>);

impl Stacks {
    /// Allocates it. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let pieces = |_| Pieces { used: Atomic::new(0), pieces: [const { UnsafeCell::new([0; DEPTH]) }; LEVELS as usize] };
        Ok(Self(PerCpu::new(pieces)?))
    }

    /// Gives `f` the return addresses on the stack, innermost first. Any context; `f` runs with preemption off.
    ///
    /// None where RCU does not watch (the unwinder needs it) or all pieces are in use.
    pub(crate) fn with_current<R>(&self, f: impl FnOnce(&[usize]) -> R) -> Option<R> {
        let _stay = PreemptOff::new();
        // SAFETY: no preconditions.
        if !unsafe { bindings::rcu_is_watching() } {
            return None;
        }
        let mine = self.0.this();
        let level = mine.used.load(Relaxed);
        let piece = mine.pieces.get(level as usize)?;
        mine.used.store(level + 1, Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: contexts that interrupt this one find `used` beyond the piece, and preemption is off.
        let piece = unsafe { &mut *piece.get() };
        // SAFETY: the memory has room for as many entries as are said.
        let count = unsafe { bindings::stack_trace_save(piece.as_mut_ptr(), DEPTH as c_uint, 0) };
        let result = f(piece.get(..count as usize).unwrap_or(&[]));
        compiler_fence(Ordering::SeqCst);
        mine.used.store(level, Relaxed);
        Some(result)
    }
}
