// SPDX-License-Identifier: GPL-2.0

//! Work that any context, NMI included, leaves for the next moment at which interrupts are handled.
//!
//! A CPU that is on its way up or down is not online. The interrupt that it sends itself then is lost,
//! but the work stays in the CPU's list, and C sends the next interrupt only where that list was empty.
//! So no irq_work of the CPU would ever run again, be it SRCU's or perf's. Work that is asked for on
//! such a CPU is put off instead, until it has come up or has gone. With `PREEMPT_RT` a thread of the
//! CPU runs such work; that stops earlier, and starts later.
//!
//! C header: `include/linux/irq_work.h`.

use super::clock::HZ;
use super::{cpus, hotplug, queues};
use core::marker::PhantomPinned;
use core::ptr;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::{new_mutex, Arc, Mutex, SetOnce};
use kernel::time::Jiffies;
use kernel::types::Opaque;
use kernel::workqueue::{impl_has_delayed_work, new_delayed_work, DelayedWork, WorkItem};
use kernel::{bindings, container_of};

/// What an [`IrqWork`] runs: in hard interrupt context; with `PREEMPT_RT` in a thread of the CPU's.
/// Work that is queued again while it runs may run on two CPUs at a time.
pub(crate) trait Run: Send + Sync {
    /// The work. Must not sleep.
    fn run(&self);
}

/// Works that were put off, the last one first.
static PUT_OFF: Atomic<*mut Item> = Atomic::new(ptr::null_mut());

static EMPTYING: SetOnce<Arc<Emptying>> = SetOnce::new();

/// In jiffies: by then a CPU that has told of itself has mostly come or gone.
const SETTLES_IN: Jiffies = if HZ < 10 { 1 } else { (HZ / 10) as Jiffies };

/// Who empties [`PUT_OFF`].
#[pin_data]
struct Emptying {
    /// Taken by who has items of the list in hand.
    #[pin]
    one: Mutex<()>,
    #[pin]
    again: DelayedWork<Self>,
}

impl_has_delayed_work! {
    impl HasDelayedWork<Self> for Emptying { self.again }
}

impl WorkItem for Emptying {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        this.empty();
        if !cpus::are_settled() {
            this.empty_again();
        }
    }
}

impl Emptying {
    /// Queues what was put off. Task context, sleeps.
    fn empty(&self) {
        let _one = self.one.lock();
        // Pairs with the exchange in `put_off`.
        let mut at = PUT_OFF.xchg(ptr::null_mut(), ordering::Full);
        // SAFETY: what is in the list stays until it was taken out, with the lock held: see `drop`.
        while let Some(item) = unsafe { at.as_ref() } {
            at = item.next.load(Relaxed);
            // Before the work is queued: who finds it put off leaves all else to the run that comes now.
            // From here on it can be put off anew.
            item.is_put_off.xchg(false, ordering::Full);
            // This task runs on a CPU that runs such work: one that has just come up does so by now.
            // SAFETY: the work is initialised, pinned, and `drop` waits for it.
            unsafe { bindings::irq_work_queue(item.work.get()) };
        }
    }

    /// A CPU may put off more, in its last functions, or until it is active.
    fn empty_again(self: Arc<Self>) {
        // Where it is queued already, that run does.
        let _ = queues::any_cpu().enqueue_delayed(self, SETTLES_IN);
    }
}

/// Prepares for CPUs that come and go. Once, at boot, before any work. `ENOMEM`.
pub(crate) fn init() -> Result {
    let emptying = pin_init!(Emptying {
        one <- new_mutex!(()),
        again <- new_delayed_work!("rtrace::irq_work"),
    });
    EMPTYING.populate(Arc::pin_init(emptying, GFP_KERNEL)?);
    hotplug::at_change(|| {
        if let Some(emptying) = EMPTYING.as_ref() {
            emptying.empty();
            emptying.clone().empty_again();
        }
    })
}

