// SPDX-License-Identifier: GPL-2.0

//! C's ring buffer (`c.c`).

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void, CStr};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use rtrace_core::ring_buffer::{Meta, HEADER_SIZE};

use crate::page::Seen;

/// What C knows of the machine, of this thread; `kernel.h` has the same.
#[repr(C)]
struct Machine {
    clock: u64,
    interrupt: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
    level: c_int,
    warnings: c_int,
    warning: [c_char; 256],
}

/// The counters; `c.c` has the same.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub entries: u64,
    pub overrun: u64,
    pub commit_overrun: u64,
    pub bytes: u64,
    pub dropped: u64,
    pub read: u64,
    pub touched: u64,
    pub lost: u64,
    pub dirty: u64,
}

/// `struct trace_buffer`.
#[repr(C)]
struct TraceBuffer([u8; 0]);
/// `struct ring_buffer_iter`.
#[repr(C)]
struct RingBufferIter([u8; 0]);
/// `struct ring_buffer_event`.
#[repr(C)]
pub struct Event([u8; 0]);

/// The smallest size of a sub-buffer; `kernel.h` has the same.
pub const PAGE_SIZE: u32 = 256;
/// The only CPU.
const CPU: c_int = 0;
const ALL_CPUS: c_int = -1;

extern "C" {
    fn c_machine() -> *mut Machine;
    fn c_new(slots: c_ulong, overwrite: bool, order: c_int) -> *mut TraceBuffer;
    fn c_counts(buffer: *mut TraceBuffer, counts: *mut Counts);
    fn c_read_page(buffer: *mut TraceBuffer, length: usize, full: bool, into: *mut u8) -> c_int;
    fn c_rest_looks_read(buffer: *mut TraceBuffer) -> bool;
    fn c_map(buffer: *mut TraceBuffer) -> c_int;
    fn c_meta(buffer: *mut TraceBuffer) -> *const Meta;
    fn c_mapped_sub_buffer(buffer: *mut TraceBuffer, id: c_uint) -> *const u8;

    fn ring_buffer_free(buffer: *mut TraceBuffer);
    fn ring_buffer_lock_reserve(buffer: *mut TraceBuffer, length: c_ulong) -> *mut Event;
    fn ring_buffer_unlock_commit(buffer: *mut TraceBuffer) -> c_int;
    fn ring_buffer_discard_commit(buffer: *mut TraceBuffer, event: *mut Event);
    fn ring_buffer_event_data(event: *mut Event) -> *mut u8;
    fn ring_buffer_event_length(event: *mut Event) -> c_uint;
    fn ring_buffer_event_time_stamp(buffer: *mut TraceBuffer, event: *mut Event) -> u64;
    fn ring_buffer_consume(
        buffer: *mut TraceBuffer,
        cpu: c_int,
        time: *mut u64,
        lost: *mut c_ulong,
    ) -> *mut Event;
    fn ring_buffer_peek(
        buffer: *mut TraceBuffer,
        cpu: c_int,
        time: *mut u64,
        lost: *mut c_ulong,
    ) -> *mut Event;
    fn ring_buffer_read_start(
        buffer: *mut TraceBuffer,
        cpu: c_int,
        flags: c_uint,
    ) -> *mut RingBufferIter;
    fn ring_buffer_read_finish(iter: *mut RingBufferIter);
    fn ring_buffer_iter_reset(iter: *mut RingBufferIter);
    fn ring_buffer_iter_peek(iter: *mut RingBufferIter, time: *mut u64) -> *mut Event;
    fn ring_buffer_iter_advance(iter: *mut RingBufferIter);
    fn ring_buffer_resize(buffer: *mut TraceBuffer, size: c_ulong, cpu: c_int) -> c_int;
    fn ring_buffer_reset_cpu(buffer: *mut TraceBuffer, cpu: c_int);
    fn ring_buffer_change_overwrite(buffer: *mut TraceBuffer, overwrite: c_int);
    fn ring_buffer_set_time_stamp_abs(buffer: *mut TraceBuffer, absolute: bool);
    fn ring_buffer_max_event_size(buffer: *mut TraceBuffer) -> c_ulong;
    fn ring_buffer_unmap(buffer: *mut TraceBuffer, cpu: c_int) -> c_int;
    fn ring_buffer_map_get_reader(buffer: *mut TraceBuffer, cpu: c_int) -> c_int;
}

