// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/ring_buffer.h` that read: events, iterators, whole sub-buffers,
//! waiting. What a `struct trace_buffer *` is says `ring_buffer.rs`.
//!
//! An event that a reader got lies where it was recorded: it stays until the next one of that CPU
//! is asked for, or the CPU's part is reset or resized. An iterator's lies in its own memory.

use super::ring_buffer::{buffer_of, part_of};
use crate::core::ring_buffer::Header;
use crate::kernel::context::PreemptCount;
use crate::kernel::fs::pseudo_fs::PollCall;
use crate::trace::buffer::read::ReaderGuard;
use crate::trace::buffer::{BufferIter, Part, ReadPage};
use core::ptr::{null_mut, NonNull};
use kernel::alloc::flags::{GFP_ATOMIC, GFP_KERNEL};
use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::error::from_result;
use kernel::ffi::{c_int, c_uint, c_ulong};
use kernel::prelude::*;

/// The event itself, of one that has a time in front, and its header.
///
/// # Safety
///
/// `event` points to a record of a buffer; behind a time there is another.
unsafe fn skip_time(event: *mut bindings::ring_buffer_event) -> (*mut u32, Header) {
    let mut at = event.cast::<u32>();
    // SAFETY: `event` points to the header of a record.
    let mut header = Header(unsafe { at.read() });
    if matches!(header.type_len(), Header::TIME_EXTEND | Header::TIME_STAMP) {
        // SAFETY: a time takes two words, and there is another record behind it.
        unsafe {
            at = at.add(Header::TIME_SIZE as usize / size_of::<u32>());
            header = Header(at.read());
        }
    }
    (at, header)
}

/// The length of an event's payload, rounded up to words; of other records, that of the record. Any
/// context.
///
/// # Safety
///
/// As [`skip_time`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_event_length(
    event: *mut bindings::ring_buffer_event,
) -> c_uint {
    // SAFETY: `event` points to a record of a buffer, with another behind it if it is a time.
    let (at, header) = unsafe { skip_time(event) };
    // SAFETY: a record has at least two words.
    let array = || unsafe { at.add(1).read() };
    match header.type_len() {
        Header::PADDING if header.delta() == 0 => c_uint::MAX,
        Header::PADDING => array().wrapping_add(4),
        Header::TIME_EXTEND | Header::TIME_STAMP => Header::TIME_SIZE as c_uint,
        0 => array().wrapping_sub(4),
        words => words << 2,
    }
}

/// Where an event's payload is. Any context.
///
/// # Safety
///
/// As [`skip_time`], and it is an event.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_event_data(
    event: *mut bindings::ring_buffer_event,
) -> *mut c_void {
    // SAFETY: `event` points to the header of an event, or of a time with an event behind it.
    let header = Header(unsafe { event.cast::<u32>().read() });
    // Nearly always it is a small event.
    if header.is_small_event() {
        return event.cast::<u32>().wrapping_add(1).cast();
    }
    // SAFETY: `event` points to the header of an event, or of a time with an event behind it.
    unsafe { data_of_any(event) }
}

/// [`ring_buffer_event_data`] in every case.
///
/// # Safety
///
/// As there.
#[cold]
#[inline(never)]
unsafe fn data_of_any(event: *mut bindings::ring_buffer_event) -> *mut c_void {
    // SAFETY: `event` points to the header of an event, or of a time with an event behind it.
    let (at, header) = unsafe { skip_time(event) };
    let words = if header.type_len() == 0 { 2 } else { 1 };
    at.wrapping_add(words).cast()
}

/// The reader lock of `part`; in NMI context none if somebody has it.
fn reader(part: Part<'_>) -> Option<ReaderGuard<'_>> {
    if PreemptCount::read().in_nmi() {
        part.try_lock_reader()
    } else {
        Some(part.lock_reader())
    }
}

/// Stores an answer of which the caller may want none.
///
/// # Safety
///
/// `at` is null or may be written.
unsafe fn answer<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: `at` is not null here, and may be written.
        unsafe { at.write(value) };
    }
}

