// SPDX-License-Identifier: GPL-2.0

//! Clocks that may be read in any context, NMI included: safe one-word wrappers.
//!
//! C headers: `include/linux/sched/clock.h`, `include/linux/timekeeping.h`,
//! `include/linux/jiffies.h`.

#[cfg(CONFIG_UML)]
mod um;
#[cfg(CONFIG_X86)]
mod x86;

#[cfg(CONFIG_UML)]
pub(crate) use um::{sched_is_native, sched_native};
#[cfg(all(CONFIG_X86, CONFIG_FUNCTION_TRACER))]
pub(crate) use x86::scale;
#[cfg(CONFIG_X86)]
pub(crate) use x86::{cycles, sched_is_native, sched_native};

use kernel::bindings;
use kernel::sync::atomic::{Atomic, Relaxed};

/// Jiffies in a second. `bindings::HZ` is what user space has for `USER_HZ`.
pub(crate) const HZ: u32 = bindings::CONFIG_HZ;

/// The scheduler's clock of this CPU, in nanoseconds. Fast, not coherent between CPUs.
///
/// Like every clock here it may be called with preemption on; the reading is then some CPU's.
#[inline(always)]
pub(crate) fn sched() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::sched_clock() }
}

/// Whether [`sched`] is coherent between CPUs. Known at the end of boot.
pub(crate) fn sched_is_stable() -> bool {
    #[cfg(CONFIG_HAVE_UNSTABLE_SCHED_CLOCK)]
    {
        // SAFETY: no preconditions.
        unsafe { bindings::sched_clock_stable() != 0 }
    }
    #[cfg(not(CONFIG_HAVE_UNSTABLE_SCHED_CLOCK))]
    true
}

/// `local_clock()`, which perf uses, too: nanoseconds since boot, between CPUs off by a jiffy at
/// most.
pub(crate) fn perf() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::local_clock() }
}

/// Nanoseconds, never running backwards over all CPUs (a reading in NMI may repeat another CPU's
/// past).
pub(crate) fn global() -> u64 {
    static LAST: Atomic<u64> = Atomic::new(0);
    // SAFETY: no preconditions.
    let now = unsafe { bindings::local_clock() };
    // The largest reading handed out so far bounds the next one from below: no lock that an NMI
    // could find taken.
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

/// Jiffies: the same for all readers of one tick.
pub(crate) fn ticks() -> u64 {
    // SAFETY: 64-bit reads of `jiffies_64` do not tear on the 64-bit machines this is built for.
    unsafe { core::ptr::read_volatile(&raw const bindings::jiffies_64) }
}

/// Time since boot in clock ticks of user space (`USER_HZ`).
pub(crate) fn uptime() -> u64 {
    // SAFETY: plain arithmetic.
    unsafe { bindings::jiffies_64_to_clock_t(ticks().wrapping_sub(initial_jiffies())) }
}

/// What `jiffies_64` was at boot: five minutes before its low half wraps (`INITIAL_JIFFIES`).
fn initial_jiffies() -> u64 {
    u64::from(HZ.wrapping_mul(300).wrapping_neg())
}

/// `CLOCK_MONOTONIC`, NMI-safe reading.
pub(crate) fn mono() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::ktime_get_mono_fast_ns() }
}

/// `CLOCK_MONOTONIC` as timers go by it. Any context but NMI.
#[cfg(CONFIG_OSNOISE_TRACER)]
pub(crate) fn timers() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::ktime_get() as u64 }
}

/// The wall time: seconds, and nanoseconds. Any context but NMI.
#[cfg(CONFIG_HWLAT_TRACER)]
pub(crate) fn wall() -> (i64, i64) {
    let mut time = bindings::timespec64 {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is live.
    unsafe { bindings::ktime_get_real_ts64(&mut time) };
    (time.tv_sec, time.tv_nsec as i64)
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
        self.0.store(
            clock.map_or(core::ptr::null_mut(), |clock| {
                clock.0 as *mut core::ffi::c_void
            }),
            Relaxed,
        );
    }

    /// Reads the clock that is there.
    pub(crate) fn read(&self) -> Option<u64> {
        let word = self.0.load(Relaxed);
        if word.is_null() {
            return None;
        }
        // SAFETY: by the invariant the function of a `ForeignClock`, whose maker vouched for the
        // call.
        Some(unsafe {
            core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn() -> u64>(word)()
        })
    }
}
