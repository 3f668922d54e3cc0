// SPDX-License-Identifier: GPL-2.0

//! The recording of hits where a probe looks at no flag itself: of kprobes, uprobes, fprobes, event
//! probes and synthetic events.

use super::{
    fill_and_commit, header_of, is_left_out, reserve, Start, ASKED, CAREFUL, HAS_REGS, PLAIN,
    STARTED,
};
use crate::core::ring_buffer::Attempt;
use crate::kernel::cold::copied;
use crate::kernel::context::PreemptOff;
use crate::kernel::dynamic_event::DynamicEvent;
use crate::kernel::trace_event::{OtherFiles, Reservation, COMMON};
use crate::trace::buffer::entry::{Context, CpuFlag, EntryMade};
use crate::trace::buffer::HeldRing;
use crate::trace::events::file::{Hot, HotFile};
use core::ptr::NonNull;

/// [`record`](super::record) of a hit whose stack begins at `start`.
fn record_at(
    stay: &PreemptOff,
    file: &HotFile,
    start: Start<'_>,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) {
    let mut at = Reservation::new();
    let entry = reserve(stay.lend(), file, &mut at, length);
    if entry.is_null() || length < COMMON {
        return;
    }
    // SAFETY: an entry was reserved, so the mark was set; `at` and `entry` are of the reservation of
    // `length` bytes in this context.
    unsafe {
        let mark = at.mark();
        let (word, bit) = match start {
            Start::In(ip) => (ip, STARTED),
            #[cfg(CONFIG_KPROBE_EVENTS)]
            Start::At(regs) => (regs.as_ptr() as usize, HAS_REGS),
            _ => (0, 0),
        };
        if mark != PLAIN && bit != 0 {
            at.set_start(word);
            at.set(file, mark | bit);
        }
        fill_and_commit(stay.lend(), &mut at, entry, length, fill);
    }
}

/// An entry that a hit makes. Its functions are in line where the hit is recorded.
///
/// It is passed by value, so that what is known of it stays in registers.
pub(crate) trait HitEntry: Copy {
    /// What [`HitEntry::size`] is at least.
    const LEAST: usize = COMMON;

    /// Bytes, with the common fields.
    fn size(self) -> usize;

    /// Writes the fields behind the common ones.
    fn fill(self, fields: &mut [u8]);
}

/// One of a known size, which the closure fills.
#[derive(Clone, Copy)]
pub(crate) struct Filled<F>(pub(crate) usize, pub(crate) F);

impl<F: Fn(&mut [u8]) + Copy> HitEntry for Filled<F> {
    #[inline(always)]
    fn size(self) -> usize {
        self.0
    }

    #[inline(always)]
    fn fill(self, fields: &mut [u8]) {
        (self.1)(fields);
    }
}

/// Records a hit of `file` where a probe looks at no flag itself. Its stack begins at `start`. For
/// probes written in Rust. Any context.
///
/// If no flag is set, this is all in line: one look at the flags, reserve, fill in, commit.
#[inline(always)]
pub(crate) fn record_hit<E: HitEntry>(
    stay: &PreemptOff,
    file: &HotFile,
    start: Start<'_>,
    made: E,
) {
    if file.flags() & (CAREFUL | ASKED) != 0 {
        return record_hit_careful(stay, file, start, copied(made));
    }
    let mut context = Context::capture_in_probe();
    if !context.is_plain_task() {
        context = context.rest();
    }
    let header = context.header(file.kind);
    let length = made.size();
    const { assert!(E::LEAST >= COMMON) };
    if length < E::LEAST {
        return;
    }
    let ring = file.instance.buffer().held_ring(stay);
    match ring.try_reserve(length) {
        // SAFETY: the event was reserved just now, with `length` bytes, which are `COMMON` or more.
        Attempt::Reserved(event) => unsafe {
            fill_and_commit_hit(file, (ring, event), length, header, made);
        },
        tried => record_hit_rest(file, (ring, tried), length, header, copied(made)),
    }
}

/// The rest of [`record_hit`] where the short way has reserved nothing.
#[cold]
#[inline(never)]
fn record_hit_rest(
    file: &HotFile,
    (ring, tried): (&HeldRing, Attempt),
    length: usize,
    header: u64,
    made: impl HitEntry,
) {
    // SAFETY: `tried` is what `try_reserve` gave in this context, on this ring, just now. An event that is
    // reserved has `length` bytes, which are `COMMON` or more.
    unsafe {
        if let Some(event) = file.instance.buffer().reserve_rest(ring, tried, length) {
            fill_and_commit_hit(file, (ring, event), length, header, made);
        }
    }
}

/// # Safety
///
/// `event` was just reserved in this context, in the ring of the file's buffer, with `length` bytes for an
/// entry, which are [`COMMON`] or more. Preemption is off as long as there is a reference to the ring.
#[inline(always)]
unsafe fn fill_and_commit_hit(
    file: &HotFile,
    (ring, event): (&HeldRing, NonNull<u8>),
    length: usize,
    header: u64,
    made: impl HitEntry,
) {
    // SAFETY: `length` bytes were reserved behind the event's header, with the common fields among them,
    // and only this context uses them until the commit, with preemption off since the reservation. It is
    // the last event that was reserved there.
    unsafe {
        let entry = event.as_ptr().add(header_of(length));
        entry.cast::<u64>().write_unaligned(header);
        made.fill(core::slice::from_raw_parts_mut(
            entry.add(COMMON),
            length.wrapping_sub(COMMON),
        ));
        EntryMade::set(true);
        file.instance.buffer().commit_held(ring);
    }
}

/// [`record_hit`] in all files of `event`.
#[inline(always)]
pub(crate) fn record_hits(
    stay: &PreemptOff,
    event: &DynamicEvent<Hot>,
    start: Start<'_>,
    made: impl HitEntry,
) {
    let Some((first, others)) = event.hit_file(stay) else {
        return;
    };
    record_hit(stay, first, start, made);
    if !others.is_empty() {
        record_hit_in(stay, others, start, copied(made));
    }
}

/// [`record_hit`] in some files, by a call.
#[cold]
#[inline(never)]
fn record_hit_in(
    stay: &PreemptOff,
    files: OtherFiles<'_, Hot>,
    start: Start<'_>,
    made: impl HitEntry,
) {
    for file in files.iter() {
        record_hit(stay, file, start, made);
    }
}

/// [`record_hit`] with any flag that it asks for.
#[cold]
#[inline(never)]
fn record_hit_careful(stay: &PreemptOff, file: &HotFile, start: Start<'_>, made: impl HitEntry) {
    if !is_left_out(file) {
        record_at(stay, file, start, made.size(), |fields| made.fill(fields));
    }
}
