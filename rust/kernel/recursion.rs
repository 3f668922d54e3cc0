// SPDX-License-Identifier: GPL-2.0

//! Guards against recursion of callbacks.
//!
//! C header: `include/linux/trace_recursion.h`.

use core::marker::PhantomData;
use kernel::bindings;
use kernel::types::NotThreadSafe;

/// `CONFIG_FTRACE_RECORD_RECURSION_SIZE`: how many functions that recurse are recorded.
#[cfg(CONFIG_FTRACE_RECORD_RECURSION)]
pub(crate) const RECORDED_FUNCTIONS: usize = bindings::RTRACE_RECURSED_FUNCTIONS;

/// The running context (task, softirq, hard interrupt, NMI) is in a callback: no other one that
/// asks for this is called in it. Preemption is off meanwhile.
pub(crate) struct Guard(i32, NotThreadSafe);

impl Guard {
    /// For a hit at `ip`, called from `parent_ip`. None if the context is in a callback already.
    /// Any context.
    #[inline(always)]
    pub(crate) fn enter(ip: usize, parent_ip: usize) -> Option<Self> {
        // SAFETY: any context; undone by the drop.
        let bit = unsafe { bindings::rtrace_recursion_enter(ip, parent_ip) };
        if bit < 0 {
            return None;
        }
        Some(Guard(bit, NotThreadSafe))
    }

    /// A proof that preemption is off, for callees.
    #[inline(always)]
    pub(crate) fn lend(&self) -> InHit<'_> {
        InHit(PhantomData, NotThreadSafe)
    }

    /// Does RCU watch this CPU, so that readers may look at what it protects? Any context.
    #[cfg(CONFIG_FPROBE)]
    #[inline(always)]
    pub(crate) fn rcu_watches(&self) -> bool {
        // SAFETY: the guard has preemption off.
        unsafe { bindings::rtrace_rcu_watches_here() }
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the bit that `enter` got.
        unsafe { bindings::rtrace_recursion_exit(self.0) };
    }
}

/// Preemption is off on this CPU as long as the guard lives that it is lent from.
#[derive(Clone, Copy)]
pub(crate) struct InHit<'a>(PhantomData<&'a ()>, NotThreadSafe);

impl InHit<'_> {
    /// For a callback that is called under a guard, and does not get it.
    ///
    /// # Safety
    ///
    /// Preemption is off as long as the result is used.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Self(PhantomData, NotThreadSafe)
    }
}

/// The same for what calls several callbacks, each of which may ask for a [`Guard`].
pub(crate) struct ListGuard(i32, NotThreadSafe);

impl ListGuard {
    /// As [`Guard::enter`].
    #[inline(always)]
    pub(crate) fn enter(ip: usize, parent_ip: usize) -> Option<Self> {
        // SAFETY: any context; undone by the drop.
        let bit = unsafe { bindings::rtrace_list_recursion_enter(ip, parent_ip) };
        // Not `then_some`, which would make a guard, and drop it, in either case.
        if bit >= 0 {
            Some(ListGuard(bit, NotThreadSafe))
        } else {
            None
        }
    }

    /// A proof that preemption is off, for callees.
    #[inline(always)]
    pub(crate) fn lend(&self) -> InHit<'_> {
        InHit(PhantomData, NotThreadSafe)
    }
}

impl Drop for ListGuard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the bit that `enter` got.
        unsafe { bindings::rtrace_recursion_exit(self.0) };
    }
}
