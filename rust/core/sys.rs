// SPDX-License-Identifier: GPL-2.0

//! All atomics and barriers of the core.
//!
//! There are two kinds of words. The kind is the type, so a wrong access does not compile:
//!
//! - [`Local`]: only the CPU that owns the buffer changes it. The contexts of that CPU nest
//!   strictly (task, softirq, hardirq, NMI), so one read-modify-write instruction is enough,
//!   without a bus lock. Other CPUs may read it for statistics, without ordering.
//! - [`Shared`]: any CPU changes and reads it. Every access names its ordering.
//!
//! It uses `core::sync::atomic`, also in the kernel: only relaxed, acquire and release accesses and
//! fences. On every architecture these compile to the same instructions as the kernel's
//! `READ_ONCE`, `smp_load_acquire`, `smp_store_release` and `cmpxchg`. The core names no kernel
//! crate, so host tests and `loom` (`cfg(loom)`) check the same implementation. The
//! read-modify-write operations of `Local` are the exception: on x86-64 they are the instructions
//! without `lock`, from `sys/local_x86_64.rs`.

// As in `ring_buffer`.
#![cfg_attr(CONFIG_RTRACE, allow(dead_code, unreachable_pub))]

#[cfg(not(loom))]
use core::sync::atomic as imp;
#[cfg(loom)]
use loom::sync::atomic as imp;

use imp::Ordering;

// Kernel builds have `asm_goto` with any rustc. For other builds `build.rs` sets it.
#[cfg(all(
    target_arch = "x86_64",
    any(CONFIG_RTRACE, asm_goto),
    not(any(loom, miri))
))]
#[path = "sys/local_x86_64.rs"]
mod local;
#[cfg(not(all(
    target_arch = "x86_64",
    any(CONFIG_RTRACE, asm_goto),
    not(any(loom, miri))
)))]
#[path = "sys/local_generic.rs"]
mod local;

/// A point where an interrupt or another CPU can come in: it stands before each access to a word that
/// others access, too. It is nothing in the kernel. In host builds with assertions, tests run
/// something there (`points`).
macro_rules! point {
    () => {
        #[cfg(all(not(CONFIG_RTRACE), any(debug_assertions, loom)))]
        $crate::core::sys::points::reached();
    };
}
pub(crate) use point;

#[cfg(all(not(CONFIG_RTRACE), any(debug_assertions, loom)))]
pub mod points;

/// A 64-bit word that only its own CPU changes; see the head of the module.
#[repr(transparent)]
pub struct Local(imp::AtomicU64);

impl Local {
    /// A word with `value`.
    pub fn new(value: u64) -> Self {
        Self(imp::AtomicU64::new(value))
    }

    /// Reads the word. On its own CPU this is the last stored value, on other CPUs some recent
    /// value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        point!();
        self.0.load(Ordering::Relaxed)
    }

    /// Stores `value`. On the owning CPU only.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        point!();
        self.0.store(value, Ordering::Relaxed);
    }

    /// Stores `new` if the word is `old`, and returns whether it was. On the owning CPU only: it is
    /// atomic against interrupts, not against other CPUs. The compiler moves no memory access
    /// across it.
    #[inline(always)]
    pub fn replace(&self, old: u64, new: u64) -> bool {
        point!();
        local::replace(&self.0, old, new)
    }

    /// Whether the word at offset `AT` of `structure` is `value`. On the owning CPU only. Called by
    /// [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn holds_at<const AT: usize, T>(&self, structure: &T, value: u64) -> bool {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::holds::<AT, T>(structure, &self.0, value) }
    }

    /// Whether the word at offset `AT` of `structure` is `VALUE`, sign-extended. On the owning CPU
    /// only. Called by [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn is_at<const AT: usize, const VALUE: i32, T>(&self, structure: &T) -> bool {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::is::<AT, VALUE, T>(structure, &self.0) }
    }

    /// `value` minus the word at offset `AT` of `structure`, wrapping. On the owning CPU only.
    /// Called by [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn minus_at<const AT: usize, T>(&self, structure: &T, value: u64) -> u64 {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::minus::<AT, T>(structure, &self.0, value) }
    }

    /// Adds `value` to the word at offset `AT` of `structure`, wrapping. On the owning CPU only,
    /// atomic against interrupts. Called by [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn add_at<const AT: usize, T>(&self, structure: &T, value: u64) {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::add_at::<AT, T>(structure, &self.0, value) }
    }

    /// As [`Local::add_at`], for a constant, sign-extended.
    ///
    /// # Safety
    ///
    /// As [`Local::add_at`].
    #[inline(always)]
    pub unsafe fn plus_at<const AT: usize, const VALUE: i32, T>(&self, structure: &T) {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::plus::<AT, VALUE, T>(structure, &self.0) }
    }

    /// Clears the bits of the word at offset `AT` of `structure` that are not set in `MASK`,
    /// sign-extended. On the owning CPU only, atomic against interrupts. Called by [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn and_at<const AT: usize, const MASK: i32, T>(&self, structure: &T) {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::and::<AT, MASK, T>(structure, &self.0) }
    }

    /// Adds `value`, wrapping. On the owning CPU only, atomic against interrupts.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        point!();
        local::add(&self.0, value);
    }
}

