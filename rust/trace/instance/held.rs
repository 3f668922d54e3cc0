// SPDX-License-Identifier: GPL-2.0

//! Who keeps an instance from being removed: open files and C callers.

use super::list;
use super::{Instance, CLOSED};
use crate::kernel::fs::pseudo_fs::Kept;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};
use kernel::sync::Arc;

impl Instance {
    /// Keeps it from being removed. Any context. `ENODEV` when it is going already, and while it is
    /// being made.
    pub(crate) fn hold(self: &Arc<Self>) -> Result<Held> {
        let mut users = self.users.load(Relaxed);
        while users != CLOSED && !self.is_leaving() {
            match self
                .users
                .cmpxchg(users, users.checked_add(1).ok_or(EBUSY)?, ordering::Full)
            {
                Ok(_) => return Ok(Held(self.clone())),
                Err(now) => users = now,
            }
        }
        Err(ENODEV)
    }

    /// It is complete: from now on it can be [held](Self::hold).
    pub(super) fn admit(&self) {
        self.users.store(0, ordering::Release);
    }

    /// Makes further [holds](Self::hold) fail. `EBUSY` while there are any, where a feature says so,
    /// and where its memory cannot be given back.
    pub(super) fn close(&self) -> Result {
        if !self.memory_can_go() {
            return Err(EBUSY);
        }
        self.features
            .iter()
            .try_for_each(|feature| feature.may_go(self))?;
        self.users
            .cmpxchg(0, CLOSED, ordering::Full)
            .map(drop)
            .map_err(|_| EBUSY)
    }
}

/// Keeps an instance from being removed, see [`Instance::hold`].
pub(crate) struct Held(Arc<Instance>);

impl Kept for Held {}

impl Held {
    /// The instance.
    #[cfg(CONFIG_BOOTTIME_TRACING)]
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.0
    }

    /// The instance, for one who cannot keep this; [`Held::from_arc`] ends what it is held for.
    pub(crate) fn into_arc(self) -> Arc<Instance> {
        // Counted for whoever keeps it, before this goes. There is room: this counts, too.
        self.0.users.fetch_add(1, Relaxed);
        self.0.clone()
    }

    /// Takes back what [`Held::into_arc`] gave, once for each time.
    pub(crate) fn from_arc(instance: Arc<Instance>) -> Self {
        Self(instance)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, ordering::Full) == 1 && self.0.is_leaving() {
            list::remove_later(&self.0);
        }
    }
}
