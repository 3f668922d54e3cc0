// SPDX-License-Identifier: GPL-2.0

//! What tasks with common memory have for user events: data of ours, and bits in their memory that
//! other tasks change.
//!
//! C header: `include/linux/user_events.h`, whose inline functions count the tasks.

use crate::kernel::queues;
use core::ptr::{addr_of_mut, null_mut};
use kernel::bindings;
use kernel::mm::virt::{flags, VmaRef};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, ArcBorrow};
use kernel::types::Opaque;
use kernel::workqueue::{self, new_work, Work, WorkItem};

/// The data of one of them.
pub(crate) trait Data: Send + Sync + Sized + 'static {
    /// Runs some time after [`UserEventMm::queue`], in a kernel thread, which may sleep.
    fn run(of: &Arc<UserEventMm<Self>>);
}

/// Tasks with common memory. Threads that were there before the first of them had one may have
/// another.
///
/// # Invariants
///
/// `raw.mm` is a memory descriptor that this holds, though perhaps not its mappings. A task whose
/// `user_event_mm` leads here is counted in `raw.tasks`; while that is not 0 there is one count of the
/// `Arc` for all of them.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(crate) struct UserEventMm<T: Data> {
    /// The first field: tasks have its address.
    raw: Opaque<bindings::user_event_mm>,
    #[pin]
    work: Work<Self>,
    #[pin]
    data: T,
}

// SAFETY: the C structure is constant but for a count; the data may be sent.
unsafe impl<T: Data> Send for UserEventMm<T> {}
// SAFETY: the C structure is constant but for a count; the data may be shared.
unsafe impl<T: Data> Sync for UserEventMm<T> {}

workqueue::impl_has_work! {
    impl{T: Data} HasWork<Self> for UserEventMm<T> { self.work }
}

impl<T: Data> WorkItem for UserEventMm<T> {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        T::run(&this);
    }
}

impl<T: Data> UserEventMm<T> {
    /// One for `task`, which is counted in it. Task context, may sleep. `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `task` is live and has memory, which stays during the call.
    unsafe fn new(task: *mut bindings::task_struct, data: impl PinInit<T>) -> Result<Arc<Self>> {
        let made = pin_init!(Self {
            work <- new_work!("rtrace::user_events"),
            data <- data,
            raw: Opaque::zeroed(),
        });
        let made = Arc::pin_init(made, GFP_KERNEL_ACCOUNT)?;
        let raw = made.raw.get();
        // SAFETY: the task's memory stays during the call; nobody else has the new structure.
        unsafe {
            // INVARIANT: it is held from now on.
            (*raw).mm = (*task).mm;
            bindings::mmgrab((*raw).mm);
            bindings::refcount_set(addr_of_mut!((*raw).tasks), 1);
        }
        Ok(made)
    }

    /// The current task's, which is made if there is none; `added` gets a new one first. Task context,
    /// may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a task without memory, `ENOMEM`, and those of `added`.
    pub(crate) fn of_current(
        data: impl PinInit<T>,
        added: impl FnOnce(&Arc<Self>) -> Result,
    ) -> Result<Arc<Self>> {
        if let Some(known) = Self::known() {
            return Ok(known);
        }
        // SAFETY: the current task is live, and its memory stays while it runs.
        unsafe {
            let task = bindings::get_current();
            if (*task).mm.is_null() {
                return Err(EINVAL);
            }
            let made = Self::new(task, data)?;
            added(&made)?;
            // INVARIANT: the task is counted, and has one count of the `Arc`.
            (*task).user_event_mm = Arc::into_raw(made.clone()).cast_mut().cast();
            Ok(made)
        }
    }

    /// The current task's, if it has one.
    pub(crate) fn known() -> Option<Arc<Self>> {
        // SAFETY: only the current task changes its own pointer, which is null or leads to one of
        // these, of which the tasks have a count.
        unsafe {
            let known = (*bindings::get_current()).user_event_mm;
            (!known.is_null()).then(|| ArcBorrow::from_raw(known.cast::<Self>()).into())
        }
    }

    /// One for `task`, a new one with a copy of the memory of `of`; `added` gets it first. Without
    /// memory the task has none. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of `added`.
    ///
    /// # Safety
    ///
    /// `task` does not run yet, and has memory of its own; `of` is that of a live task.
    pub(crate) unsafe fn dup<D: PinInit<T>>(
        task: *mut bindings::task_struct,
        of: *mut bindings::user_event_mm,
        data: impl FnOnce(&Self) -> Result<D>,
        added: impl FnOnce(&Arc<Self>) -> Result,
    ) -> Result {
        // SAFETY: nobody else has the task yet; by the invariant `of` is one of these, and stays
        // while a task has it.
        unsafe {
            (*task).user_event_mm = null_mut();
            let of = &*of.cast::<Self>();
            let made = Self::new(task, data(of)?)?;
            added(&made)?;
            // INVARIANT: the task is counted, and has one count of the `Arc`.
            (*task).user_event_mm = Arc::into_raw(made).cast_mut().cast();
        }
        Ok(())
    }

    /// `task` has none any more. Gives it if that was the last of its tasks. Task context.
    ///
    /// # Safety
    ///
    /// `task` is the current one, and has one.
    pub(crate) unsafe fn left(task: *mut bindings::task_struct) -> Option<Arc<Self>> {
        // SAFETY: only the current task changes its pointer, which by the invariant leads to one of
        // these; the last task gives back the count of them all.
        unsafe {
            let raw = (*task).user_event_mm;
            (*task).user_event_mm = null_mut();
            bindings::refcount_dec_and_test(addr_of_mut!((*raw).tasks))
                .then(|| Arc::from_raw(raw.cast::<Self>()))
        }
    }

