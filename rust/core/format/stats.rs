// SPDX-License-Identifier: GPL-2.0

//! Files of numbers: `per_cpu/cpuN/stats`, the buffer sizes, saved names and thread groups.

use super::line::{microseconds, Unit};
use super::Out;
use core::fmt;

/// The counters of one CPU's buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// The number of entries that can be read.
    pub entries: u64,
    /// The number of entries overwritten by newer ones.
    pub overrun: u64,
    /// The number of entries lost because the writer has gone around the ring and met an
    /// uncommitted event.
    pub commit_overrun: u64,
    /// The size of the entries in bytes.
    pub bytes: u64,
    /// The time of the oldest entry. 0 if there is none.
    pub oldest: u64,
    /// The current time.
    pub now: u64,
    /// The number of entries dropped because the buffer was full in no-overwrite mode.
    pub dropped: u64,
    /// The number of consumed entries.
    pub read: u64,
}

impl Stats {
    /// Writes the `stats` file. `unit` is the unit of the trace clock.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out, unit: Unit) -> fmt::Result {
        writeln!(out, "entries: {}", self.entries)?;
        writeln!(out, "overrun: {}", self.overrun)?;
        writeln!(out, "commit overrun: {}", self.commit_overrun)?;
        writeln!(out, "bytes: {}", self.bytes)?;
        for (name, ts) in [("oldest event", self.oldest), ("now", self.now)] {
            match unit {
                Unit::Nanoseconds => {
                    let us = microseconds(ts);
                    writeln!(out, "{name} ts: {:5}.{:06}", us / 1_000_000, us % 1_000_000)?;
                }
                Unit::Ticks => writeln!(out, "{name} ts: {ts}")?,
            }
        }
        writeln!(out, "dropped events: {}", self.dropped)?;
        writeln!(out, "read events: {}", self.read)
    }
}

/// The value of `buffer_size_kb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The size in KiB.
    Kb(u64),
    /// The size before the first use, and the size after it, both in KiB.
    Unexpanded(u64, u64),
    /// The CPUs have different sizes.
    Mixed,
}

impl Size {
    /// The common size of `cpus`, in bytes. `expanded` is the size in bytes that an unused buffer
    /// will grow to. It is `None` after the first use.
    pub fn of(cpus: impl IntoIterator<Item = u64>, expanded: Option<u64>) -> Self {
        let mut cpus = cpus.into_iter();
        let first = cpus.next().unwrap_or(0);
        match expanded {
            _ if cpus.any(|size| size != first) => Self::Mixed,
            Some(later) => Self::Unexpanded(first >> 10, later >> 10),
            None => Self::Kb(first >> 10),
        }
    }

    /// Writes the size with its newline: `1410`, `7 (expanded: 1408)` or `X`.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(self, out: &mut dyn Out) -> fmt::Result {
        match self {
            Self::Kb(kb) => writeln!(out, "{kb}"),
            Self::Unexpanded(kb, later) => writeln!(out, "{kb} (expanded: {later})"),
            Self::Mixed => out.bytes(b"X\n"),
        }
    }
}

/// Writes one line of `saved_cmdlines`: `pid name`.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_cmdline(out: &mut dyn Out, pid: i32, comm: &[u8]) -> fmt::Result {
    write!(out, "{pid} ")?;
    out.bytes(comm)?;
    out.bytes(b"\n")
}

/// Writes one line of `saved_tgids`: `pid tgid`. Writes nothing if the thread group is unknown (0).
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_tgid(out: &mut dyn Out, pid: i32, tgid: i32) -> fmt::Result {
    match tgid {
        0 => Ok(()),
        tgid => writeln!(out, "{pid} {tgid}"),
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::text;
    use super::*;

    #[test]
    fn stats() {
        let stats = Stats {
            entries: 1,
            overrun: 2,
            commit_overrun: 3,
            bytes: 4,
            oldest: 5_000_001_500,
            now: 123_456_789_000_499,
            dropped: 7,
            read: 8,
        };
        assert_eq!(
            text(|out| stats.write(out, Unit::Nanoseconds)),
            "entries: 1\noverrun: 2\ncommit overrun: 3\nbytes: 4\noldest event ts:     5.000002\n\
             now ts: 123456.789000\ndropped events: 7\nread events: 8\n"
        );
        assert!(text(|out| stats.write(out, Unit::Ticks))
            .contains("oldest event ts: 5000001500\nnow ts: 123"));
    }

    #[test]
    fn sizes() {
        let show =
            |cpus: &[u64], later| text(|out| Size::of(cpus.iter().copied(), later).write(out));
        assert_eq!(show(&[8160, 8160], Some(1441792)), "7 (expanded: 1408)\n");
        assert_eq!(show(&[1443840; 2], None), "1410\n");
        assert_eq!(show(&[4096, 8192], None), "X\n");
        assert_eq!(show(&[4096, 8192], Some(1441792)), "X\n");
    }

    #[test]
    fn saved() {
        assert_eq!(text(|out| write_cmdline(out, 93, b"cat")), "93 cat\n");
        assert_eq!(text(|out| write_tgid(out, 93, 90)), "93 90\n");
        assert_eq!(text(|out| write_tgid(out, 93, 0)), "");
    }
}
