// SPDX-License-Identifier: GPL-2.0

//! The recording of entries that a probe in Rust makes whole, of a size that the compiler knows.

use super::{is_left_out, record, CAREFUL};
use crate::core::ring_buffer::Payload;
use crate::core::sys::computed;
use crate::kernel::context::PreemptOff;
use crate::kernel::trace_event::{flag, COMMON};
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Unfinished;
use crate::trace::events::file::HotFile;
#[cfg(CONFIG_HIST_TRIGGERS)]
use crate::trace::events::trigger::TriggerList;

/// Flags that [`judge`] can handle on the stack.
const JUDGED: usize =
    flag::FILTERED | flag::SOFT_DISABLED | flag::TRIGGER_MODE | flag::TRIGGER_COND;

/// Flags that [`judge`] looks at.
const LOOKED_FOR: usize = CAREFUL | flag::TRIGGER_MODE | flag::DIRECT;

/// Records an entry of `N` bytes. `fill` writes all but the common fields, and may be called more
/// than once. For a probe written in Rust. Any context, with preemption as it was at the hit.
///
/// A plain filter of the event or of its triggers runs on the stack. A rejected entry is never
/// reserved.
#[inline(always)]
pub(crate) fn record_made<const N: usize>(file: &HotFile, fill: impl Fn(&mut [u8; N])) {
    if file.flags() & (CAREFUL | flag::TRIGGER_MODE) != 0 {
        return judge(file, fill);
    }
    record_plain(file, fill);
}

/// [`record_made`] without a flag. Not inline: a rejected entry must not pay for the registers that
/// this saves.
#[inline(never)]
fn record_plain<const N: usize>(file: &HotFile, fill: impl Fn(&mut [u8; N])) {
    let context = Context::capture();
    record_now(file, context, PreemptOff::new(), fill);
}

/// An entry that `fill` writes into the ring buffer.
struct Made<const N: usize, F> {
    header: u64,
    fill: F,
}

impl<const N: usize, F: Fn(&mut [u8; N])> Payload for Made<N, F> {
    const LENGTH: usize = N;

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        const { assert!(N >= COMMON) };
        // SAFETY: there are `N` bytes in an event that was reserved here and has not ended.
        unsafe {
            (self.fill)(&mut *at.cast());
            at.cast::<u64>().write_unaligned(self.header);
        }
    }
}

/// Records an entry made in `context`, without a look at the flags.
#[inline(always)]
fn record_now<const N: usize>(
    file: &HotFile,
    context: Context,
    stay: PreemptOff,
    fill: impl Fn(&mut [u8; N]),
) {
    let Some(task) = context.plain_task() else {
        return record_rest(file, Unfinished::no_attempt(stay), fill);
    };
    let header = computed(task.header(file.kind));
    let buffer = file.instance.buffer();
    let made = |_| Made {
        header,
        fill: &fill,
    };
    let (left, _) = buffer.record_words(stay, task, made);
    if !left.is_done() {
        record_rest(file, left, fill);
    }
}

/// The rest of [`record_now`].
#[cold]
#[inline(never)]
fn record_rest<const N: usize>(
    file: &HotFile,
    left: Unfinished<PreemptOff>,
    fill: impl Fn(&mut [u8; N]),
) {
    let (made, stay) = file.instance.buffer().complete(left);
    if !made {
        let mut entry = [0; N];
        fill(&mut entry);
        record_copy_of(file, &stay, &entry);
    }
}

/// Records a copy of `entry` without its common fields, and goes by all flags. `entry` is on the
/// stack of the caller.
#[inline(never)]
fn record_copy_of(file: &HotFile, stay: &PreemptOff, entry: &[u8]) {
    record(stay, file, entry.len(), |fields| {
        for (place, byte) in fields.iter_mut().zip(entry.iter().skip(COMMON)) {
            *place = *byte;
        }
    });
}

