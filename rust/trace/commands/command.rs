// SPDX-License-Identifier: GPL-2.0

//! What a function command is: a [`Command`] reads its parameters and makes an [`Action`], which is
//! told of each hit of a site and of what is left of the count there.

use crate::core::format::{self, Out};
use crate::core::parse::command::{count, Count};
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// What a command does, its parameters read.
pub(crate) trait Action: Send + Sync {
    /// Acts at a hit of a site whose `count` may still be spent.
    ///
    /// Any context up to NMI; must neither sleep nor allocate.
    fn hit(&self, instance: &Instance, count: &SiteCount);

    /// Writes the command as the filter file shows it, without the count: `traceoff`,
    /// `enable_event:a:b`.
    fn write(&self, out: &mut dyn Out) -> fmt::Result;

    /// The command was taken away; hits may still be under way. What others can see of it ends
    /// here, as it is dropped in the background. Task context, may sleep.
    fn end(&self) {}
}

/// A command of `set_ftrace_filter`.
pub(crate) trait Command: Sync {
    /// The word.
    fn name(&self) -> &'static str;

    /// Whether these parameters limit it. Task context.
    fn counted(&self, params: Option<&[u8]>) -> bool {
        params.is_some()
    }

    /// Reads the parameters. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` and `ERANGE` for bad numbers, and what the command says.
    fn arm(
        &self,
        instance: &Arc<Instance>,
        params: Option<&[u8]>,
    ) -> Result<(KBox<dyn Action>, Count)>;
}

/// What is left of a count at one site.
pub(crate) struct SiteCount {
    /// Where the function begins.
    pub(super) addr: usize,
    /// `None` for an unlimited probe.
    pub(super) count: Option<Atomic<i64>>,
    /// Does the command still stand there?
    pub(super) live: Atomic<bool>,
}

impl SiteCount {
    /// Whether the count allows one more. Any context.
    pub(crate) fn any(&self) -> bool {
        self.count
            .as_ref()
            .is_none_or(|count| count.load(Relaxed) > 0)
    }

    /// Whether the count was below 0 from the start (a colon without number). Any context.
    pub(crate) fn endless(&self) -> bool {
        self.count
            .as_ref()
            .is_some_and(|count| count.load(Relaxed) < 0)
    }

    /// Takes one off the count if it allows that; several CPUs never take the same one. Any
    /// context.
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

/// The count that `params` say. `EINVAL`, `ERANGE` for bad numbers.
pub(super) fn read_count(params: Option<&[u8]>) -> Result<Count> {
    count(params).map_err(refused)
}

/// The errno of what is wrong with parameters.
pub(super) fn refused(error: format::Error) -> Error {
    Error::from_errno(error.errno().wrapping_neg())
}