/// A 64-bit word that several CPUs change or read.
#[repr(transparent)]
pub struct Shared(imp::AtomicU64);

impl Shared {
    /// A word with `value`.
    pub fn new(value: u64) -> Self {
        Self(imp::AtomicU64::new(value))
    }

    /// Reads without ordering: for the CPU that wrote it, or for statistics.
    #[inline(always)]
    pub fn load_relaxed(&self) -> u64 {
        point!();
        self.0.load(Ordering::Relaxed)
    }

    /// Reads. Later accesses stay after it.
    #[inline(always)]
    pub fn load_acquire(&self) -> u64 {
        point!();
        self.0.load(Ordering::Acquire)
    }

    /// Reads after all earlier reads, of this word and of plain memory (`smp_rmb`, then a load).
    ///
    /// loom does not see reads of plain memory. So it would return an old value here, even if these
    /// reads have seen data written after a newer value. For loom this is an operation that returns
    /// the newest value. `tools/testing/litmus/rb-iter-copy.litmus` checks the fence.
    #[inline]
    pub fn load_after_reads(&self) -> u64 {
        point!();
        fence_acquire();
        #[cfg(not(loom))]
        return self.0.load(Ordering::Relaxed);
        #[cfg(loom)]
        return self.0.fetch_add(0, Ordering::Acquire);
    }

    /// Stores without ordering.
    #[inline(always)]
    pub fn store_relaxed(&self, value: u64) {
        point!();
        self.0.store(value, Ordering::Relaxed);
    }

    /// Stores. Earlier accesses stay before it.
    #[inline(always)]
    pub fn store_release(&self, value: u64) {
        point!();
        self.0.store(value, Ordering::Release);
    }

    /// Stores `new` if the word is `old`, and returns whether it was. Acquire and release on
    /// success.
    #[inline]
    pub fn replace(&self, old: u64, new: u64) -> bool {
        point!();
        self.0
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Adds `value`, wrapping, without ordering.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        point!();
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    /// Sets `bits`. Earlier accesses stay before it.
    #[inline(always)]
    pub fn set_bits(&self, bits: u64) {
        point!();
        self.0.fetch_or(bits, Ordering::Release);
    }

    /// Clears `bits`, without ordering.
    #[inline(always)]
    pub fn clear_bits(&self, bits: u64) {
        point!();
        self.0.fetch_and(!bits, Ordering::Relaxed);
    }

    /// Whether the word at offset `AT` of `structure` is above `value`, both signed. Later accesses
    /// stay after it. Called by [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn above_at<const AT: usize, T>(&self, structure: &T, value: u64) -> bool {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::above::<AT, T>(structure, &self.0, value) }
    }

    /// Adds `value`, wrapping, without ordering. A lock prevents concurrent changes.
    #[inline(always)]
    pub fn add_locked(&self, value: u64) {
        self.store_relaxed(self.load_relaxed().wrapping_add(value));
    }
}

/// A 32-bit word that several CPUs change or read: flags, counts of disables.
#[repr(transparent)]
pub struct Shared32(imp::AtomicU32);

impl Shared32 {
    /// A word with `value`.
    pub fn new(value: u32) -> Self {
        Self(imp::AtomicU32::new(value))
    }

    /// Reads without ordering.
    #[inline(always)]
    pub fn load_relaxed(&self) -> u32 {
        point!();
        self.0.load(Ordering::Relaxed)
    }

    /// Whether the word at offset `AT` of `structure` is `VALUE`. Reads without ordering. Called by
    /// [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn is_at<const AT: usize, const VALUE: i32, T>(&self, structure: &T) -> bool {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::is_32::<AT, VALUE, T>(structure, &self.0) }
    }

    /// Stores without ordering.
    #[inline(always)]
    pub fn store_relaxed(&self, value: u32) {
        point!();
        self.0.store(value, Ordering::Relaxed);
    }

    /// Stores `value` and returns the old value. Acquire and release.
    pub fn swap(&self, value: u32) -> u32 {
        point!();
        self.0.swap(value, Ordering::AcqRel)
    }
}

