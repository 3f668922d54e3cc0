// SPDX-License-Identifier: GPL-2.0

//! Reads whole sub-buffers in the format that leaves the kernel: swapped out, copied, or mapped.

use core::ptr::NonNull;

use super::cpu_buffer::ReaderState;
use super::parse::{Cursor, MISSED_EVENTS, MISSED_STORED};
use super::reader::Reader;
use super::sub_buffer::{COMMIT_OFFSET, HEADER_SIZE};
use super::word::Position;
use super::CpuBuffer;
use crate::core::sys::{load_shared, replace_shared, store_shared};

/// Why no page was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPage {
    /// There is nothing to read, or the sub-buffer is not full and the caller asked for a full one.
    Empty,
    /// The next event does not fit into the given space.
    TooSmall,
}

/// The sub-buffer that user space may read through a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedPage {
    /// Its id; see [`CpuBuffer::sub_buffer_memory`](super::CpuBuffer::sub_buffer_memory).
    pub id: u32,
    /// The bytes of it that count as read.
    pub read: u32,
    /// The number of events lost before it, if this call has taken it from the ring.
    pub lost: u64,
}

/// The bits of the commit word that are the length.
const LENGTH_MASK: u64 = MISSED_STORED - 1;
/// The flag of bit 31 with C's sign extension (ABI).
const MISSED_EVENTS_WORD: u64 = MISSED_EVENTS | 0xffff_ffff_0000_0000;

