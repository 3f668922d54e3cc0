// SPDX-License-Identifier: GPL-2.0

//! The first page of a mapping. It tells user space where the sub-buffers after it are.
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
    /// The size of this struct in bytes.
    pub meta_struct_len: u32,
    /// The size of a sub-buffer in bytes.
    pub subbuf_size: u32,
    /// The number of sub-buffers, the reader's included.
    pub nr_subbufs: u32,
    /// The reader's sub-buffer.
    pub reader: MetaReader,
    /// No flag is defined.
    pub flags: u64,
    /// The number of events written, read and overwritten ones included.
    pub entries: u64,
    /// The number of events that were overwritten unread.
    pub overrun: u64,
    /// The number of events that were read.
    pub read: u64,
    /// The number of sub-buffers that were overwritten unread.
    pub pages_lost: u64,
    /// The number of sub-buffers that were written.
    pub pages_touched: u64,
}

/// The reader's part of [`Meta`].
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MetaReader {
    /// The number of events lost before its sub-buffer.
    pub lost_events: u64,
    /// The id of its sub-buffer.
    pub id: u32,
    /// The bytes of it that count as read.
    pub read: u32,
}

const _: () = assert!(core::mem::size_of::<Meta>() == 80);

impl Meta {
    /// The number of the `ioctl(2)` that gets the next sub-buffer (`TRACE_MMAP_IOCTL_GET_READER`).
    pub const GET_READER: u32 = (b'R' as u32) << 8 | 0x20;

    /// The page of a buffer with `count` sub-buffers of `size` bytes, whose reader has `page`.
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
