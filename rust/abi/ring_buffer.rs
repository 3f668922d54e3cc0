// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/ring_buffer.h`: making a buffer, recording, switches, sizes and
//! counts. Those that read are in `ring_buffer_read.rs`.
//!
//! A C caller's `struct trace_buffer` is a [`Buffer`]; its `struct ring_buffer_event` is the header
//! of a record, as it lies in the buffer. Where a CPU is named that the buffer has no part for, the
//! functions do what C's do: nothing, or 0.
//!
//! What a `struct trace_buffer *` is, is said here once for all of them: it came from
//! [`__ring_buffer_alloc`] and [`ring_buffer_free`] was not called, or it is the buffer of an
//! instance that is there. Preconditions beyond that are with each function.

use crate::kernel::clock::ForeignClock;
use crate::trace::buffer::{made, Buffer, Part};
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::error::from_result;
use kernel::ffi::{c_int, c_uint, c_ulong};
use kernel::prelude::*;

/// # Safety
///
/// As the module's head says of the pointer.
pub(super) unsafe fn buffer_of<'a>(buffer: *mut bindings::trace_buffer) -> &'a Buffer {
    // SAFETY: the pointer came from `__ring_buffer_alloc` or is that of an instance's buffer, and
    // that was not freed.
    unsafe { &*buffer.cast::<Buffer>() }
}

/// The part of `cpu`; none if the buffer has none.
///
/// # Safety
///
/// As [`buffer_of`].
pub(super) unsafe fn part_of<'a>(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> Option<Part<'a>> {
    // SAFETY: `buffer` is a buffer that was not freed.
    CpuId::from_i32(cpu).and_then(|cpu| unsafe { buffer_of(buffer) }.cpu(cpu))
}

/// Makes a buffer of `size` bytes for each CPU. Null without memory. Task context, sleeps.
///
/// Its locks are outside of lockdep, so that the class `_key` is not needed.
#[no_mangle]
pub(crate) extern "C" fn __ring_buffer_alloc(
    size: c_ulong,
    flags: c_uint,
    _key: *mut bindings::lock_class_key,
) -> *mut bindings::trace_buffer {
    let overwrite = flags & bindings::ring_buffer_flags_RB_FL_OVERWRITE != 0;
    made::make(size, overwrite).map_or(null_mut(), |made| made.as_ptr().cast())
}

/// Ends a buffer. Task context, sleeps.
///
/// # Safety
///
/// `buffer` came from [`__ring_buffer_alloc`]; nobody uses it any more.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_free(buffer: *mut bindings::trace_buffer) {
    if let Some(buffer) = NonNull::new(buffer.cast()) {
        // SAFETY: `buffer` came from `__ring_buffer_alloc`, and nobody uses it any more.
        unsafe { made::free(buffer) };
    }
}

/// Reserves an event with a payload of `length` bytes; null if it is not to be recorded. Preemption
/// stays off until it ends by [`ring_buffer_unlock_commit`] or [`ring_buffer_discard_commit`]. Any
/// context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_lock_reserve(
    buffer: *mut bindings::trace_buffer,
    length: c_ulong,
) -> *mut bindings::ring_buffer_event {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }
        .reserve(length)
        .map_or(null_mut(), |event| event.as_ptr().cast())
}

/// Publishes the event that was reserved last. Any context. Gives 0.
///
/// # Safety
///
/// This context has reserved an event and not ended it, and has ended those that it reserved later.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_unlock_commit(
    buffer: *mut bindings::trace_buffer,
) -> c_int {
    // SAFETY: `buffer` is a buffer that was not freed; this context has an event reserved, and has
    // ended later ones.
    unsafe { buffer_of(buffer).commit() };
    0
}