impl Reader<'_> {
    /// Copies at most one page to `into`, header first, and consumes it: as much as fits `length`
    /// bytes of the rest of one sub-buffer. Returns the bytes of header and records. The bytes after
    /// them in `into` are zero, or hold the number of lost events, also beyond `length`.
    ///
    /// With `full`, a sub-buffer that is still being written is not read.
    ///
    /// # Errors
    ///
    /// [`NoPage`]. Nothing is consumed then.
    pub fn copy_page(
        &mut self,
        into: &mut [u8],
        length: usize,
        full: bool,
    ) -> Result<usize, NoPage> {
        self.find_next().ok_or(NoPage::Empty)?;
        if full && self.is_being_written() {
            return Err(NoPage::Empty);
        }
        let records = self.records();
        let start = self.state.cursor;
        let space = length.min(into.len()).saturating_sub(HEADER_SIZE);
        let rest = records.get(start.offset..).unwrap_or(&[]);
        let length = if rest.len() <= space {
            self.consume_rest(records)
        } else {
            self.consume_fitting(records, space)
        };
        if length == 0 {
            return Err(NoPage::TooSmall);
        }
        let lost = core::mem::take(&mut self.state.lost);
        let Some((header, data)) = into.split_at_mut_checked(HEADER_SIZE) else {
            return Err(NoPage::TooSmall);
        };
        let (copy, tail) = data.split_at_mut(length);
        copy.copy_from_slice(&rest[..length]);
        tail.fill(0);
        let commit = mark_lost(length, lost, tail);
        let (time, word) = header.split_at_mut(COMMIT_OFFSET);
        time.copy_from_slice(&start.time.to_ne_bytes());
        word.copy_from_slice(&commit.to_ne_bytes());
        Ok(HEADER_SIZE.wrapping_add(length))
    }

    /// Swaps the memory of the next sub-buffer with `page` and consumes it, if all of it is unread
    /// and writers have left it. Otherwise returns `None` and does nothing; the caller then uses
    /// [`copy_page`](Self::copy_page).
    ///
    /// # Safety
    ///
    /// `page` is memory for a sub-buffer as described at [`CpuBuffer::new`](super::CpuBuffer::new),
    /// with the same size. It becomes the buffer's memory, and the old memory becomes the caller's.
    /// No mapping shows the buffer's memory.
    pub unsafe fn swap_page(&mut self, page: &mut NonNull<u8>) -> Option<usize> {
        self.find_next()?;
        if self.state.cursor.offset != 0 || self.is_being_written() {
            return None;
        }
        let records = self.records();
        let length = records.len();
        self.consume_rest(records);
        let lost = core::mem::take(&mut self.state.lost);

        let own = self.own();
        let data = NonNull::new(own.data())?;
        own.set_data(*page);
        *page = data;
        // The descriptor now has no content. It stands after the content that was taken.
        let sealed = own.sealed();
        own.first_event
            .set(own.first_event.get().wrapping_add(sealed.events()));
        own.sealed.set(Position::new(self.state.id, 0, 0).0);
        *self.state = ReaderState::new(self.state.id);
        // SAFETY: the memory holds `capacity` bytes after the header (invariant of `CpuBuffer`),
        // and only the caller owns it now.
        unsafe { finish_page(data, length, self.buffer.setup.capacity as usize, lost) };
        Some(HEADER_SIZE.wrapping_add(length))
    }

    /// The ids of all sub-buffers: first the reader's, then those in the ring in order.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let buffer = self.buffer;
        let mut index = self.own().slot.get();
        let others = (0..buffer.nr_slots()).map(move |_| {
            index = buffer.next_slot(index);
            buffer.slot(index).load().id() as u32
        });
        core::iter::once(self.state.id as u32).chain(others)
    }

    /// The sub-buffer that a mapping shows now. Nothing is consumed.
    pub fn shown_page(&self) -> MappedPage {
        MappedPage {
            id: self.state.id as u32,
            read: self.state.cursor.offset as u32,
            lost: self.state.lost,
        }
    }

    /// Implements `TRACE_MMAP_IOCTL_GET_READER`: consumes the rest of the mapped sub-buffer, or
    /// takes the next one from the ring if nothing is left. Fills in the commit word of its header.
    pub fn mapped_page(&mut self) -> MappedPage {
        let mut lost = 0;
        if self.find_next().is_some() {
            lost = core::mem::take(&mut self.state.lost);
            self.state.lost_mapped = self.state.lost_mapped.wrapping_add(lost);
        }
        let records = self.records();
        self.consume_rest(records);
        self.show_header();
        MappedPage {
            id: self.state.id as u32,
            read: self.state.cursor.offset as u32,
            lost,
        }
    }

    /// Fills in the commit word of the reader's sub-buffer, for a mapping; consumes nothing. As long as
    /// writers are there, [`CpuBuffer::show_commit`] goes on with that.
    pub fn show_header(&mut self) {
        while self.is_being_written() {
            let data = self.own().data();
            let lost = self.state.lost_mapped;
            // The number is not stored after the records, since the next event goes there.
            let flag = if lost != 0 { MISSED_EVENTS_WORD } else { 0 };
            // SAFETY: the start of the reader's sub-buffer.
            let shown = unsafe {
                change_commit_word(data, |_| flag.wrapping_add(self.records().len() as u64))
            };
            if shown && self.is_being_written() {
                return;
            }
        }
        let length = self.records().len();
        let capacity = self.buffer.setup.capacity as usize;
        let lost = self.state.lost_mapped;
        if let Some(data) = NonNull::new(self.own().data()) {
            // SAFETY: the reader owns the sub-buffer, and writers have left it.
            unsafe { finish_page(data, length, capacity, lost) };
        }
    }

    /// Whether writers are still on the reader's sub-buffer.
    pub fn is_being_written(&self) -> bool {
        self.buffer.committed().id() == self.state.id
    }

    /// Consumes all of `records`, which are the reader's. Returns the number of bytes.
    fn consume_rest(&mut self, records: &[u8]) -> usize {
        let start = self.state.cursor.offset;
        let mut cursor = self.state.cursor;
        let mut events = self.state.events_read;
        let mut bytes = records.len() as u64;
        let sealed = self.own().sealed();
        if !self.is_being_written() && sealed.used() == bytes {
            // No later event has a time that depends on these.
            events = sealed.events();
            bytes = self.buffer.bytes_of(sealed);
        } else {
            while let Ok(Some(_)) = cursor.next_event(records) {
                events = events.wrapping_add(1);
            }
        }
        self.state.cursor = Cursor {
            offset: records.len(),
            ..cursor
        };
        self.count_read(events, bytes);
        records.len().wrapping_sub(start)
    }

    /// Consumes as many events as fit into `space` bytes, each with its time record. Returns the
    /// number of bytes.
    fn consume_fitting(&mut self, records: &[u8], space: usize) -> usize {
        let start = self.state.cursor.offset;
        let mut cursor = self.state.cursor;
        let mut events = self.state.events_read;
        while let Ok(Some(found)) = cursor.next_event(records) {
            if found.end.wrapping_sub(start) > space {
                break;
            }
            self.state.cursor = cursor;
            events = events.wrapping_add(1);
        }
        let end = self.state.cursor.offset;
        self.count_read(events, end as u64);
        end.wrapping_sub(start)
    }
}

