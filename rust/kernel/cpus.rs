// SPDX-License-Identifier: GPL-2.0

//! Sets of CPUs: the kernel's masks read as iterators, and [`CpuSet`], a mask that is a plain value.
//!
//! C header: `include/linux/cpumask.h`.

use kernel::bindings;
use kernel::cpu::{nr_cpu_ids, CpuId};

const WORD: usize = usize::BITS as usize;
/// Words of the kernel's `struct cpumask`.
const WORDS: usize = core::mem::size_of::<bindings::cpumask>() / core::mem::size_of::<usize>();

/// A mask of CPUs, copied by value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuSet([usize; WORDS]);

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
        self.0.get(id / WORD).is_some_and(|w| w & (1 << (id % WORD)) != 0)
    }

    /// Adds `cpu`.
    pub(crate) fn insert(&mut self, cpu: CpuId) {
        let id = cpu.as_u32() as usize;
        if let Some(w) = self.0.get_mut(id / WORD) {
            *w |= 1 << (id % WORD);
        }
    }

    /// The words of the mask, lowest CPUs first, for text forms.
    pub(crate) fn words(&self) -> &[usize] {
        &self.0
    }
}

fn iter(mask: *const bindings::cpumask) -> impl Iterator<Item = CpuId> {
    (0..nr_cpu_ids()).filter_map(CpuId::from_u32).filter(move |cpu| {
        let id = cpu.as_u32() as usize;
        // SAFETY: `mask` is one of the kernel's static masks and `id < nr_cpu_ids`, which the mask covers;
        // other CPUs change words as a whole, so a volatile read of one does not tear.
        let word = unsafe { core::ptr::read_volatile(mask.cast::<usize>().add(id / WORD)) };
        word & (1 << (id % WORD)) != 0
    })
}

/// The CPUs that may ever come up. Any context.
pub(crate) fn possible() -> impl Iterator<Item = CpuId> {
    iter(&raw const bindings::__cpu_possible_mask)
}

/// The CPUs that are up as the iterator passes them. Any context.
pub(crate) fn online() -> impl Iterator<Item = CpuId> {
    iter(&raw const bindings::__cpu_online_mask)
}

/// Is `cpu` up?
pub(crate) fn is_online(cpu: CpuId) -> bool {
    online().any(|c| c.as_u32() == cpu.as_u32())
}
