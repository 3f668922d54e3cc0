// SPDX-License-Identifier: GPL-2.0

//! Scratch memory on every CPU, one piece for each context that may interrupt another.

use super::context::{PreemptOff, LEVELS};
use super::percpu::PerCpu;
use core::cell::UnsafeCell;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// A CPU's pieces.
struct Pieces<T> {
    /// How many are in use; only this CPU's contexts change it, and each puts it back before it
    /// ends.
    used: Atomic<u32>,
    pieces: [UnsafeCell<T>; LEVELS as usize],
}

// SAFETY: a piece is only used by the context that has raised `used` past it, on the CPU whose
// memory it is.
unsafe impl<T: Send> Sync for Pieces<T> {}

/// See the module's head.
pub(crate) struct PerContext<T>(PerCpu<Pieces<T>>);

impl<T: Copy + Send> PerContext<T> {
    /// Allocates it, each piece holding `value`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(value: T) -> Result<Self> {
        let pieces = || core::array::from_fn(|_| UnsafeCell::new(value));
        Ok(Self(PerCpu::new(|_| Pieces {
            used: Atomic::new(0),
            pieces: pieces(),
        })?))
    }

    /// Runs `f` on a piece, which holds what its last user left. Any context; `f` runs with
    /// preemption off and must not sleep. None when all are in use.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.with_held(&PreemptOff::new(), f)
    }

    /// As [`PerContext::with`], where preemption is off.
    #[inline(always)]
    pub(crate) fn with_held<R>(
        &self,
        _stay: &PreemptOff,
        f: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let mine = self.0.this();
        let level = mine.used.load(Relaxed);
        let piece = mine.pieces.get(level as usize)?;
        mine.used.store(level + 1, Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: contexts that interrupt this one find `used` beyond the piece, and preemption is
        // off.
        let result = f(unsafe { &mut *piece.get() });
        compiler_fence(Ordering::SeqCst);
        mine.used.store(level, Relaxed);
        Some(result)
    }
}