/// Gives up the event that was reserved last. Any context.
///
/// # Safety
///
/// As [`ring_buffer_unlock_commit`], and `event` is that event.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_discard_commit(
    buffer: *mut bindings::trace_buffer,
    event: *mut bindings::ring_buffer_event,
) {
    if let Some(event) = NonNull::new(event.cast()) {
        // SAFETY: `buffer` is a buffer that was not freed; `event` is the last event that this
        // context has reserved and not ended.
        unsafe { buffer_of(buffer).discard(event) };
    }
}

/// Records `length` bytes at `data`. Any context. `EBUSY` if that was not to be.
///
/// # Safety
///
/// As many bytes are readable at `data`.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_write(
    buffer: *mut bindings::trace_buffer,
    length: c_ulong,
    data: *mut c_void,
) -> c_int {
    let payload = match NonNull::new(data.cast::<u8>()) {
        // SAFETY: `length` bytes are readable at `data`.
        Some(data) if length != 0 => unsafe { core::slice::from_raw_parts(data.as_ptr(), length) },
        _ => &[],
    };
    // SAFETY: `buffer` is a live buffer.
    unsafe { buffer_of(buffer) }
        .write_raw(payload)
        .map_or(EBUSY.to_errno(), |()| 0)
}

/// Lets this context record inside of an event of its own. Any context; preemption is off until
/// [`ring_buffer_nest_end`].
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_nest_start(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.nest_start();
}

/// Undoes one [`ring_buffer_nest_start`]. Any context.
///
/// # Safety
///
/// This context has called that and not undone it; what it has reserved since has ended.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_nest_end(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed; this context has begun to nest, and has
    // ended what it reserved since.
    unsafe { buffer_of(buffer).nest_end() };
}

/// The time of `_event`, which this context has reserved last and not ended. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_event_time_stamp(
    buffer: *mut bindings::trace_buffer,
    _event: *mut bindings::ring_buffer_event,
) -> u64 {
    // SAFETY: `buffer` is a buffer that was not freed.
    let buffer = unsafe { buffer_of(buffer) };
    // Without an event the question makes no sense; C answers with a time, too.
    buffer.event_time().unwrap_or_else(|| buffer.now())
}

/// Makes full rings lose their oldest events (not 0) or refuse new ones (0). Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_change_overwrite(
    buffer: *mut bindings::trace_buffer,
    val: c_int,
) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.set_overwrite(val != 0);
}

/// Stops recording, until [`ring_buffer_record_enable`] was called as often. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_disable(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.pause_recording();
}

/// Undoes one [`ring_buffer_record_disable`]. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_enable(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.resume_recording();
}

/// Switches recording off, whatever else stops it. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_off(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.set_on(false);
}

/// Switches recording on. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_on(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.set_on(true);
}

/// Does the buffer record, as far as all of it is concerned? Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_is_on(
    buffer: *mut bindings::trace_buffer,
) -> bool {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.is_recording()
}

/// Is recording switched on? Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_is_set_on(
    buffer: *mut bindings::trace_buffer,
) -> bool {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.is_on()
}

/// Is recording switched on, and not stopped on `cpu`? Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_is_on_cpu(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> bool {
    // SAFETY: `buffer` is a buffer that was not freed.
    let (buffer, part) = unsafe { (buffer_of(buffer), part_of(buffer, cpu)) };
    buffer.is_on() && part.is_some_and(Part::may_record)
}

/// Stops recording on `cpu`, until [`ring_buffer_record_enable_cpu`] was called as often. Any
/// context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_disable_cpu(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) {
    // SAFETY: `buffer` is a buffer that was not freed.
    if let Some(part) = unsafe { part_of(buffer, cpu) } {
        part.disable();
    }
}

/// Undoes one [`ring_buffer_record_disable_cpu`]. Any context.
///
/// # Safety
///
/// See the module's head. There was one that nobody else undoes.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_record_enable_cpu(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) {
    // SAFETY: `buffer` is a buffer that was not freed.
    if let Some(part) = unsafe { part_of(buffer, cpu) } {
        // SAFETY: the caller has stopped recording on this CPU, and has not undone that.
        unsafe { part.enable() };
    }
}

