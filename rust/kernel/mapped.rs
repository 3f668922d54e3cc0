// SPDX-License-Identifier: GPL-2.0

//! Which files a process has mapped.
//!
//! C headers: `include/linux/sched/mm.h`, `include/linux/mm.h`, `include/linux/dcache.h`.

use core::ptr::NonNull;
use kernel::bindings;
use kernel::mm::MmWithUser;
use kernel::prelude::*;
use kernel::str::CStr;
use kernel::sync::aref::ARef;
use kernel::task::Task;

/// The longest path that is returned; a longer one has no room in a line of a trace.
const LONGEST: usize = 8 * 1024;

/// Runs `f` on the path, as its user has opened it, of the file that the process `tgid` of the reader's pid namespace has mapped
/// at `addr`, and on how far `addr` is into the mapping; none if there is no such file. Task context,
/// sleeps; `f` must not sleep for memory of that process.
pub(crate) fn with_file<R>(tgid: i32, addr: usize, f: impl FnOnce(&[u8], usize) -> R) -> Option<R> {
    let mut room = KVec::from_elem(0u8, LONGEST, GFP_KERNEL).ok()?;
    let mm = memory_of(tgid)?;
    let _map = mm.mmap_read_lock();
    // SAFETY: `mm` is live and its map is locked. The areas that are found stay as long as it is.
    let (vma, file) = unsafe {
        let vma = bindings::find_vma(mm.as_raw(), addr).as_ref()?;
        (vma, vma.vm_file.as_ref()?)
    };
    // SAFETY: the file stays as long as the area; there is so much room.
    let path = unsafe {
        let path = if file.f_mode & bindings::FMODE_BACKING != 0 {
            bindings::backing_file_user_path(file)
        } else {
            (&raw const file.__bindgen_anon_1.f_path).cast()
        };
        bindings::d_path(path, room.as_mut_ptr().cast(), LONGEST as c_int)
    };
    if kernel::error::from_err_ptr(path).is_err() {
        return None;
    }
    // SAFETY: `d_path` has put a string into the room, which is where it points.
    let path = unsafe { CStr::from_char_ptr(path) }.to_bytes();
    // SAFETY: the area stays, and so does its start while the map is locked.
    let start = unsafe { vma.__bindgen_anon_1.__bindgen_anon_1.vm_start };
    Some(f(path, addr.wrapping_sub(start)))
}

/// The memory of the process `tgid`, if it is there and has any.
fn memory_of(tgid: i32) -> Option<ARef<MmWithUser>> {
    // SAFETY: no preconditions; what it gives is counted.
    let task = NonNull::new(unsafe { bindings::find_get_task_by_vpid(tgid) })?;
    // SAFETY: it is a counted reference to a task, and nobody else gives it back.
    let task = unsafe { ARef::<Task>::from_raw(task.cast()) };
    // SAFETY: the task is live; what it gives is null or counted as memory in use.
    let mm = NonNull::new(unsafe { bindings::get_task_mm(task.as_ptr()) })?;
    // SAFETY: counted just now, and nobody else gives it back.
    Some(unsafe { ARef::from_raw(mm.cast()) })
}