/// `sum + 4 * words + MORE`, wrapping.
#[inline(always)]
pub fn plus_words<const MORE: i32>(sum: u64, words: u64) -> u64 {
    local::plus_words::<MORE>(sum, words)
}

/// The same number, which the compiler computes here and not later. So what it is made of takes no
/// registers any more.
#[allow(dead_code, reason = "not all configurations have a user")]
#[inline(always)]
pub fn computed(number: u64) -> u64 {
    local::computed(number)
}

/// Copies a number (or an address) to another register, for a value that a fast path passes to a
/// slow path. Otherwise the compiler keeps the value in the slow path's register all the time, and
/// moves other values for that.
#[inline(always)]
pub fn apart(number: u64) -> u64 {
    local::apart(number)
}

/// A constant in a register, put there where this stands and not before: for what a fast path passes
/// to a slow path that it seldom leaves to.
#[allow(dead_code, reason = "not all configurations have a user")]
#[inline(always)]
pub fn constant<const NUMBER: u32>() -> u64 {
    local::constant::<NUMBER>()
}

/// Whether word `index` of those at `base`, `AHEAD` further, is `value`. The compiler moves no memory
/// access across it.
///
/// # Safety
///
/// There is such a word, aligned. If it changes meanwhile, one instruction changes it.
#[allow(dead_code, reason = "not all configurations have a user")]
#[inline(always)]
pub unsafe fn word_holds<const AHEAD: isize>(base: *const u64, index: usize, value: u64) -> bool {
    point!();
    // SAFETY: the caller says so.
    unsafe { local::word_holds::<AHEAD>(base, index, value) }
}

/// Whether the word at offset `AT` of a structure is `value`. Later accesses stay after it.
///
/// # Safety
///
/// There is such a word, aligned. If it changes meanwhile, one instruction changes it.
#[allow(dead_code, reason = "not all configurations have a user")]
#[inline(always)]
pub unsafe fn acquires<const AT: usize, T>(structure: &T, value: u64) -> bool {
    point!();
    // SAFETY: the caller says so.
    unsafe { local::acquires::<AT, T>(structure, value) }
}

/// Adds a constant to the 32-bit word at offset `AT` of a structure. On the owning CPU only, atomic
/// against interrupts. The compiler moves no memory access across it.
///
/// # Safety
///
/// There is such a word, aligned; other CPUs do not change it.
#[allow(dead_code, reason = "not all configurations have a user")]
#[inline(always)]
pub unsafe fn add_here<const AT: usize, const VALUE: i32, T>(structure: *mut T) {
    point!();
    // SAFETY: the caller says so.
    unsafe { local::add_here::<AT, VALUE, T>(structure) }
}

/// A pointer that several CPUs read. It changes only while one of them owns its page.
#[repr(transparent)]
pub struct SharedPtr(imp::AtomicPtr<u8>);

impl SharedPtr {
    /// A word with `pointer`.
    pub fn new(pointer: *mut u8) -> Self {
        Self(imp::AtomicPtr::new(pointer))
    }

    /// Reads without ordering.
    #[inline(always)]
    pub fn load_relaxed(&self) -> *mut u8 {
        point!();
        self.0.load(Ordering::Relaxed)
    }

    /// The address `bytes` after the target of the pointer at offset `AT` of `structure`. Reads
    /// without ordering. Called by [`word!`].
    ///
    /// # Safety
    ///
    /// This word is at that offset.
    #[inline(always)]
    pub unsafe fn past_at<const AT: usize, T>(&self, structure: &T, bytes: u64) -> *mut u8 {
        point!();
        // SAFETY: this word is at `AT` in `structure`.
        unsafe { local::pointer_plus::<AT, T>(structure, &self.0, bytes) }
    }

    /// Stores without ordering.
    #[inline(always)]
    pub fn store_relaxed(&self, pointer: *mut u8) {
        point!();
        self.0.store(pointer, Ordering::Relaxed);
    }
}