/// [`record_made`] with a flag. All but the expected case end with a tail call.
#[inline(never)]
fn judge<const N: usize>(file: &HotFile, fill: impl Fn(&mut [u8; N])) {
    let flags = file.flags() & LOOKED_FOR;
    if flags & !JUDGED != 0 {
        #[cfg(CONFIG_HIST_TRIGGERS)]
        if flags & !(JUDGED | flag::DIRECT) == 0 && flags & flag::FILTERED == 0 {
            return hit_direct(file, PreemptOff::new(), fill);
        }
        return record_careful(file, fill);
    }
    let stay = PreemptOff::new();
    // The entry's scope ends here, so that what follows can be tail calls.
    let verdict = {
        let mut entry = [0; N];
        fill(&mut entry);
        verdict(file, flags, &stay, &entry)
    };
    match verdict {
        Verdict::Rejected => {}
        Verdict::Passed => record_passed(file, stay, fill),
        #[cfg(CONFIG_HIST_TRIGGERS)]
        Verdict::Direct => hit_direct(file, stay, fill),
        Verdict::Unknown => {
            drop(stay);
            record_careful(file, fill);
        }
    }
}

/// Runs the triggers on an entry on the stack, and records the entry if the event is enabled. Not
/// inline: an entry that no trigger is hit by must not pay for the registers that this saves.
#[cfg(CONFIG_HIST_TRIGGERS)]
#[inline(never)]
fn hit_direct<const N: usize>(file: &HotFile, stay: PreemptOff, fill: impl Fn(&mut [u8; N])) {
    let done = {
        let mut entry = [0; N];
        fill(&mut entry);
        // SAFETY: preemption is off by `stay`; the slot stays as long as the file.
        let triggers = unsafe { file.triggers.get() };
        // The list may have been replaced since it was looked at.
        triggers.is_none_or(|list| list.hit_direct(stay.lend(), file, &mut entry, || common(file)))
    };
    if !done {
        drop(stay);
        return record_careful(file, fill);
    }
    if file.flags() & flag::SOFT_DISABLED == 0 {
        record_passed(file, stay, fill);
    }
}

/// The common fields of an entry of `file`.
#[cfg(CONFIG_HIST_TRIGGERS)]
#[inline(always)]
fn common(file: &HotFile) -> u64 {
    let mut context = Context::capture_in_probe();
    if !context.is_plain_task() {
        context = context.rest();
    }
    context.header(file.kind)
}

/// What the plain filters of an event say about an entry.
enum Verdict {
    /// Nothing is recorded, and no trigger is hit.
    Rejected,
    /// The entry is recorded, and no trigger is hit.
    Passed,
    /// All triggers are direct, and there is no filter.
    #[cfg(CONFIG_HIST_TRIGGERS)]
    Direct,
    /// A trigger is hit, or a filter is not plain.
    Unknown,
}

/// The verdict on `entry`, whose common fields are not set. `flags` has no others than [`JUDGED`].
#[inline(always)]
fn verdict(file: &HotFile, flags: usize, _stay: &PreemptOff, entry: &[u8]) -> Verdict {
    if flags & !flag::FILTERED != 0 {
        // SAFETY: preemption is off by `_stay`; the slot stays as long as the file.
        let triggers = unsafe { file.triggers.get() };
        if !triggers.is_none_or(|list| list.is_not_hit_by(entry)) {
            #[cfg(CONFIG_HIST_TRIGGERS)]
            if flags & flag::FILTERED == 0 && triggers.is_some_and(TriggerList::is_direct) {
                return Verdict::Direct;
            }
            return Verdict::Unknown;
        }
        if flags & flag::SOFT_DISABLED != 0 {
            return Verdict::Rejected;
        }
    }
    if flags & flag::FILTERED != 0 {
        // SAFETY: preemption is off by `_stay`; the slot stays as long as the file.
        if let Some(filter) = unsafe { file.filter.get() } {
            if !filter.is_plain() {
                return Verdict::Unknown;
            }
            if !filter.passes_plain(entry) {
                return Verdict::Rejected;
            }
        }
    }
    Verdict::Passed
}

/// Records an entry that the filter has passed.
#[inline(never)]
fn record_passed<const N: usize>(file: &HotFile, stay: PreemptOff, fill: impl Fn(&mut [u8; N])) {
    record_now(file, Context::capture_in_probe(), stay, fill);
}

/// [`record_made`] in the general case.
#[cold]
#[inline(never)]
fn record_careful<const N: usize>(file: &HotFile, fill: impl Fn(&mut [u8; N])) {
    if !is_left_out(file) {
        let mut entry = [0; N];
        fill(&mut entry);
        record_copy_of(file, &PreemptOff::new(), &entry);
    }
}
