// SPDX-License-Identifier: GPL-2.0

//! Trace clocks: what stamps an entry. One clock is one row of [`CLOCKS`].
//!
//! Every clock may be read in any context, NMI included, and never sleeps. The first row is the
//! default. `trace_clock` shows the rows in this order. C side: `include/linux/trace_clock.h`.

use crate::kernel::clock as sys;
use kernel::prelude::*;

/// One row of the table.
pub(crate) struct Clock {
    /// The word in `trace_clock` and in `trace_clock=`.
    pub(crate) name: &'static str,
    /// True when a reading is in nanoseconds, so that output shows seconds and microseconds.
    pub(crate) in_ns: bool,
    /// What reads it. [`Clock::now`] calls this.
    read: fn() -> u64,
}

impl Clock {
    /// Reads the clock. Any context.
    ///
    /// The default clock is called by its name. Boot rewrites the places of calls by a pointer, for
    /// FineIBT, and what it calls for that is traced: a place is hit there that is half rewritten.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        match core::ptr::eq(self, CLOCKS.as_ptr()) {
            true => sys::sched(),
            false => (self.read)(),
        }
    }
}

/// The clocks there are. [`LOCAL`] is the row that the hot path knows by heart.
pub(crate) static CLOCKS: &[Clock] = &[
    Clock {
        name: "local",
        in_ns: true,
        read: sys::sched,
    },
    Clock {
        name: "global",
        in_ns: true,
        read: sys::global,
    },
    Clock {
        name: "counter",
        in_ns: false,
        read: sys::counter,
    },
    Clock {
        name: "uptime",
        in_ns: false,
        read: sys::uptime,
    },
    Clock {
        name: "perf",
        in_ns: true,
        read: sys::perf,
    },
    Clock {
        name: "mono",
        in_ns: true,
        read: sys::mono,
    },
    Clock {
        name: "mono_raw",
        in_ns: true,
        read: sys::mono_raw,
    },
    Clock {
        name: "boot",
        in_ns: true,
        read: sys::boot,
    },
    Clock {
        name: "tai",
        in_ns: true,
        read: sys::tai,
    },
    #[cfg(CONFIG_X86)]
    Clock {
        name: "x86-tsc",
        in_ns: false,
        read: sys::cycles,
    },
];

/// Index of the clock that buffers start with: the first, see [`Clock::now`].
pub(crate) const LOCAL: usize = 0;

/// Finds a clock by its name, white space around it ignored.
///
/// # Errors
///
/// `EINVAL` when there is none of that name.
pub(crate) fn find(name: &[u8]) -> Result<usize> {
    let name = name.trim_ascii();
    CLOCKS
        .iter()
        .position(|c| c.name.as_bytes() == name)
        .ok_or(EINVAL)
}
