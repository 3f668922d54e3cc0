// SPDX-License-Identifier: GPL-2.0

//! Freeing what hits may still look at: after a grace period, or in the background once nobody is
//! in a trampoline.

use crate::kernel::ftrace::{self, callback_head};
use crate::kernel::queues;
use crate::trace::ftrace::hash::SiteSet;
use core::mem::ManuallyDrop;
use kernel::{
    prelude::*,
    sync::{
        atomic::{Acquire, Atomic, Release},
        Arc,
    },
    workqueue::{self, new_work, Work, WorkItem},
};

/// A set as ops have it: what C calls `struct ftrace_hash`.
#[repr(C)]
pub(crate) struct SharedSet {
    /// The set; first, so that a pointer to one is a pointer to the other.
    set: SiteSet,
    rcu: callback_head,
}

impl SharedSet {
    /// Makes `set` ready to be given to an ops. `ENOMEM`.
    pub(crate) fn new(set: SiteSet) -> Result<KBox<Self>> {
        Ok(KBox::new(
            SharedSet {
                set,
                rcu: Default::default(),
            },
            GFP_KERNEL,
        )?)
    }

    /// The set.
    pub(crate) fn set(&self) -> &SiteSet {
        &self.set
    }
}

/// A set that no ops has any more. When dropped it is freed after the hits that may look into it,
/// which run with preemption disabled.
///
/// # Invariants
///
/// The pointer is null or came from `KBox::into_raw()`, and no ops has it.
#[must_use]
pub(crate) struct Retired(*mut SharedSet);

impl Retired {
    /// # Safety
    ///
    /// `set` is null or came from `KBox::into_raw()`, and no ops has it any more.
    pub(super) unsafe fn from_raw(set: *mut SharedSet) -> Self {
        // INVARIANT: `set` is a box's, which nobody else has.
        Retired(set)
    }

    /// The pointer, for an ops that gets it back.
    pub(super) fn into_raw(self) -> *mut SharedSet {
        ManuallyDrop::new(self).0
    }

    /// The set; `None` if there was none.
    pub(crate) fn set(&self) -> Option<&SiteSet> {
        // SAFETY: by the type's invariant; it is freed only by the drop.
        unsafe { self.0.as_ref() }.map(SharedSet::set)
    }
}

impl Drop for Retired {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: by the type's invariant it is alive, and nobody else frees it.
            unsafe { ftrace::call_after_readers(&raw mut (*self.0).rcu, free_now) };
        }
    }
}

/// # Safety
///
/// `rcu` is the field of a [`SharedSet`] that came from `KBox::into_raw()`, which nobody uses any
/// more.
unsafe extern "C" fn free_now(rcu: *mut callback_head) {
    // SAFETY: only `Retired::drop` passes this function, with the field of a `SharedSet` from
    // `KBox::into_raw()`.
    drop(unsafe { KBox::from_raw(kernel::container_of!(rcu, SharedSet, rcu)) });
}

/// Waits until no task is in a callback or a trampoline that sites led to. May sleep long; call it
/// without locks.
pub(crate) fn wait_for_trampolines() {
    ftrace::wait_for_tasks();
}

/// Tells whether the hits are out that something was kept for, see [`after_hits`].
pub(super) struct HitsOut(Arc<Atomic<bool>>);

impl HitsOut {
    /// Whether they are. Any context.
    pub(super) fn is_so(&self) -> bool {
        // Pairs with the release store in `run`.
        self.0.load(Acquire)
    }
}

/// Drops `what` in the background, once no task is in a callback or a trampoline that sites led to
/// until now. Without memory it waits here. Task context, may sleep.
pub(super) fn after_hits<T: Send + 'static>(what: T) -> Option<HitsOut> {
    if !ftrace::scheduler_runs() {
        return None;
    }
    let room = Arc::new(Atomic::new(false), GFP_KERNEL)
        .and_then(|out| Ok((out, KBox::<Later<T>>::new_uninit(GFP_KERNEL)?)));
    let Ok((out, room)) = room else {
        wait_for_trampolines();
        return None;
    };
    let Ok(later) = room.write_pin_init(Later::new(what, out.clone()));
    queues::any_cpu().enqueue(later);
    Some(HitsOut(out))
}

/// Something that waits to be dropped.
#[pin_data]
struct Later<T> {
    out: Arc<Atomic<bool>>,
    _what: T,
    #[pin]
    work: Work<Self>,
}

workqueue::impl_has_work! {
    impl{T: Send + 'static} HasWork<Self> for Later<T> { self.work }
}

impl<T: Send + 'static> Later<T> {
    fn new(what: T, out: Arc<Atomic<bool>>) -> impl PinInit<Self> {
        pin_init!(Self {
            out,
            _what: what,
            work <- new_work!("rtrace::after_hits"),
        })
    }
}

impl<T: Send + 'static> WorkItem for Later<T> {
    type Pointer = Pin<KBox<Self>>;

    fn run(this: Pin<KBox<Self>>) {
        wait_for_trampolines();
        // Pairs with the acquire load in `is_so`.
        this.out.store(true, Release);
    }
}