/// The time by the buffer's clock. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_time_stamp(buffer: *mut bindings::trace_buffer) -> u64 {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.now()
}

/// Turns a time stamp into one that others understand, which it is already. Any context.
#[no_mangle]
pub(crate) extern "C" fn ring_buffer_normalize_time_stamp(
    _buffer: *mut bindings::trace_buffer,
    _cpu: c_int,
    _ts: *mut u64,
) {
}

/// Has events stamped by `clock` from now on. Any context.
///
/// # Safety
///
/// `clock` may be called in any context as long as the buffer is there or has it.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_set_clock(
    buffer: *mut bindings::trace_buffer,
    clock: Option<unsafe extern "C" fn() -> u64>,
) {
    let local = bindings::trace_clock_local as unsafe extern "C" fn() -> u64;
    let clock = clock.filter(|clock| *clock as usize != local as usize);
    // SAFETY: `buffer` is a buffer that was not freed; `clock` may be called in any context as long
    // as the buffer has it.
    unsafe { buffer_of(buffer).set_own_clock(clock.map(|clock| ForeignClock::new(clock))) };
}

/// Gives every event its full time from now on, or no longer. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_set_time_stamp_abs(
    buffer: *mut bindings::trace_buffer,
    abs: bool,
) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.set_absolute(abs);
}

/// Does every event carry its full time? Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_time_stamp_abs(
    buffer: *mut bindings::trace_buffer,
) -> bool {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.is_absolute()
}

/// Gives `cpu`, or all (`RING_BUFFER_ALL_CPUS`), room for `size` bytes; what fits of the events
/// stays. Task context, sleeps.
///
/// # Errors
///
/// `ENOMEM`; `EBUSY` while somebody iterates. Without a buffer or such a CPU it succeeds, as in C.
///
/// # Safety
///
/// `buffer` may be null.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_resize(
    buffer: *mut bindings::trace_buffer,
    size: c_ulong,
    cpu: c_int,
) -> c_int {
    if buffer.is_null() {
        return 0;
    }
    // SAFETY: `buffer` is not null, and a buffer that was not freed.
    let (buffer, part) = unsafe { (buffer_of(buffer), part_of(buffer, cpu)) };
    from_result(|| {
        if part.is_some() || cpu == bindings::RING_BUFFER_ALL_CPUS {
            buffer.resize(part.map(Part::cpu), size)?;
        }
        Ok(0)
    })
}

/// Bytes for events on `cpu`. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_size(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> c_ulong {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { part_of(buffer, cpu) }.map_or(0, Part::bytes)
}

/// The longest payload that an event can have. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_max_event_size(
    buffer: *mut bindings::trace_buffer,
) -> c_ulong {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.max_entry()
}

/// The size of a sub-buffer in bytes. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_subbuf_size_get(
    buffer: *mut bindings::trace_buffer,
) -> c_int {
    // SAFETY: `buffer` is a buffer that was not freed.
    (kernel::page::PAGE_SIZE << unsafe { buffer_of(buffer) }.order()) as c_int
}

/// A sub-buffer has 2^this pages. Any context. `EINVAL` without a buffer.
///
/// # Safety
///
/// `buffer` may be null.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_subbuf_order_get(
    buffer: *mut bindings::trace_buffer,
) -> c_int {
    if buffer.is_null() {
        return EINVAL.to_errno();
    }
    // SAFETY: `buffer` is not null, and a buffer that was not freed.
    unsafe { buffer_of(buffer) }.order() as c_int
}

/// Gives sub-buffers 2^`order` pages; the events are lost. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` without a buffer or for an order that cannot be, `ENOMEM`, `EBUSY` while somebody
/// iterates.
///
/// # Safety
///
/// `buffer` may be null.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_subbuf_order_set(
    buffer: *mut bindings::trace_buffer,
    order: c_int,
) -> c_int {
    if buffer.is_null() {
        return EINVAL.to_errno();
    }
    // SAFETY: `buffer` is not null, and a buffer that was not freed.
    let buffer = unsafe { buffer_of(buffer) };
    from_result(|| {
        let order = u32::try_from(order)
            .ok()
            .filter(|order| *order <= Buffer::MAX_ORDER)
            .ok_or(EINVAL)?;
        buffer.set_order(order)?;
        Ok(0)
    })
}

