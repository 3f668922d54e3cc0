// SPDX-License-Identifier: GPL-2.0

//! The first page of a mapping: what user space needs to know to find its way among the sub-buffers
//! behind it.
//!
//! ABI: `include/uapi/linux/trace_mmap.h`.

use super::read_page::MappedPage;
use super::stats::Stats;

/// `struct trace_buffer_meta`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meta {
    /// Bytes before the first sub-buffer.
    pub meta_page_size: u32,
    /// Bytes of this struct.
    pub meta_struct_len: u32,
    /// Bytes of a sub-buffer.
    pub subbuf_size: u32,
    /// Sub-buffers, the reader's included.
    pub nr_subbufs: u32,
    /// What the reader has.
    pub reader: MetaReader,
    /// None are defined.
    pub flags: u64,
    /// Events that were written, whatever became of them.
    pub entries: u64,
    /// Events that were overwritten unread.
    pub overrun: u64,
    /// Events that were read.
    pub read: u64,
    /// Sub-buffers that were overwritten unread.
    pub pages_lost: u64,
    /// Sub-buffers that were written to.
    pub pages_touched: u64,
}

/// The reader's part of [`Meta`].
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MetaReader {
    /// Events lost before its sub-buffer.
    pub lost_events: u64,
    /// The id of its sub-buffer.
    pub id: u32,
    /// Bytes of it that count as read.
    pub read: u32,
}

const _: () = assert!(core::mem::size_of::<Meta>() == 80);

impl Meta {
    /// The number of the `ioctl(2)` that takes the next sub-buffer (`TRACE_MMAP_IOCTL_GET_READER`).
    pub const GET_READER: u32 = (b'R' as u32) << 8 | 0x20;

    /// Of a buffer with sub-buffers of `size` bytes, `count` of them, whose reader has `page`.
    pub fn new(size: u32, count: u32, page: MappedPage, stats: &Stats) -> Self {
        Self {
            meta_page_size: size,
            meta_struct_len: core::mem::size_of::<Self>() as u32,
            subbuf_size: size,
            nr_subbufs: count,
            reader: MetaReader {
                lost_events: page.lost,
                id: page.id,
                read: page.read,
            },
            flags: 0,
            entries: stats
                .entries
                .wrapping_add(stats.overrun)
                .wrapping_add(stats.read),
            overrun: stats.overrun,
            read: stats.read,
            pages_lost: stats.sub_buffers_lost,
            pages_touched: stats.sub_buffers_touched,
        }
    }
}
