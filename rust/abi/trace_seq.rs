// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/trace_seq.h`, and those of `include/linux/trace_events.h` with
//! which events print their fields. `trace_seq.c` has the variadic ones and the exports.
//!
//! A `struct trace_seq *` is valid, all zeros or initialised, and the caller's alone. A `struct
//! trace_iterator *` is the one that the caller was given to print with. Any context unless said
//! otherwise.
//!
//! Functions that return text return a string in the line: it is good until the line is emptied.

use super::printk::arguments;
use super::trace_array::instance;
use crate::core::format::{values, Out};
use crate::core::parse::options::{Flag, Set};
use crate::kernel::interop::errno;
use crate::kernel::trace_iterator::{event_name, TraceIterator};
use crate::kernel::trace_seq::TraceSeq;
use crate::trace::output::line;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;
use kernel::bindings;
use kernel::container_of;
use kernel::ffi::{c_char, c_int, c_uchar};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// `length` bytes at `start`; none where either makes no sense.
///
/// # Safety
///
/// `start` is null or good for so many bytes for `'a`.
unsafe fn bytes<'a>(start: *const c_void, length: usize) -> &'a [u8] {
    if start.is_null() || length > isize::MAX as usize {
        return &[];
    }
    // SAFETY: `start` is not null here, and `length` bytes are readable there for `'a`.
    unsafe { slice::from_raw_parts(start.cast(), length) }
}

/// The memory of a bit mask, which consists of whole words.
///
/// # Safety
///
/// `mask` is null or has as many bits.
unsafe fn mask<'a>(mask: *const c_void, bits: c_int) -> (&'a [u8], usize) {
    let bits = usize::try_from(bits).unwrap_or(0);
    // SAFETY: `mask` is null or has so many bits, in whole words.
    let words = unsafe { bytes(mask, bits.div_ceil(64).saturating_mul(size_of::<u64>())) };
    (words, bits)
}

/// Lets `write` add a string to a line; gives where it begins. What does not fit marks the line
/// full, which its reader finds.
///
/// # Safety
///
/// `seq` is as the module's head says.
unsafe fn string(
    seq: *mut bindings::trace_seq,
    write: impl FnOnce(&mut TraceSeq) -> fmt::Result,
) -> *const c_char {
    // SAFETY: `seq` is a line that this call has to itself.
    let seq = unsafe { TraceSeq::from_raw(seq) };
    let start = seq.end();
    // The line remembers that it is full.
    let _ = write(seq);
    seq.end_string();
    start
}

/// Adds what a format makes of its arguments.
///
/// # Safety
///
/// `seq` is as the module's head says; `args` fit the format, and are the callee's.
#[export]
pub(crate) unsafe extern "C" fn rtrace_seq_vprintf(
    seq: *mut bindings::trace_seq,
    format: *const c_char,
    args: *mut bindings::va_list,
) {
    // SAFETY: `args` fit the format, and are this call's.
    if let Some(arguments) = unsafe { arguments(format, args) } {
        // SAFETY: `seq` is a line that this call has to itself. The line remembers that it is full.
        let _ = unsafe { TraceSeq::from_raw(seq) }.format(arguments, false);
    }
}

/// Adds what a format makes of arguments that `vbin_printf()` has packed.
///
/// # Safety
///
/// As [`rtrace_seq_vprintf`], for `packed`.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_bprintf(
    seq: *mut bindings::trace_seq,
    format: *const c_char,
    packed: *const u32,
) {
    if let Some(format) = NonNull::new(format.cast_mut()) {
        // SAFETY: `seq` is a line that this call has to itself; `packed` has arguments that fit the
        // format. The line remembers that it is full.
        let _ = unsafe { TraceSeq::from_raw(seq).format_packed(format, packed) };
    }
}

/// Adds a string.
///
/// # Safety
///
/// `seq` is as the module's head says, `text` NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_puts(seq: *mut bindings::trace_seq, text: *const c_char) {
    // SAFETY: `seq` is a line that this call has to itself; `text` is NUL-terminated. The line
    // remembers that it is full.
    let _ = unsafe { TraceSeq::from_raw(seq).bytes(CStr::from_char_ptr(text).to_bytes()) };
}

