// SPDX-License-Identifier: GPL-2.0

//! A buffer with memory of its own, for tests and benchmarks.

#![allow(dead_code)]

use std::cell::Cell;
use std::ptr::NonNull;

use rtrace_core::ring_buffer::{Context, CpuBuffer, Env, Parts, Reader, Resize, SubBuffer, Writer};

/// Owns what a [`CpuBuffer`] is made of.
pub struct Memory {
    buffer: CpuBuffer,
    _sub_buffers: Box<[SubBuffer]>,
}

// SAFETY: the pointers are to memory that is this value's own.
unsafe impl Send for Memory {}
// SAFETY: as above; shared use goes through the buffer.
unsafe impl Sync for Memory {}

/// A page of `size` bytes, 8-byte aligned, filled with a byte that a reader should never see.
pub fn new_page(size: u32) -> NonNull<u8> {
    let words = vec![0xa5a5_a5a5_a5a5_a5a5_u64; size as usize / 8].into_boxed_slice();
    NonNull::new(Box::into_raw(words).cast::<u8>()).unwrap()
}

/// # Safety
///
/// `page` came from [`new_page`] with the same size, and nobody uses it any more.
pub unsafe fn free_page(page: NonNull<u8>, size: u32) {
    let words = std::ptr::slice_from_raw_parts_mut(page.as_ptr().cast::<u64>(), size as usize / 8);
    // SAFETY: `new_page` made it as a box of so many words, and nobody uses it any more.
    drop(unsafe { Box::from_raw(words) });
}

/// The commit word of a sub-buffer that is mapped: the length, and whether events were lost before it.
pub fn commit_word(memory: &Memory, id: u32) -> (u64, bool) {
    let data = memory.buffer().sub_buffer_memory(id).unwrap();
    // SAFETY: a word of the header, which others store likewise.
    let word = unsafe { std::sync::atomic::AtomicU64::from_ptr(data.add(8).cast()) };
    let word = word.load(std::sync::atomic::Ordering::Acquire);
    (word & 0x3fff_ffff, word & 1 << 31 != 0)
}

/// Tables for a buffer, of descriptors that `descriptor` gives.
fn tables(
    nr_slots: u32,
    size: u32,
    descriptor: impl Fn() -> SubBuffer,
) -> (Box<[SubBuffer]>, Parts) {
    let mut sub_buffers: Box<[_]> = (0..=nr_slots).map(|_| descriptor()).collect();
    let parts = Parts {
        sub_buffers: NonNull::new(sub_buffers.as_mut_ptr()).unwrap(),
        nr_slots,
        sub_buffer_size: size,
    };
    (sub_buffers, parts)
}

impl Memory {
    pub fn new(nr_slots: u32, size: u32) -> Self {
        let (sub_buffers, parts) = tables(nr_slots, size, || SubBuffer::new(new_page(size)));
        // SAFETY: the parts are as many as they say, 8-byte aligned, initialised, and live as long
        // as the buffer.
        let buffer = unsafe { CpuBuffer::new(parts) }.unwrap();
        Self {
            buffer,
            _sub_buffers: sub_buffers,
        }
    }

    /// One that a [`Resize`] is to give memory.
    pub fn vacant(nr_slots: u32, size: u32) -> Self {
        let (sub_buffers, parts) = tables(nr_slots, size, SubBuffer::vacant);
        // SAFETY: as in `new`, and nobody uses it before the resize.
        let buffer = unsafe { CpuBuffer::new(parts) }.unwrap();
        Self {
            buffer,
            _sub_buffers: sub_buffers,
        }
    }

    /// Gives it another size. `meanwhile` is called, with the buffer that readers find, wherever a
    /// reader may come in.
    pub fn resize(&mut self, nr_slots: u32, mut meanwhile: impl FnMut(&Memory)) {
        let size = self.buffer.sub_buffer_size();
        let new = Self::vacant(nr_slots, size);
        meanwhile(self);
        // SAFETY: `&mut self` keeps writers out; readers find the old one until `finish`.
        let mut resize = unsafe { Resize::begin(&self.reader(), &new.buffer) }.unwrap();
        meanwhile(self);
        while resize.lay_out(1) {
            meanwhile(self);
        }
        meanwhile(self);
        let behind = resize.behind(&self.reader());
        meanwhile(self);
        resize.catch_up(behind);
        meanwhile(self);
        let mut moved = resize.finish(&mut self.reader());
        meanwhile(&new);
        let mut spare = nr_slots.saturating_sub(self.buffer.nr_slots());
        let take = || {
            spare = spare
                .checked_sub(1)
                .expect("more memory than the buffer has grown by");
            Some(new_page(size))
        };
        moved.fill(take);
        meanwhile(&new);
        // SAFETY: memory that is left over is nobody's any more.
        moved.left_over(|page| unsafe { free_page(page, size) });
        assert_eq!(spare, 0);
        *self = new;
    }

    pub fn buffer(&self) -> &CpuBuffer {
        &self.buffer
    }

    /// The reader; tests have one thread that reads.
    pub fn reader(&self) -> Reader<'_> {
        // SAFETY: tests have one reader at a time.
        unsafe { self.buffer.reader() }
    }

    /// The writer; tests have one thread that writes.
    pub fn writer(&self, context: Context) -> Writer<'_> {
        // SAFETY: tests write from one thread, and nest contexts by calls.
        unsafe { self.buffer.writer(context) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // `swap_page` exchanges memory, so what is freed is what the descriptors say now.
        for id in 0..=self.buffer.nr_slots() {
            let page = self.buffer.sub_buffer_memory(id).unwrap();
            // None if a resize has moved it.
            if let Some(page) = NonNull::new(page) {
                // SAFETY: every page the buffer has ever held came from `new_page` with this size.
                unsafe { free_page(page, self.buffer.sub_buffer_size()) };
            }
        }
    }
}

/// A clock that tests set.
#[derive(Default)]
pub struct Clock {
    pub time: Cell<u64>,
}

impl Clock {
    pub fn advance(&self, by: u64) {
        self.time.set(self.time.get().wrapping_add(by));
    }
}

impl Env for Clock {
    fn now(&self) -> u64 {
        self.time.get()
    }
}
