// SPDX-License-Identifier: GPL-2.0

//! Rings that user space sees: a first page that says what is where ([`Meta`]), and the sub-buffers
//! behind it.
//!
//! While anybody maps a ring it stays as it is: it is neither resized nor swapped, and its
//! sub-buffers are copied to readers, not given away. User space calls sub-buffers by the places
//! they have in the mapping: the reader's at that time is 0, and the others follow as they stand in
//! the ring.
//!
//! Locks: the resize mutex for mapping and unmapping, then the reader lock.

use super::lane::Lane;
use super::read::{Part, ReaderGuard};
use super::ring::{Ring, Shape};
use super::{wait_for_writers, Buffer};
use crate::core::ring_buffer::{MappedPage, Meta};
use crate::kernel::fs::page_file::Area;
use crate::kernel::pages::Pages;
use core::ptr::NonNull;
use kernel::cpu::CpuId;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::sync::atomic::Relaxed;

/// What a ring has while it is mapped.
pub(super) struct Shown {
    meta: Pages,
    /// By the core's id of a sub-buffer, its place in the mapping.
    places: KVVec<u32>,
    /// How many mappings there are.
    users: usize,
}

impl Shown {
    /// Writes the first page. The caller has the reader lock of `ring`, whose reader has `page`.
    pub(super) fn update(&self, ring: &Ring, page: MappedPage) {
        let place = self.places.get(page.id as usize).copied().unwrap_or(0);
        let (size, count) = (ring.core.sub_buffer_size(), ring.sub_buffers());
        let meta = Meta::new(
            size,
            count,
            MappedPage { id: place, ..page },
            &ring.core.stats(),
        );
        // SAFETY: the block is the value's own, one page or more; user space only reads it.
        unsafe {
            self.meta
                .address()
                .cast::<Meta>()
                .as_ptr()
                .write_volatile(meta)
        };
    }
}

impl Buffer {
    /// Maps the ring of `cpu` into `area`, until the result is dropped. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a CPU that was never up and for an area that begins or ends at no such page;
    /// `EPERM` for one that is not shared and read-only; `ENOMEM`.
    pub(crate) fn map(&self, cpu: CpuId, area: &Area<'_>) -> Result<Mapped<'_>> {
        let _sizes = self.sizes.lock();
        let lane = self.lane(cpu).ok_or(EINVAL)?;
        area.read_only()?;
        let kept = self.keep_rings();
        let Shape { slots, order } = self.with_ring(lane, |ring| ring.shape());
        let count = slots as usize + 1;
        let places = KVVec::from_elem(0, count, GFP_KERNEL)?;
        let new = KBox::new(
            Shown {
                meta: Pages::new(cpu, order)?,
                places,
                users: 0,
            },
            GFP_KERNEL,
        )?;
        let mut blocks = KVVec::from_elem(new.meta.address(), count + 1, GFP_KERNEL)?;
        self.with_ring(lane, |ring| lane.show_commits(ring));
        let unneeded = Part { buffer: self, lane }
            .lock_reader()
            .begin_showing(new, &mut blocks);
        drop(unneeded);
        show(area, &blocks, order).inspect_err(|_| self.end_showing(lane))?;
        // Both stay as long as the mapping; the resize mutex has held the place of the first so
        // far.
        lane.held.fetch_add(1, Relaxed);
        core::mem::forget(kept);
        Ok(Mapped { buffer: self, cpu })
    }

    /// Counts one more of a mapping that there is, without showing anything: an area has become
    /// two, until the result is dropped. Task context, sleeps. `EINVAL` for a CPU that was never
    /// up, `ENODEV` where nothing is mapped.
    pub(crate) fn map_again(&self, cpu: CpuId) -> Result<Mapped<'_>> {
        let _sizes = self.sizes.lock();
        let lane = self.lane(cpu).ok_or(EINVAL)?;
        let part = Part { buffer: self, lane };
        part.lock_reader().show_again()?;
        lane.held.fetch_add(1, Relaxed);
        core::mem::forget(self.keep_rings());
        Ok(Mapped { buffer: self, cpu })
    }

    /// Undoes one [`Buffer::map`] or [`Buffer::map_again`] whose result was forgotten. Task context,
    /// sleeps. Errors as [`Buffer::map_again`].
    ///
    /// # Safety
    ///
    /// There was one that nobody else undoes, or nobody maps the ring.
    pub(crate) unsafe fn unmap(&self, cpu: CpuId) -> Result {
        let _sizes = self.sizes.lock();
        let lane = self.lane(cpu).ok_or(EINVAL)?;
        if !(Part { buffer: self, lane }).lock_reader().is_shown() {
            return Err(ENODEV);
        }
        self.end_showing(lane);
        lane.held.fetch_sub(1, Relaxed);
        // SAFETY: the one that the mapping has forgotten; by the precondition it is nobody else's.
        unsafe { self.unkeep_rings() };
        Ok(())
    }

