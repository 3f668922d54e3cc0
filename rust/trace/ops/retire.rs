// SPDX-License-Identifier: GPL-2.0

//! Freeing what hits may still look at.

use crate::kapi::context::PreemptOff;
use crate::trace::hash::SiteSet;
use core::ptr;
use kernel::{
    bindings,
    prelude::*,
    sync::atomic::{ordering, Acquire, Atomic, Relaxed},
    sync::rcu,
};

/// A set as ops have it: what C calls `struct ftrace_hash`.
#[repr(C)]
pub(crate) struct Published {
    /// The set; first, so that a pointer to one is a pointer to the other.
    set: SiteSet,
    rcu: bindings::callback_head,
}

impl Published {
    /// Makes `set` ready to be given to an ops. `ENOMEM`.
    pub(crate) fn new(set: SiteSet) -> Result<KBox<Self>> {
        Ok(KBox::new(Published { set, rcu: Default::default() }, GFP_KERNEL)?)
    }

    /// The set.
    pub(crate) fn set(&self) -> &SiteSet {
        &self.set
    }
}

/// A set that no ops has any more. When dropped it is freed after the hits that may look into it, which run with
/// preemption disabled.
///
/// # Invariants
///
/// The pointer is null or came from `KBox::into_raw()`, and no ops has it.
#[must_use]
pub(crate) struct Retired(*mut Published);

impl Retired {
    /// # Safety
    ///
    /// `set` is null or came from `KBox::into_raw()`, and no ops has it any more.
    pub(super) unsafe fn from_raw(set: *mut Published) -> Self {
        // INVARIANT: By the caller's promise.
        Retired(set)
    }

    /// The set; `None` if there was none.
    pub(crate) fn set(&self) -> Option<&SiteSet> {
        // SAFETY: By the type's invariant; it is freed only by the drop.
        unsafe { self.0.as_ref() }.map(Published::set)
    }
}

impl Drop for Retired {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: By the type's invariant it is alive, and nobody else frees it.
            unsafe { bindings::call_rcu(&raw mut (*self.0).rcu, Some(free_now)) };
        }
    }
}

/// A set in static memory, for hits to look into.
///
/// # Invariants
///
/// The pointer is null or came from `KBox::into_raw()`; what it was goes after [`wait_for_hits`].
pub(crate) struct SharedSet(Atomic<*mut Published>);

impl SharedSet {
    /// No set.
    pub(crate) const fn new() -> Self {
        // INVARIANT: null.
        SharedSet(Atomic::new(ptr::null_mut()))
    }

    /// Is there no set? Any context.
    pub(crate) fn is_none(&self) -> bool {
        self.0.load(Relaxed).is_null()
    }

    /// Is `addr` in the set? False without one. Any context.
    pub(crate) fn contains(&self, addr: usize) -> bool {
        let _stay = PreemptOff::new();
        // SAFETY: by the type invariant null or a set that stays while preemption is off. The acquire pairs with the
        // exchange in `replace`.
        unsafe { self.0.load(Acquire).as_ref() }.is_some_and(|published| published.set().contains(addr))
    }

    /// Another set, or none; empty counts as none. Task context, sleeps. `ENOMEM`.
    pub(crate) fn replace(&self, new: SiteSet) -> Result {
        let new = if new.is_empty() { ptr::null_mut() } else { KBox::into_raw(Published::new(new)?) };
        let old = self.0.xchg(new, ordering::Full);
        if !old.is_null() {
            wait_for_hits();
            // SAFETY: by the type invariant a box's; nobody can find it any more, and those who had are out.
            drop(unsafe { KBox::from_raw(old) });
        }
        Ok(())
    }

    /// A copy; empty without a set. Task context; no `replace` meanwhile. `ENOMEM`.
    pub(crate) fn copy(&self) -> Result<SiteSet> {
        // SAFETY: by the type invariant null or a set, which stays as nobody replaces it meanwhile.
        unsafe { self.0.load(Acquire).as_ref() }.map_or(Ok(SiteSet::new()), |published| published.set().try_clone())
    }
}

unsafe extern "C" fn free_now(rcu: *mut bindings::callback_head) {
    // SAFETY: Only `Retired::drop` passes this function, with the field of a `Published` from `KBox::into_raw()`.
    drop(unsafe { KBox::from_raw(kernel::container_of!(rcu, Published, rcu)) });
}

/// Waits until no hit runs any more that ran with preemption disabled, whether RCU watches there or not. Sleeps.
///
/// The second wait is for code that RCU does not watch. Where such code cannot be traced, as on x86
/// (`CONFIG_ARCH_WANTS_NO_INSTR`), it does nothing at all.
pub(crate) fn wait_for_hits() {
    rcu::synchronize_rcu();
    // SAFETY: Task context, nothing held.
    unsafe { bindings::synchronize_rcu_tasks_rude() };
}

/// Waits until no task is in a callback or a trampoline that sites led to. May sleep long; call it without locks.
pub(crate) fn wait_for_trampolines() {
    // SAFETY: Task context, nothing held. The first waits for tasks that run with preemption disabled or where
    // RCU does not watch, the second for those that were preempted.
    unsafe {
        bindings::synchronize_rcu_tasks_rude();
        bindings::synchronize_rcu_tasks();
    }
}
