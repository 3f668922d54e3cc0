// SPDX-License-Identifier: GPL-2.0

//! Whole sub-buffers, read by way of pages that readers allocate beforehand.

use super::read::{Part, ReaderGuard};
use crate::core::ring_buffer::HEADER_SIZE;
use crate::kernel::pages::Pages;
use kernel::prelude::*;

/// What a reader reads into: memory of a sub-buffer's size (`struct buffer_data_read_page`).
pub(crate) struct ReadPage(Pages);

impl ReadPage {
    /// Where the memory is; that changes with each [`Part::read_page`].
    pub(crate) fn address(&self) -> *mut u8 {
        self.0.address().as_ptr()
    }

    /// What was read, header first.
    pub(crate) fn bytes(&mut self) -> &[u8] {
        self.0.bytes_mut()
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> usize {
        self.0.size()
    }
}

impl From<ReadPage> for Pages {
    fn from(page: ReadPage) -> Self {
        page.0
    }
}

impl Part<'_> {
    /// Memory for a reader. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new_read_page(self) -> Result<ReadPage> {
        let order = self.order();
        let spare = self.lane.spare.lock().take();
        // Freed, if it does not fit, with the lock open.
        let spare = spare.filter(|spare| spare.order() == order);
        let mut pages = spare.map_or_else(|| Pages::new(self.lane.cpu, order), Ok)?;
        // Empty until it is read into.
        pages
            .bytes_mut()
            .iter_mut()
            .take(HEADER_SIZE)
            .for_each(|byte| *byte = 0);
        Ok(ReadPage(pages))
    }

    /// Makes `page` one of this buffer's present sub-buffer size; what it held is lost if it was
    /// not. Task context, may sleep. `ENOMEM`.
    pub(crate) fn fit_read_page(self, page: &mut ReadPage) -> Result {
        if page.0.order() != self.order() {
            *page = self.new_read_page()?;
        }
        Ok(())
    }

    /// Takes memory back. Any context but NMI.
    pub(crate) fn put_read_page(self, page: ReadPage) {
        if page.0.is_shared() || page.0.order() != self.order() {
            return;
        }
        // Dropped after the lock was opened.
        let _one_too_many = self.lane.spare.lock().replace(page.0);
    }

    /// Reads into `page` what comes next, of one sub-buffer: all of it if that fits `length` bytes
    /// with its header, else what does; with `full` only what writers have left. Says whether there
    /// was anything. Any context but NMI.
    pub(crate) fn read_page(self, page: &mut ReadPage, length: usize, full: bool) -> bool {
        let length = length.min(page.size());
        length > HEADER_SIZE && self.lock_reader().read_page(&mut page.0, length, full)
    }

    fn order(self) -> u32 {
        self.buffer.with_ring(self.lane, |ring| ring.shape().order)
    }
}

impl ReaderGuard<'_> {
    fn read_page(&mut self, pages: &mut Pages, length: usize, full: bool) -> bool {
        if length == pages.size() && self.swap_page(pages).is_some() {
            return true;
        }
        self.copy_page(pages.bytes_mut(), length, full).is_ok()
    }
}
