// SPDX-License-Identifier: GPL-2.0

//! The sites of `likely()`, `unlikely()` and `if` with their counters, as the compiler leaves them
//! in two sections.
//!
//! C side: `include/linux/compiler.h`, and `__start_annotated_branch_profile` and its like in the
//! linker script. A module's sites lie in its own memory; nobody lists them.
//!
//! Counters are changed by one instruction without a lock, as C does: what interrupts it on the
//! same CPU loses nothing, while two CPUs may lose a count to each other. The structures are only
//! 4-byte aligned.

use core::arch::asm;
use core::ffi::c_void;
use core::mem::offset_of;
use core::ptr::NonNull;
use kernel::bindings;

/// `struct ftrace_branch_data`.
#[repr(C, packed(4))]
pub(crate) struct Data {
    func: *const u8,
    file: *const u8,
    line: u32,
    unused: u32,
    counts: [u64; 2],
}

/// `struct ftrace_likely_data`.
#[repr(C, packed(4))]
pub(crate) struct LikelyData {
    data: Data,
    constant: u64,
}

const _: () = {
    assert!(size_of::<Data>() == size_of::<bindings::ftrace_branch_data>());
    assert!(size_of::<LikelyData>() == size_of::<bindings::ftrace_likely_data>());
    assert!(offset_of!(Data, line) == offset_of!(bindings::ftrace_branch_data, line));
    assert!(offset_of!(Data, counts) == offset_of!(bindings::ftrace_branch_data, __bindgen_anon_1));
    assert!(offset_of!(LikelyData, constant) == offset_of!(bindings::ftrace_likely_data, constant));
};

/// Any site.
///
/// # Invariants
///
/// The pointer is to a site that stays as long as this is used; its strings and line do not change.
#[derive(Clone, Copy)]
pub(crate) struct Site(NonNull<Data>);

/// An annotated site.
///
/// # Invariants
///
/// As of [`Site`].
#[derive(Clone, Copy)]
pub(crate) struct Annotated(NonNull<LikelyData>);

// SAFETY: any context may read a site and count in it.
unsafe impl Send for Site {}
// SAFETY: any context may read a site and count in it, several at a time.
unsafe impl Sync for Site {}
// SAFETY: any context may read a site and count in it.
unsafe impl Send for Annotated {}
// SAFETY: any context may read a site and count in it, several at a time.
unsafe impl Sync for Annotated {}

/// Adds one to a counter.
///
/// # Safety
///
/// It is a site's, which stays meanwhile.
#[inline(always)]
unsafe fn count(counter: *mut u64) {
    // SAFETY: a site's counter is 8 bytes that may be changed; nothing else changes but the flags.
    unsafe { asm!("inc qword ptr [{}]", in(reg) counter, options(nostack)) };
}

/// Reads a counter.
///
/// # Safety
///
/// As of [`count`].
unsafe fn counted(counter: *const u64) -> u64 {
    let value;
    // SAFETY: a site's counter is 8 bytes that may be read; nothing changes.
    unsafe {
        asm!("mov {}, qword ptr [{}]", out(reg) value, in(reg) counter, options(nostack, preserves_flags, readonly))
    };
    value
}

impl Site {
    /// The function's name.
    pub(crate) fn function(&self) -> &[u8] {
        // SAFETY: by the type invariant a site, and its strings stay as long.
        unsafe { text((&raw const (*self.0.as_ptr()).func).read_unaligned()) }
    }

    /// The file's name, with its path.
    pub(crate) fn file(&self) -> &[u8] {
        // SAFETY: by the type invariant a site, and its strings stay as long.
        unsafe { text((&raw const (*self.0.as_ptr()).file).read_unaligned()) }
    }

    /// The line.
    pub(crate) fn line(self) -> u32 {
        // SAFETY: by the type invariant a site, whose line does not change.
        unsafe { (*self.0.as_ptr()).line }
    }

    /// How often it was correct, or not taken; and the other way. Any context.
    pub(crate) fn counts(self) -> [u64; 2] {
        // SAFETY: by the type invariant a site; it has two counters, and each is read by one
        // instruction.
        [0, 1].map(|way| unsafe {
            counted(
                (&raw const (*self.0.as_ptr()).counts)
                    .cast::<u64>()
                    .wrapping_add(way),
            )
        })
    }
}

