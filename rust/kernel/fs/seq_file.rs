// SPDX-License-Identifier: GPL-2.0

//! Listings read through C's `seq_file`: of any length, one row at a time.
//!
//! A file's [`Rows`] start a [`Cursor`] at some row, which shows rows and moves on until the
//! reader's buffer is full; then it is dropped, and the next read starts another where that one
//! stopped. A row that did not fit is shown again, so showing must not change anything.
//!
//! C header: `include/linux/seq_file.h`, text: `Documentation/filesystems/seq_file.rst`.

use super::pseudo_fs::Opened;
use crate::kernel::interop::errno;
use core::{cell::UnsafeCell, fmt, mem::transmute, ptr};
use kernel::{bindings, prelude::*};

/// Something that can be listed from any row on.
pub(crate) trait Rows: Send + Sync {
    /// A cursor on row `at`, counted from 0; `None` when there are no more than `at` rows.
    ///
    /// Called at the beginning of each read. What the cursor holds (a lock's guard, for example) is
    /// held until the end of that read, in the same task.
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>>;
}

/// A place in a listing, on a row that exists.
pub(crate) trait Cursor {
    /// Prints the row. An error ends the read with that errno (if nothing was printed before).
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result;

    /// Moves to the next row; false when this was the last one, and then nothing more is called.
    fn next(&mut self) -> bool;

    /// The number of the row now, for listings that leave numbers out: at the start it may be more
    /// than what was asked for. `None` means one more than before.
    fn number(&self) -> Option<u64> {
        None
    }
}

/// Where a row is printed. Printing never fails: when the buffer is full the row is shown again in
/// a larger one.
pub(crate) struct SeqOut<'a>(&'a mut bindings::seq_file);

impl SeqOut<'_> {
    /// Prints bytes as they are. Does what `seq_write()` does, without a call: that function could
    /// be traced, and a listing calls it for each row.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let seq = &mut *self.0;
        if bytes.len() >= seq.size.saturating_sub(seq.count) {
            // As `seq_set_overflow()`.
            seq.count = seq.size;
            return;
        }
        // SAFETY: the buffer has `size` bytes, of which `count` are used. Those behind them are
        // enough, as was just checked, and nobody else uses them while `show` runs.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), seq.buf.add(seq.count).cast(), bytes.len())
        };
        seq.count = seq.count.wrapping_add(bytes.len());
    }
}

impl fmt::Write for SeqOut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}

/// The cursor of a read in progress.
///
/// # Invariants
///
/// The cell is touched only by the four `seq_operations` below, which C calls with the `seq_file`'s
/// mutex held, and by the drop of its owner. The cursor's true lifetime is that of the
/// `Opened::file` beside it, which does not move (it is boxed) and outlives it.
pub(super) struct Reading(UnsafeCell<Option<KBox<dyn Cursor>>>);

// SAFETY: by the invariant one task at a time uses the cell, and C starts, uses and stops a cursor
// within one read of one task.
unsafe impl Send for Reading {}
// SAFETY: by the invariant only who holds the mutex of the `seq_file` touches the cell.
unsafe impl Sync for Reading {}

impl Reading {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(None))
    }
}

static OPERATIONS: bindings::seq_operations = bindings::seq_operations {
    start: Some(start),
    stop: Some(stop),
    next: Some(next),
    show: Some(show),
};

/// Makes `file` a `seq_file` that lists the rows of `opened`.
///
/// # Safety
///
/// `file` is being opened and has no private data yet.
pub(super) unsafe fn open(file: *mut bindings::file, opened: KBox<Opened>) -> Result {
    // SAFETY: `file` is being opened and has no private data, and the operations are static.
    kernel::error::to_result(unsafe { bindings::seq_open(file, &OPERATIONS) })?;
    // SAFETY: `seq_open` succeeded and made the private data a `seq_file`.
    unsafe {
        let seq = (*file).private_data.cast::<bindings::seq_file>();
        (*seq).private = KBox::into_raw(opened).cast();
    }
    Ok(())
}

/// Undoes [`open`].
///
/// # Safety
///
/// [`open`] succeeded for `file`, which is being released.
pub(super) unsafe fn release(file: *mut bindings::file) {
    // SAFETY: `open` made both; nobody uses the file any more.
    unsafe {
        let seq = (*file).private_data.cast::<bindings::seq_file>();
        let opened = KBox::<Opened>::from_raw((*seq).private.cast());
        bindings::seq_release(ptr::null_mut(), file);
        drop(opened);
    }
}