/// Adds a byte.
///
/// # Safety
///
/// `seq` is as the module's head says.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_putc(seq: *mut bindings::trace_seq, byte: c_uchar) {
    // SAFETY: `seq` is a line that this call has to itself. The line remembers that it is full.
    let _ = unsafe { TraceSeq::from_raw(seq) }.bytes(&[byte]);
}

/// Adds bytes as they are.
///
/// # Safety
///
/// `seq` is as the module's head says; `mem` has so many bytes.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_putmem(
    seq: *mut bindings::trace_seq,
    mem: *const c_void,
    length: c_uint,
) {
    // SAFETY: `seq` is a line that this call has to itself; `mem` has `length` bytes. The line
    // remembers that it is full.
    let _ = unsafe { TraceSeq::from_raw(seq).bytes(bytes(mem, length as usize)) };
}

/// Adds bytes as words in hexadecimal digits, each followed by a blank.
///
/// # Safety
///
/// As [`trace_seq_putmem`].
#[export]
pub(crate) unsafe extern "C" fn trace_seq_putmem_hex(
    seq: *mut bindings::trace_seq,
    mem: *const c_void,
    length: c_uint,
) {
    // SAFETY: `seq` is a line that this call has to itself; `mem` has `length` bytes. The line
    // remembers that it is full.
    let _ = unsafe { TraceSeq::from_raw(seq).words(bytes(mem, length as usize)) };
}

/// Adds the name of a file; gives 1, or 0 if there was no room. Task context.
///
/// # Safety
///
/// `seq` is as the module's head says; the caller holds `path`.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_path(
    seq: *mut bindings::trace_seq,
    path: *const bindings::path,
) -> c_int {
    let Some(path) = NonNull::new(path.cast_mut()) else {
        return 0;
    };
    // SAFETY: `seq` is a line that this call has to itself; `path` is held meanwhile.
    unsafe { TraceSeq::from_raw(seq).path(path) }.is_ok().into()
}

/// Adds a bit mask in hexadecimal groups.
///
/// # Safety
///
/// `seq` is as the module's head says; `maskp` has so many bits, in whole words.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_bitmask(
    seq: *mut bindings::trace_seq,
    maskp: *const c_ulong,
    nmaskbits: c_int,
) {
    // SAFETY: `seq` is a line that this call has to itself; `maskp` has `nmaskbits` bits, in whole
    // words.
    let (seq, (mask, bits)) = unsafe { (TraceSeq::from_raw(seq), mask(maskp.cast(), nmaskbits)) };
    // The line remembers that it is full.
    let _ = seq.whole(|seq| values::write_bitmask(seq, mask, bits));
}

/// Adds a bit mask as a list.
///
/// # Safety
///
/// As [`trace_seq_bitmask`].
#[export]
pub(crate) unsafe extern "C" fn trace_seq_bitmask_list(
    seq: *mut bindings::trace_seq,
    maskp: *const c_ulong,
    nmaskbits: c_int,
) {
    // SAFETY: `seq` is a line that this call has to itself; `maskp` has `nmaskbits` bits, in whole
    // words.
    let (seq, (mask, bits)) = unsafe { (TraceSeq::from_raw(seq), mask(maskp.cast(), nmaskbits)) };
    // The line remembers that it is full.
    let _ = seq.whole(|seq| values::write_bitmask_list(seq, mask, bits));
}

/// Adds rows as `print_hex_dump()` makes them; gives 1, or 0 if there was no room.
///
/// # Safety
///
/// `seq` is as the module's head says, `prefix` NUL-terminated; `buf` has so many bytes.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_hex_dump(
    seq: *mut bindings::trace_seq,
    prefix: *const c_char,
    prefix_type: c_int,
    row: c_int,
    group: c_int,
    buf: *const c_void,
    length: usize,
    ascii: bool,
) -> c_int {
    // SAFETY: `seq` is a line that this call has to itself; `buf` has `length` bytes, and `prefix`
    // is NUL-terminated.
    let done = unsafe {
        let bytes = bytes(buf, length);
        TraceSeq::from_raw(seq).hex_dump(prefix, prefix_type, row, group, bytes, ascii)
    };
    done.is_ok().into()
}

