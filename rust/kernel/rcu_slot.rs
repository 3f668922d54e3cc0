// SPDX-License-Identifier: GPL-2.0

//! A shared object in a static, which any context may look at while another is put in its place.
//!
//! Readers count nothing: they hold off interrupts or preemption. Whoever puts another object there
//! [waits](wait_for_readers) until no reader can be looking at the old one, and has that then.
//!
//! C header: `include/linux/rcupdate.h`.

use super::context::PreemptOff;
#[cfg(CONFIG_BRANCH_TRACER)]
use super::context::{rcu_watches, IrqsOff};
#[cfg(any(CONFIG_FPROBE, CONFIG_EVENT_TRACING))]
use super::later;
use super::relaxed;
use core::ptr;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::sync::{rcu, Arc, ArcBorrow};

/// Waits for what runs now with interrupts or preemption off, in code that can be traced. Task
/// context, sleeps.
///
/// A CPU that is going or coming is waited for only as long as RCU knows of it.
pub(crate) fn wait_for_readers() {
    rcu::synchronize_rcu();
    // For code that RCU does not watch, such as the idle loop. It does nothing where that cannot be
    // traced, as on x86 (`CONFIG_ARCH_WANTS_NO_INSTR`). SAFETY: task context, where sleeping is
    // allowed.
    #[cfg(CONFIG_TASKS_RUDE_RCU)]
    unsafe {
        kernel::bindings::synchronize_rcu_tasks_rude();
    }
}

/// What ran at a moment with interrupts or preemption off, in code that can be traced.
#[cfg(any(CONFIG_FPROBE, CONFIG_DYNAMIC_EVENTS))]
pub(crate) struct Readers(usize);

#[cfg(any(CONFIG_FPROBE, CONFIG_DYNAMIC_EVENTS))]
impl Readers {
    /// Those that run now. Task context.
    pub(crate) fn now() -> Self {
        // SAFETY: it only looks at a count.
        Self(unsafe { kernel::bindings::get_state_synchronize_rcu() })
    }

    /// As a number, for [`Readers::from_raw`].
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) fn into_raw(self) -> usize {
        self.0
    }

    /// From [`Readers::into_raw`].
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) fn from_raw(raw: usize) -> Self {
        Self(raw)
    }

    /// Waits for them, if they are not out yet: as [`wait_for_readers`]. Task context, sleeps.
    pub(crate) fn wait(self) {
        // SAFETY: task context, where sleeping is allowed.
        unsafe {
            kernel::bindings::cond_synchronize_rcu(self.0);
            #[cfg(CONFIG_TASKS_RUDE_RCU)]
            kernel::bindings::synchronize_rcu_tasks_rude();
        }
    }
}

/// Waits for what runs now with interrupts or preemption off where RCU watches, for as short as
/// possible: other CPUs get an interrupt for it. Task context, sleeps.
pub(crate) fn wait_expedited() {
    // SAFETY: task context, where sleeping is allowed.
    unsafe { kernel::bindings::rtrace_synchronize_rcu_expedited() };
}

/// At most one `T`, to be looked at from any context.
///
/// # Invariants
///
/// The pointer is null or came from `Arc::into_raw`, whose count is given up only after a
/// [`wait_for_readers`], or one in the background, in which it was no longer here.
pub(crate) struct RcuSlot<T>(Atomic<*mut T>);

// SAFETY: it hands out `&T` and `Arc<T>` to any context and CPU.
unsafe impl<T: Send + Sync> Sync for RcuSlot<T> {}

impl<T> RcuSlot<T> {
    /// Empty.
    pub(crate) const fn new() -> Self {
        // INVARIANT: null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// Whether nothing is there. Any context, by one load.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        relaxed::load(&self.0).is_null()
    }

    /// What is there now. Any context, by one load.
    ///
    /// # Safety
    ///
    /// As long as the result is used, the slot stays, interrupts or preemption are off on this CPU,
    /// and [`wait_for_readers`] waits for it.
    #[inline(always)]
    pub(crate) unsafe fn get<'a>(&self) -> Option<&'a T> {
        // Pairs with the exchanges in `replace` and `claim`.
        let now = self.0.load(ordering::Acquire);
        // SAFETY: by the type invariant null or a live `T`, that goes only after a wait for the
        // caller.
        unsafe { now.as_ref() }
    }

    /// What is there now, where interrupts are off; none where RCU does not watch, as nobody would
    /// wait for that. Any context.
    #[cfg(CONFIG_BRANCH_TRACER)]
    #[inline(always)]
    pub(crate) fn get_watched<'a>(&'a self, _irqs_off: &'a IrqsOff) -> Option<&'a T> {
        if !rcu_watches() {
            return None;
        }
        // SAFETY: interrupts are off as long as the guard is borrowed, and RCU watches, so that
        // `wait_for_readers` waits for this CPU; the slot is borrowed as long.
        unsafe { self.get() }
    }

