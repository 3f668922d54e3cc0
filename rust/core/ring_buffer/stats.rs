// SPDX-License-Identifier: GPL-2.0

//! The counters of a buffer. Any CPU may read them at any time without a lock.
//!
//! For an idle buffer, since the last reset:
//!
//! - events committed = `entries + overrun + read`;
//! - events requested, with possible room and recording on = events committed + discarded +
//!   `dropped` + `commit_overrun`.

use super::cpu_buffer::CpuBuffer;

/// The counters of one CPU's buffer (`per_cpu/cpuN/stats`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// The number of events that can be read.
    pub entries: u64,
    /// The number of events that were overwritten before they were read.
    pub overrun: u64,
    /// The number of events without room because the sub-buffers were full of events of interrupted
    /// writers.
    pub commit_overrun: u64,
    /// The bytes of the entries, with headers, time records and the unused ends of sub-buffers.
    pub bytes: u64,
    /// The number of events without room in no-overwrite mode.
    pub dropped: u64,
    /// The number of consumed events.
    pub read: u64,
    /// The number of sub-buffers with unread events, the one being written included.
    pub dirty_sub_buffers: u64,
    /// How often the clock was before the last event's time. The new event then got the last
    /// event's time.
    pub time_went_backwards: u64,
    /// The number of sub-buffers that were filled and left since the last reset.
    pub sub_buffers_touched: u64,
    /// The number of sub-buffers that were overwritten unread.
    pub sub_buffers_lost: u64,
}

impl CpuBuffer {
    /// All counters. Each is correct at some moment during the call. For an idle buffer they fit
    /// together.
    pub fn stats(&self) -> Stats {
        let overrun = self.commit.overrun.get();
        let overrun_bytes = self.commit.overrun_bytes.get();
        let read = self.read.events.load_relaxed();
        let read_bytes = self.read.bytes.load_relaxed();
        let sub_buffers_lost = self.commit.sub_buffers_lost.get();
        let touched = self.commit.sub_buffers_touched.get();
        // The older values are subtracted from the newer ones, so the result is not negative.
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

    /// The number of events that can be read.
    pub fn entries(&self) -> u64 {
        self.stats().entries
    }

    /// The number of events and bytes committed since the last reset.
    pub(super) fn written(&self) -> (u64, u64) {
        loop {
            let commit = self.committed();
            let sub_buffer = self.sub_buffer(commit.id());
            let events = sub_buffer.first_event.get().wrapping_add(commit.events());
            let bytes = sub_buffer.first_byte.get().wrapping_add(commit.used());
            // The descriptor's numbers do not change while the commit position is on its
            // sub-buffer.
            crate::core::sys::fence_acquire();
            if self.committed().same_sub_buffer(commit) {
                return (events, bytes);
            }
        }
    }
}