/// What C knows of a work item.
///
/// # Invariants
///
/// `work` is initialised with a function that may be called with it as long as the item lives.
#[pin_data]
struct Item {
    #[pin]
    work: Opaque<bindings::irq_work>,
    /// The next one of [`PUT_OFF`].
    next: Atomic<*mut Item>,
    is_put_off: Atomic<bool>,
}

impl Item {
    /// # Safety
    ///
    /// `function` may be called with the item's `work` as long as the item lives.
    unsafe fn new(function: unsafe extern "C" fn(*mut bindings::irq_work)) -> impl PinInit<Self> {
        pin_init!(Self {
            // SAFETY: `slot` is the place of the work. INVARIANT: the caller's promise.
            work <- Opaque::ffi_init(|slot| unsafe { bindings::init_irq_work(slot, Some(function)) }),
            next: Atomic::new(ptr::null_mut()),
            is_put_off: Atomic::new(false),
        })
    }

    /// Any context.
    fn queue(&self, housekeeping: bool) {
        // SAFETY: the work is initialised, pinned, and `drop` waits for it on whatever CPU it is.
        if !unsafe { bindings::rtrace_irq_work_queue(self.work.get(), housekeeping) } {
            self.put_off();
        }
    }

    #[cold]
    fn put_off(&self) {
        if self.is_put_off.xchg(true, ordering::Full) {
            return;
        }
        let own = ptr::from_ref(self).cast_mut();
        let mut first = PUT_OFF.load(Relaxed);
        loop {
            self.next.store(first, Relaxed);
            match PUT_OFF.cmpxchg(first, own, ordering::Full) {
                Ok(_) => return,
                Err(other) => first = other,
            }
        }
    }
}

/// A work item around its data.
///
/// # Invariants
///
/// `item` runs `call::<T>` and lies in an `IrqWork<T>`.
#[pin_data(PinnedDrop)]
pub(crate) struct IrqWork<T: Run> {
    #[pin]
    item: Item,
    data: T,
    #[pin]
    _pin: PhantomPinned,
}

// SAFETY: the C side has its own synchronisation; `T` may be sent anywhere (`Run`).
unsafe impl<T: Run> Send for IrqWork<T> {}
// SAFETY: any CPU may queue the work by a shared reference, and `T` may be used from all (`Run`).
unsafe impl<T: Run> Sync for IrqWork<T> {}

impl<T: Run> IrqWork<T> {
    /// Work that will run `data`.
    pub(crate) fn new(data: T) -> impl PinInit<Self> {
        pin_init!(Self {
            // SAFETY: the item lies in an `IrqWork<T>`, which lives as long. INVARIANT: it does, and its
            // function is `call::<T>`.
            item <- unsafe { Item::new(call::<T>) },
            data,
            _pin: PhantomPinned,
        })
    }

    /// Asks for a run; nothing happens when one is asked for already. Any context.
    pub(crate) fn queue(&self) {
        self.item.queue(false);
    }

    /// As [`IrqWork::queue`], but runs the work on a housekeeping CPU where this one is kept free
    /// of the kernel's noise (`nohz_full=`); an NMI cannot interrupt another CPU. Any context.
    pub(crate) fn queue_housekeeping(&self) {
        self.item.queue(true);
    }
}

/// # Safety
///
/// `work` is the field of the item of a live `IrqWork<T>`.
unsafe extern "C" fn call<T: Run>(work: *mut bindings::irq_work) {
    // SAFETY: `work` is the field of an item.
    let item = unsafe { container_of!(Opaque::cast_from(work), Item, work) };
    // SAFETY: the item is that of a live `IrqWork<T>`.
    let this = unsafe { &*container_of!(item, IrqWork<T>, item) };
    this.data.run();
}

#[pinned_drop]
impl<T: Run> PinnedDrop for IrqWork<T> {
    fn drop(self: Pin<&mut Self>) {
        // Nobody has the item in hand after that.
        if let Some(emptying) = EMPTYING.as_ref() {
            emptying.empty();
        }
        // SAFETY: the work is initialised; once this returns it does not run any more, and nobody
        // is left to queue it. Owners of buffers go in task context, where waiting is allowed.
        unsafe { bindings::irq_work_sync(self.item.work.get()) };
    }
}
