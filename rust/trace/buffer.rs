// SPDX-License-Identifier: GPL-2.0

//! An instance's ring buffer: the core's per-CPU buffers joined to pages, locks, clocks and sleepers.
//!
//! One [`Buffer`] has a [`PerCpu`] for each CPU that was ever up. Writers are lock-free and may be in any context;
//! readers take the CPU's reader lock, a raw spinlock with interrupts off ([`PerCpu::lock_reader`]).
//!
//! Lock order: the owner instance's state mutex, the resize mutex, one CPU's reader lock (innermost).

use super::clock::{Clock, CLOCKS};
use crate::kapi::cpus::CpuSet;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// What `buffer_size_kb` and its like have to show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Bytes per CPU.
    Bytes(usize),
    /// The minimum that boot leaves, in bytes, and what it will expand to.
    Minimal {
        /// Bytes per CPU now.
        now: usize,
        /// Bytes per CPU after first use.
        expanded: usize,
    },
    /// CPUs differ (`X`).
    Mixed,
}

/// What `per_cpu/cpuN/stats` shows, counted in entries unless said otherwise.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stats {
    /// In the buffer now.
    pub(crate) entries: u64,
    /// Lost because newer ones took their room.
    pub(crate) overrun: u64,
    /// Lost because nested writers ran over a whole buffer.
    pub(crate) commit_overrun: u64,
    /// Bytes in the buffer now.
    pub(crate) bytes: u64,
    /// Stamp of the oldest entry, in units of the clock.
    pub(crate) oldest: u64,
    /// The clock's reading.
    pub(crate) now: u64,
    /// Not taken: buffer full (no-overwrite), or being resized.
    pub(crate) dropped: u64,
    /// Consumed.
    pub(crate) read: u64,
}

/// The ring buffer of one instance.
pub(crate) struct Buffer {
    on: Atomic<bool>,
    clock: Atomic<usize>,
    cpus: KVec<Option<PerCpu>>,
}

/// One CPU's part of a [`Buffer`].
pub(crate) struct PerCpu {
    cpu: CpuId,
    allowed: Atomic<bool>,
}

impl Buffer {
    /// Is recording on, as `tracing_on` shows it? Any context.
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Turns recording on or off and says what it was. Any context.
    pub(crate) fn set_on(&self, on: bool) -> bool {
        self.on.xchg(on, Relaxed)
    }

    /// The clock that stamps entries. Any context.
    pub(crate) fn clock(&self) -> &'static Clock {
        CLOCKS.get(self.clock.load(Relaxed)).unwrap_or(&CLOCKS[0])
    }

    /// Changes the clock (a row of [`CLOCKS`]) and empties the buffer. Task context, sleeps.
    pub(crate) fn set_clock(&self, row: usize) {
        self.clock.store(row, Relaxed);
        self.reset();
    }

    /// Lets the CPUs in `mask` record, and only them. Task context.
    pub(crate) fn set_mask(&self, mask: &CpuSet) {
        for part in self.cpus() {
            part.allowed.store(mask.contains(part.cpu), Relaxed);
        }
    }

    /// What the size files show, for `cpu` or for all. Task context.
    pub(crate) fn size(&self, _cpu: Option<CpuId>) -> Size {
        Size::Mixed
    }

    /// Gives `cpu` (all of them: `None`) room for `bytes`, keeping what fits. Task context, sleeps. `ENOMEM`.
    pub(crate) fn resize(&self, _cpu: Option<CpuId>, _bytes: usize) -> Result {
        Err(ENOMEM)
    }

    /// Grows from the size of boot to the full one, once. Task context, sleeps. `ENOMEM`.
    pub(crate) fn expand(&self) -> Result {
        Err(ENOMEM)
    }

    /// Shrinks to the least there can be. Task context, sleeps.
    pub(crate) fn shrink(&self) {}

    /// Empties every CPU's part. Task context, sleeps.
    pub(crate) fn reset(&self) {}

    /// The part of `cpu`; none when that CPU was never up. Any context.
    pub(crate) fn cpu(&self, cpu: CpuId) -> Option<&PerCpu> {
        self.cpus.get(cpu.as_u32() as usize)?.as_ref()
    }

    /// The parts there are, by CPU. Any context.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = &PerCpu> {
        self.cpus.iter().filter_map(|part| part.as_ref())
    }
}

impl PerCpu {
    /// Which CPU's.
    pub(crate) fn cpu(&self) -> CpuId {
        self.cpu
    }
}
