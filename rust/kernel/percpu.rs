// SPDX-License-Identifier: GPL-2.0

//! One value of a type for every possible CPU.
//!
//! C header: `include/linux/percpu.h`.

use super::cpus;
#[cfg(not(all(CONFIG_X86, CONFIG_SMP)))]
use super::relaxed;
use core::marker::PhantomData;
use core::mem::{align_of, needs_drop, size_of};
use core::ptr::NonNull;
use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::Atomic;

/// A value of `T` per possible CPU.
///
/// # Invariants
///
/// `base` came from the per-CPU allocator for `T`'s layout, and each possible CPU's copy is a valid
/// `T` that only shared references lead to.
pub(crate) struct PerCpu<T> {
    base: NonNull<T>,
    _own: PhantomData<T>,
}

// SAFETY: it owns its values; they may be dropped elsewhere when `T` may.
unsafe impl<T: Send> Send for PerCpu<T> {}
// SAFETY: any CPU may refer to any CPU's value, which is sharing `T`.
unsafe impl<T: Sync> Sync for PerCpu<T> {}

impl<T> PerCpu<T> {
    /// Makes the values with `make`, CPU by CPU. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(mut make: impl FnMut(CpuId) -> T) -> Result<Self> {
        Self::try_new(|cpu| Ok(make(cpu)))
    }

    /// [`PerCpu::new`] of values that may fail. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of `make`.
    pub(crate) fn try_new(mut make: impl FnMut(CpuId) -> Result<T>) -> Result<Self> {
        const { assert!(size_of::<T>() != 0) };
        // SAFETY: the size is not 0 and the alignment is a power of two.
        let base = unsafe {
            bindings::pcpu_alloc_noprof(
                size_of::<T>(),
                align_of::<T>(),
                false,
                bindings::GFP_KERNEL,
            )
        };
        let base = NonNull::new(base.cast::<T>()).ok_or(ENOMEM)?;
        for cpu in cpus::possible() {
            match make(cpu) {
                // SAFETY: the allocation has room for a `T` on every possible CPU, to which nobody
                // refers yet.
                Ok(value) => unsafe { copy_of(base, cpu).write(value) },
                Err(error) => {
                    for made in cpus::possible().take_while(|made| made.as_u32() != cpu.as_u32()) {
                        // SAFETY: written above, and nobody refers to it.
                        unsafe { copy_of(base, made).drop_in_place() };
                    }
                    // SAFETY: allocated above.
                    unsafe { bindings::free_percpu(base.as_ptr().cast()) };
                    return Err(error);
                }
            }
        }
        // INVARIANT: allocated and filled above.
        Ok(Self {
            base,
            _own: PhantomData,
        })
    }

    /// Where the values are, for hot paths.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn base(&self) -> NonNull<T> {
        self.base
    }

    /// The value of `cpu`, none when there can be no such CPU. Any context.
    pub(crate) fn get(&self, cpu: CpuId) -> Option<&T> {
        // SAFETY: by the type invariant the copy of a possible CPU is a valid, shared `T`.
        cpus::is_possible(cpu).then(|| unsafe { &*copy_of(self.base, cpu) })
    }

    /// The values with their CPUs. Any context.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (CpuId, &T)> {
        cpus::possible().filter_map(|cpu| Some((cpu, self.get(cpu)?)))
    }

    /// The value of the CPU this runs on; while preemption is on it may turn into another CPU's.
    /// Any context.
    #[inline(always)]
    pub(crate) fn this(&self) -> &T {
        // SAFETY: by the type invariant `base` is that of a `PerCpu`, which is borrowed as long.
        unsafe { this_of(self.base.as_ptr()) }
    }
}

impl<T> PerCpu<Atomic<*mut T>> {
    /// The pointer of the CPU this runs on, by one instruction where there is one. As
    /// [`PerCpu::this`], and without order.
    #[inline(always)]
    pub(crate) fn load_this(&self) -> *mut T {
        #[cfg(all(CONFIG_X86, CONFIG_SMP))]
        {
            let pointer;
            // SAFETY: from the base of this CPU's data, which `gs` has, the running CPU's copy of
            // the word is where the first is from 0: see `this_of`. It is only read.
            unsafe {
                core::arch::asm!(
                    "mov {pointer}, gs:[{base}]",
                    base = in(reg) self.base.as_ptr(),
                    pointer = lateout(reg) pointer,
                    options(nostack, preserves_flags, readonly),
                );
            }
            pointer
        }
        #[cfg(not(all(CONFIG_X86, CONFIG_SMP)))]
        relaxed::load(self.this())
    }
}