impl CpuBuffer {
    /// Stores how much of the sub-buffer that is written is committed in its header, for those who
    /// have it mapped. `shown` is the sub-buffer of the last time; gives that of this time. On the
    /// writers' CPU with preemption off, in any context, after each commit. The reader
    /// fills in sub-buffers that one commit both begins and leaves.
    pub fn show_commit(&self, shown: u32) -> u32 {
        loop {
            let id = self.committed().id();
            if shown as u64 != id && shown <= self.setup.nr_slots {
                self.show_left(shown.into());
            }
            let mut is_left = false;
            // SAFETY: the start of a sub-buffer.
            let stored = unsafe {
                change_commit_word(self.sub_buffer(id).data(), |word| {
                    let committed = self.committed();
                    is_left = committed.id() != id;
                    // The flags stay: the reader may have told that events were lost before this
                    // sub-buffer. Its first event has cleared those of older content.
                    match is_left {
                        true => word,
                        false => word & !LENGTH_MASK | committed.used(),
                    }
                })
            };
            if stored && !is_left {
                return id as u32;
            }
        }
    }

    /// The same of sub-buffer `id`, which the commit position has left: an event may have gone there
    /// while another one inside of it was on the next sub-buffer already. What the reader has stored
    /// stays.
    #[cold]
    fn show_left(&self, id: u64) {
        let sub_buffer = self.sub_buffer(id);
        let used = sub_buffer.sealed().used();
        let newer = |word: u64| match word & LENGTH_MASK < used {
            true => word & !LENGTH_MASK | used,
            false => word,
        };
        // SAFETY: the start of a sub-buffer.
        while !unsafe { change_commit_word(sub_buffer.data(), newer) } {}
    }
}

/// Changes a sub-buffer's commit word, which both the reader and writers may do where it is mapped: a
/// newer word is not replaced by one that was made before. Returns whether it was changed.
///
/// # Safety
///
/// `data` is the start of a sub-buffer's memory.
unsafe fn change_commit_word(data: *mut u8, change: impl FnOnce(u64) -> u64) -> bool {
    // SAFETY: a word of the header; sub-buffers have 8-byte alignment.
    unsafe {
        let word = data.add(COMMIT_OFFSET).cast();
        let old = load_shared(word);
        replace_shared(word, old, change(old))
    }
}

/// Stores the number of lost events at the start of `tail`, if there is room. Returns the commit
/// word.
fn mark_lost(length: usize, lost: u64, tail: &mut [u8]) -> u64 {
    if lost == 0 {
        return length as u64;
    }
    match tail.get_mut(..8) {
        Some(place) => {
            place.copy_from_slice(&lost.to_ne_bytes());
            (length as u64 | MISSED_STORED).wrapping_add(MISSED_EVENTS_WORD)
        }
        None => (length as u64).wrapping_add(MISSED_EVENTS_WORD),
    }
}

/// Completes a sub-buffer that leaves the buffer: the commit word, the lost events, and zeroes
/// after the records.
///
/// # Safety
///
/// `data` is a sub-buffer's memory with `capacity` bytes after the header. `length` is at most
/// `capacity`. The caller owns the memory.
unsafe fn finish_page(data: NonNull<u8>, length: usize, capacity: usize, lost: u64) {
    // SAFETY: `data` has `capacity` bytes after the header, `length` is at most that, and the
    // sub-buffer is the reader's.
    unsafe {
        let tail = data.as_ptr().add(HEADER_SIZE).add(length);
        let tail = core::slice::from_raw_parts_mut(tail, capacity.wrapping_sub(length));
        tail.fill(0);
        // Where the sub-buffer is mapped, an interrupted writer may be about to change the word.
        store_shared(
            data.as_ptr().add(COMMIT_OFFSET).cast(),
            mark_lost(length, lost, tail),
        );
    }
}
