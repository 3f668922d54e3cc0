// SPDX-License-Identifier: GPL-2.0

//! Words of each CPU that the function profiler's hits look at, in static per-CPU data of C's, since
//! Rust has none.
//!
//! Headers: `include/linux/percpu.h`, `rust/helpers/percpu.h`.

use super::context::PreemptOff;
use super::percpu::{static_of, this_word};
use core::mem::offset_of;
use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::sync::atomic::{Atomic, Relaxed, Release};

/// The words of a CPU, `struct rtrace_profile`.
#[repr(C)]
pub(crate) struct HotWords {
    top: Atomic<u64>,
    records: Atomic<usize>,
    mask: Atomic<u64>,
}

const _: () = {
    assert!(size_of::<HotWords>() <= size_of::<bindings::rtrace_profile>());
    assert!(align_of::<HotWords>() <= align_of::<bindings::rtrace_profile>());
    assert!(offset_of!(HotWords, top) == offset_of!(bindings::rtrace_profile, top));
    assert!(offset_of!(HotWords, records) == offset_of!(bindings::rtrace_profile, records));
    assert!(offset_of!(HotWords, mask) == offset_of!(bindings::rtrace_profile, mask));
};

/// More CPUs than there can be.
pub(crate) const CPUS: u64 = bindings::CONFIG_NR_CPUS as u64 + 1;

impl HotWords {
    /// Those of a possible CPU.
    pub(crate) fn of(cpu: CpuId) -> &'static Self {
        let symbol = (&raw const bindings::rtrace_profile).cast();
        // SAFETY: per-CPU data of this layout, as asserted above, which only Rust code uses, by atomic
        // accesses.
        unsafe { &*static_of(symbol, cpu) }
    }

    /// Sets what frames end in that the CPU makes.
    pub(crate) fn set_top(&self, top: u64) {
        // Pairs with the load in `top_here`: who finds it finds the table.
        self.top.store(top, Release);
    }

    /// Sets where the CPU's table begins, and the bits of a hash that are a place in it.
    ///
    /// # Safety
    ///
    /// The table stays, and at each place that `mask` leaves of a hash are the records that hits look at.
    pub(crate) unsafe fn set_table(&self, records: usize, mask: u64) {
        self.records.store(records, Relaxed);
        self.mask.store(mask, Relaxed);
    }
}

/// What [`HotWords::set_top`] has set for this CPU.
#[inline(always)]
pub(crate) fn top_here(_stay: &PreemptOff) -> u64 {
    // (The architecture loads in order.)
    this_word!(load bindings::rtrace_profile, offset_of!(HotWords, top))
}

/// Is it `top`?
#[inline(always)]
pub(crate) fn is_top_here(top: u64, _stay: &PreemptOff) -> bool {
    this_word!(is top, bindings::rtrace_profile, offset_of!(HotWords, top))
}

/// The address in this CPU's table for `hash`, by [`HotWords::set_table`].
#[inline(always)]
pub(crate) fn place_here(hash: u64, _stay: &PreemptOff) -> u64 {
    let start = this_word!(and hash, bindings::rtrace_profile, offset_of!(HotWords, mask));
    this_word!(add start, bindings::rtrace_profile, offset_of!(HotWords, records))
}
