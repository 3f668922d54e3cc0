// SPDX-License-Identifier: GPL-2.0

//! Descriptors of sub-buffers, and the raw accesses to their memory.
//!
//! The memory of a sub-buffer has the layout that leaves the kernel (ABI: `events/header_page`):
//! the time of the first event (u64), the commit word (u64), then records.

use core::ptr::NonNull;

use super::word::{Position, Sequence, Tag};
use crate::core::sys::{point, Local, Shared, SharedPtr};

/// Bytes before the first record of a sub-buffer.
pub const HEADER_SIZE: usize = 16;
/// Offset of the commit word.
pub const COMMIT_OFFSET: usize = 8;

/// The descriptor of one sub-buffer. The table of descriptors is indexed by sub-buffer id. There is
/// one for each ring slot and one for the reader.
///
/// The writing CPU changes all fields except `records` and `slot_here` while it may write the
/// sub-buffer. Readers use only values that a commit has published.
#[repr(C, align(64))]
pub struct SubBuffer {
    /// The memory after the header. It changes only while the reader owns the sub-buffer (when its
    /// memory is swapped out to user space).
    records: SharedPtr,
    /// The last write position on it, stored by the writer that moved on.
    pub(super) sealed: Local,
    /// The number of its content.
    pub(super) sequence: Local,
    /// The index of the ring slot in which the content was written.
    pub(super) slot: Local,
    /// The number of its first event: how many events were committed before it since the last
    /// reset.
    pub(super) first_event: Local,
    /// The same number for bytes.
    pub(super) first_byte: Local,
    /// The ring slot with the index of this descriptor. It usually holds another sub-buffer. The
    /// descriptor with the highest id has no slot.
    pub(super) slot_here: Slot,
}

/// A slot of the ring. It holds one sub-buffer.
#[repr(transparent)]
pub(super) struct Slot(pub(super) Shared);

impl Slot {
    #[inline]
    pub(super) fn load(&self) -> Tag {
        Tag(self.0.load_acquire())
    }
}

impl SubBuffer {
    /// A descriptor for the memory at `data`. [`Parts`](super::Parts) describes the memory.
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

    /// A descriptor without memory, for [`Resize`](super::Resize).
    pub fn vacant() -> Self {
        let new = Self::new(NonNull::dangling());
        new.vacate();
        new
    }

    /// Removes its memory.
    pub(super) fn vacate(&self) {
        self.records
            .store_relaxed(core::ptr::without_provenance_mut(HEADER_SIZE));
    }

    /// The address of the memory, header included. Null if it has none.
    #[inline]
    pub fn data(&self) -> *mut u8 {
        self.records().wrapping_sub(HEADER_SIZE)
    }

    /// The address of the first record.
    #[inline(always)]
    pub(super) fn records(&self) -> *mut u8 {
        self.records.load_relaxed()
    }

    /// Sets other memory.
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
    point!();
    // SAFETY: `at` has 4-byte alignment and is inside a sub-buffer, and this context has reserved
    // the four bytes.
    unsafe { at.cast::<u32>().write(value) };
}

/// Reads a 32-bit word of a record.
///
/// # Safety
///
/// `at` has 4-byte alignment, is inside a sub-buffer's memory, and nobody writes the four bytes
/// meanwhile.
#[inline(always)]
pub(super) unsafe fn get_u32(at: *const u8) -> u32 {
    point!();
    // SAFETY: `at` has 4-byte alignment and is inside a sub-buffer, and nobody writes the four
    // bytes meanwhile.
    unsafe { at.cast::<u32>().read() }
}

/// Stores a word of a sub-buffer's header.
///
/// # Safety
///
/// `data` is the start of a sub-buffer's memory and `offset` is 0 or [`COMMIT_OFFSET`]. The caller
/// owns the header: it is the writer that moved to the sub-buffer, or the reader that took it.
#[inline]
pub(super) unsafe fn put_header(data: *mut u8, offset: usize, value: u64) {
    point!();
    // SAFETY: `data` has 8-byte alignment and is the start of a sub-buffer, `offset` is one of its
    // header's two words, and only this writer or reader owns the header.
    unsafe { data.add(offset).cast::<u64>().write(value) };
}

/// Copies bytes that a writer may change meanwhile. The caller detects a change afterwards.
///
/// # Safety
///
/// `from` has 4-byte alignment and is valid for reads of `into.len()` bytes, a multiple of 4.
/// Concurrent writes are allowed.
pub(super) unsafe fn copy_racing(from: *const u8, into: &mut [u8]) {
    let from = from.cast::<u32>();
    let load = |index: usize| {
        point!();
        // SAFETY: `index` is below the length, which is readable from `from` on. The volatile read
        // loads each word once and as a whole, even if it is written meanwhile.
        unsafe { from.add(index).read_volatile() }.to_ne_bytes()
    };
    let mut index = 0usize;
    let mut groups = into.chunks_exact_mut(GROUP * 4);
    for group in &mut groups {
        for (place, word) in group.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&load(index.wrapping_add(place)));
        }
        index = index.wrapping_add(GROUP);
    }
    for (place, word) in groups.into_remainder().chunks_exact_mut(4).enumerate() {
        word.copy_from_slice(&load(index.wrapping_add(place)));
    }
}

/// The number of words that [`copy_racing`] copies in one step of its loop.
const GROUP: usize = 8;