    fn end_showing(&self, lane: &Lane) {
        let part = Part { buffer: self, lane };
        if part.lock_reader().is_shown_once() {
            lane.mapped.store(false, Relaxed);
            // A commit that is being shown in a sub-buffer is waited for, before that can be given away.
            wait_for_writers();
        }
        let gone = part.lock_reader().end_showing();
        // Its memory is freed with the lock open.
        drop(gone);
    }
}

/// A mapping of a CPU's ring; see [`Buffer::map`]. Dropped in task context, where it may sleep.
#[must_use = "the mapping ends when this is dropped"]
pub(crate) struct Mapped<'a> {
    buffer: &'a Buffer,
    cpu: CpuId,
}

impl Drop for Mapped<'_> {
    fn drop(&mut self) {
        // It was mapped, so there is nothing that could fail.
        // SAFETY: it stands for one mapping, which ends here.
        let _ = unsafe { self.buffer.unmap(self.cpu) };
    }
}

impl ReaderGuard<'_> {
    /// One mapping more, of `new` if there is none yet; gives what is not needed. Fills in the
    /// `blocks` of the mapping.
    fn begin_showing(
        &mut self,
        new: KBox<Shown>,
        blocks: &mut [NonNull<u8>],
    ) -> Option<KBox<Shown>> {
        // Nothing is dropped here, with the lock held.
        let mut new = Some(new);
        let (reader, ring, shown) = self.parts();
        let is_first = shown.is_none();
        if is_first {
            core::mem::swap(shown, &mut new);
        }
        let (Some(shown), Some((first, rest))) = (shown, blocks.split_first_mut()) else {
            return new;
        };
        reader.show_header();
        if is_first {
            for (place, id) in reader.ids().enumerate() {
                if let Some(known) = shown.places.get_mut(id as usize) {
                    *known = place as u32;
                }
            }
            shown.update(ring, reader.shown_page());
        }
        shown.users = shown.users.saturating_add(1);
        *first = shown.meta.address();
        for (id, place) in shown.places.iter().enumerate() {
            let memory = ring
                .core
                .sub_buffer_memory(id as u32)
                .and_then(NonNull::new);
            if let (Some(block), Some(memory)) = (rest.get_mut(*place as usize), memory) {
                *block = memory;
            }
        }
        new
    }

    /// Does anybody map the ring?
    fn is_shown(&mut self) -> bool {
        self.parts().2.is_some()
    }

    /// Is there one mapping?
    fn is_shown_once(&mut self) -> bool {
        self.parts()
            .2
            .as_ref()
            .is_some_and(|shown| shown.users == 1)
    }

    /// One mapping more of those there are. `ENODEV` if there is none.
    fn show_again(&mut self) -> Result {
        let shown = self.parts().2.as_mut().ok_or(ENODEV)?;
        shown.users = shown.users.saturating_add(1);
        Ok(())
    }

    /// One mapping less; gives what the last one leaves.
    fn end_showing(&mut self) -> Option<KBox<Shown>> {
        let (_, _, place) = self.parts();
        let shown = place.as_mut()?;
        shown.users = shown.users.saturating_sub(1);
        if shown.users == 0 {
            place.take()
        } else {
            None
        }
    }

    /// Takes what comes next for the mapping (`TRACE_MMAP_IOCTL_GET_READER`). `ENODEV` when the
    /// ring is not mapped.
    pub(crate) fn next_shown(&mut self) -> Result {
        let (reader, ring, shown) = self.parts();
        let shown = shown.as_ref().ok_or(ENODEV)?;
        let page = reader.mapped_page();
        shown.update(ring, page);
        Ok(())
    }
}

/// Shows in `area` the pages that it wants of `blocks`, of 2^`order` pages each.
fn show(area: &Area<'_>, blocks: &[NonNull<u8>], order: u32) -> Result {
    let per_block = 1 << order;
    let (first, count) = (area.first(), area.len());
    let last = first.checked_add(count).ok_or(EINVAL)?;
    if count == 0 || first % per_block != 0 || last.div_ceil(per_block) > blocks.len() {
        return Err(EINVAL);
    }
    let mut pages = KVVec::with_capacity(count, GFP_KERNEL)?;
    for page in first..last {
        let block = blocks.get(page / per_block).ok_or(EINVAL)?;
        // SAFETY: the block has `per_block` pages.
        pages.push(
            unsafe { block.add(page % per_block * PAGE_SIZE) },
            GFP_KERNEL,
        )?;
    }
    // SAFETY: these are pages of blocks of the ring and of its `Shown`; who may open the file may
    // read what is traced.
    unsafe { area.show(&pages) }
}
