// SPDX-License-Identifier: GPL-2.0

//! [`FileList`]: the files that get the hits of an event.
//!
//! The links are in the files, where C's `struct trace_event_file` has those of its own list, so a
//! change needs no memory and cannot fail.

use super::File;
use crate::kernel::context::PreemptOff;
use crate::kernel::rcu_slot::Readers;
use core::iter::successors;
use kernel::bindings;
use kernel::sync::atomic::{ordering, Atomic};

/// The files of an event, in the order in which they came.
///
/// # Invariants
///
/// A file that a reader can get to from here stays until the reader is out.
pub(crate) struct FileList<T>(Atomic<*mut File<T>>);

// SAFETY: it gives out `&File<T>` alone, which any context may use if `T` may be.
unsafe impl<T: Send + Sync> Send for FileList<T> {}
// SAFETY: it gives out `&File<T>` alone, which any CPU may use at once if `T` may be.
unsafe impl<T: Send + Sync> Sync for FileList<T> {}

/// The files of an event but for the first.
pub(crate) struct OtherFiles<'a, T>(Option<&'a File<T>>);

impl<'a, T> OtherFiles<'a, T> {
    /// Whether there is none.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a File<T>> + use<'a, T> {
        // SAFETY: the files were found in a list, with preemption off for `'a`.
        successors(self.0, |file| unsafe { next(file) })
    }
}

/// The link of `file` to the next one.
fn link<T>(file: &File<T>) -> &Atomic<*mut File<T>> {
    // SAFETY: an aligned word of the size of a pointer, which lives as long as `file` and is used as
    // an atomic one.
    unsafe { Atomic::from_ptr((&raw mut (*file.as_ptr()).list.next).cast()) }
}

/// Who may still have been at `file` when it was taken out.
fn readers<T>(file: &File<T>) -> &Atomic<usize> {
    // SAFETY: as in `link`.
    unsafe { Atomic::from_ptr((&raw mut (*file.as_ptr()).list.prev).cast()) }
}

/// What comes after `file`.
///
/// # Safety
///
/// `file` was found in a list, and preemption is off since and for `'a`.
#[inline(always)]
unsafe fn next<T>(file: &File<T>) -> Option<&File<T>> {
    // SAFETY: by the invariant of the list null or a file that stays. Pairs with the stores of `push`
    // and `remove`.
    unsafe { link(file).load(ordering::Acquire).as_ref() }
}

impl<T> FileList<T> {
    /// Empty.
    pub(crate) const fn new() -> Self {
        // INVARIANT: there is none.
        Self(Atomic::new(core::ptr::null_mut()))
    }

    /// Whether there is none. Any context, by one load.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(ordering::Relaxed).is_null()
    }

    /// Whether `file` is here and no other one. Any context.
    pub(crate) fn is_only(&self, file: &File<T>) -> bool {
        core::ptr::eq(self.0.load(ordering::Relaxed), file)
            && link(file).load(ordering::Relaxed).is_null()
    }

    /// The first file, and the others. Any context.
    #[inline(always)]
    pub(crate) fn get<'a>(
        &'a self,
        _stay: &'a PreemptOff,
    ) -> Option<(&'a File<T>, OtherFiles<'a, T>)> {
        // SAFETY: preemption is off for `'a`, so that by the invariant the files stay. Pairs with the
        // store of `push`.
        unsafe {
            let first = self.0.load(ordering::Acquire).as_ref()?;
            Some((first, OtherFiles(next(first))))
        }
    }

    /// Each file. Any context.
    #[cfg(any(CONFIG_EPROBE_EVENTS, CONFIG_SYNTH_EVENTS, CONFIG_USER_EVENTS))]
    #[inline(always)]
    pub(crate) fn iter<'a>(&'a self, _stay: &'a PreemptOff) -> impl Iterator<Item = &'a File<T>> {
        // SAFETY: as in `get`.
        unsafe { successors(self.0.load(ordering::Acquire).as_ref(), |file| next(file)) }
    }

    /// Adds `file` behind the others. If it was here before, this waits for who was on the way then: such
    /// a reader would miss what was behind it, or meet it twice. Task context, sleeps.
    ///
    /// # Safety
    ///
    /// Changes come one at a time. `file` is in no list, and stays until it was taken out and readers
    /// were waited for.
    pub(crate) unsafe fn push(&self, file: &File<T>) {
        let own = link(file);
        let before = readers(file).load(ordering::Relaxed);
        if before != 0 && !(self.is_empty() && own.load(ordering::Relaxed).is_null()) {
            Readers::from_raw(before).wait();
        }
        own.store(core::ptr::null_mut(), ordering::Relaxed);
        // INVARIANT: by the contract.
        self.find(core::ptr::null())
            .store(core::ptr::from_ref(file).cast_mut(), ordering::Release);
    }

    /// Takes `file` out, if it is here. A reader may still be at it. Task context.
    ///
    /// # Safety
    ///
    /// Changes come one at a time.
    pub(crate) unsafe fn remove(&self, file: &File<T>) {
        let place = self.find(file);
        if place.load(ordering::Relaxed).is_null() {
            return;
        }
        // INVARIANT: what `file` links to stays in the list. A reader that is at `file` finds it there
        // even if it is taken out later, as it then stays until that reader is out.
        place.store(link(file).load(ordering::Relaxed), ordering::Release);
        readers(file).store(Readers::now().into_raw(), ordering::Relaxed);
    }

    /// The link to `file`, or the last one, which is null.
    fn find(&self, file: *const File<T>) -> &Atomic<*mut File<T>> {
        let mut place = &self.0;
        loop {
            let at = place.load(ordering::Relaxed);
            if at.is_null() || at.cast_const() == file {
                return place;
            }
            // SAFETY: what is in the list stays, as changes come one at a time.
            place = link(unsafe { &*at });
        }
    }
}

const _: () = assert!(
    size_of::<bindings::list_head>() == 2 * size_of::<usize>()
        && core::mem::offset_of!(bindings::trace_event_file, list) == 0
);
