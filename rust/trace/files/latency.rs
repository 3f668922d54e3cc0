// SPDX-License-Identifier: GPL-2.0

//! `tracing_max_latency` and `tracing_thresh`: latencies in microseconds.

use super::control::{errno, shown, Control, Limit, Text};
use super::Place;
use crate::core::parse::number;
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use crate::kernel::fs::watched::Watched;
use crate::trace::instance::{latency, list, Instance};
use core::fmt::Write;
use kernel::prelude::*;
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use kernel::sync::Arc;

const NANOSECONDS: u64 = 1000;

/// Which of the two files.
pub(super) enum Microseconds {
    /// `tracing_max_latency`, in kernels with a tracer that finds latencies.
    Longest,
    /// `tracing_thresh`.
    Threshold,
}

impl Microseconds {
    fn get(&self, instance: &Instance) -> Result<u64> {
        Ok(match self {
            Self::Longest => instance.latency()?.longest(),
            Self::Threshold => latency::threshold(),
        })
    }
}

impl Control for Microseconds {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        match self.get(&at.instance)? {
            u64::MAX => shown(writeln!(out, "-1")),
            nanoseconds => shown(writeln!(out, "{}", nanoseconds / NANOSECONDS)),
        }
    }

    /// A value that is too large for the clock is cut as C cuts it.
    fn store(&self, at: &Place, line: &[u8]) -> Result {
        let nanoseconds = number::unsigned(line, 10)
            .map_err(errno)?
            .wrapping_mul(NANOSECONDS);
        match self {
            Self::Longest => {
                at.instance.latency()?.set_longest(nanoseconds);
                Ok(())
            }
            Self::Threshold => {
                latency::set_threshold(nanoseconds);
                // It is that of all instances, though the file is at the top.
                list::all().try_for_each(|instance| instance.refresh_tracer())
            }
        }
    }

    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    fn watched(&self, at: &Place) -> Option<Arc<Watched>> {
        match self {
            Self::Longest => Some(at.instance.latency().ok()?.file().clone()),
            Self::Threshold => None,
        }
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }

    fn advance(&self, _len: usize) -> usize {
        0
    }
}
