// SPDX-License-Identifier: GPL-2.0

//! What code in assembly must know to write an event as `plain.rs` does.

use core::mem::offset_of;

use super::context::Context;
use super::cpu_buffer::{self, CpuBuffer};
pub use super::plain::Plain;
use super::word::{event_size, Header, Position};

/// Offset of the write position in a buffer.
pub const POSITION: usize = offset_of!(CpuBuffer, write.position);
/// Of the last event's time.
pub const STAMP: usize = offset_of!(CpuBuffer, write.stamp);
/// Of the position that it belongs to.
pub const STAMP_POSITION: usize = offset_of!(CpuBuffer, write.stamp_position);
/// Of the context word.
pub const CONTEXT: usize = offset_of!(CpuBuffer, setup.context);
/// Of the address of the records.
pub const RECORDS: usize = offset_of!(CpuBuffer, setup.records);
/// Of the limit.
pub const LIMIT: usize = offset_of!(CpuBuffer, setup.limit);
/// Of the word that says whether someone waits.
pub const WAITERS: usize = offset_of!(CpuBuffer, setup.waiters);
/// Of the commit position.
pub const COMMIT: usize = offset_of!(CpuBuffer, commit.commit);

/// Bytes before the payload of a small event.
pub const HEADER: usize = size_of::<u32>();

/// The reasons in the limit with which events are recorded all the same.
pub const RECORDS_WITH: u32 = cpu_buffer::ABSOLUTE | cpu_buffer::LONG_CLOCK;

/// The bits of these reasons that are a count.
pub const COUNT: u32 = cpu_buffer::COUNT;
/// The reason that recording is off.
pub const OFF: u32 = cpu_buffer::OFF;

/// The bits of a position that are the used bytes.
pub const USED: u64 = Position(!0).used();
/// The context word while a task writes.
pub const WRITING: u64 = Context::NORMAL.bit();
/// What it keeps at the end.
pub const LEFT: i32 = Context::LEFT;

/// The numbers of a small event.
pub struct Small {
    /// Its size.
    pub size: u64,
    /// How far it moves the position.
    pub step: u64,
    /// Its header, if no time has passed since the last event.
    pub header: u32,
    /// Where in the header the time since then begins.
    pub delta_shift: u32,
    /// The largest that fits there.
    pub last_delta: u64,
}

impl Small {
    /// Those of an event with a payload of `length` bytes.
    pub const fn of(length: usize) -> Self {
        let size = event_size(length);
        Self {
            size,
            step: Position(0).plus_event(size).0,
            header: Header::new((size >> 2) as u32 - 1, 0).0,
            delta_shift: u32::BITS - Header::DELTA_BITS,
            last_delta: (1 << Header::DELTA_BITS) - 1,
        }
    }
}
