// SPDX-License-Identifier: GPL-2.0

//! The text of an event names its fields.

rtrace::event! {
    /// A file was opened.
    struct Opened<'a> = my_fs:opened {
        inode: u64,
        path: &'a str,
    }
    print("inode {inode}, path {name}")
}
