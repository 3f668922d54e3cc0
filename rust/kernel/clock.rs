// SPDX-License-Identifier: GPL-2.0

//! Clocks that may be read in any context, NMI included: safe one-word wrappers.
//!
//! C headers: `include/linux/sched/clock.h`, `include/linux/timekeeping.h`, `include/linux/jiffies.h`.

use core::mem::{offset_of, size_of};
use kernel::bindings;
use kernel::sync::atomic::{Atomic, Relaxed};

/// The scheduler's clock of this CPU, in nanoseconds. Fast, not coherent between CPUs.
///
/// Like every clock here it may be called with preemption on; the reading is then some CPU's.
#[inline(always)]
pub(crate) fn sched() -> u64 {
    // SAFETY: has no preconditions beyond being on a CPU, which does not change under it: `raw` callers
    // hold preemption off, and the others tolerate a reading of the CPU they left.
    unsafe { bindings::sched_clock() }
}

/// Is [`sched`] the processor's cycle counter, scaled? Then [`sched_native`] reads the same. Any context; the answer
/// may turn into yes once, during boot, and stays.
pub(crate) fn sched_is_native() -> bool {
    // SAFETY: no preconditions.
    let native = unsafe { bindings::using_native_sched_clock() };
    // The scale is set by what makes the counter the clock.
    native && this_scale().data[0].mul.load(Relaxed) != 0
}

/// [`sched`], in line. Where the counter is not the clock, the reading means nothing.
///
/// # Safety
///
/// Preemption is off.
#[inline(always)]
pub(crate) unsafe fn sched_native() -> u64 {
    let now: u64;
    // A latch: whoever changes the scale, on this CPU, changes the half that the sequence does not point to, then moves
    // it. The time is cycles * mul >> shift, plus offset; shifts are below 32.
    // SAFETY: reads the cycle counter and this CPU's `cyc2ns`, whose layout is asserted below, and writes nothing.
    unsafe {
        core::arch::asm!(
            "rdtsc",
            "shl rdx, 32",
            "or rdx, rax",
            "2:",
            "mov {sequence:e}, gs:[rip + {scale} + {at}]",
            "mov {half:e}, {sequence:e}",
            "and {half:e}, 1",
            "shl {half:e}, 4",
            "mov eax, gs:[{half} + {scale} + {mul}]",
            "mov ecx, gs:[{half} + {scale} + {shift}]",
            "mov {half}, gs:[{half} + {scale} + {offset}]",
            "cmp {sequence:e}, gs:[rip + {scale} + {at}]",
            "jne 2b",
            "mul rdx",
            "shrd rax, rdx, cl",
            "add rax, {half}",
            scale = sym bindings::cyc2ns,
            at = const offset_of!(Scale, sequence),
            mul = const offset_of!(ScaleData, mul),
            shift = const offset_of!(ScaleData, shift),
            offset = const offset_of!(ScaleData, offset),
            sequence = out(reg) _,
            half = out(reg) _,
            out("rax") now,
            out("rcx") _,
            out("rdx") _,
            options(nostack, readonly),
        );
    }
    now
}

/// One half of `struct cyc2ns`.
#[repr(C)]
struct ScaleData {
    mul: Atomic<u32>,
    shift: Atomic<u32>,
    offset: Atomic<u64>,
}

/// `struct cyc2ns` of `arch/x86/include/asm/timer.h`.
#[repr(C)]
struct Scale {
    data: [ScaleData; 2],
    sequence: Atomic<u32>,
}

const _: () = {
    assert!(size_of::<ScaleData>() == 1 << 4);
    assert!(size_of::<ScaleData>() == size_of::<bindings::cyc2ns_data>());
    assert!(offset_of!(ScaleData, shift) == offset_of!(bindings::cyc2ns_data, cyc2ns_shift));
    assert!(offset_of!(ScaleData, offset) == offset_of!(bindings::cyc2ns_data, cyc2ns_offset));
    assert!(offset_of!(Scale, sequence) == offset_of!(bindings::cyc2ns, seq));
};

