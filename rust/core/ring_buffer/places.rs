// SPDX-License-Identifier: GPL-2.0

//! The layout of a buffer that outlives the kernel, for `per_cpu/cpuN/buffer_meta`. A sub-buffer is
//! named by the index of its memory ([`place_of`]).

use super::reader::Reader;
use super::recover::place_of;

impl Reader<'_> {
    /// The sub-buffer that the reader takes next.
    pub fn head_place(&self) -> usize {
        let own = self.own();
        let slot = if self.buffer.committed().id() == self.state.id {
            self.buffer.next_slot(own.slot.get())
        } else {
            self.buffer.oldest_after(own).1
        };
        self.place(self.buffer.slot(slot).load().id())
    }

    /// The sub-buffer that is being written.
    pub fn commit_place(&self) -> usize {
        self.place(self.buffer.committed().id())
    }

    /// The place and the committed bytes of the reader's sub-buffer (index 0), or of one in the
    /// ring (from index 1, in ring order). `None` after the last.
    pub fn place_at(&self, index: u32) -> Option<(usize, u64)> {
        let slots = self.buffer.nr_slots();
        if index > slots {
            return None;
        }
        let Some(slot) = index.checked_sub(1) else {
            return Some((
                self.place(self.state.id),
                self.buffer.readable(self.state.id).used(),
            ));
        };
        let tag = self.buffer.slot(slot.into()).load();
        let used = if tag.free() == 1 {
            0
        } else {
            self.buffer.readable(tag.id()).used()
        };
        Some((self.place(tag.id()), used))
    }

    fn place(&self, id: u64) -> usize {
        place_of(id as u32, self.buffer.nr_slots())
    }
}
