// SPDX-License-Identifier: GPL-2.0

//! Sets of CPUs: the kernel's masks read as iterators, and [`CpuSet`], a mask that is a plain
//! value.
//!
//! C header: `include/linux/cpumask.h`.

use kernel::bindings;
use kernel::cpu::{nr_cpu_ids, CpuId};
use kernel::prelude::*;

const WORD: usize = u64::BITS as usize;
/// Words of the kernel's `struct cpumask`.
const WORDS: usize = core::mem::size_of::<bindings::cpumask>() / core::mem::size_of::<u64>();

/// A mask of CPUs, copied by value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuSet([u64; WORDS]);

impl CpuSet {
    /// No CPU at all.
    pub(crate) const EMPTY: Self = Self([0; WORDS]);

    /// Every CPU there could be (`cpu_all_mask`), cut to `nr_cpu_ids`.
    pub(crate) fn all() -> Self {
        let mut set = Self::EMPTY;
        for id in 0..nr_cpu_ids() as usize {
            set.0[id / WORD] |= 1 << (id % WORD);
        }
        set
    }

    /// Is `cpu` in the set?
    pub(crate) fn contains(&self, cpu: CpuId) -> bool {
        let id = cpu.as_u32() as usize;
        self.0
            .get(id / WORD)
            .is_some_and(|w| w & (1 << (id % WORD)) != 0)
    }

    /// Adds `cpu`.
    pub(crate) fn insert(&mut self, cpu: CpuId) {
        let id = cpu.as_u32() as usize;
        if let Some(w) = self.0.get_mut(id / WORD) {
            *w |= 1 << (id % WORD);
        }
    }

    /// The CPUs in the set, the lowest first.
    #[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
    pub(crate) fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        all().filter(|&cpu| self.contains(cpu))
    }

    /// The mask as C has it.
    #[cfg(CONFIG_HWLAT_TRACER)]
    pub(crate) fn as_ptr(&self) -> *const bindings::cpumask {
        self.0.as_ptr().cast()
    }

    /// A copy of a mask that may be changing.
    ///
    /// # Safety
    ///
    /// `mask` is there.
    #[cfg(CONFIG_HWLAT_TRACER)]
    pub(crate) unsafe fn read(mask: *const bindings::cpumask) -> Self {
        // With many possible CPUs a mask may be allocated, and then only its first words are there.
        let words = (nr_cpu_ids() as usize).div_ceil(WORD);
        let mut set = Self::EMPTY;
        for (i, word) in set.0.iter_mut().enumerate().take(words) {
            // SAFETY: `mask` is there, with a bit for each CPU there could be.
            *word = unsafe { mask.cast::<u64>().add(i).read_volatile() };
        }
        set
    }

    /// The words of the mask, lowest CPUs first.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
}

/// # Safety
///
/// `mask` is one of the kernel's static masks.
unsafe fn test(mask: *const bindings::cpumask, cpu: CpuId) -> bool {
    let id = cpu.as_u32() as usize;
    // SAFETY: `id < nr_cpu_ids`, which a static mask covers; other CPUs change words as a whole, so
    // a volatile read of one does not tear.
    let word = unsafe { core::ptr::read_volatile(mask.cast::<u64>().add(id / WORD)) };
    word & (1 << (id % WORD)) != 0
}

fn all() -> impl Iterator<Item = CpuId> {
    (0..nr_cpu_ids()).filter_map(CpuId::from_u32)
}

/// The CPUs that may ever come up. Any context.
pub(crate) fn possible() -> impl Iterator<Item = CpuId> {
    all().filter(|&cpu| is_possible(cpu))
}

/// The CPUs that are up as the iterator passes them. Any context.
pub(crate) fn online() -> impl Iterator<Item = CpuId> {
    all().filter(|&cpu| is_online(cpu))
}

/// May `cpu` ever come up?
pub(crate) fn is_possible(cpu: CpuId) -> bool {
    // SAFETY: a static mask.
    unsafe { test(&raw const bindings::__cpu_possible_mask, cpu) }
}

/// Is `cpu` up?
pub(crate) fn is_online(cpu: CpuId) -> bool {
    // SAFETY: a static mask.
    unsafe { test(&raw const bindings::__cpu_online_mask, cpu) }
}

/// Runs `work` once on every CPU that is up, with interrupts off, and waits for all. Task context;
/// `work` must not sleep.
pub(crate) fn on_each<F: Fn() + Sync>(work: F) {
    /// # Safety
    ///
    /// `work` points to a live `F`.
    unsafe extern "C" fn call<F: Fn()>(work: *mut core::ffi::c_void) {
        // SAFETY: `work` is the address of the `F` below, which lives until all CPUs have called
        // this.
        unsafe { (*work.cast::<F>())() };
    }
    let work = (&raw const work).cast_mut().cast();
    // SAFETY: `call` gets the address of `work`, which outlives the call as it waits for all CPUs.
    unsafe {
        bindings::on_each_cpu_cond_mask(
            None,
            Some(call::<F>),
            work,
            true,
            &raw const bindings::__cpu_online_mask,
        )
    };
}

/// Is `cpu` a housekeeping CPU, not one that `nohz_full=` keeps free of the kernel's noise? Any
/// context.
pub(crate) fn is_housekeeping(cpu: CpuId) -> bool {
    // SAFETY: the function takes the number of any CPU.
    unsafe { bindings::rtrace_housekeeping_cpu(cpu.as_u32() as c_int) }
}

/// Whether no CPU is on its way up or down. Any context.
pub(crate) fn are_settled() -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::rtrace_are_cpus_settled() }
}

/// Whether RCU watches `cpu`, as it does wherever anything can be recorded. It does not while the CPU is
/// idle, nor in user space on a CPU of `nohz_full=`. Then all is as if that CPU had run a full barrier:
/// what it did before is seen here after this, and what was done here before a full barrier is seen by
/// whatever it records next. Any context.
pub(crate) fn is_watched(cpu: CpuId) -> bool {
    // SAFETY: the function takes the number of any possible CPU.
    unsafe { bindings::rtrace_rcu_watches_cpu(cpu.as_u32() as c_int) }
}

/// Interrupts `cpu`, if that is up and another than this one, and waits until it has taken the
/// interrupt: what it did before is seen here then, and what was done here is seen by it. Task
/// context, interrupts on.
pub(crate) fn interrupt(cpu: CpuId) {
    /// # Safety
    ///
    /// None.
    unsafe extern "C" fn nothing(_: *mut c_void) {}

    // SAFETY: the function has no preconditions; it has run when this returns.
    unsafe {
        bindings::smp_call_function_single(
            cpu.as_u32() as c_int,
            Some(nothing),
            core::ptr::null_mut(),
            true,
        )
    };
}
