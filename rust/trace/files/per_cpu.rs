// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/stats`: the counters of that CPU's buffer. The other files in `per_cpu/` are those
//! of the whole buffer, opened for one CPU.

use super::control::{Control, Text};
use super::Place;
use crate::core::format::line::Unit;
use crate::core::format::stats::Stats;
use kernel::prelude::*;

/// The row of the file.
pub(crate) struct CpuStats;

impl Control for CpuStats {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        let buffer = at.instance.buffer();
        // A CPU that was never online has recorded nothing.
        let stats = buffer.cpu(at.cpu.ok_or(EINVAL)?).map_or_else(
            || Stats {
                now: buffer.now(),
                ..Stats::default()
            },
            |part| part.stats(),
        );
        let unit = if at.instance.clock().in_ns {
            Unit::Nanoseconds
        } else {
            Unit::Ticks
        };
        stats.write(out, unit).map_err(|_| ENOMEM)
    }

    fn is_read_only_in_copies(&self) -> bool {
        true
    }
}
