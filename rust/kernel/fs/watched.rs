// SPDX-License-Identifier: GPL-2.0

//! A file whose watchers are told of changes that no `write(2)` makes.
//!
//! The change may be found in any context, with the lock of a run queue held, or in an NMI. So an
//! interrupt queues a work item, and the work item tells them.
//!
//! What is announced may be the announcement: with `tracing_thresh` at a microsecond the interrupt is
//! long enough to be reported, its report asks for the next one, and the CPU does nothing else. So
//! the work item sleeps for [`PAUSE`], and there is no second interrupt until it has. It does so on
//! another CPU where some are isolated: a timer or a worker of this one would be the next that is
//! measured.
//!
//! C header: `include/linux/fsnotify.h`.

use super::pseudo_fs::{FileType, OpenFlags, Opening};
use crate::kernel::clock::HZ;
use crate::kernel::irq_work::{self, IrqWork};
use crate::kernel::queues;
use core::ptr;
use kernel::bindings;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::sync::{Arc, Mutex};
use kernel::time::{delay::fsleep, Delta};
use kernel::workqueue::{self, new_work, Work, WorkItem};

/// How long changes are gathered for one message: a tick.
const PAUSE: Delta = Delta::from_micros(1_000_000 / HZ as i64);

/// The inode of a file, while it has one.
///
/// # Invariants
///
/// The pointer is null or an inode whose eviction is not over: that takes the lock to make it null.
struct Place(*mut bindings::inode);

// SAFETY: an inode may be used on any CPU, and `Watched` guards the pointer with a lock.
unsafe impl Send for Place {}

/// The file.
#[pin_data]
pub(crate) struct Watched {
    #[pin]
    place: Mutex<Place>,
    /// Whether a run of `work` is asked for that has yet to tell.
    is_asked: Atomic<bool>,
    #[pin]
    work: Work<Self>,
}

workqueue::impl_has_work! {
    impl HasWork<Self> for Watched { self.work }
}

impl WorkItem for Watched {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        fsleep(PAUSE);
        // A change from here on needs a message of its own.
        this.is_asked.xchg(false, ordering::Full);
        this.tell();
    }
}

impl Watched {
    /// A file that is not created yet. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let new = pin_init!(Self {
            // INVARIANT: null.
            place <- new_mutex!(Place(ptr::null_mut())),
            is_asked: Atomic::new(false),
            work <- new_work!("rtrace::watched"),
        });
        Ok(Arc::pin_init(new, GFP_KERNEL)?)
    }

    /// Tells those who watch the file that it was modified. Task context, may sleep.
    fn tell(&self) {
        let place = self.place.lock();
        if place.0.is_null() {
            return;
        }
        // SAFETY: the inode's eviction is not over, by the invariant.
        let inode = unsafe { bindings::igrab(place.0) };
        // The last `iput()` evicts, and that takes the lock.
        drop(place);
        if !inode.is_null() {
            // SAFETY: `igrab` took the reference that is put here.
            unsafe {
                bindings::fsnotify_inode(inode, bindings::FS_MODIFY);
                bindings::iput(inode);
            }
        }
    }

    /// Makes `inode` the file.
    ///
    /// # Safety
    ///
    /// `inode` is valid, and the [`WatchedFile`] of this file is attached to it: it is dropped when
    /// the inode is evicted.
    pub(super) unsafe fn set_inode(&self, inode: *mut bindings::inode) {
        // INVARIANT: the drop of the `WatchedFile` is a part of the eviction.
        self.place.lock().0 = inode;
    }
}

/// What such a file is besides.
pub(super) struct WatchedFile {
    pub(super) of: KBox<dyn FileType>,
    pub(super) watched: Arc<Watched>,
}

impl FileType for WatchedFile {
    fn open(&self, how: &OpenFlags) -> Result<Opening> {
        self.of.open(how)
    }
}

impl Drop for WatchedFile {
    fn drop(&mut self) {
        // INVARIANT: null.
        self.watched.place.lock().0 = ptr::null_mut();
    }
}

/// Asks for [`Watched::tell`].
struct Soon(Arc<Watched>);

impl irq_work::Run for Soon {
    fn run(&self) {
        // `is_asked` lets one interrupt by for each run. That run may be in its last steps yet; then
        // the item is queued again.
        let _ = queues::any_cpu().enqueue(self.0.clone());
    }
}

/// Announces changes of a [`Watched`] file.
pub(crate) struct Announcer {
    of: Arc<Watched>,
    soon: Pin<KBox<IrqWork<Soon>>>,
}

impl Announcer {
    /// Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(of: Arc<Watched>) -> Result<Self> {
        let soon = KBox::pin_init(IrqWork::new(Soon(of.clone())), GFP_KERNEL)?;
        Ok(Self { of, soon })
    }

    /// Has those who watch the file told that it was modified. Many changes may become one message.
    /// Any context.
    pub(crate) fn announce(&self) {
        if !self.of.is_asked.xchg(true, ordering::Full) {
            self.soon.queue();
        }
    }
}
