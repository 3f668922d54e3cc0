// SPDX-License-Identifier: GPL-2.0

//! References that block the removal of an instance: open files and C callers.

use super::list;
use super::{Instance, CLOSED};
use crate::kernel::fs::pseudo_fs::Kept;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Relaxed};
use kernel::sync::Arc;

impl Instance {
    /// Whether it is being created or has been removed. Any context.
    pub(crate) fn is_closed(&self) -> bool {
        self.users.load(Relaxed) == CLOSED
    }

    /// Blocks the removal of the instance. Any context. `ENODEV` while it is being created or
    /// removed.
    #[inline(never)]
    pub(crate) fn hold(self: &Arc<Self>) -> Result<Held> {
        let mut users = self.users.load(Relaxed);
        while users != CLOSED && !self.is_used_up() {
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

    /// Allows users: from now on the instance can be [held](Self::hold).
    pub(super) fn allow_users(&self) {
        self.users.store(0, ordering::Release);
    }

    /// Makes further calls of [`Self::hold`] fail. `EBUSY` while there are users, if a feature
    /// blocks the removal, or if the memory of its buffer cannot be freed.
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

/// Blocks the removal of an instance, see [`Instance::hold`].
pub(crate) struct Held(Arc<Instance>);

impl Kept for Held {}

impl Held {
    /// The instance.
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.0
    }

    /// Converts to an `Arc`, for a caller that cannot keep this value. [`Held::from_arc`] ends the
    /// hold.
    pub(crate) fn into_arc(self) -> Arc<Instance> {
        // The new count comes before `self` is dropped. It cannot overflow, since `self` counts,
        // too.
        self.0.users.fetch_add(1, Relaxed);
        self.0.clone()
    }

    /// Takes back one result of [`Held::into_arc`].
    pub(crate) fn from_arc(instance: Arc<Instance>) -> Self {
        Self(instance)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, ordering::Full) == 1 && self.0.is_used_up() {
            list::remove_later(&self.0);
        }
    }
}
