// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/stats`: what that CPU's buffer counts. The other files there are those of the
//! whole buffer, opened for one CPU.

use super::control::{Control, Text};
use super::Place;
use crate::core::format::line::Unit;
use kernel::prelude::*;

/// The file's row.
pub(crate) struct CpuStats;

impl Control for CpuStats {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        let buffer = at.instance.buffer();
        let part = buffer.cpu(at.cpu.ok_or(EINVAL)?).ok_or(ENODEV)?;
        let unit = if at.instance.clock().in_ns {
            Unit::Nanoseconds
        } else {
            Unit::Ticks
        };
        part.stats().write(out, unit).map_err(|_| ENOMEM)
    }

    fn is_shut_in_copies(&self) -> bool {
        true
    }
}