/// This CPU's scale.
fn this_scale() -> &'static Scale {
    let base = &raw const bindings::cyc2ns;
    // SAFETY: per-CPU data of this layout (asserted above), of a possible CPU; its words are changed by C code one at
    // a time, without tearing.
    unsafe { &*base.wrapping_byte_add(bindings::this_cpu_base() as usize).cast() }
}

/// The clock that perf uses, in nanoseconds; between CPUs it is off by a jiffy at most.
pub(crate) fn perf() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::local_clock() }
}

/// Nanoseconds, never running backwards over all CPUs (a reading in NMI may repeat another CPU's past).
pub(crate) fn global() -> u64 {
    static LAST: Atomic<u64> = Atomic::new(0);
    // SAFETY: no preconditions.
    let now = unsafe { bindings::local_clock() };
    // The largest reading handed out so far bounds the next one from below: no lock that an NMI could find taken.
    loop {
        let last = LAST.load(Relaxed);
        if now <= last {
            return last;
        }
        if LAST.cmpxchg(last, now, Relaxed).is_ok() {
            return now;
        }
    }
}

/// A number that every reading raises by one.
pub(crate) fn counter() -> u64 {
    static COUNT: Atomic<u64> = Atomic::new(0);
    COUNT.fetch_add(1, Relaxed).wrapping_add(1)
}

/// Time since boot in clock ticks of user space (`USER_HZ`).
pub(crate) fn uptime() -> u64 {
    // SAFETY: 64-bit reads of `jiffies_64` do not tear on the 64-bit machines this is built for.
    let now = unsafe { core::ptr::read_volatile(&raw const bindings::jiffies_64) };
    // SAFETY: plain arithmetic.
    unsafe { bindings::jiffies_64_to_clock_t(now.wrapping_sub(initial_jiffies())) }
}

/// What `jiffies_64` was at boot: five minutes before its low half wraps (`INITIAL_JIFFIES`).
fn initial_jiffies() -> u64 {
    u64::from((bindings::HZ as u32).wrapping_mul(300).wrapping_neg())
}

/// `CLOCK_MONOTONIC`, NMI-safe reading.
pub(crate) fn mono() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::ktime_get_mono_fast_ns() }
}

/// `CLOCK_MONOTONIC_RAW`, NMI-safe reading.
pub(crate) fn mono_raw() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::ktime_get_raw_fast_ns() }
}

/// `CLOCK_BOOTTIME`, NMI-safe reading.
pub(crate) fn boot() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::ktime_get_boot_fast_ns() }
}

/// `CLOCK_TAI`, NMI-safe reading.
pub(crate) fn tai() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::ktime_get_tai_fast_ns() }
}

/// The CPU's cycle counter, read in program order.
pub(crate) fn cycles() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::trace_clock_x86_tsc() }
}

/// A clock that somebody else's C code brings.
#[derive(Clone, Copy)]
pub(crate) struct ForeignClock(unsafe extern "C" fn() -> u64);

impl ForeignClock {
    /// # Safety
    ///
    /// `read` may be called in any context, NMI included, for as long as any buffer has this clock.
    pub(crate) unsafe fn new(read: unsafe extern "C" fn() -> u64) -> Self {
        Self(read)
    }
}

/// A place for a [`ForeignClock`], or none. Any context.
///
/// # Invariants
///
/// The word is null or a `ForeignClock`'s function.
pub(crate) struct OwnClock(Atomic<*mut core::ffi::c_void>);

impl OwnClock {
    /// No clock.
    pub(crate) const fn none() -> Self {
        // INVARIANT: null.
        Self(Atomic::new(core::ptr::null_mut()))
    }

    /// Puts `clock` there.
    pub(crate) fn set(&self, clock: Option<ForeignClock>) {
        // INVARIANT: one of the two.
        self.0.store(clock.map_or(core::ptr::null_mut(), |clock| clock.0 as *mut core::ffi::c_void), Relaxed);
    }

    /// Reads the clock that is there.
    pub(crate) fn read(&self) -> Option<u64> {
        let word = self.0.load(Relaxed);
        if word.is_null() {
            return None;
        }
        // SAFETY: by the invariant the function of a `ForeignClock`, whose maker vouched for the call.
        Some(unsafe { core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn() -> u64>(word)() })
    }
}
