// SPDX-License-Identifier: GPL-2.0

//! Results as errnos, and static tables of functions for C.

use kernel::ffi::c_int;
use kernel::prelude::*;

/// 0, or the errno as a negative number.
pub(crate) fn errno(result: Result) -> c_int {
    result.map_or_else(|error| error.to_errno(), |()| 0)
}

/// A table of C's that may be a static though there are raw pointers in it. It is never written.
#[repr(transparent)]
pub(super) struct Table<T>(pub(super) T);

// SAFETY: a table is never written, and a [`CTable`] has nothing that changes through a shared
// reference.
unsafe impl<T: CTable> Sync for Table<T> {}

/// A C structure of functions, numbers and pointers to what is constant.
///
/// # Safety
///
/// Nothing in it changes through a shared reference, and any CPU may follow its pointers.
pub(super) unsafe trait CTable {}

/// Says so of C's structures.
macro_rules! c_tables {
    ($($ty:ident),* $(,)?) => {$(
        // SAFETY: the file system code and the memory management read such a structure on any CPU,
        // and have it constant themselves.
        unsafe impl CTable for kernel::bindings::$ty {}
    )*};
}

c_tables! {
    dentry_operations,
    file_operations,
    fs_context_operations,
    fs_parameter_spec,
    inode_operations,
    pipe_buf_operations,
    super_operations,
    vm_operations_struct,
}

// SAFETY: its elements are tables.
unsafe impl<T: CTable, const N: usize> CTable for [T; N] {}
