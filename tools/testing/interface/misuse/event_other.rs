// SPDX-License-Identifier: GPL-2.0

//! An entry is of the event that records it.

use rtrace::event::Event;

rtrace::event! {
    /// A file was opened.
    struct Opened = my_fs:opened {
        inode: u64,
    }
    print("{inode}")
}

rtrace::event! {
    /// A file was closed.
    struct Closed = my_fs:closed {
        inode: u64,
    }
    print("{inode}")
}

fn hit(opened: &Event<Opened>) {
    opened.record(|| Closed { inode: 1 });
}