/// Seeks a listing; a file not open for reading is always at 0, which makes `>>` of a shell work.
///
/// # Safety
///
/// `file` is an open file that [`open`] succeeded for.
pub(super) unsafe extern "C" fn llseek(
    file: *mut bindings::file,
    offset: bindings::loff_t,
    whence: c_int,
) -> bindings::loff_t {
    // SAFETY: `file` is open, with a `seq_file` if it may be read; the VFS serialises seeks by the
    // position's lock.
    unsafe {
        if (*file).f_mode & bindings::FMODE_READ != 0 {
            bindings::seq_lseek(file, offset, whence)
        } else {
            (*file).f_pos = 0;
            0
        }
    }
}

/// The opened file behind a `seq_file`.
///
/// # Safety
///
/// `seq` was made by [`open`]; the result is used no longer than the operation lasts.
unsafe fn opened<'a>(seq: *mut bindings::seq_file) -> &'a Opened {
    // SAFETY: `open` stored it, `release` alone takes it away, after the last operation.
    unsafe { &*(*seq).private.cast::<Opened>() }
}

/// The cursor's cell.
///
/// # Safety
///
/// Called from a `seq_operations` function of `seq`, once in each.
unsafe fn cell<'a>(seq: *mut bindings::seq_file) -> &'a mut Option<KBox<dyn Cursor>> {
    // SAFETY: by the invariant of `Reading`; the mutex is held in every operation.
    unsafe { &mut *opened(seq).reading.0.get() }
}

/// What C passes around as the current element: its value does not matter but for null and errors.
fn element(seq: *mut bindings::seq_file) -> *mut c_void {
    seq.cast()
}

/// The position of C that stands for the cursor's row, where the cursor knows its number.
fn position(cursor: &dyn Cursor) -> Option<bindings::loff_t> {
    cursor.number()?.try_into().ok()
}

/// # Safety
///
/// As C calls `start` of `struct seq_operations`, for a `seq_file` of [`open`], its mutex held.
unsafe extern "C" fn start(
    seq: *mut bindings::seq_file,
    pos: *mut bindings::loff_t,
) -> *mut c_void {
    // SAFETY: C passes our `seq_file` and its own position.
    let (opened, pos) = unsafe { (opened(seq), &mut *pos) };
    let rows = opened.file.rows().ok_or(EINVAL);
    let cursor = match rows.and_then(|rows| rows.start(u64::try_from(*pos).map_err(|_| EINVAL)?)) {
        Ok(Some(cursor)) => cursor,
        Ok(None) => return ptr::null_mut(),
        Err(e) => return e.to_ptr(),
    };
    *pos = position(&*cursor).unwrap_or(*pos);
    // SAFETY: only the lifetime changes; by the invariant of `Reading` the cursor is dropped before
    // what it borrows from.
    let cursor = unsafe { transmute::<KBox<dyn Cursor + '_>, KBox<dyn Cursor>>(cursor) };
    // SAFETY: this is an operation of `seq`.
    unsafe { *cell(seq) = Some(cursor) };
    element(seq)
}

/// # Safety
///
/// As C calls `next` of `struct seq_operations`, for a `seq_file` of [`open`], its mutex held.
unsafe extern "C" fn next(
    seq: *mut bindings::seq_file,
    _element: *mut c_void,
    pos: *mut bindings::loff_t,
) -> *mut c_void {
    // SAFETY: C passes its own position, and this is an operation of `seq`.
    let (cursor, pos) = unsafe { (cell(seq), &mut *pos) };
    let more = cursor
        .as_mut()
        .and_then(|cursor| cursor.next().then_some(cursor));
    *pos = more
        .as_ref()
        .and_then(|cursor| position(&***cursor))
        .unwrap_or(pos.wrapping_add(1));
    match more {
        Some(_) => element(seq),
        None => ptr::null_mut(),
    }
}

/// # Safety
///
/// As C calls `show` of `struct seq_operations`, for a `seq_file` of [`open`], its mutex held.
unsafe extern "C" fn show(seq: *mut bindings::seq_file, _element: *mut c_void) -> c_int {
    // SAFETY: this is an operation of `seq`; the cell is not in the `seq_file`, so the borrows are
    // disjoint.
    let (cursor, out) = unsafe { (cell(seq), &mut *seq) };
    let Some(cursor) = cursor else {
        return 0;
    };
    errno(cursor.show(&mut SeqOut(out)))
}

/// # Safety
///
/// As C calls `stop` of `struct seq_operations`, for a `seq_file` of [`open`], its mutex held.
unsafe extern "C" fn stop(seq: *mut bindings::seq_file, _element: *mut c_void) {
    // SAFETY: this is an operation of `seq`.
    drop(unsafe { cell(seq).take() });
}