/// The next event of `cpu`, with its time and the number of events lost before it; null if there is
/// none. Any context: in NMI there is none, too, while somebody else reads.
///
/// # Safety
///
/// `ts` and `lost_events` are null or may be written.
unsafe fn next(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    ts: *mut u64,
    lost_events: *mut c_ulong,
    consume: bool,
) -> *mut bindings::ring_buffer_event {
    // SAFETY: `buffer` is a buffer that was not freed.
    let Some(part) = (unsafe { part_of(buffer, cpu) }) else {
        return null_mut();
    };
    let mut reader = reader(part);
    let event = reader.as_mut().and_then(|reader| {
        if consume {
            reader.consume()
        } else {
            reader.peek()
        }
    });
    // SAFETY: `ts` is null or may be written.
    unsafe { answer(ts, event.map_or(0, |event| event.time)) };
    event.map_or(null_mut(), |event| {
        // SAFETY: `lost_events` is null or may be written.
        unsafe { answer(lost_events, event.lost as c_ulong) };
        event.record.as_ptr().cast_mut().cast()
    })
}

/// The next event of `cpu`, which stays the next. See [`next`].
///
/// # Safety
///
/// As [`next`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_peek(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    ts: *mut u64,
    lost_events: *mut c_ulong,
) -> *mut bindings::ring_buffer_event {
    // SAFETY: `buffer` is a buffer that was not freed; `ts` and `lost_events` are null or may be
    // written.
    unsafe { next(buffer, cpu, ts, lost_events, false) }
}

/// The next event of `cpu`, consumed. See [`next`].
///
/// # Safety
///
/// As [`next`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_consume(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    ts: *mut u64,
    lost_events: *mut c_ulong,
) -> *mut bindings::ring_buffer_event {
    // SAFETY: `buffer` is a buffer that was not freed; `ts` and `lost_events` are null or may be
    // written.
    unsafe { next(buffer, cpu, ts, lost_events, true) }
}

/// Begins to read `cpu` without consuming; null without memory or such a CPU. Resizing waits until
/// [`ring_buffer_read_finish`]. Task context, sleeps where `flags` allow it.
///
/// # Safety
///
/// The buffer stays until then.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_read_start(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    flags: bindings::gfp_t,
) -> *mut bindings::ring_buffer_iter {
    let may_sleep = flags & 1 << bindings::___GFP_DIRECT_RECLAIM_BIT != 0;
    let flags = if may_sleep { GFP_KERNEL } else { GFP_ATOMIC };
    // SAFETY: `buffer` is a buffer that was not freed, and stays until the iterator ends.
    let Some(part) = (unsafe { part_of(buffer, cpu) }) else {
        return null_mut();
    };
    let begun =
        BufferIter::new(part, may_sleep, flags).and_then(|iter| Ok(KBox::new(iter, flags)?));
    begun.map_or(null_mut(), |iter| KBox::into_raw(iter).cast())
}

/// Ends what [`ring_buffer_read_start`] began. Task context.
///
/// # Safety
///
/// `iter` came from there, and nobody uses it any more.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_read_finish(iter: *mut bindings::ring_buffer_iter) {
    // SAFETY: `iter` came from `ring_buffer_read_start`, and nobody uses it any more.
    drop(unsafe { KBox::from_raw(iter.cast::<BufferIter<'_>>()) });
}

/// # Safety
///
/// `iter` came from [`ring_buffer_read_start`], has not ended, and nobody else uses it meanwhile.
unsafe fn iter_of<'a>(iter: *mut bindings::ring_buffer_iter) -> &'a mut BufferIter<'a> {
    // SAFETY: `iter` came from `ring_buffer_read_start`, has not ended, and nobody else uses it
    // meanwhile.
    unsafe { &mut *iter.cast() }
}

/// The next event, which stays the next, and its time; null at the end. Any context but NMI.
///
/// # Safety
///
/// As [`iter_of`]; `ts` is null or may be written.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_iter_peek(
    iter: *mut bindings::ring_buffer_iter,
    ts: *mut u64,
) -> *mut bindings::ring_buffer_event {
    // SAFETY: `iter` has begun and not ended, and is this call's alone.
    let event = unsafe { iter_of(iter) }.peek();
    // SAFETY: `ts` is null or may be written.
    unsafe { answer(ts, event.map_or(0, |event| event.time)) };
    event.map_or(null_mut(), |event| event.record.as_ptr().cast_mut().cast())
}

