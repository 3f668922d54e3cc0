// SPDX-License-Identifier: GPL-2.0

//! C's formats: with the arguments of a variadic function, as text or packed to be printed later.
//!
//! C header: `include/linux/sprintf.h`; `Documentation/core-api/printk-formats.rst` has the
//! language.

use crate::core::format::printf;
use crate::core::format::rust_name::is_mangled;
use crate::kernel::hashed_pointer;
use crate::kernel::kallsyms;
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::ffi::c_void;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;

/// The longest text that is made, its NUL included, and as much for packed arguments.
pub(crate) const LONGEST: usize = 1024;
/// Packed arguments consist of words.
const WORD: usize = size_of::<u32>();

/// Memory to format in.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct Room([u8; LONGEST]);

impl Room {
    /// Memory with nothing in it.
    pub(crate) const fn new() -> Self {
        Self([0; LONGEST])
    }
}

/// A format and its arguments.
///
/// # Invariants
///
/// `format` is a NUL-terminated format and `list` points to a `va_list` of arguments that fit it.
pub(crate) struct Arguments {
    format: NonNull<c_char>,
    list: NonNull<bindings::va_list>,
}

impl Arguments {
    /// What a variadic C function got.
    ///
    /// # Safety
    ///
    /// While the result is used, `format` is NUL-terminated and `list` points to a `va_list` of
    /// arguments that fit it; nobody else uses the list, and nobody at all afterwards.
    pub(crate) unsafe fn new(format: NonNull<c_char>, list: NonNull<bindings::va_list>) -> Self {
        // INVARIANT: `list` has arguments that fit `format`, and nobody else uses it.
        Self { format, list }
    }

    /// Where the format is.
    pub(crate) fn format(&self) -> usize {
        self.format.as_ptr() as usize
    }

    /// The format, and its arguments, which stay: they can be taken by another one. With `paths`, names
    /// of Rust functions are shown as paths.
    pub(crate) fn taken(&self, paths: bool) -> (&[u8], Taken) {
        let mut list = MaybeUninit::uninit();
        // SAFETY: by the invariant the format is NUL-terminated, and the list one that nobody else
        // uses; the function fills the other one. INVARIANT: it has the arguments of the format.
        unsafe {
            bindings::rtrace_copy_arguments(list.as_mut_ptr(), self.list.as_ptr());
            let format = self.format.as_ptr();
            let length = bindings::rtrace_text_length(format);
            let format = core::slice::from_raw_parts(format.cast(), length);
            let taken = Taken {
                list: list.assume_init(),
                paths,
                lacks_paths: Cell::new(false),
            };
            (format, taken)
        }
    }

    /// What [`Self::new`] got, to be used once.
    pub(crate) fn into_raw(self) -> (NonNull<c_char>, NonNull<bindings::va_list>) {
        (self.format, self.list)
    }

    /// Formats into `room`, cutting what does not fit; gives the text without a NUL. Any context.
    pub(crate) fn text(self, room: &mut Room) -> &[u8] {
        let room = &mut room.0;
        // SAFETY: by the invariant the arguments fit the format, and the memory has the size that
        // is said.
        let length = unsafe {
            bindings::rtrace_vscnprintf(
                room.as_mut_ptr().cast(),
                room.len(),
                self.format.as_ptr(),
                self.list.as_ptr(),
            )
        };
        room.get(..length as usize).unwrap_or(&[])
    }

    /// Packs the arguments into `room`; strings are copied. Gives the number of words they take
    /// and, where they fit, the words. Any context.
    pub(crate) fn packed(self, room: &mut Room) -> (c_int, Option<&[u8]>) {
        let room = &mut room.0;
        // SAFETY: by the invariant the arguments fit the format; the memory is aligned for words
        // and has as many as are said.
        let words = unsafe {
            bindings::rtrace_vbin_printf(
                room.as_mut_ptr().cast(),
                room.len() / WORD,
                self.format.as_ptr(),
                self.list.as_ptr(),
            )
        };
        (
            words,
            usize::try_from(words)
                .ok()
                .and_then(|words| room.get(..words.checked_mul(WORD)?)),
        )
    }
}

/// A text that is never changed and never goes, by its address.
///
/// # Invariants
///
/// It points to a NUL-terminated string of that kind.
#[derive(Clone, Copy)]
pub(crate) struct Constant(NonNull<c_char>);

impl Constant {
    /// # Safety
    ///
    /// `text` is a NUL-terminated string that is never changed and never goes.
    pub(crate) unsafe fn new(text: NonNull<c_char>) -> Self {
        // INVARIANT: `text` never changes and never goes.
        Self(text)
    }

    /// Where it is.
    pub(crate) fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The text. Any context.
    pub(crate) fn text(self) -> &'static CStr {
        // SAFETY: by the invariant a NUL-terminated string that never changes and never goes.
        unsafe { CStr::from_char_ptr(self.0.as_ptr()) }
    }
}

/// Formats packed arguments into `out` with a NUL, cutting what does not fit; gives the length
/// there is to the whole text. Any context.
///
/// # Safety
///
/// `format` is the address of a format that is still there, and `args` is what
/// [`Arguments::packed`] made of arguments that fit it.
pub(crate) unsafe fn unpack(format: usize, args: &[u8], out: &mut [u8]) -> usize {
    let mut aligned = Room::new();
    let args = if args.as_ptr().cast::<u32>().is_aligned() {
        args.as_ptr()
    } else {
        aligned
            .0
            .iter_mut()
            .zip(args)
            .for_each(|(to, from)| *to = *from);
        aligned.0.as_ptr()
    };
    // SAFETY: `format` is the address of a format that is still there, and `args` was packed from
    // arguments that fit it; `out` has the size that is said.
    let length = unsafe {
        bindings::bstr_printf(
            out.as_mut_ptr().cast(),
            out.len(),
            format as *const c_char,
            args.cast(),
        )
    };
    usize::try_from(length).unwrap_or(0)
}