    /// The data.
    pub(crate) fn data(&self) -> &T {
        &self.data
    }

    /// Has [`Data::run`] run later. Any context but NMI.
    pub(crate) fn queue(this: &Arc<Self>) {
        // It is queued already if this fails, and has not begun.
        let _ = queues::any_cpu().enqueue(this.clone());
    }

    /// Calls `f` with the memory while it has mappings, with the lock for reading. Task context,
    /// sleeps. `ENOENT` if it has none any more.
    fn with_mappings<R>(&self, f: impl FnOnce(*mut bindings::mm_struct) -> R) -> Result<R> {
        // SAFETY: by the invariant the descriptor is there; its users are held during `f`, and given
        // back where that may be the last thing that happens to the mappings.
        unsafe {
            let mm = (*self.raw.get()).mm;
            if !bindings::mmget_not_zero(mm) {
                return Err(ENOENT);
            }
            bindings::mmap_read_lock(mm);
            let result = f(mm);
            bindings::mmap_read_unlock(mm);
            bindings::mmput_async(mm);
            Ok(result)
        }
    }

    /// Sets or clears a bit of the memory, atomically and without a page fault: bit `number` of the
    /// word at `address`, which has 4 or 8 bytes and is aligned. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EFAULT` if the page is not there, or not to be written without a fault; `ENOENT` if the memory
    /// has no mappings any more.
    pub(crate) fn write_bit(&self, address: usize, number: u8, on: bool) -> Result {
        let (word, number) = place(address, number);
        self.with_mappings(|mm| {
            let mut page = null_mut();
            // SAFETY: the mappings are locked for reading; the page is pinned as long as it is written
            // to, and an aligned word is within it.
            unsafe {
                let pinned = bindings::pin_user_pages_remote(
                    mm,
                    word,
                    1,
                    bindings::FOLL_WRITE | bindings::FOLL_NOFAULT,
                    &mut page,
                    null_mut(),
                );
                if pinned <= 0 {
                    return Err(EFAULT);
                }
                let mapped = bindings::kmap_local_page(page);
                let place = mapped.cast::<u8>().add(word % bindings::PAGE_SIZE).cast();
                match on {
                    true => bindings::set_bit(number, place),
                    false => bindings::clear_bit(number, place),
                }
                bindings::kunmap_local(mapped);
                bindings::unpin_user_pages_dirty_lock(&mut page, 1, true);
            }
            Ok(())
        })?
    }

    /// Such a bit. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EFAULT` if it cannot be read without a page fault, `ENOENT` where the memory has no mapping that
    /// can be written.
    pub(crate) fn read_bit(&self, address: usize, number: u8) -> Result<bool> {
        let (word, number) = place(address, number);
        self.with_mappings(|mm| {
            let mut page = null_mut();
            // SAFETY: the mappings are locked for reading, so that one that is found stays; the page is
            // held as long as it is read, and an aligned word is within it. The program may write it
            // meanwhile: it is read once.
            unsafe {
                let held = bindings::get_user_pages_remote(
                    mm,
                    word,
                    1,
                    bindings::FOLL_NOFAULT,
                    &mut page,
                    null_mut(),
                );
                if held <= 0 {
                    let mapping = bindings::vma_lookup(mm, word);
                    let is_writable =
                        !mapping.is_null() && VmaRef::from_raw(mapping).flags() & flags::WRITE != 0;
                    return Err(if is_writable { EFAULT } else { ENOENT });
                }
                let mapped = bindings::kmap_local_page(page);
                let place = mapped.cast::<u8>().add(word % bindings::PAGE_SIZE);
                let value = place.cast::<u64>().read_volatile();
                bindings::kunmap_local(mapped);
                bindings::put_page(page);
                Ok(value >> number & 1 != 0)
            }
        })?
    }

    /// Has the page at `address` there to be written, by a page fault. Task context, sleeps, perhaps
    /// for as long as a program likes.
    ///
    /// # Errors
    ///
    /// `EFAULT` if there can be none, `ENOENT` if the memory has no mappings any more, `EINTR`,
    /// `ENOMEM`.
    pub(crate) fn fault_in(&self, address: usize) -> Result {
        let flags = bindings::fault_flag_FAULT_FLAG_WRITE | bindings::fault_flag_FAULT_FLAG_REMOTE;
        let mut unlocked = false;
        // SAFETY: the mappings are locked for reading, and are so again afterwards.
        let error = self.with_mappings(|mm| unsafe {
            bindings::fixup_user_fault(mm, address, flags, &mut unlocked)
        })?;
        kernel::error::to_result(error)
    }
}

/// The word of 8 bytes that has the bit, and its number there.
fn place(address: usize, number: u8) -> (usize, usize) {
    let above = if address & 4 != 0 { 32 } else { 0 };
    (
        address & !7,
        (usize::from(number) & 63).saturating_add(above) & 63,
    )
}

#[pinned_drop]
impl<T: Data> PinnedDrop for UserEventMm<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: by the invariant it is held, but for one that was not completed.
        unsafe {
            let mm = (*self.raw.get()).mm;
            if !mm.is_null() {
                bindings::mmdrop(mm);
            }
        }
    }
}

/// Whether the current task may have events that stay. Any context of a task.
pub(crate) fn may_persist() -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::perfmon_capable() }
}

/// The number of the sysctl `kernel.user_events_max`, which `abi/dynamic.c` registers and C writes.
#[export_name = "rtrace_user_events_max"]
static MAX_EVENTS: Atomic<u32> = Atomic::new(32768);

/// As many user events as there may be. Any context.
pub(crate) fn max_events() -> u32 {
    MAX_EVENTS.load(Relaxed)
}