/// Calls a function of C's that is about a buffer or an iterator of this thread.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the buffer or the iterator is there until its `Drop`, and one thread uses it.
        unsafe { $function($($argument),*) }
    };
}

/// Changes or reads what C knows of the machine.
fn machine<R>(with: impl FnOnce(&mut Machine) -> R) -> R {
    // SAFETY: it is this thread's own, and nobody keeps a reference: `with` calls nothing of C's.
    with(unsafe { &mut *c_machine() })
}

pub fn set_level(level: u32) {
    machine(|machine| machine.level = level as c_int);
}

pub fn set_clock(time: u64) {
    machine(|machine| machine.clock = time);
}

pub fn clock() -> u64 {
    machine(|machine| machine.clock)
}

/// What C warned of last, if it warned since this was asked.
pub fn take_warning() -> Option<String> {
    machine(|machine| {
        let warned = std::mem::take(&mut machine.warnings) != 0;
        // SAFETY: snprintf() has ended the text.
        let text = unsafe { CStr::from_ptr(machine.warning.as_ptr()) };
        warned.then(|| text.to_string_lossy().into_owned())
    })
}

/// Runs `body`, in which C is interrupted by `interrupt` where it reads the clock first.
pub fn interrupted<R>(mut interrupt: impl FnMut(), body: impl FnOnce() -> R) -> R {
    unsafe extern "C" fn call<F: FnMut()>(data: *mut c_void) {
        // SAFETY: `data` is the closure, which is there until `body` has returned.
        unsafe { (*data.cast::<F>())() }
    }
    fn of<F: FnMut()>(_: &F) -> unsafe extern "C" fn(*mut c_void) {
        call::<F>
    }
    let function = of(&interrupt);
    machine(|machine| {
        machine.interrupt = Some(function);
        machine.data = (&raw mut interrupt).cast();
    });
    let result = body();
    machine(|machine| machine.interrupt = None);
    result
}

/// The payload of an event.
///
/// # Safety
///
/// It is in the buffer, and nobody else uses it.
pub unsafe fn payload<'a>(event: NonNull<Event>) -> &'a mut [u8] {
    // SAFETY: as the caller says.
    unsafe {
        let length = ring_buffer_event_length(event.as_ptr()) as usize;
        slice::from_raw_parts_mut(ring_buffer_event_data(event.as_ptr()), length)
    }
}

/// An event that a reader has got.
fn seen(event: NonNull<Event>, time: u64, lost: u64) -> Seen {
    Seen {
        time,
        lost,
        // SAFETY: it is there until the next call, as nobody writes.
        payload: unsafe { payload(event) }.to_vec(),
    }
}

/// A buffer of one CPU.
pub struct Buffer {
    buffer: *mut TraceBuffer,
    size: usize,
}

impl Buffer {
    /// One of so many sub-buffers, each of `PAGE_SIZE << order` bytes.
    pub fn new(slots: u32, order: u32, overwrite: bool) -> Self {
        let buffer = call!(c_new(slots.into(), overwrite, order as c_int));
        assert!(!buffer.is_null());
        let size = (PAGE_SIZE << order) as usize;
        Self { buffer, size }
    }

    pub fn reserve(&self, length: usize) -> Option<NonNull<Event>> {
        NonNull::new(call!(ring_buffer_lock_reserve(
            self.buffer,
            length as c_ulong
        )))
    }

    pub fn event_time(&self, event: NonNull<Event>) -> u64 {
        call!(ring_buffer_event_time_stamp(self.buffer, event.as_ptr()))
    }

    pub fn commit(&self) {
        call!(ring_buffer_unlock_commit(self.buffer));
    }

    pub fn discard(&self, event: NonNull<Event>) {
        call!(ring_buffer_discard_commit(self.buffer, event.as_ptr()));
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        call!(c_counts(self.buffer, &mut counts));
        counts
    }