/// [`PerCpu::this`] of the one with that [`PerCpu::base`]. Any context.
///
/// # Safety
///
/// There is such a one, and it stays as long as the result is used.
#[inline(always)]
pub(crate) unsafe fn this_of<'a, T>(base: *mut T) -> &'a T {
    // SAFETY: the running CPU is possible, and its offset leads from `base` to its copy, which by
    // the invariant of `PerCpu` is a valid, shared `T`.
    unsafe { &*base.wrapping_byte_add(this_offset()) }
}

/// The address of this CPU's copy of the data at a per-CPU address. Any context.
#[cfg(CONFIG_PROBE_EVENTS)]
#[inline(always)]
pub(crate) fn this_address(address: usize) -> usize {
    address.wrapping_add(this_offset())
}

/// One instruction (and its jump) with a word of this CPU's copy of static data that C code has made,
/// `symbol`, `at` bytes into it:
///
/// - `this_word!(load symbol, at)`: the word,
/// - `this_word!(and value, symbol, at)`, `this_word!(add value, symbol, at)`: a number combined with it,
/// - `this_word!(is value, symbol, at)`: whether the word is that number.
///
/// The words are 64 bits, and the compiler moves no memory access across it.
#[cfg(all(CONFIG_FUNCTION_PROFILER, CONFIG_X86))]
macro_rules! this_word {
    (load $symbol:path, $at:expr) => {{
        let value: u64;
        // SAFETY: the symbol is per-CPU data, of which `gs` has this CPU's copy; it is only read.
        unsafe {
            core::arch::asm!(
                "mov {value}, gs:[rip + {symbol} + {at}]",
                value = lateout(reg) value,
                symbol = sym $symbol,
                at = const $at,
                options(nostack, preserves_flags, readonly),
            );
        }
        value
    }};
    (is $value:expr, $symbol:path, $at:expr) => {'is: {
        let value: u64 = $value;
        // SAFETY: as above.
        unsafe {
            core::arch::asm!(
                "cmp {value}, gs:[rip + {symbol} + {at}]",
                "jne {other}",
                value = in(reg) value,
                symbol = sym $symbol,
                at = const $at,
                other = label { break 'is false },
                options(nostack, readonly),
            );
        }
        true
    }};
    ($instruction:ident $value:expr, $symbol:path, $at:expr) => {{
        let mut value: u64 = $value;
        // SAFETY: as above.
        unsafe {
            core::arch::asm!(
                concat!(stringify!($instruction), " {value}, gs:[rip + {symbol} + {at}]"),
                value = inout(reg) value,
                symbol = sym $symbol,
                at = const $at,
                options(nostack, readonly),
            );
        }
        value
    }};
}
#[cfg(all(CONFIG_FUNCTION_PROFILER, CONFIG_X86))]
pub(crate) use this_word;

/// Where `cpu`'s copy of static per-CPU data is that C code has made; `symbol` is its address there.
#[cfg(CONFIG_FUNCTION_PROFILER)]
pub(crate) fn static_of<T>(symbol: *const T, cpu: CpuId) -> *mut T {
    symbol.wrapping_byte_add(offset_of(cpu)).cast_mut()
}

/// Where `cpu`'s copy of a per-CPU allocation lies.
fn copy_of<T>(base: NonNull<T>, cpu: CpuId) -> *mut T {
    base.as_ptr().wrapping_byte_add(offset_of(cpu))
}

/// How far this CPU's copies are from the first.
#[cfg(CONFIG_SMP)]
#[inline(always)]
pub(super) fn this_offset() -> usize {
    // SAFETY: reads a word of this CPU's own.
    unsafe { bindings::this_cpu_base() as usize }
}

#[cfg(CONFIG_SMP)]
fn offset_of(cpu: CpuId) -> usize {
    // SAFETY: `CpuId` is below `nr_cpu_ids`, for which the table of offsets is filled.
    unsafe { bindings::per_cpu_offset(cpu.as_u32()) }
}

/// There is one copy.
#[cfg(not(CONFIG_SMP))]
#[inline(always)]
pub(super) fn this_offset() -> usize {
    0
}

#[cfg(not(CONFIG_SMP))]
fn offset_of(_cpu: CpuId) -> usize {
    0
}

impl<T> Drop for PerCpu<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            for cpu in cpus::possible() {
                // SAFETY: by the type invariant a valid `T`, to which nobody refers now that the
                // owner goes.
                unsafe { copy_of(self.base, cpu).drop_in_place() };
            }
        }
        // SAFETY: by the type invariant the allocator gave `base` out, and it is not used after
        // this.
        unsafe { bindings::free_percpu(self.base.as_ptr().cast()) };
    }
}