/// Number `at` of the kernel's own formats (`trace_printk()`) and strings (tracepoints') that entries
/// point to, in the order of `printk_formats`. An entry is none where a format was no constant.
#[inline]
pub(crate) fn built_in(at: usize) -> Option<Option<&'static CStr>> {
    let formats = formats();
    let text = match at.checked_sub(formats.len()) {
        Some(at) => strings().get(at),
        None => formats.get(at),
    }?;
    // SAFETY: null, or a string constant of the kernel.
    Some((!text.is_null()).then(|| unsafe { CStr::from_char_ptr(*text) }))
}

/// How many there are.
pub(crate) fn built_in_count() -> usize {
    formats().len().wrapping_add(strings().len())
}

/// Does anything in the kernel itself call `trace_printk()`?
pub(crate) fn any_built_in() -> bool {
    !formats().is_empty()
}

fn formats() -> &'static [*const c_char] {
    let start = (&raw const bindings::__start___trace_bprintk_fmt).cast();
    let end = (&raw const bindings::__stop___trace_bprintk_fmt).cast();
    // SAFETY: the linker script puts them around an array of such pointers.
    unsafe { between(start, end) }
}

fn strings() -> &'static [*const c_char] {
    let start = (&raw const bindings::__start___tracepoint_str).cast();
    let end = (&raw const bindings::__stop___tracepoint_str).cast();
    // SAFETY: the linker script puts them around an array of pointers to strings.
    unsafe { between(start, end) }
}

/// Whether it is the address of a string that `tracepoint_string()` has made known. Any context.
pub(crate) fn is_tracepoint_string(address: usize) -> bool {
    strings().iter().any(|&text| text as usize == address)
}

/// # Safety
///
/// They are the ends of an array that stays.
unsafe fn between(
    start: *const *const c_char,
    end: *const *const c_char,
) -> &'static [*const c_char] {
    let bytes = (end as usize).wrapping_sub(start as usize);
    // SAFETY: `start` and `end` are the ends of an array that stays.
    unsafe { core::slice::from_raw_parts(start, bytes / size_of::<usize>()) }
}

/// Arguments that are taken one after the other.
///
/// # Invariants
///
/// `list` has the arguments of a format that are left, and they are taken as the format says.
pub(crate) struct Taken {
    list: bindings::va_list,
    paths: bool,
    lacks_paths: Cell<bool>,
}

impl Taken {
    /// Whether there may be names that are no paths where paths are wanted: C has printed them, or there
    /// was no room on the stack.
    pub(crate) fn lacks_paths(&self) -> bool {
        self.lacks_paths.get()
    }
}

impl printf::Arguments for Taken {
    fn int(&mut self) -> i32 {
        // SAFETY: by the invariant there is one of this type.
        unsafe { bindings::rtrace_next_int(&mut self.list) }
    }

    fn long(&mut self) -> i64 {
        // SAFETY: by the invariant there is one of this length.
        unsafe { bindings::rtrace_next_long(&mut self.list) as i64 }
    }

    #[inline(always)]
    fn text(&self, address: usize, most: Option<usize>) -> Option<&[u8]> {
        // C prints a word in place of these.
        if address < PAGE_SIZE || address > usize::MAX - bindings::MAX_ERRNO as usize {
            return None;
        }
        let text = address as *const c_char;
        // SAFETY: as for C's `%s`, whose argument it is: NUL-terminated, or of at least `most` bytes.
        unsafe {
            let length = match most {
                Some(most) => bindings::strnlen(text, most),
                None => bindings::rtrace_text_length(text),
            };
            Some(core::slice::from_raw_parts(text.cast(), length))
        }
    }

    fn pointer(&self, address: usize, conversion: &[u8], room: &mut [u8]) -> Option<usize> {
        let written = match conversion {
            b"%p" => hashed_pointer::digits(address).map(|digits| {
                if let Some(place) = room.first_chunk_mut() {
                    *place = digits;
                }
                digits.len()
            }),
            b"%pS" => kallsyms::write_own(address, true, self.paths, room),
            b"%ps" => kallsyms::write_own(address, false, self.paths, room),
            _ => None,
        };
        if written.is_some() {
            // A path takes room on the stack, and is left for later where there is not as much.
            if self.paths && is_mangled(room) {
                self.lacks_paths.set(true);
            }
            return written;
        }
        let is_symbol = |pair: &[u8]| matches!(pair, [b'p', b's' | b'S' | b'B']);
        if conversion.windows(2).any(is_symbol) {
            self.lacks_paths.set(true);
        }
        let mut text = [0u8; printf::LONGEST_POINTER + 1];
        if let Some(text) = text.get_mut(..conversion.len()) {
            text.copy_from_slice(conversion);
        }
        // SAFETY: the conversion is NUL-terminated and of a pointer, which is its argument; the memory
        // has the size that is said.
        let length = unsafe {
            bindings::rtrace_print_pointer(
                room.as_mut_ptr().cast(),
                room.len(),
                text.as_ptr().cast(),
                address as *const c_void,
            )
        } as usize;
        // C puts an end there: of what is as long as the room, the last byte is missing.
        (length != room.len()).then_some(length)
    }
}
