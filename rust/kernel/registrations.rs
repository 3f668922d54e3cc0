// SPDX-License-Identifier: GPL-2.0

//! The order in which events are registered, as numbers from 1 on.

use kernel::sync::atomic::{ordering, Atomic};

static LAST: Atomic<u64> = Atomic::new(0);

/// A moment in that order.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(CONFIG_EVENT_TRACING),
    allow(dead_code, reason = "there are no registrations")
)]
pub(crate) struct Moment(u64);

impl Moment {
    /// This one. Any context.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        // Pairs with the increment in `next`: what was done before a registration that this knows of is
        // seen from here on, such as that buffers were emptied of the records of an earlier event.
        Self(LAST.load(ordering::Acquire))
    }
}

#[cfg(CONFIG_EVENT_TRACING)]
impl Moment {
    /// Behind all registrations.
    pub(crate) const END: Self = Self(u64::MAX);

    /// Whether it is behind the registration with this number.
    pub(crate) fn is_behind(self, registration: u64) -> bool {
        registration <= self.0
    }
}

/// The number of a registration that begins now. Any context.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) fn next() -> u64 {
    // Pairs with the load in `Moment::now`.
    LAST.fetch_add(1, ordering::Full).wrapping_add(1)
}