/// Empties the part of `cpu`. Task context, sleeps; not with the lock of CPU hotplug held.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_reset_cpu(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) {
    // SAFETY: `buffer` is a buffer that was not freed.
    if let Some(part) = unsafe { part_of(buffer, cpu) } {
        part.reset();
    }
}

/// Empties the parts of the CPUs that are up. Task context, sleeps; not with the lock of CPU hotplug
/// held.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_reset_online_cpus(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.reset_online();
}

/// Empties the buffer. Task context, sleeps; not with the lock of CPU hotplug held.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_reset(buffer: *mut bindings::trace_buffer) {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.reset();
}

/// Whether there is nothing to read on any CPU. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_empty(buffer: *mut bindings::trace_buffer) -> bool {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }.is_empty(None)
}

/// Whether there is nothing to read on `cpu`. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_empty_cpu(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> bool {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { part_of(buffer, cpu) }.is_none_or(Part::is_empty)
}

/// Events that can be read, on all CPUs. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_entries(
    buffer: *mut bindings::trace_buffer,
) -> c_ulong {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }
        .cpus()
        .map(|part| part.entries() as c_ulong)
        .sum()
}

/// Events that were overwritten unread, on all CPUs. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_overruns(
    buffer: *mut bindings::trace_buffer,
) -> c_ulong {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { buffer_of(buffer) }
        .cpus()
        .map(|part| part.counts().overrun as c_ulong)
        .sum()
}

/// Declares functions that give one of a CPU's counts, 0 for a CPU that has no part.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident: |$part:ident| $count:expr;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// See the module's head.
        #[export]
        pub(crate) unsafe extern "C" fn $name(buffer: *mut bindings::trace_buffer, cpu: c_int) -> c_ulong {
            // SAFETY: `buffer` is a buffer that was not freed.
            unsafe { part_of(buffer, cpu) }.map_or(0, |$part| $count as c_ulong)
        }
    )* };
}

counts! {
    /// Events that can be read on `cpu`. Any context.
    ring_buffer_entries_cpu: |part| part.entries();
    /// Bytes of them. Any context.
    ring_buffer_bytes_cpu: |part| part.counts().bytes;
    /// Events that were overwritten unread on `cpu`. Any context.
    ring_buffer_overrun_cpu: |part| part.counts().overrun;
    /// Events that were refused on `cpu` as all room was taken by unfinished ones. Any context.
    ring_buffer_commit_overrun_cpu: |part| part.counts().commit_overrun;
    /// Events that were refused on `cpu` as the ring was full and not to be overwritten. Any context.
    ring_buffer_dropped_events_cpu: |part| part.counts().dropped;
    /// Events that were read and consumed on `cpu`. Any context.
    ring_buffer_read_events_cpu: |part| part.counts().read;
}

/// Sub-buffers of `cpu` that hold something unread, the one being written not counted. Any context.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_nr_dirty_pages(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> usize {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { part_of(buffer, cpu) }.map_or(0, |part| {
        part.counts().dirty_sub_buffers.saturating_sub(1) as usize
    })
}

/// The time of the oldest event that can be read on `cpu`; 0 without one. Any context but NMI.
///
/// # Safety
///
/// See the module's head.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_oldest_event_ts(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) -> u64 {
    // SAFETY: `buffer` is a buffer that was not freed.
    unsafe { part_of(buffer, cpu) }
        .and_then(|part| part.lock_reader().oldest_time())
        .unwrap_or(0)
}

crate::abi::same_in_c! {
    fn __ring_buffer_alloc(_, _, _) -> _;
    fn ring_buffer_normalize_time_stamp(_, _, _);
}