/// One instruction (and its jump) with a word in memory as its operand, at its offset in a
/// structure:
///
/// - `word!(structure: Type, field.word is CONSTANT)`, of a [`Local`] or a [`Shared32`],
/// - `word!(structure: Type, field.word holds value)`, of a [`Local`],
/// - `word!(structure: Type, field.word above value)`, of a [`Shared`], both signed,
/// - `word!(structure: Type, field.word off value)`, of a [`Local`]: value minus word,
/// - `word!(structure: Type, field.word past value)`, of a [`SharedPtr`]: the address `value` bytes
///   after its target,
/// - `word!(structure: Type, field.word add value)`, `word!(structure: Type, field.word plus
///   CONSTANT)`, of a [`Local`],
/// - `word!(structure: Type, field.word and MASK)`, of a [`Local`].
///
/// The compiler moves no memory access across them.
macro_rules! word {
    ($structure:ident: $type:ty, $($field:ident).+ is $value:expr) => {
        // SAFETY: the offset is that of this field.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.is_at::<{ core::mem::offset_of!($type, $($field).+) }, { $value }, _>(structure)
        }
    };
    ($structure:ident: $type:ty, $($field:ident).+ holds $value:expr) => {
        // SAFETY: as above.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.holds_at::<{ core::mem::offset_of!($type, $($field).+) }, _>(structure, $value)
        }
    };
    ($structure:ident: $type:ty, $($field:ident).+ above $value:expr) => {
        // SAFETY: as above.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.above_at::<{ core::mem::offset_of!($type, $($field).+) }, _>(structure, $value)
        }
    };
    ($structure:ident: $type:ty, $($field:ident).+ off $value:expr) => {
        // SAFETY: as above.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.minus_at::<{ core::mem::offset_of!($type, $($field).+) }, _>(structure, $value)
        }
    };
    ($structure:ident: $type:ty, $($field:ident).+ past $value:expr) => {
        // SAFETY: as above.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.past_at::<{ core::mem::offset_of!($type, $($field).+) }, _>(structure, $value)
        }
    };
    ($structure:ident: $type:ty, $($field:ident).+ add $value:expr) => {
        // SAFETY: as above.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.add_at::<{ core::mem::offset_of!($type, $($field).+) }, _>(structure, $value)
        }
    };
    ($structure:ident: $type:ty, $($field:ident).+ plus $value:expr) => {
        // SAFETY: as above.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.plus_at::<{ core::mem::offset_of!($type, $($field).+) }, { $value }, _>(structure)
        }
    };
    ($structure:ident: $type:ty, $($field:ident).+ and $mask:expr) => {
        // SAFETY: as above.
        unsafe {
            let structure: &$type = $structure;
            structure.$($field).+.and_at::<{ core::mem::offset_of!($type, $($field).+) }, { $mask }, _>(structure)
        }
    };
}
pub(crate) use word;

/// Orders one CPU's accesses against its own interrupts. It stops the compiler and costs no
/// instruction.
#[inline(always)]
pub fn barrier() {
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Loads before it stay before accesses after it (`smp_rmb`, and more).
#[inline(always)]
pub fn fence_acquire() {
    imp::fence(Ordering::Acquire);
}

/// Accesses before it stay before stores after it (`smp_wmb`, and more).
#[inline(always)]
pub fn fence_release() {
    imp::fence(Ordering::Release);
}

/// A word of memory that is none of the core's structures, and that others may store at the same time.
///
/// loom does not know such a word: for it, fences stand for the order that its acquire and release
/// accesses make.
///
/// # Safety
///
/// `at` is valid for such accesses, with 8-byte alignment.
#[inline]
pub unsafe fn load_shared(at: *mut u64) -> u64 {
    point!();
    // SAFETY: by the precondition.
    let word = unsafe { core::sync::atomic::AtomicU64::from_ptr(at) };
    let value = word.load(core::sync::atomic::Ordering::Acquire);
    #[cfg(loom)]
    imp::fence(Ordering::SeqCst);
    value
}

/// Stores `new` in such a word if it is `old`, and returns whether it was.
///
/// # Safety
///
/// As of [`load_shared`].
#[inline]
pub unsafe fn replace_shared(at: *mut u64, old: u64, new: u64) -> bool {
    use core::sync::atomic::Ordering;

    point!();
    #[cfg(loom)]
    imp::fence(imp::Ordering::SeqCst);
    // SAFETY: by the precondition.
    let word = unsafe { core::sync::atomic::AtomicU64::from_ptr(at) };
    word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}

/// Stores such a word. What was stored before stays before it.
///
/// # Safety
///
/// `at` is valid for such accesses, with 8-byte alignment.
#[inline]
pub unsafe fn store_shared(at: *mut u64, value: u64) {
    point!();
    #[cfg(loom)]
    imp::fence(Ordering::SeqCst);
    // SAFETY: by the precondition.
    let word = unsafe { core::sync::atomic::AtomicU64::from_ptr(at) };
    word.store(value, core::sync::atomic::Ordering::Release);
}