/// As `WARN_ON_ONCE()`: whoever prints an event may come here at each of its entries.
#[cold]
fn warn_once() {
    static WARNED: Atomic<bool> = Atomic::new(false);
    if !WARNED.xchg(true, Relaxed) {
        kernel::warn_on!(true);
    }
}

/// Takes memory of the line for the caller to fill in; gives where it begins. Warns the first time
/// that there is not as much.
///
/// # Safety
///
/// `seq` is as the module's head says.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_acquire(
    seq: *mut bindings::trace_seq,
    length: c_uint,
) -> *mut c_char {
    // SAFETY: `seq` is a line that this call has to itself.
    let seq = unsafe { TraceSeq::from_raw(seq) };
    let start = seq.end();
    if !seq.take(length as usize) {
        warn_once();
    }
    start.cast_mut()
}

/// Moves the line to a `seq_file`; not 0, and the line stays, where that has no room.
///
/// # Safety
///
/// `seq` is as the module's head says; `file` is being shown.
#[export]
pub(crate) unsafe extern "C" fn trace_print_seq(
    file: *mut bindings::seq_file,
    seq: *mut bindings::trace_seq,
) -> c_int {
    // SAFETY: `seq` is a line that this call has to itself; `file` is being shown.
    let printed = unsafe { TraceSeq::from_raw(seq).print_to(file) };
    errno(printed)
}

/// Hands the next bytes of the line to a user; gives how many, or an errno. Task context, may
/// sleep.
///
/// # Safety
///
/// `seq` is as the module's head says.
#[export]
pub(crate) unsafe extern "C" fn trace_seq_to_user(
    seq: *mut bindings::trace_seq,
    to: *mut c_char,
    count: c_int,
) -> c_int {
    // SAFETY: `seq` is a line that this call has to itself.
    unsafe { TraceSeq::from_raw(seq) }.to_user(to, count)
}

/// What a printing function returns: whether all was printed, or there was no room.
///
/// # Safety
///
/// `seq` is as the module's head says.
#[export]
pub(crate) unsafe extern "C" fn trace_handle_return(
    seq: *mut bindings::trace_seq,
) -> bindings::print_line_t {
    // SAFETY: `seq` is a line that this call has to itself.
    finished(unsafe { TraceSeq::from_raw(seq) })
}

fn finished(seq: &TraceSeq) -> bindings::print_line_t {
    if seq.is_full() {
        bindings::print_line_t_TRACE_TYPE_PARTIAL_LINE
    } else {
        bindings::print_line_t_TRACE_TYPE_HANDLED
    }
}

/// The name of a row. How long it is is found out only if it is printed.
struct Name<'a>(*const c_char, PhantomData<&'a CStr>);

impl AsRef<[u8]> for Name<'_> {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `names` has made it, whose names are NUL-terminated and there for its lifetime.
        unsafe { CStr::from_char_ptr(self.0) }.to_bytes()
    }
}

/// The values and names of a table. A row without a name, as that at the end of the flags of an
/// allocation, is left out.
///
/// # Safety
///
/// `table` has so many rows, whose names are null or NUL-terminated, for `'a`.
unsafe fn names<'a>(
    table: *const bindings::trace_print_flags,
    rows: usize,
) -> impl Iterator<Item = (u64, Name<'a>)> {
    let rows = if table.is_null() { 0 } else { rows };
    (0..rows).filter_map(move |row| {
        // SAFETY: `table` has a row at each of these places.
        let row = unsafe { &*table.add(row) };
        (!row.name.is_null()).then(|| (row.mask as u64, Name(row.name, PhantomData)))
    })
}

/// Names the bits of `flags`.
///
/// # Safety
///
/// `seq` is as the module's head says, `delimiter` null or NUL-terminated; `table` as [`names`]
/// says.
#[export]
pub(crate) unsafe extern "C" fn trace_print_flags_seq(
    seq: *mut bindings::trace_seq,
    delimiter: *const c_char,
    flags: c_ulong,
    table: *const bindings::trace_print_flags,
    rows: usize,
) -> *const c_char {
    let delimiter = if delimiter.is_null() {
        &[]
    } else {
        // SAFETY: `delimiter` is not null here, and NUL-terminated.
        unsafe { CStr::from_char_ptr(delimiter) }.to_bytes()
    };
    // SAFETY: `seq` is a line that this call has to itself; `table` has `rows` rows, whose names are
    // null or NUL-terminated.
    unsafe {
        string(seq, |seq| {
            values::write_flags(seq, delimiter, flags as u64, names(table, rows))
        })
    }
}

