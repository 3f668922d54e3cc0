// SPDX-License-Identifier: GPL-2.0

//! A spinlock with interrupts off whose functions are inline, so that a tracer may use it: taking
//! it calls nothing that could be traced, and it may be tried in any context, NMI included.
//!
//! With one CPU only, and no NMIs there (User Mode Linux), interrupts off keep all others out; a
//! word says whether the context itself holds the lock already.
//!
//! C side: `arch_spinlock_t`, `include/linux/spinlock.h`. It is outside of lockdep; state its place
//! in the lock order where it is used. While it is held nothing may sleep, and memory is neither
//! asked for nor freed: where a probe of a switch takes the lock, too, the allocator could wake a
//! task and wait for a run queue whose CPU waits for the lock. A guard that is a temporary lives to
//! the end of its statement, arguments included.
//!
//! Nor is anything called that could be traced, directly or by others: a tracer's callback there
//! would wait for the lock of its own CPU if it takes it. A section that has to, and keeps its own
//! hits away, says so ([`RawGuard::around_traced`]). `tools/testing/compiled` finds all others in the
//! object code.

#[cfg(not(CONFIG_SMP))]
use core::cell::Cell;
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use kernel::bindings;
use kernel::types::NotThreadSafe;
#[cfg(CONFIG_SMP)]
use kernel::types::Opaque;

const _: () = assert!(
    cfg!(any(CONFIG_SMP, CONFIG_UML)),
    "an NMI would find no lock"
);

/// A `T` behind the lock.
pub(crate) struct RawLock<T> {
    #[cfg(CONFIG_SMP)]
    lock: Opaque<bindings::arch_spinlock_t>,
    #[cfg(not(CONFIG_SMP))]
    is_taken: Cell<bool>,
    data: UnsafeCell<T>,
}

// SAFETY: the lock hands `T` from one holder to the next, which is what `Send` allows.
unsafe impl<T: Send> Send for RawLock<T> {}
// SAFETY: shared references to the lock give access to `T` to one holder at a time, which is what
// `Send` allows. With one CPU `is_taken` is looked at with interrupts off, so by one context at a
// time.
unsafe impl<T: Send> Sync for RawLock<T> {}

impl<T> RawLock<T> {
    /// An open lock around `data`.
    pub(crate) const fn new(data: T) -> Self {
        Self {
            // SAFETY: the open lock is all zeroes (`__ARCH_SPIN_LOCK_UNLOCKED`).
            #[cfg(CONFIG_SMP)]
            lock: Opaque::new(unsafe { core::mem::zeroed() }),
            #[cfg(not(CONFIG_SMP))]
            is_taken: Cell::new(false),
            data: UnsafeCell::new(data),
        }
    }

    /// Waits for the lock and takes it. Any context but NMI; never sleeps.
    #[inline]
    pub(crate) fn lock(&self) -> RawGuard<'_, T> {
        // SAFETY: no preconditions; the guard restores what is saved here.
        let flags = unsafe { bindings::raw_local_irq_save() };
        // Not `arch_spin_lock()`: its slow path is a function with tracepoints, one of them hit with
        // the lock taken. A tracer that takes the lock there would wait for itself.
        while !self.take() {
            core::hint::spin_loop();
        }
        RawGuard {
            lock: self,
            flags,
            _not_send: NotThreadSafe,
        }
    }

    /// Takes the lock unless somebody has it. Any context.
    pub(crate) fn try_lock(&self) -> Option<RawGuard<'_, T>> {
        // SAFETY: no preconditions; restored below or by the guard.
        let flags = unsafe { bindings::raw_local_irq_save() };
        if !self.take() {
            // SAFETY: `flags` are those saved above.
            unsafe { bindings::raw_local_irq_restore(flags) };
            return None;
        }
        Some(RawGuard {
            lock: self,
            flags,
            _not_send: NotThreadSafe,
        })
    }

    /// Takes the lock if nobody has it. Interrupts are off, and stay so while it is held.
    #[cfg(CONFIG_SMP)]
    #[inline(always)]
    fn take(&self) -> bool {
        // SAFETY: the lock is initialised.
        unsafe { bindings::arch_spin_trylock(self.lock.get()) != 0 }
    }

    /// Takes the lock if nobody has it. Interrupts are off, and stay so while it is held.
    #[cfg(not(CONFIG_SMP))]
    #[inline(always)]
    fn take(&self) -> bool {
        !self.is_taken.replace(true)
    }
}

/// Holds a [`RawLock`]; interrupts are off on this CPU until it is dropped.
#[must_use = "the lock opens when the guard is dropped"]
pub(crate) struct RawGuard<'a, T> {
    lock: &'a RawLock<T>,
    flags: usize,
    _not_send: NotThreadSafe,
}

impl<T> RawGuard<'_, T> {
    /// For a section that calls what can be traced: says where that begins. Whoever uses it makes
    /// sure, and says how, that no hit on this CPU takes the lock meanwhile.
    #[inline(always)]
    pub(crate) fn around_traced(self) -> Self {
        around_traced();
        self
    }
}

/// [`RawGuard::around_traced`] for what is a lock of another kind, taken with interrupts off.
///
/// No instruction: the address goes to a section that the link discards, for `tools/testing/compiled`.
#[inline(always)]
pub(crate) fn around_traced() {
    #[cfg(CONFIG_X86)]
    // SAFETY: it adds nothing to the code.
    unsafe {
        core::arch::asm!(
            ".pushsection .discard.rtrace_traced",
            ".long 2f - .",
            ".popsection",
            "2:",
            options(nostack, preserves_flags),
        );
    }
}

impl<T> Deref for RawGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's existence says that the lock is held, so nobody else refers to the
        // data.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T> DerefMut for RawGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's existence says that the lock is held, so nobody else refers to the
        // data, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T> Drop for RawGuard<'_, T> {
    fn drop(&mut self) {
        #[cfg(not(CONFIG_SMP))]
        self.lock.is_taken.set(false);
        // SAFETY: the guard holds the lock; `flags` were saved when it was taken, on this CPU.
        unsafe {
            #[cfg(CONFIG_SMP)]
            bindings::arch_spin_unlock(self.lock.lock.get());
            bindings::raw_local_irq_restore(self.flags);
        }
    }
}