/// Makes the event behind the next one the next. Any context but NMI.
///
/// # Safety
///
/// As [`iter_of`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_iter_advance(iter: *mut bindings::ring_buffer_iter) {
    // SAFETY: `iter` has begun and not ended, and is this call's alone.
    unsafe { iter_of(iter) }.advance();
}

/// Starts again at the oldest event. Any context but NMI.
///
/// # Safety
///
/// As [`iter_of`], or null.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_iter_reset(iter: *mut bindings::ring_buffer_iter) {
    if !iter.is_null() {
        // SAFETY: `iter` has begun and not ended, and is this call's alone.
        unsafe { iter_of(iter) }.reset();
    }
}

/// Is the iterator at the end? Any context but NMI.
///
/// # Safety
///
/// As [`iter_of`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_iter_empty(
    iter: *mut bindings::ring_buffer_iter,
) -> c_int {
    // SAFETY: `iter` has begun and not ended, and is this call's alone.
    unsafe { iter_of(iter) }.peek().is_none().into()
}

/// Were events missed right before the one that was peeked at last? Any context.
///
/// # Safety
///
/// As [`iter_of`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_iter_dropped(
    iter: *mut bindings::ring_buffer_iter,
) -> bool {
    // SAFETY: `iter` has begun and not ended, and is this call's alone.
    unsafe { iter_of(iter) }.has_missed()
}

/// Allocates what [`ring_buffer_read_page`] reads into, or fits what `*rpage` is to the present
/// size of sub-buffers. Task context, may sleep.
///
/// # Errors
///
/// `ENODEV` without such a CPU, `EINVAL` without `rpage`, `ENOMEM`, after which `*rpage` is null.
///
/// # Safety
///
/// `rpage` is null, or `*rpage` is null or came from this function and was not freed.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_alloc_read_page(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    rpage: *mut *mut bindings::buffer_data_read_page,
) -> c_int {
    // SAFETY: `buffer` is a buffer that was not freed.
    let part = unsafe { part_of(buffer, cpu) };
    from_result(|| {
        let part = part.ok_or(ENODEV)?;
        let place = NonNull::new(rpage).ok_or(EINVAL)?;
        // SAFETY: `place` is not null here, and may be read and written.
        let old = unsafe { place.replace(null_mut()) }.cast::<ReadPage>();
        let page = if old.is_null() {
            KBox::new(part.new_read_page()?, GFP_KERNEL)?
        } else {
            // SAFETY: what was there is not null, and so a box that this function gave away.
            let mut page = unsafe { KBox::from_raw(old) };
            part.fit_read_page(&mut page)?;
            page
        };
        // SAFETY: `place` is not null here, and may be written.
        unsafe { place.write(KBox::into_raw(page).cast()) };
        Ok(0)
    })
}

/// Frees what [`ring_buffer_alloc_read_page`] allocated. Any context but NMI.
///
/// # Safety
///
/// `page` is null or came from there and is not used any more; `buffer` is null or as ever.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_free_read_page(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    page: *mut bindings::buffer_data_read_page,
) {
    if buffer.is_null() || page.is_null() {
        return;
    }
    // SAFETY: `page` is not null here, came from `ring_buffer_alloc_read_page` as a box, and is not
    // used any more.
    let page = unsafe { KBox::from_raw(page.cast::<ReadPage>()) };
    // SAFETY: `buffer` is not null here, and a buffer that was not freed.
    if let Some(part) = unsafe { part_of(buffer, cpu) } {
        part.put_read_page(KBox::into_inner(page));
    }
}

/// Reads what comes next on `cpu` into `data_page`, and consumes it: up to `len` bytes of one
/// sub-buffer, its header included; with `full` only of one that writers have left. Gives where the
/// data begins, which is 0, or -1 if there is none. Any context but NMI.
///
/// # Safety
///
/// `data_page` is null or came from [`ring_buffer_alloc_read_page`] and is nobody else's.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_read_page(
    buffer: *mut bindings::trace_buffer,
    data_page: *mut bindings::buffer_data_read_page,
    len: usize,
    cpu: c_int,
    full: c_int,
) -> c_int {
    // SAFETY: `buffer` is a buffer that was not freed; `data_page` is null or a `ReadPage` that is
    // nobody else's.
    let (part, page) = unsafe { (part_of(buffer, cpu), data_page.cast::<ReadPage>().as_mut()) };
    let read = part
        .zip(page)
        .is_some_and(|(part, page)| part.read_page(page, len, full != 0));
    if read {
        0
    } else {
        -1
    }
}

