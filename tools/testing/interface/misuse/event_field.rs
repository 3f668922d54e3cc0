// SPDX-License-Identifier: GPL-2.0

//! A field is a number, an array, a slice or a text: what owns memory cannot be copied into an entry.

use kernel::prelude::*;

rtrace::event! {
    /// A file was opened.
    struct Opened = my_fs:opened {
        inode: u64,
        names: KVec<u8>,
    }
    print("{inode}")
}
