// SPDX-License-Identifier: GPL-2.0

//! Descriptors of sub-buffers, and the raw accesses to their memory.
//!
//! The memory of a sub-buffer has the layout that leaves the kernel (ABI: `events/header_page`):
//! the time of the first event (u64), the commit word (u64), then records.

use core::ptr::NonNull;

use super::word::{Position, Sequence, Tag};
use crate::core::sys::{Local, Shared, SharedPtr};

/// Bytes before the first record of a sub-buffer.
pub const HEADER_SIZE: usize = 16;
/// Offset of the commit word.
pub const COMMIT_OFFSET: usize = 8;

/// Descriptor of one sub-buffer. The table of descriptors is indexed by sub-buffer id; one per ring
/// slot and one for the reader.
///
/// Apart from `data` and the slot everything here is changed by the CPU that writes, while the
/// sub-buffer is part of what that CPU may write; readers look only at what a commit has published.
#[repr(C, align(64))]
pub struct SubBuffer {
    /// The memory behind the header. Changes only while the reader owns the sub-buffer (swapped out
    /// to user space).
    records: SharedPtr,
    /// The last write position on it, stored by the writer that moved on.
    pub(super) sealed: Local,
    /// Number of its content.
    pub(super) sequence: Local,
    /// Index of the ring slot the content was written in.
    pub(super) slot: Local,
    /// Number of the first event on it: how many events were committed before, since the last
    /// reset.
    pub(super) first_event: Local,
    /// The same for bytes.
    pub(super) first_byte: Local,
    /// The ring's slot with this index; what it holds is another sub-buffer as a rule. The reader's
    /// id has none.
    pub(super) slot_here: Slot,
}

/// A slot of the ring: holds one sub-buffer.
#[repr(transparent)]
pub(super) struct Slot(pub(super) Shared);

impl Slot {
    #[inline]
    pub(super) fn load(&self) -> Tag {
        Tag(self.0.load_acquire())
    }
}

impl SubBuffer {
    /// A descriptor of the memory at `data`. What the memory must be is said at
    /// [`Parts`](super::Parts).
    pub fn new(data: NonNull<u8>) -> Self {
        Self {
            records: SharedPtr::new(data.as_ptr().wrapping_add(HEADER_SIZE)),
            sealed: Local::new(0),
            sequence: Local::new(0),
            slot: Local::new(0),
            first_event: Local::new(0),
            first_byte: Local::new(0),
            slot_here: Slot(Shared::new(0)),
        }
    }

    /// A descriptor without memory, as [`Resize`](super::Resize) wants them.
    pub fn vacant() -> Self {
        let new = Self::new(NonNull::dangling());
        new.vacate();
        new
    }

    /// Forgets its memory.
    pub(super) fn vacate(&self) {
        self.records
            .store_relaxed(core::ptr::without_provenance_mut(HEADER_SIZE));
    }

    /// The memory's address, header included; null while it has none.
    #[inline]
    pub fn data(&self) -> *mut u8 {
        self.records().wrapping_sub(HEADER_SIZE)
    }

    /// The address of the first record.
    #[inline(always)]
    pub(super) fn records(&self) -> *mut u8 {
        self.records.load_relaxed()
    }

    /// Puts other memory in place.
    pub(super) fn set_data(&self, data: NonNull<u8>) {
        self.records
            .store_relaxed(data.as_ptr().wrapping_add(HEADER_SIZE));
    }

    #[inline]
    pub(super) fn sealed(&self) -> Position {
        Position(self.sealed.get())
    }

    #[inline]
    pub(super) fn sequence(&self) -> Sequence {
        Sequence(self.sequence.get())
    }
}

/// Stores a 32-bit word of a record.
///
/// # Safety
///
/// `at` is 4-byte aligned, inside a sub-buffer's memory, and the four bytes belong to the caller's
/// reservation.
#[inline(always)]
pub(super) unsafe fn put_u32(at: *mut u8, value: u32) {
    // SAFETY: `at` is 4-byte aligned and inside a sub-buffer, and the four bytes are reserved by
    // this context.
    unsafe { at.cast::<u32>().write(value) };
}

/// Reads a 32-bit word of a record.
///
/// # Safety
///
/// `at` is 4-byte aligned, inside a sub-buffer's memory, and nobody writes the four bytes
/// meanwhile.
#[inline(always)]
pub(super) unsafe fn get_u32(at: *const u8) -> u32 {
    // SAFETY: `at` is 4-byte aligned and inside a sub-buffer, and nobody writes the four bytes
    // meanwhile.
    unsafe { at.cast::<u32>().read() }
}

/// Stores a word of a sub-buffer's header.
///
/// # Safety
///
/// `data` is the start of a sub-buffer's memory, `offset` is 0 or [`COMMIT_OFFSET`], and the caller
/// owns the header: the writer that moved to the sub-buffer, or the reader that took it.
#[inline]
pub(super) unsafe fn put_header(data: *mut u8, offset: usize, value: u64) {
    // SAFETY: `data` is 8-byte aligned and the start of a sub-buffer, `offset` is one of its
    // header's two words, and the header is this writer's or reader's alone.
    unsafe { data.add(offset).cast::<u64>().write(value) };
}

/// Copies bytes that a writer may change meanwhile; who calls finds out afterwards whether one did.
///
/// # Safety
///
/// `from` is 4-byte aligned and valid for reading `into.len()` bytes, a multiple of 4, but for the
/// race.
pub(super) unsafe fn copy_racing(from: *const u8, into: &mut [u8]) {
    let from = from.cast::<u32>();
    for (index, word) in into.chunks_exact_mut(4).enumerate() {
        // SAFETY: `index` is below the length, which is readable from `from` on. Volatile: each
        // word is read once and as a whole, be it written meanwhile or not.
        let value = unsafe { from.add(index).read_volatile() };
        word.copy_from_slice(&value.to_ne_bytes());
    }
}