impl Annotated {
    /// What C hands out.
    ///
    /// # Safety
    ///
    /// `data` is a site, which stays as long as the result is used.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(data: NonNull<bindings::ftrace_likely_data>) -> Self {
        // INVARIANT: `data` is a site that stays as long as the result.
        Self(data.cast())
    }

    /// What it has in common with others.
    #[inline(always)]
    pub(crate) fn site(self) -> Site {
        // INVARIANT: as the own.
        Site(self.0.cast())
    }

    /// Its address.
    #[inline(always)]
    pub(crate) fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// Counts one condition. Any context; no call.
    #[inline(always)]
    pub(crate) fn count(self, correct: bool) {
        // SAFETY: by the type invariant a site, whose counters may be changed by anybody; the index
        // is 0 or 1.
        unsafe {
            count(
                (&raw mut (*self.0.as_ptr()).data.counts)
                    .cast::<u64>()
                    .wrapping_add(usize::from(!correct)),
            )
        };
    }

    /// Counts that the compiler knew the condition. Any context; no call.
    #[inline(always)]
    pub(crate) fn count_constant(self) {
        // SAFETY: by the type invariant a site, whose counters may be changed by anybody.
        unsafe { count(&raw mut (*self.0.as_ptr()).constant) };
    }

    /// How often it did. Any context.
    #[inline(always)]
    pub(crate) fn constant(self) -> u64 {
        // SAFETY: by the type invariant a site, whose counters may be read by anybody.
        unsafe { counted(&raw const (*self.0.as_ptr()).constant) }
    }
}

/// The bytes before the NUL.
///
/// # Safety
///
/// `start` is a string that stays as long as the result is used.
unsafe fn text<'a>(start: *const u8) -> &'a [u8] {
    let mut length = 0usize;
    // SAFETY: each byte up to the NUL is readable. Volatile, or the compiler would make it a call
    // of C's `strlen()`, which may be traced.
    while unsafe { start.wrapping_add(length).read_volatile() } != 0 {
        length = length.wrapping_add(1);
    }
    // SAFETY: so many bytes were read just now, and the string stays.
    unsafe { core::slice::from_raw_parts(start, length) }
}

/// Bytes from one annotated site of the kernel's to the next.
pub(crate) const ANNOTATED_SIZE: usize = size_of::<LikelyData>();

/// The sites of a section, in its order.
///
/// # Invariants
///
/// From `start` on there are `count` sites, which stay, and `site` makes what stands for one.
pub(crate) struct Sites<D, S> {
    start: NonNull<D>,
    count: usize,
    site: fn(NonNull<D>) -> S,
}

impl<D, S> Sites<D, S> {
    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// One of them, counted from 0.
    pub(crate) fn get(&self, index: usize) -> Option<S> {
        // SAFETY: by the type invariant it is in the section.
        (index < self.count).then(|| (self.site)(unsafe { self.start.add(index) }))
    }

    /// All.
    pub(crate) fn iter(&self) -> impl Iterator<Item = S> + '_ {
        (0..self.count).filter_map(|index| self.get(index))
    }

    /// # Safety
    ///
    /// They are the labels around a section of `D`s, and `site` makes what stands for one.
    unsafe fn between(start: *const c_void, end: *const c_void, site: fn(NonNull<D>) -> S) -> Self {
        let count = (end as usize).wrapping_sub(start as usize) / size_of::<D>();
        // INVARIANT: the labels are around a section of `D`s, and sections of the kernel stay.
        Self {
            // SAFETY: a label of the linker's is not at 0.
            start: unsafe { NonNull::new_unchecked(start.cast_mut().cast()) },
            count,
            site,
        }
    }
}

/// The annotated sites of the kernel itself.
pub(crate) fn annotated() -> Sites<LikelyData, Annotated> {
    let start = (&raw const bindings::__start_annotated_branch_profile).cast();
    let end = (&raw const bindings::__stop_annotated_branch_profile).cast();
    // SAFETY: the linker script puts them around such structures. INVARIANT: of `Annotated`:
    // sections stay.
    unsafe { Sites::between(start, end, |site| Annotated(site)) }
}

/// All `if`s of the kernel itself.
#[cfg(CONFIG_PROFILE_ALL_BRANCHES)]
pub(crate) fn all() -> Sites<Data, Site> {
    let start = (&raw const bindings::__start_branch_profile).cast();
    let end = (&raw const bindings::__stop_branch_profile).cast();
    // SAFETY: the linker script puts them around such structures. INVARIANT: of `Site`: sections
    // stay.
    unsafe { Sites::between(start, end, |site| Site(site)) }
}
