// SPDX-License-Identifier: GPL-2.0

//! The traits of function commands. A [`Command`] parses its parameters and makes an [`Action`].
//! The action runs at each hit of a site and gets the remaining count of the site.

use crate::core::format::{self, Out};
use crate::core::parse::command::{count, Count};
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The action of a command with its parameters.
pub(crate) trait Action: Send + Sync {
    /// Runs at the hit of a site whose `count` is not used up.
    ///
    /// Any context, NMI included. It must not sleep or allocate.
    fn hit(&self, instance: &Instance, count: &SiteCount);

    /// Writes the command as the filter file shows it, without the count: `traceoff`,
    /// `enable_event:a:b`. Errors only when `out` is full.
    fn write(&self, out: &mut dyn Out) -> fmt::Result;

    /// The command was removed, but hits may still run. Undoes the effects that others can see; the
    /// drop happens later in the background. Task context, may sleep.
    fn end(&self) {}
}

/// A command of `set_ftrace_filter`.
pub(crate) trait Command: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Whether these parameters set a count. Task context.
    fn counted(&self, params: Option<&[u8]>) -> bool {
        params.is_some()
    }

    /// Parses the parameters and makes the action. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` and `ERANGE` for bad numbers, and the errors of the command.
    fn arm(
        &self,
        instance: &Arc<Instance>,
        params: Option<&[u8]>,
    ) -> Result<(KBox<dyn Action>, Count)>;
}

/// The remaining count at one site.
pub(crate) struct SiteCount {
    /// The address of the function.
    pub(super) addr: usize,
    /// The count. `None` for an unlimited probe.
    pub(super) count: Option<Atomic<i64>>,
    /// Whether the command still acts at this site.
    pub(super) live: Atomic<bool>,
}

impl SiteCount {
    /// Whether the count allows one more action. Any context.
    pub(crate) fn any(&self) -> bool {
        self.count
            .as_ref()
            .is_none_or(|count| count.load(Relaxed) > 0)
    }

    /// Whether the count started below 0 (a colon without a number). Any context.
    pub(crate) fn endless(&self) -> bool {
        self.count
            .as_ref()
            .is_some_and(|count| count.load(Relaxed) < 0)
    }

    /// Decrements the count if that is possible. Two CPUs never take the same unit. Any context.
    pub(crate) fn spend(&self) -> bool {
        let Some(count) = &self.count else {
            return true;
        };
        let mut now = count.load(Relaxed);
        while now > 0 {
            match count.cmpxchg(now, now.wrapping_sub(1), Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }
}

/// Parses the count of `params`. `EINVAL`, `ERANGE` for bad numbers.
pub(super) fn read_count(params: Option<&[u8]>) -> Result<Count> {
    count(params).map_err(refused)
}

/// The errno for an error in the parameters.
pub(super) fn refused(error: format::Error) -> Error {
    Error::from_errno(error.errno().wrapping_neg())
}