/// Where the data of a page that was read is. Any context.
///
/// # Safety
///
/// `page` came from [`ring_buffer_alloc_read_page`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_read_page_data(
    page: *mut bindings::buffer_data_read_page,
) -> *mut c_void {
    // SAFETY: `page` came from `ring_buffer_alloc_read_page` and was not freed.
    unsafe { &*page.cast::<ReadPage>() }.address().cast()
}

/// How many bytes a page has that is read into; 0 of none. Any context.
///
/// # Safety
///
/// `page` is null or came from [`ring_buffer_alloc_read_page`].
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_read_page_size(
    page: *mut bindings::buffer_data_read_page,
) -> c_uint {
    // SAFETY: `page` is null, or came from `ring_buffer_alloc_read_page` and was not freed.
    unsafe { page.cast::<ReadPage>().as_ref() }.map_or(0, |page| page.size() as c_uint)
}

/// A CPU, or all of them. None for what is neither.
fn which(cpu: c_int) -> Option<Option<CpuId>> {
    if cpu == bindings::RING_BUFFER_ALL_CPUS {
        Some(None)
    } else {
        CpuId::from_i32(cpu).map(Some)
    }
}

/// Sleeps until `cpu` has events that fill `full` percent of it (0: any), any CPU has any
/// (`RING_BUFFER_ALL_CPUS`), or `cond`, asked at each wake-up, says true; without `cond`, until
/// [`ring_buffer_wake_waiters`]. Task context.
///
/// # Errors
///
/// `ENODEV` without such a CPU, `ERESTARTSYS` when a signal comes first.
///
/// # Safety
///
/// `cond` may be called with `data`.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_wait(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    full: c_int,
    cond: bindings::ring_buffer_cond_fn,
    data: *mut c_void,
) -> c_int {
    // SAFETY: `buffer` is a buffer that was not freed.
    let buffer = unsafe { buffer_of(buffer) };
    from_result(|| {
        let cpu = which(cpu).ok_or(ENODEV)?;
        let percent = u32::try_from(full).unwrap_or(0);
        match cond {
            // SAFETY: `cond` may be called with `data` until this returns.
            Some(cond) => buffer.wait_or(cpu, percent, || unsafe { cond(data) })?,
            None => buffer.wait(cpu, percent)?,
        }
        Ok(0)
    })
}

/// Answers a poll of `filp` for events as [`ring_buffer_wait`] means them. Task context.
///
/// # Safety
///
/// `filp` is open, and the buffer stays as long as it is; `poll_table` is null or that of the call.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_poll_wait(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
    filp: *mut bindings::file,
    poll_table: *mut bindings::poll_table,
    full: c_int,
) -> bindings::__poll_t {
    // SAFETY: `buffer` is a buffer that was not freed and stays as long as `filp` is open;
    // `poll_table` is null or that of the call.
    let (buffer, call) = unsafe { (buffer_of(buffer), PollCall::from_raw(filp, poll_table)) };
    let percent = u32::try_from(full).unwrap_or(0);
    which(cpu).map_or(bindings::POLLERR, |cpu| {
        buffer.poll(cpu, percent, &call).bits()
    })
}

/// Wakes those who wait for events of `cpu`, or of any, to look around. Any context.
///
/// # Safety
///
/// `buffer` may be null.
#[export]
pub(crate) unsafe extern "C" fn ring_buffer_wake_waiters(
    buffer: *mut bindings::trace_buffer,
    cpu: c_int,
) {
    if !buffer.is_null() {
        // SAFETY: `buffer` is not null here, and a buffer that was not freed.
        let buffer = unsafe { buffer_of(buffer) };
        if let Some(cpu) = which(cpu) {
            buffer.wake_later(cpu);
        }
    }
}
