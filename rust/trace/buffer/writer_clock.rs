// SPDX-License-Identifier: GPL-2.0

//! The clocks that writers read, with what they report of them.
//!
//! Nothing here locks, allocates, sleeps or can panic; any context, NMI included.

use super::ring::Ring;
#[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
use super::validate;
use super::Buffer;
#[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
use crate::core::ring_buffer::validate::Mismatch;
use crate::core::ring_buffer::Env;
use crate::kernel::clock as sys;
use crate::kernel::context::Pinned;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::types::NotThreadSafe;

/// The buffer's clock, whichever it is. For writers, which have preemption off.
///
/// Some clocks call functions that are traced. An entry of such a call would move the very position
/// for which the writer reads the clock, and it would have to start again without end: so there is
/// none.
pub(super) struct Clocked<'a> {
    pub(super) buffer: &'a Buffer,
    pub(super) ring: &'a Ring,
    pub(super) level: u32,
}

impl Clocked<'_> {
    /// Is the code that `ring` is to record called by a clock that a writer of the same `level`
    /// reads?
    pub(super) fn is_read(ring: &Ring, level: u32) -> bool {
        ring.in_clock.load(Relaxed) & 1 << level != 0
    }
}

impl Env for Clocked<'_> {
    const IS_SHORT_CLOCK: bool = false;

    fn now(&self) -> u64 {
        let outer = self.ring.in_clock.load(Relaxed);
        self.ring.in_clock.store(outer | 1 << self.level, Relaxed);
        let now = self.buffer.now();
        self.ring.in_clock.store(outer, Relaxed);
        now
    }

    fn went_backwards(&self, from: u64, to: u64) {
        let outer = self.ring.in_clock.load(Relaxed);
        self.ring.in_clock.store(outer | 1 << self.level, Relaxed);
        report_clock(from, to);
        self.ring.in_clock.store(outer, Relaxed);
    }

    #[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
    fn mismatch(&self, found: &Mismatch<'_>) {
        let outer = self.ring.in_clock.load(Relaxed);
        self.ring.in_clock.store(outer | 1 << self.level, Relaxed);
        validate::report(found);
        self.ring.in_clock.store(outer, Relaxed);
    }
}

/// Says in the log, once since boot, that a clock was set back. Any context.
#[cold]
fn report_clock(from: u64, to: u64) {
    static SAID: Atomic<bool> = Atomic::new(false);
    if !SAID.xchg(true, Relaxed) {
        pr_warn!("Ring buffer clock went backwards: {} -> {}\n", from, to);
    }
}

/// The clock `local`, where it can be read in line: to be used for nothing but the short way, which
/// is open only then ([`Buffer::settle`]), and where a ring's `short_clock` has been seen. For
/// writers.
///
/// # Invariants
///
/// Preemption is off on this CPU as long as there is a reference.
pub(super) struct InLine(NotThreadSafe);

impl InLine {
    /// The clock, as long as `stay` has preemption off.
    #[inline(always)]
    pub(super) fn by<'a>(_stay: &'a impl Pinned) -> &'a Self {
        // INVARIANT: the guard is borrowed.
        &Self(NotThreadSafe)
    }

    /// The clock for callers that have no guard.
    ///
    /// # Safety
    ///
    /// Preemption is off as long as the result is used.
    #[inline(always)]
    pub(super) unsafe fn without_guard<'a>() -> &'a Self {
        // INVARIANT: the caller says so.
        &Self(NotThreadSafe)
    }
}

impl Env for InLine {
    #[inline(always)]
    fn now(&self) -> u64 {
        // SAFETY: by the type's invariant preemption is off.
        unsafe { sys::sched_native() }
    }

    fn went_backwards(&self, from: u64, to: u64) {
        report_clock(from, to);
    }

    #[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
    fn mismatch(&self, found: &Mismatch<'_>) {
        validate::report(found);
    }
}