    /// Runs `f` on what is there now, with preemption off. Any context, NMI included; `f` must not
    /// sleep.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(Option<&T>) -> R) -> R {
        let _stay = PreemptOff::new();
        // SAFETY: preemption is off until `f` has returned, and the slot is borrowed as long.
        f(unsafe { self.get() })
    }

    /// A reference to what is there now. Any context; the last `Arc` must be dropped in a context
    /// where a `T` may be dropped.
    pub(crate) fn share(&self) -> Option<Arc<T>> {
        let _stay = PreemptOff::new();
        let now = self.0.load(ordering::Acquire);
        // SAFETY: by the type invariant it came from `into_raw`, and its count is there while
        // preemption is off.
        (!now.is_null()).then(|| unsafe { ArcBorrow::from_raw(now) }.into())
    }

    /// Puts `new` there and gives what was there before, which no context looks at any more. Task
    /// context, sleeps.
    pub(crate) fn replace(&self, new: Option<Arc<T>>) -> Option<Arc<T>> {
        self.exchange(new).wait()
    }

    /// [`RcuSlot::replace`] without the wait, which is done when the result is dropped: one wait
    /// may do for many. Task context.
    pub(crate) fn exchange(&self, new: Option<Arc<T>>) -> Retired<T> {
        let new = new.map_or(ptr::null_mut(), |new| Arc::into_raw(new).cast_mut());
        // INVARIANT: null or from `into_raw`; what was there is no longer.
        Retired(self.0.xchg(new, ordering::Full))
    }

    /// Puts `new` where nothing is, to be there until the result is dropped. Task context.
    ///
    /// # Errors
    ///
    /// `EBUSY` when something is there.
    pub(crate) fn claim(&'static self, new: Arc<T>) -> Result<Claim<T>> {
        let new = Arc::into_raw(new).cast_mut();
        // INVARIANT: it came from `into_raw`.
        if self
            .0
            .cmpxchg(ptr::null_mut(), new, ordering::Full)
            .is_err()
        {
            // SAFETY: it came from `into_raw` just now, and nobody else has seen it.
            drop(unsafe { Arc::from_raw(new) });
            return Err(EBUSY);
        }
        Ok(Claim(self))
    }
}

impl<T> Drop for RcuSlot<T> {
    fn drop(&mut self) {
        // INVARIANT: null.
        let last = self.0.xchg(ptr::null_mut(), ordering::Full);
        if !last.is_null() {
            // SAFETY: by the type invariant it came from `into_raw`; who looks at it keeps the
            // slot.
            drop(unsafe { Arc::from_raw(last) });
        }
    }
}

/// What was in a slot, and may still be looked at. Dropping it: task context, sleeps unless it is
/// nothing.
///
/// # Invariants
///
/// The pointer is null or came from `Arc::into_raw`, with its count, and is in no slot.
#[must_use = "dropping it waits"]
pub(crate) struct Retired<T>(*mut T);

impl<T> Retired<T> {
    /// Waits until no reader has it, and returns it. Task context, sleeps.
    pub(crate) fn wait(mut self) -> Option<Arc<T>> {
        if !self.0.is_null() {
            wait_for_readers();
        }
        self.take()
    }

    /// Drops it in the background, once no reader has it. Without memory for that it waits here. Task
    /// context, may sleep.
    #[cfg(any(CONFIG_FPROBE, CONFIG_EVENT_TRACING))]
    pub(crate) fn leave(mut self)
    where
        T: Send + Sync + 'static,
    {
        // Before a wait: nobody drops it until the readers are out.
        let Some(old) = self.take() else { return };
        if let Err(old) = later::after_readers(old) {
            wait_for_readers();
            drop(old);
        }
    }

    /// Waits once for all. Task context, sleeps.
    pub(crate) fn end_all(all: KVec<Self>) {
        let mut waited = false;
        for mut retired in all {
            if !retired.0.is_null() && !waited {
                wait_for_readers();
                waited = true;
            }
            // Those that follow were in no slot any more, either.
            drop(retired.take());
        }
    }

    /// What it is. It is dropped only after a wait.
    fn take(&mut self) -> Option<Arc<T>> {
        // INVARIANT: null.
        let old = core::mem::replace(&mut self.0, ptr::null_mut());
        // SAFETY: by the type invariant; the count is the caller's, who gives it up after a wait.
        (!old.is_null()).then(|| unsafe { Arc::from_raw(old) })
    }
}

impl<T> Drop for Retired<T> {
    fn drop(&mut self) {
        if !self.0.is_null() {
            wait_for_readers();
            drop(self.take());
        }
    }
}

/// The right to what is in its place, see [`RcuSlot::claim`]. Dropping it: task context, sleeps.
pub(crate) struct Claim<T: 'static>(&'static RcuSlot<T>);

impl<T> Drop for Claim<T> {
    fn drop(&mut self) {
        self.0.replace(None);
    }
}
