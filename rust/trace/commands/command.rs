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
    /// The count that all sites share; none if each has its own.
    fn shared(&self) -> Option<&HitCount> {
        None
    }

    /// Runs at the hit of a site whose `count` is not used up.
    ///
    /// Any context, NMI included. It must not sleep or allocate.
    fn hit(&self, instance: &Instance, count: &SiteCount);

    /// Writes the command as the filter file shows it, without the count: `traceoff`,
    /// `enable_event:a:b`. Errors only when `out` is full.
    fn write(&self, out: &mut dyn Out) -> fmt::Result;

    /// Whether [`Action::end`] has something to undo.
    fn has_effects(&self) -> bool {
        false
    }

    /// The command was removed, and no hit runs. Undoes the effects that others can see: the drop
    /// happens later in the background. Task context, may sleep.
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

    /// Whether a removal may have these parameters. Task context, may sleep. `EINVAL` if not.
    fn check_removal(&self, _instance: &Instance, _params: Option<&[u8]>) -> Result {
        Ok(())
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

/// One site of a probe.
pub(crate) struct SiteCount {
    /// The address of the function.
    pub(super) addr: usize,
    /// The remaining count at this site.
    pub(super) count: HitCount,
    /// Whether the command still acts at this site.
    pub(super) live: Atomic<bool>,
}

/// How often a command acts yet. `None` if it is unlimited.
pub(crate) struct HitCount(Option<Atomic<i64>>);

impl HitCount {
    /// The count that a command starts with.
    pub(super) fn new(count: Count) -> Self {
        Self(match count {
            Count::Unlimited => None,
            Count::Times(n) => Some(Atomic::new(n)),
        })
    }

    /// The number that is left, if it is limited. Any context.
    pub(super) fn left(&self) -> Option<i64> {
        self.0.as_ref().map(|count| count.load(Relaxed))
    }

    /// Whether the count allows one more action. Any context.
    pub(crate) fn any(&self) -> bool {
        self.left().is_none_or(|left| left > 0)
    }

    /// Decrements the count if it is above 0. Two CPUs never take the same unit. Any context.
    pub(crate) fn spend(&self) -> bool {
        self.spend_if(|left| left > 0)
    }

    /// Decrements the count if it is not 0: one below 0 never ends. As [`HitCount::spend`].
    pub(crate) fn spend_signed(&self) -> bool {
        self.spend_if(|left| left != 0)
    }

    fn spend_if(&self, is_left: impl Fn(i64) -> bool) -> bool {
        let Some(count) = &self.0 else {
            return true;
        };
        let mut now = count.load(Relaxed);
        while is_left(now) {
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
