// SPDX-License-Identifier: GPL-2.0

//! Counts. All may be read on any CPU at any time, without a lock.
//!
//! For a buffer at rest, and since the last reset:
//!
//! - events committed = `entries + overrun + read`;
//! - events asked for, with room in principle and recording on = events committed + discarded +
//!   `dropped` + `commit_overrun`.

use super::cpu_buffer::CpuBuffer;

/// The counts of one CPU's buffer (`per_cpu/cpuN/stats`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Events that can be read.
    pub entries: u64,
    /// Events that were overwritten before they were read.
    pub overrun: u64,
    /// Events for which there was no room because the sub-buffers were full of events of
    /// interrupted writers.
    pub commit_overrun: u64,
    /// Bytes that the entries take, with headers and time records.
    pub bytes: u64,
    /// Events for which there was no room, where the oldest are not to be overwritten.
    pub dropped: u64,
    /// Events that were read and consumed.
    pub read: u64,
    /// Sub-buffers that hold something unread, the one being written included.
    pub dirty_sub_buffers: u64,
    /// How often the clock was behind the last event's time; that event got the last event's time.
    pub time_went_backwards: u64,
    /// Sub-buffers that were filled and left, since the last reset.
    pub sub_buffers_touched: u64,
    /// Sub-buffers that were overwritten unread.
    pub sub_buffers_lost: u64,
}

impl CpuBuffer {
    /// All counts. Each is right at some moment during the call; at rest they fit together.
    pub fn stats(&self) -> Stats {
        let overrun = self.commit.overrun.get();
        let overrun_bytes = self.commit.overrun_bytes.get();
        let read = self.read.events.load_relaxed();
        let read_bytes = self.read.bytes.load_relaxed();
        let sub_buffers_lost = self.commit.sub_buffers_lost.get();
        let touched = self.commit.sub_buffers_touched.get();
        // Older counts subtracted from newer ones: never below zero.
        let (events, bytes) = self.written();
        Stats {
            entries: events.saturating_sub(overrun.wrapping_add(read)),
            overrun,
            commit_overrun: self.commit.commit_overrun.get(),
            bytes: bytes.saturating_sub(overrun_bytes.wrapping_add(read_bytes)),
            dropped: self.commit.dropped.get(),
            read,
            dirty_sub_buffers: touched.wrapping_add(1).saturating_sub(
                sub_buffers_lost.wrapping_add(self.read.sub_buffers.load_relaxed()),
            ),
            time_went_backwards: self.commit.time_went_backwards.get(),
            sub_buffers_touched: touched,
            sub_buffers_lost,
        }
    }

    /// Events that can be read.
    pub fn entries(&self) -> u64 {
        self.stats().entries
    }

    /// Events and bytes committed since the last reset.
    pub(super) fn written(&self) -> (u64, u64) {
        loop {
            let commit = self.committed();
            let sub_buffer = self.sub_buffer(commit.id());
            let events = sub_buffer.first_event.get().wrapping_add(commit.events());
            let bytes = sub_buffer.first_byte.get().wrapping_add(commit.used());
            // The descriptor's numbers stay while the commit position is on its sub-buffer.
            crate::core::sys::fence_acquire();
            if self.committed().same_sub_buffer(commit) {
                return (events, bytes);
            }
        }
    }
}