/// Names `value`.
///
/// # Safety
///
/// As [`trace_print_flags_seq`].
#[export]
pub(crate) unsafe extern "C" fn trace_print_symbols_seq(
    seq: *mut bindings::trace_seq,
    value: c_ulong,
    table: *const bindings::trace_print_flags,
    rows: usize,
) -> *const c_char {
    // SAFETY: `seq` is a line that this call has to itself; `table` has `rows` rows, whose names are
    // null or NUL-terminated.
    unsafe {
        string(seq, |seq| {
            values::write_symbol(seq, value as u64, names(table, rows))
        })
    }
}

/// Bytes in hexadecimal digits.
///
/// # Safety
///
/// `seq` is as the module's head says; `buf` has so many bytes.
#[export]
pub(crate) unsafe extern "C" fn trace_print_hex_seq(
    seq: *mut bindings::trace_seq,
    buf: *const c_uchar,
    length: c_int,
    concatenate: bool,
) -> *const c_char {
    // SAFETY: `seq` is a line that this call has to itself; `buf` has `length` bytes.
    unsafe {
        let bytes = bytes(buf.cast(), usize::try_from(length).unwrap_or(0));
        string(seq, |seq| values::write_hex(seq, bytes, concatenate))
    }
}

/// The elements of an array.
///
/// # Safety
///
/// `seq` is as the module's head says; `buf` has `count` elements of so many bytes.
#[export]
pub(crate) unsafe extern "C" fn trace_print_array_seq(
    seq: *mut bindings::trace_seq,
    buf: *const c_void,
    count: c_int,
    element: usize,
) -> *const c_char {
    let length = usize::try_from(count).unwrap_or(0).saturating_mul(element);
    // SAFETY: `seq` is a line that this call has to itself; `buf` has `length` bytes, those of the
    // elements.
    unsafe {
        let array = bytes(buf, length);
        string(seq, |seq| values::write_array(seq, array, element))
    }
}

/// Rows as `print_hex_dump()` makes them, on lines of their own.
///
/// # Safety
///
/// As [`trace_seq_hex_dump`].
#[export]
pub(crate) unsafe extern "C" fn trace_print_hex_dump_seq(
    seq: *mut bindings::trace_seq,
    prefix: *const c_char,
    prefix_type: c_int,
    row: c_int,
    group: c_int,
    buf: *const c_void,
    length: usize,
    ascii: bool,
) -> *const c_char {
    // SAFETY: `seq` is a line that this call has to itself; `buf` has `length` bytes, and `prefix`
    // is NUL-terminated.
    unsafe {
        let bytes = bytes(buf, length);
        string(seq, |seq| {
            seq.bytes(b"\n")?;
            seq.hex_dump(prefix, prefix_type, row, group, bytes, ascii)
        })
    }
}

/// The options of the instance that a record is from; the defaults where that is not known.
///
/// # Safety
///
/// The iterator's instance is null or an instance that is held.
unsafe fn options(iter: &TraceIterator) -> Set {
    // SAFETY: the iterator's instance is null or an instance that is held while it is printed.
    unsafe { instance(iter.trace_array()) }.map_or(Set::DEFAULT, |instance| instance.options())
}

/// A bit mask of so many bytes, in the form that option `bitmask-list` asks for.
///
/// # Safety
///
/// `iter` is as the module's head says; `bitmask` has so many bytes.
#[export]
pub(crate) unsafe extern "C" fn trace_print_bitmask_seq(
    iter: *mut bindings::trace_iterator,
    bitmask: *mut c_void,
    size: c_uint,
) -> *const c_char {
    // SAFETY: `iter` is what this call was given to print with; `bitmask` has `size` bytes.
    let (iter, mask) = unsafe { (TraceIterator::from_raw(iter), bytes(bitmask, size as usize)) };
    let bits = mask.len().saturating_mul(8);
    // SAFETY: the iterator's maker holds the instance.
    let list = unsafe { options(iter) }.has(Flag::BitmaskList);
    let seq = iter.scratch();
    seq.init();
    let start = seq.end();
    // The line remembers that it is full.
    let _ = if list {
        values::write_bitmask_list(seq, mask, bits)
    } else {
        values::write_bitmask(seq, mask, bits)
    };
    seq.end_string();
    start
}

