// SPDX-License-Identifier: GPL-2.0

//! Files of events by a number, for probes that many events share.

use super::trace_event::File;
use core::ptr::{from_ref, null_mut};
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::SetOnce;

/// Files of events by numbers below a bound. Memory is there from the first file on.
///
/// # Invariants
///
/// A word is null, or the address of a file that stays until it was taken out and all that may be
/// in [`FileTable::with`] were waited for.
pub(crate) struct FileTable<T> {
    size: usize,
    files: SetOnce<KVec<Atomic<*mut File<T>>>>,
    /// The number of files. Changed with the events lock held.
    count: Atomic<u32>,
}

// SAFETY: it gives out `&File<T>` to any context.
unsafe impl<T: Send + Sync> Send for FileTable<T> {}
// SAFETY: the words are atomic, and any CPU gets `&File<T>` from them.
unsafe impl<T: Send + Sync> Sync for FileTable<T> {}

impl<T> FileTable<T> {
    /// For numbers below `size`.
    pub(crate) const fn new(size: usize) -> Self {
        // INVARIANT: there is no word yet.
        Self {
            size,
            files: SetOnce::new(),
            count: Atomic::new(0),
        }
    }

    fn prepare(&self) -> Result {
        if self.files.as_ref().is_some() {
            return Ok(());
        }
        let mut files = KVec::with_capacity(self.size, GFP_KERNEL)?;
        for _ in 0..self.size {
            files.push(Atomic::new(null_mut()), GFP_KERNEL)?;
        }
        self.files.populate(files);
        Ok(())
    }

    /// Puts `file` at `number`, where none is; says whether it is the first file. Task context, may
    /// sleep; the caller holds the events lock.
    ///
    /// # Errors
    ///
    /// `ENOSYS` for a number that is too large, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// The file stays until [`FileTable::take_out`], and until all that may be in
    /// [`FileTable::with`] were waited for after that.
    pub(crate) unsafe fn put(&self, number: usize, file: &File<T>) -> Result<bool> {
        self.prepare()?;
        let word = self.files.as_ref().and_then(|files| files.get(number));
        // Pairs with the acquire in `with`. INVARIANT: by the precondition.
        word.ok_or(ENOSYS)?
            .store(from_ref(file).cast_mut(), ordering::Release);
        let before = self.count.load(Relaxed);
        self.count.store(before + 1, Relaxed);
        Ok(before == 0)
    }

    /// Undoes [`FileTable::put`]; says whether it was the last file. Task context; the caller holds
    /// the events lock.
    pub(crate) fn take_out(&self, number: usize) -> bool {
        if let Some(word) = self.files.as_ref().and_then(|files| files.get(number)) {
            // INVARIANT: null.
            word.store(null_mut(), Relaxed);
        }
        let left = self.count.load(Relaxed).saturating_sub(1);
        self.count.store(left, Relaxed);
        left == 0
    }

    /// Runs `f` on the file at `number`, if there is one.
    ///
    /// # Safety
    ///
    /// In a probe, such as is waited for after [`FileTable::take_out`].
    #[inline(always)]
    pub(crate) unsafe fn with(&self, number: usize, f: impl FnOnce(&File<T>)) {
        let Some(word) = self.files.as_ref().and_then(|files| files.get(number)) else {
            return;
        };
        // Pairs with the release in `put`. SAFETY: by the invariant the file stays until this probe
        // was waited for, and `f` ends before it.
        if let Some(file) = unsafe { word.load(ordering::Acquire).as_ref() } {
            f(file);
        }
    }
}
