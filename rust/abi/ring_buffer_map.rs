// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/ring_buffer.h` by which memory changes hands: two buffers
//! exchange the part of a CPU, user space maps one, a buffer lies in memory of the caller's that
//! may outlive the kernel. What a `struct trace_buffer *` is, is said in `ring_buffer.rs`.

use super::ring_buffer::{buffer_of, part_of};
use crate::kernel::fs::page_file::Area;
use crate::kernel::reserved::Reserved;
use crate::trace::buffer::made;
use crate::trace::buffer::region::Region;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::error::from_result;
use kernel::ffi::{c_int, c_uint, c_ulong};
use kernel::prelude::*;

/// The number of a CPU that the buffer has a part for. `EINVAL` if it has none.
///
/// # Safety
///
/// As [`buffer_of`].
unsafe fn present(buffer: *mut bindings::trace_buffer, cpu: c_int) -> Result<CpuId> {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { part_of(buffer, cpu) }
        .map(|part| part.cpu())
        .ok_or(EINVAL)
}

/// Exchanges the parts that two buffers have for `cpu`. Any context but NMI, on that CPU or where
/// its writers are kept out.
///
/// # Errors
///
/// `EINVAL` when one has no such part, or they differ in size; `EAGAIN` while one is kept from
/// recording; `EBUSY` while one is written to, mapped or resized. Nothing has changed then.
///
/// # Safety
///
/// See `ring_buffer.rs`, for both.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_swap_cpu(
    buffer_a: *mut bindings::trace_buffer,
    buffer_b: *mut bindings::trace_buffer,
    cpu: c_int,
) -> c_int {
    from_result(|| {
        // SAFETY: both are buffers that were not freed.
        unsafe { buffer_of(buffer_a).swap_at_rest(buffer_of(buffer_b), present(buffer_a, cpu)?)? };
        Ok(0)
    })
}

/// Maps the part of `cpu` into `vma`, to be read (`include/uapi/linux/trace_mmap.h`). Until the
/// last mapping is undone by [`ring_buffer_unmap`] it is neither resized nor exchanged. Task
/// context, sleeps.
///
/// # Errors
///
/// `EINVAL` without such a part and for an area that does not fit; `EPERM` for one that is private
/// or writable; `ENOMEM`.
///
/// # Safety
///
/// See `ring_buffer.rs`; `vma` is the area of an `mmap` operation that is under way.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_map(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    vma: *mut bindings::vm_area_struct,
) -> c_int {
    from_result(|| {
        // SAFETY: `buffer` is a live buffer, and `vma` the area that an `mmap` operation is asked
        // to fill.
        let mapped = unsafe { buffer_of(buffer).map(present(buffer, cpu)?, &Area::from_raw(vma))? };
        // It stands until `ring_buffer_unmap`.
        core::mem::forget(mapped);
        Ok(0)
    })
}

/// Counts one mapping more of the part of `cpu`, whose area has been duplicated. Task context,
/// sleeps.
///
/// # Safety
///
/// See `ring_buffer.rs`.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_map_dup(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) {
    // SAFETY: `buffer` is a buffer that was not freed.
    let counted = unsafe { present(buffer, cpu).and_then(|cpu| buffer_of(buffer).map_again(cpu)) };
    match counted {
        // It stands until `ring_buffer_unmap`.
        Ok(mapped) => core::mem::forget(mapped),
        Err(error) => pr_warn!(
            "a mapping of cpu {} was duplicated that there is not: {:?}\n",
            cpu,
            error
        ),
    }
}

/// Undoes one [`ring_buffer_map`] or [`ring_buffer_map_dup`]. Task context, sleeps. `EINVAL`
/// without such a part, `ENODEV` when it is not mapped.
///
/// # Safety
///
/// See `ring_buffer.rs`. There was one that nobody else undoes, or nobody maps that part.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_unmap(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> c_int {
    from_result(|| {
        // SAFETY: `buffer` is a buffer that was not freed.
        unsafe { buffer_of(buffer).unmap(present(buffer, cpu)?)? };
        Ok(0)
    })
}

/// Takes what comes next on `cpu` for those who map it (`TRACE_MMAP_IOCTL_GET_READER`). Any context
/// but NMI. `EINVAL` without such a part, `ENODEV` when it is not mapped.
///
/// # Safety
///
/// See `ring_buffer.rs`.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_map_get_reader(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> c_int {
    from_result(|| {
        // SAFETY: `buffer` is a buffer that was not freed.
        let part = unsafe { part_of(buffer, cpu) }.ok_or(EINVAL)?;
        part.lock_reader().next_shown()?;
        Ok(0)
    })
}

/// Makes a buffer in the whole pages of `range_size` bytes at `start`, as large as fits, with
/// sub-buffers of 2^`order` pages, and with `scratch_size` bytes that are the caller's. Holds what
/// a buffer there held before, if it was made alike; null without memory or where the range is too
/// small. It is neither resized nor swapped. Task context, sleeps.
///
/// # Safety
///
/// The range is mapped memory that nobody else uses until
/// [`ring_buffer_free`](super::ring_buffer::ring_buffer_free).
#[export]
pub(crate) unsafe extern "C" fn __ring_buffer_alloc_range(
    _size: c_ulong,
    flags: c_uint,
    order: c_int,
    start: c_ulong,
    range_size: c_ulong,
    scratch_size: c_ulong,
    _key: *mut bindings::lock_class_key,
) -> *mut bindings::trace_buffer {
    let overwrite = flags & bindings::ring_buffer_flags_RB_FL_OVERWRITE != 0;
    let made = || -> Result<NonNull<_>> {
        let order = u32::try_from(order).map_err(|_| EINVAL)?;
        // SAFETY: the range is mapped memory that nobody else uses until the buffer is freed.
        let memory = unsafe { Reserved::lent(start, range_size)? };
        made::make_in(Region::new(memory, scratch_size, order)?, overwrite)
    };
    made().map_or(null_mut(), |made| made.as_ptr().cast())
}

/// The bytes of a buffer's memory that are the caller's, and in `size` how many; null if it has
/// none. What was there before the buffer stays if the buffer has found what it held. Task context,
/// sleeps.
///
/// # Safety
///
/// `buffer` is null or came from [`__ring_buffer_alloc_range`] and was not freed; `size` is null or
/// may be written.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_meta_scratch(
    buffer: *mut bindings::trace_buffer,
    size: *mut c_uint,
) -> *mut c_void {
    let scratch = NonNull::new(buffer.cast()).and_then(|buffer| {
        made::with_region(buffer, |region| {
            (
                region.scratch().as_ptr(),
                core::mem::size_of_val(region.scratch()),
            )
        })
    });
    let Some((at, bytes)) = scratch else {
        return null_mut();
    };
    if !size.is_null() {
        // SAFETY: `size` is not null here, and may be written.
        unsafe { size.write(bytes as c_uint) };
    }
    at.cast_mut().cast()
}