/// Begins the line of an event with its name.
///
/// # Safety
///
/// `iter` is as the module's head says; `event` is part of a `struct trace_event_call`.
#[export]
pub(crate) unsafe extern "C" fn trace_raw_output_prep(
    iter: *mut bindings::trace_iterator,
    event: *mut bindings::trace_event,
) -> c_int {
    // SAFETY: `iter` is what this call was given to print with; `event` is part of a `struct
    // trace_event_call`, as events print themselves by this alone.
    let (iter, name, id) = unsafe {
        let call = container_of!(event, bindings::trace_event_call, event);
        (
            TraceIterator::from_raw(iter),
            event_name(call),
            (*event).type_,
        )
    };
    iter.scratch().init();
    let (seq, record) = iter.line();
    let recorded = record
        .first_chunk()
        .map(|id| u16::from_ne_bytes(*id).into());
    if recorded != Some(id) {
        warn_once();
        return bindings::print_line_t_TRACE_TYPE_UNHANDLED as c_int;
    }
    // The line remembers that it is full.
    let _ = seq.whole(|seq| {
        seq.bytes(name.to_bytes())?;
        seq.bytes(b": ")
    });
    finished(seq) as c_int
}

/// Adds what an event's format makes of its fields; instead of it a complaint, if the event points
/// to text that may have gone.
///
/// # Safety
///
/// `iter` is as the module's head says; `args` fit the format, and are the callee's.
#[export]
pub(crate) unsafe extern "C" fn rtrace_event_vprintf(
    iter: *mut bindings::trace_iterator,
    format: *const c_char,
    args: *mut bindings::va_list,
) {
    // SAFETY: `iter` is what this call was given to print with.
    let iter = unsafe { TraceIterator::from_raw(iter) };
    let (seq, record) = iter.line();
    if line::refuses(record, seq) == Ok(false) {
        // SAFETY: `iter` is what this call was given to print with; `args` fit the format, and are
        // this call's.
        unsafe { add_format(iter, format, args) };
    }
}

/// # Safety
///
/// As [`rtrace_event_vprintf`].
unsafe fn add_format(
    iter: &mut TraceIterator,
    format: *const c_char,
    args: *mut bindings::va_list,
) {
    // SAFETY: the iterator's maker holds the instance.
    let hash = unsafe { options(iter) }.has(Flag::HashPtr);
    // SAFETY: `args` fit the format, and are this call's.
    let Some(arguments) = (unsafe { arguments(format, args) }) else {
        return;
    };
    let wants_paths = iter.wants_paths();
    let (seq, _) = iter.line();
    let formatted = if hash {
        seq.format(arguments, wants_paths)
    } else {
        seq.format_unhashed(arguments).map(|()| false)
    };
    // The line remembers that it is full.
    iter.tell_paths(formatted.unwrap_or(false));
}

/// Prints a whole event: its name, and what a format makes of its fields.
///
/// # Safety
///
/// As [`rtrace_event_vprintf`]; `name` is NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn rtrace_output_call(
    iter: *mut bindings::trace_iterator,
    name: *const c_char,
    format: *const c_char,
    args: *mut bindings::va_list,
) -> c_int {
    // SAFETY: `iter` is what this call was given to print with; `name` is NUL-terminated.
    let (iter, name) = unsafe { (TraceIterator::from_raw(iter), CStr::from_char_ptr(name)) };
    let (seq, _) = iter.line();
    // The line remembers that it is full.
    let _ = seq.whole(|seq| {
        seq.bytes(name.to_bytes())?;
        seq.bytes(b": ")
    });
    // SAFETY: `iter` is what this call was given to print with; `args` fit the format, and are this
    // call's.
    unsafe { add_format(iter, format, args) };
    finished(iter.line().0)
}