    fn read(
        &self,
        read: unsafe extern "C" fn(*mut TraceBuffer, c_int, *mut u64, *mut c_ulong) -> *mut Event,
    ) -> Option<Seen> {
        set_level(0);
        let (mut time, mut lost) = (0, 0);
        let event = call!(read(self.buffer, CPU, &mut time, &mut lost));
        NonNull::new(event).map(|event| seen(event, time, lost))
    }

    pub fn consume(&self) -> Option<Seen> {
        self.read(ring_buffer_consume)
    }

    pub fn peek(&self) -> Option<Seen> {
        self.read(ring_buffer_peek)
    }

    /// A page as `trace_pipe_raw` gives it.
    pub fn read_page(&self, full: bool) -> Option<Vec<u8>> {
        set_level(0);
        let mut page = vec![0; self.size];
        let read = call!(c_read_page(self.buffer, self.size, full, page.as_mut_ptr()));
        (read >= 0).then_some(page)
    }

    pub fn reset(&self) {
        call!(ring_buffer_reset_cpu(self.buffer, CPU));
    }

    pub fn set_overwrite(&self, overwrite: bool) {
        call!(ring_buffer_change_overwrite(self.buffer, overwrite.into()));
    }

    pub fn set_absolute_stamps(&self, absolute: bool) {
        call!(ring_buffer_set_time_stamp_abs(self.buffer, absolute));
    }

    pub fn longest(&self) -> u64 {
        call!(ring_buffer_max_event_size(self.buffer))
    }

    pub fn resize(&self, slots: u32) {
        let size = slots as usize * (self.size - HEADER_SIZE);
        assert_eq!(
            call!(ring_buffer_resize(self.buffer, size as c_ulong, ALL_CPUS)),
            0
        );
    }

    /// Whether C takes what is left for read, and is wrong.
    pub fn rest_looks_read(&self) -> bool {
        call!(c_rest_looks_read(self.buffer))
    }

    pub fn map(&self) {
        assert_eq!(call!(c_map(self.buffer)), 0);
    }

    pub fn unmap(&self) {
        assert_eq!(call!(ring_buffer_unmap(self.buffer, CPU)), 0);
    }

    pub fn next_mapped(&self) {
        assert_eq!(call!(ring_buffer_map_get_reader(self.buffer, CPU)), 0);
    }

    /// The first page of the mapping, and the bytes of the reader's sub-buffer.
    pub fn mapped(&self) -> (Meta, Vec<u8>) {
        // SAFETY: the caller has mapped it, and nobody writes now.
        let meta = unsafe { *c_meta(self.buffer) };
        let page = call!(c_mapped_sub_buffer(self.buffer, meta.reader.id));
        // SAFETY: as above; a sub-buffer has so many bytes.
        let bytes = unsafe { slice::from_raw_parts(page, self.size) };
        (meta, bytes.to_vec())
    }

    pub fn iter(&self) -> Iter<'_> {
        let iter = call!(ring_buffer_read_start(self.buffer, CPU, 0));
        assert!(!iter.is_null());
        Iter {
            iter,
            buffer: PhantomData,
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // What is left after a failure may be in any state.
        if !std::thread::panicking() {
            call!(ring_buffer_free(self.buffer));
        }
    }
}

/// An iterator that consumes nothing.
pub struct Iter<'a> {
    iter: *mut RingBufferIter,
    buffer: PhantomData<&'a Buffer>,
}

impl Iter<'_> {
    pub fn next(&mut self) -> Option<Seen> {
        set_level(0);
        let mut time = 0;
        let mut peek = || NonNull::new(call!(ring_buffer_iter_peek(self.iter, &mut time)));
        // C gives up after three steps, and the event may be behind the rest of a page, a page's end and
        // a time record. So it is asked twice.
        let event = peek().or_else(peek)?;
        let event = seen(event, time, 0);
        call!(ring_buffer_iter_advance(self.iter));
        Some(event)
    }

    pub fn reset(&mut self) {
        call!(ring_buffer_iter_reset(self.iter));
    }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            call!(ring_buffer_read_finish(self.iter));
        }
    }
}
