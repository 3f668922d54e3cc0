// SPDX-License-Identifier: GPL-2.0

//! The event `ftrace:print`. It cannot be enabled. Only writes to `trace_marker` hit it, and a hit
//! only runs its triggers.

use super::file::{Hot, TRIGGERS_CHANGED};
use super::pids::EventsFeature;
use super::trigger::HitTime;
use crate::core::format::entry::{Entry as _, Print};
use crate::kernel::trace_event::FileBox;
use crate::trace::instance::Instance;
use kernel::sync::atomic::{Atomic, Relaxed};

/// The number of instances where the event has triggers.
static TRIGGERED: Atomic<u32> = Atomic::new(0);

/// Whether a call of [`hit`] could run a trigger. Any context.
#[inline(always)]
pub(crate) fn is_triggered() -> bool {
    TRIGGERED.load(Relaxed) != 0
}

/// Runs the triggers of the event in `instance` for `entry`, which was recorded there. Task context.
pub(crate) fn hit(instance: &Instance, entry: &[u8]) {
    let Ok(feature) = instance.feature::<EventsFeature>() else {
        return;
    };
    if let Some(file) = feature.print().share() {
        file.triggers.with(|list| {
            if let Some(list) = list {
                list.hit_after(&file, list.hit(&file, Some(entry), &HitTime::unknown()));
            }
        });
    }
}

/// Notes that `file` has triggers now, or has none any more. The caller holds the event mutex. Does
/// nothing for files of other events. Task context, sleeps.
fn triggers_changed(file: &FileBox<Hot>, any: bool) {
    if file.kind != Print::ID {
        return;
    }
    let Ok(feature) = file.instance().feature::<EventsFeature>() else {
        return;
    };
    let slot = feature.print();
    if slot.is_empty() != any {
        return;
    }
    // OVERFLOW: at most one for each instance.
    if any {
        slot.replace(file.share());
        TRIGGERED.fetch_add(1, Relaxed);
    } else {
        TRIGGERED.fetch_sub(1, Relaxed);
        slot.replace(None);
    }
}

/// Has [`is_triggered`] follow the triggers of the event. Once, at boot.
pub(super) fn init() {
    TRIGGERS_CHANGED.populate(triggers_changed);
}
