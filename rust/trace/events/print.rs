// SPDX-License-Identifier: GPL-2.0

//! The event `ftrace:print`. It cannot be enabled. Only writes to `trace_marker` hit it, and a hit
//! only runs its triggers.

use super::file::{Hot, HotFile, TRIGGERS_CHANGED};
use super::pids::EventsFeature;
use super::trigger::HitTime;
use crate::core::format::entry::{Entry as _, Print};
use crate::kernel::trace_event::FileBox;
use crate::trace::buffer::entry::Context;
use crate::trace::instance::Instance;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The number of instances where the event has triggers.
static TRIGGERED: Atomic<u32> = Atomic::new(0);

/// The file of the event in `instance`, if it has triggers there. Task context.
#[inline(always)]
pub(crate) fn triggered(instance: &Instance) -> Option<Arc<HotFile>> {
    match TRIGGERED.load(Relaxed) {
        0 => None,
        _ => file(instance),
    }
}

#[cold]
fn file(instance: &Instance) -> Option<Arc<HotFile>> {
    let feature = instance.feature::<EventsFeature>().ok()?;
    feature.print().share()
}

/// Records `entry` with `text` and `end` behind it in the instance of `file`, and runs the triggers of
/// the event while it is reserved: they have its time and its CPU. As in C, they see a NUL instead of
/// `end`. `None` when it is not recorded, as with [`Buffer::write`](crate::trace::buffer::Buffer::write).
/// Task context.
pub(crate) fn record(file: &HotFile, entry: Print, text: &[u8], end: [u8; 2]) -> Option<()> {
    let buffer = file.instance().buffer();
    let text_end = Print::SIZE.checked_add(text.len())?;
    let tail = text.len().checked_add(end.len())?;
    file.triggers.with(|list| {
        let mut after = 0;
        // Preemption is off here, as in C, and the entry's flags show it.
        buffer.write_nesting(Context::capture_all(), entry, tail, |time, payload| {
            put(payload, Print::SIZE, text);
            put(payload, text_end, b"\0");
            let seen = payload.get(..=text_end);
            after = list.map_or(0, |list| list.hit(file, seen, &HitTime::of_entry(time)));
            put(payload, text_end, &end);
        })?;
        if let Some(list) = list {
            list.hit_after(file, after);
        }
        Some(())
    })
}

/// Copies `bytes` to where they belong in an entry.
fn put(payload: &mut [u8], at: usize, bytes: &[u8]) {
    let place = payload.get_mut(at..);
    if let Some(place) = place.and_then(|place| place.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
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

/// Has [`triggered`] follow the triggers of the event. Once, at boot.
pub(super) fn init() {
    TRIGGERS_CHANGED.populate(triggers_changed);
}
