// SPDX-License-Identifier: GPL-2.0

//! The order in which events are registered, as numbers from 1 on; and what keeps them from going while
//! their entries are printed.
//!
//! C header: `include/linux/srcu.h`.

#[cfg(CONFIG_EVENT_TRACING)]
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
#[cfg(CONFIG_EVENT_TRACING)]
use kernel::sync::{srcu, SetOnce, Srcu};

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

/// Those who print and may sleep meanwhile.
#[cfg(CONFIG_EVENT_TRACING)]
static PRINTING: SetOnce<Pin<KBox<Srcu>>> = SetOnce::new();

/// Prepares for [`Held`]. Once, at boot. `ENOMEM`.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) fn init() -> Result {
    PRINTING.populate(KBox::pin_init(kernel::new_srcu!(), GFP_KERNEL)?);
    Ok(())
}

/// While it exists, an event that is registered does not go. Who has it may sleep. Who unregisters an
/// event waits for it, with locks: take none with it that others hold when they do so, above all not the
/// event mutex. Printing takes `mmap_lock` of other programs, and locks of BTF and of cgroups.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) struct Held {
    _guard: srcu::Guard<'static>,
}

/// There are no registrations.
#[cfg(not(CONFIG_EVENT_TRACING))]
pub(crate) enum Held {}

impl Held {
    /// Task context. `None` before there are events.
    #[cfg(CONFIG_EVENT_TRACING)]
    pub(crate) fn new() -> Option<Self> {
        PRINTING.as_ref().map(|printing| Self {
            _guard: printing.read_lock(),
        })
    }

    /// `None`.
    #[cfg(not(CONFIG_EVENT_TRACING))]
    pub(crate) fn new() -> Option<Self> {
        None
    }
}

/// Waits for each [`Held`] that is there. Task context, sleeps.
#[cfg(CONFIG_EVENT_TRACING)]
pub(super) fn wait_for_held() {
    if let Some(printing) = PRINTING.as_ref() {
        printing.synchronize();
    }
}

/// The number of a registration that begins now. Any context.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) fn next() -> u64 {
    // Pairs with the load in `Moment::now`.
    LAST.fetch_add(1, ordering::Full).wrapping_add(1)
}
