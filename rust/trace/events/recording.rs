// SPDX-License-Identifier: GPL-2.0

//! The recording of an event's entry, as the generated code of its probe does it: reserve, fill in,
//! commit, with preemption off.
//!
//! The flags word of the file is read once. If no flag is set, the entry is reserved in the ring
//! buffer. Otherwise it is made in per-CPU scratch memory, where filters and triggers read it. If
//! it is to be recorded, it is copied into the ring buffer. So a rejected entry is never reserved.
//! A hit that interrupts another hit in that memory reserves in the ring buffer, and discards the
//! event if it is rejected. An entry that must lie in the buffer before its triggers run
//! ([`TriggerList::follows_entry`]) is reserved there, too.
//!
//! A probe that has the whole entry ([`record_made`]) needs no such memory for a filter that only
//! compares the entry's own numbers. The filter runs on the stack of the probe.
//!
//! Nothing here locks, allocates, sleeps or can panic. Any context, NMI included.

use super::console;
use super::file::HotFile;
use super::scratch::Scratch;
use super::trigger::{HitTime, TriggerList};
use crate::core::ring_buffer::{Attempt, Header};
use crate::kernel::context::{self, LentOff, PreemptCount, PreemptOff};
#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::kernel::regs::Regs;
#[cfg(any(
    CONFIG_FTRACE_SYSCALLS,
    CONFIG_TRACE_EVENT_INJECT,
    CONFIG_DYNAMIC_EVENTS
))]
use crate::kernel::trace_event::COMMON;
use crate::kernel::trace_event::{flag, Reservation};
use crate::trace::buffer::entry::{Context, CpuFlag, EntryMade};
use crate::trace::buffer::{Buffer, HeldRing};
use core::mem;
use core::ptr::{null_mut, NonNull};
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) use hits::{record_hit, record_hits, Filled, HitEntry};
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(crate) use made::record_made;
#[cfg(CONFIG_HIST_TRIGGERS)]
pub(super) use stacks::copy_stack;
use stacks::follow;
pub(super) use stacks::record_stack;
pub(crate) use stacks::Start;

#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod hits;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
mod made;
mod stacks;

/// Flags that need the slow path.
const CAREFUL: usize = CHECKED | flag::PID_FILTER | flag::FOLLOWED;
/// Flags that need the entry to be read before it is recorded.
const CHECKED: usize = flag::FILTERED | flag::SOFT_DISABLED | flag::TRIGGER_COND | flag::OBSERVED;

/// Flags with which C makes an entry while recording is off.
const MADE_WHILE_OFF: usize = flag::FILTERED | flag::TRIGGER_COND;

/// Flags that are asked before an entry is made.
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_DYNAMIC_EVENTS))]
const ASKED: usize = flag::TRIGGER_MODE | flag::SOFT_DISABLED | flag::PID_FILTER;

/// The mark of an entry in the ring buffer that only needs a commit.
const PLAIN: u32 = 0;
/// The mark of an entry in the ring buffer that must be checked. The bits above hold its length.
const LOOKED_AT: u32 = 1;
/// The mark of an entry in [`Scratch`]. The bits above hold its length.
const APART: u32 = 2;
/// The mark of an entry in the ring buffer that a stack trace follows.
const FOLLOWED: u32 = 1 << 5;
/// Set in the mark of an entry for which [`reserve`] has turned preemption off.
const GUARDED: u32 = 1 << 6;
/// Set in a mark if the stack of the hit begins in the function that contains [`Reservation::start`].
const STARTED: u32 = 1 << 2;
/// Set in a mark if [`Reservation::start`] is the address of the registers where the stack begins.
const HAS_REGS: u32 = 1 << 3;
/// Set in the mark of an entry in [`Scratch`] that is for the triggers alone: there was no room for it
/// in the ring buffer.
const NO_ROOM: u32 = 1 << 4;
/// The number of mark bits below the length.
const MARK_BITS: u32 = 7;

/// The size of the event header for a payload of `length` bytes.
#[inline(always)]
pub(crate) const fn header_of(length: usize) -> usize {
    if length > Header::MAX_SMALL {
        8
    } else {
        4
    }
}

/// Reserves `length` bytes, common fields included, for an entry of `file`, and writes the common
/// fields. Null if it is not to be recorded, or cannot be. Called in the event's probe.
///
/// The entry is this context's as long as preemption stays off, until [`commit`]. The probes of
/// `TRACE_EVENT()` have it off; where it is on, as in those of `TRACE_CUSTOM_EVENT()`, it is off from
/// here to there, as in C.
///
/// Every case except the most common one is a tail call, so no value must be saved across a call.
#[inline(always)]
pub(crate) fn reserve(
    stay: LentOff<'_>,
    file: &HotFile,
    at: &mut Reservation,
    length: usize,
) -> *mut u8 {
    if file.flags() & CAREFUL != 0 {
        return reserve_careful(stay, file, at, length);
    }
    let context = Context::capture_in_probe();
    if !context.is_plain_task() {
        return reserve_anywhere(stay, file, at, length);
    }
    reserve_in_buffer(stay, file, at, length, context.header(file.kind))
}

/// [`reserve`] in interrupts, and for tasks whose header needs more flags.
#[inline(never)]
fn reserve_anywhere(
    stay: LentOff<'_>,
    file: &HotFile,
    at: &mut Reservation,
    length: usize,
) -> *mut u8 {
    if is_preemptible() {
        return reserve_guarded(file, at, length);
    }
    let context = Context::capture_in_probe().rest();
    reserve_in_buffer(stay, file, at, length, context.header(file.kind))
}

/// Whether the task may go to another CPU, or another come to this one, before the commit.
#[inline(always)]
fn is_preemptible() -> bool {
    cfg!(CONFIG_PREEMPT_COUNT) && !PreemptCount::read().is_atomic() && !context::irqs_off()
}

/// [`reserve`] in a probe that has not turned preemption off. [`commit`] turns it on again.
#[cold]
#[inline(never)]
fn reserve_guarded(file: &HotFile, at: &mut Reservation, length: usize) -> *mut u8 {
    let guard = PreemptOff::new();
    let entry = reserve(guard.lend(), file, at, length);
    if !entry.is_null() {
        // SAFETY: an entry was reserved, so the mark was set.
        let mark = unsafe { at.mark() };
        at.set(file, mark | GUARDED);
        mem::forget(guard);
    }
    entry
}

#[inline(always)]
fn reserve_in_buffer(
    stay: LentOff<'_>,
    file: &HotFile,
    at: &mut Reservation,
    length: usize,
    header: u64,
) -> *mut u8 {
    let ring = file.instance.buffer().held_ring(&stay);
    match ring.try_reserve(length) {
        Attempt::Reserved(event) => begin(file, at, (ring, event), length, header),
        Attempt::Not => reserve_not(file, at, ring, length, header),
        Attempt::Entered(rest) => reserve_entered(file, at, ring, rest, header),
    }
}

/// Writes the common fields of the entry in `event`.
#[inline(always)]
fn begin(
    file: &HotFile,
    at: &mut Reservation,
    (ring, event): (&HeldRing, NonNull<u8>),
    length: usize,
    header: u64,
) -> *mut u8 {
    let entry = event.as_ptr().wrapping_add(header_of(length));
    // SAFETY: the payload has at least the common fields, and only this context writes it.
    unsafe { entry.cast::<u64>().write_unaligned(header) };
    EntryMade::set(true);
    at.set(file, PLAIN);
    at.set_ring(NonNull::from(ring));
    entry
}

/// The rest of [`reserve`] if nothing was reserved.
#[cold]
#[inline(never)]
fn reserve_not(
    file: &HotFile,
    at: &mut Reservation,
    ring: &HeldRing,
    length: usize,
    header: u64,
) -> *mut u8 {
    rest_of(file, at, ring, Attempt::Not, length, header)
}

/// The rest of [`reserve`] after a long time delta, or after an interruption.
#[cold]
#[inline(never)]
fn reserve_entered(
    file: &HotFile,
    at: &mut Reservation,
    ring: &HeldRing,
    rest: u64,
    header: u64,
) -> *mut u8 {
    rest_of(
        file,
        at,
        ring,
        Attempt::Entered(rest),
        rest as usize,
        header,
    )
}

fn rest_of(
    file: &HotFile,
    at: &mut Reservation,
    ring: &HeldRing,
    tried: Attempt,
    length: usize,
    header: u64,
) -> *mut u8 {
    // SAFETY: `tried` is what `try_reserve` gave in this context, on this ring, just now; preemption is off
    // as long as there is a reference to the ring.
    match unsafe { file.instance.buffer().reserve_rest(ring, tried, length) } {
        Some(event) => begin(file, at, (ring, event), length, header),
        None => null_mut(),
    }
}

/// [`reserve`] with any flag of [`CAREFUL`].
#[cold]
#[inline(never)]
fn reserve_careful(
    stay: LentOff<'_>,
    file: &HotFile,
    at: &mut Reservation,
    length: usize,
) -> *mut u8 {
    if is_preemptible() {
        return reserve_guarded(file, at, length);
    }
    let flags = file.flags();
    if flags & flag::PID_FILTER != 0 && file.pids.ignores() {
        return null_mut();
    }
    if flags & CHECKED == 0 {
        let entry = reserve_anywhere(stay, file, at, length);
        if flags & flag::FOLLOWED != 0 && !entry.is_null() {
            at.set(file, FOLLOWED);
        }
        return entry;
    }
    let length_above = (length as u32) << MARK_BITS;
    let is_first = is_reserved_first(stay, file, flags);
    if is_first {
        let entry = reserve_held(stay, file, at, length);
        if !entry.is_null() {
            return entry;
        }
    }
    if let Some(entry) = Scratch::take(stay, length) {
        let for_triggers = if is_first { NO_ROOM } else { 0 };
        at.set(file, length_above | for_triggers | APART);
        at.set_entry(entry);
        return entry;
    }
    match is_first {
        true => null_mut(),
        false => reserve_held(stay, file, at, length),
    }
}

/// [`reserve`] of an entry that is looked at in the ring buffer. Its common fields are written then.
fn reserve_held(stay: LentOff<'_>, file: &HotFile, at: &mut Reservation, length: usize) -> *mut u8 {
    let buffer = file.instance.buffer();
    let ring = buffer.held_ring(&stay);
    // SAFETY: what is tried is on this ring, in this context.
    let event = unsafe { buffer.reserve_rest(ring, ring.try_reserve(length), length) };
    let Some(event) = event else {
        return null_mut();
    };
    let entry = event.as_ptr().wrapping_add(header_of(length));
    EntryMade::set(true);
    at.set(file, (length as u32) << MARK_BITS | LOOKED_AT);
    at.set_entry(entry);
    at.set_ring(NonNull::from(ring));
    entry
}

/// Whether the entry of a hit gets its place in the buffer before the triggers run.
fn is_reserved_first(stay: LentOff<'_>, file: &HotFile, flags: usize) -> bool {
    flags & flag::TRIGGER_COND != 0 && flags & flag::SOFT_DISABLED == 0 && {
        // SAFETY: preemption is off by `stay`; the slot stays as long as the file.
        let triggers = unsafe { file.triggers.get() };
        triggers.is_some_and(|list| {
            list.follows_entry(flags & flag::FILTERED != 0, || Scratch::is_used(stay))
        })
    }
}

/// Commits the entry that [`reserve`] returned, or discards it.
///
/// # Safety
///
/// `reserve` has filled in `at` in this context, with preemption off since, and it was not committed
/// since; later ones of this context were. The file in it still exists. The entry is complete.
#[inline(always)]
pub(crate) unsafe fn commit(stay: LentOff<'_>, at: &mut Reservation) {
    // SAFETY: `reserve` has noted file and mark; the file stays meanwhile.
    let (file, mark): (&HotFile, u32) = unsafe { (HotFile::from_raw(at.file()), at.mark()) };
    if mark != PLAIN {
        // SAFETY: `at` is what `reserve` has filled in and not ended, in this context.
        return unsafe { commit_careful(stay, file, at) };
    }
    // SAFETY: `PLAIN` says that the entry is in the buffer, on the ring that was stored; it is the last one
    // reserved there, and preemption is off since.
    unsafe { file.instance.buffer().commit_held(at.ring().as_ref()) };
}

/// # Safety
///
/// As [`commit`].
#[cold]
#[inline(never)]
unsafe fn commit_and_follow(file: &HotFile, ring: &HeldRing, start: Start<'_>) {
    let context = Context::capture_in_probe().rest();
    // SAFETY: the mark says that the entry is in the buffer, on this ring; it is the last one reserved
    // there, and preemption is off since.
    unsafe { file.instance.buffer().commit_held(ring) };
    follow(file, ring, context, start);
}

/// [`reserve`] inside of what this context has reserved already, more of it than the ring buffer lets
/// by itself. Gives, besides the entry, the ring on which nesting has begun for that, for
/// [`commit_nested`].
///
/// A ring that comes by a swap meanwhile has nothing of this context that the entry could be inside of.
#[cfg(CONFIG_SYNTH_EVENTS)]
pub(crate) fn reserve_nested(
    stay: LentOff<'_>,
    file: &HotFile,
    at: &mut Reservation,
    length: usize,
) -> (*mut u8, Option<NonNull<HeldRing>>) {
    let ring = file.instance.buffer().held_ring(&stay);
    let nests = ring.nest_start();
    let entry = reserve(stay, file, at, length);
    if nests && entry.is_null() {
        // SAFETY: it has begun above, and nothing was reserved since.
        unsafe { ring.nest_end() };
    }
    let nested = nests && !entry.is_null();
    (entry, nested.then(|| NonNull::from(ring)))
}

/// [`commit`] of an entry that [`reserve_nested`] has given, with what it gave besides.
///
/// # Safety
///
/// As [`commit`], and `nested` is of that call.
#[cfg(CONFIG_SYNTH_EVENTS)]
pub(crate) unsafe fn commit_nested(
    stay: LentOff<'_>,
    at: &mut Reservation,
    nested: Option<NonNull<HeldRing>>,
) {
    // SAFETY: the caller promises it.
    unsafe { commit(stay, at) };
    if let Some(ring) = nested {
        // SAFETY: preemption is off since nesting began on this ring, which is there as long. The entry
        // has just ended, as later ones have.
        unsafe { ring.as_ref().nest_end() };
    }
}

/// Where the stack of the hit begins.
///
/// # Safety
///
/// [`reserve`] has filled in `at`, which is not committed yet.
unsafe fn start_of(at: &Reservation) -> Start<'_> {
    // SAFETY: `reserve` has noted the mark.
    match unsafe { at.mark() } {
        #[cfg(CONFIG_DYNAMIC_EVENTS)]
        // SAFETY: `record_at` has set the bit behind the word.
        mark if mark & STARTED != 0 => Start::In(unsafe { at.start() }),
        #[cfg(CONFIG_KPROBE_EVENTS)]
        // SAFETY: the same; the registers are borrowed until `record_at` has committed.
        mark if mark & HAS_REGS != 0 => Start::At(unsafe { Regs::at(at.start()) }),
        _ => Start::Unknown,
    }
}

/// # Safety
///
/// As [`commit`].
#[cold]
#[inline(never)]
unsafe fn commit_careful(stay: LentOff<'_>, file: &HotFile, at: &mut Reservation) {
    // SAFETY: `reserve` has noted the mark.
    let mark = unsafe { at.mark() };
    let mut judged = false;
    if mark & !(!0 << MARK_BITS) == APART && file.flags() & CHECKED == flag::FILTERED {
        let length = (mark >> MARK_BITS) as usize;
        // SAFETY: by the mark, `reserve` has noted the entry.
        let entry = unsafe { at.entry() };
        // SAFETY: the memory that `reserve` returned has this length.
        let entry = unsafe { core::slice::from_raw_parts(entry, length) };
        // SAFETY: preemption is off by `stay`; the slot stays as long as the file.
        let filter = unsafe { file.filter.get() };
        if let Some(filter) = filter.filter(|filter| filter.is_plain()) {
            if !filter.passes_plain(entry) {
                // SAFETY: by the mark `reserve` has taken it, and the entry in it is rejected.
                return unsafe { Scratch::give_back(stay) };
            }
            judged = true;
        }
    } else if mark & (FOLLOWED | GUARDED) != 0 {
        // SAFETY: `at` is what `reserve` has filled in and not ended, in this context.
        return unsafe { commit_other(stay, file, at) };
    }
    // SAFETY: `at` is not committed yet, and its file and entry are as the caller promises.
    unsafe { commit_judged(stay, file, at, judged) };
}

/// [`commit_careful`] of an entry that a stack trace follows, or for which preemption was turned off.
///
/// # Safety
///
/// As [`commit`].
#[cold]
#[inline(never)]
unsafe fn commit_other(stay: LentOff<'_>, file: &HotFile, at: &mut Reservation) {
    // SAFETY: `reserve` has noted the mark.
    let mark = unsafe { at.mark() };
    if mark & GUARDED != 0 {
        at.set(file, mark & !GUARDED);
        // SAFETY: as the caller promises. By the mark `reserve_guarded` has forgotten a guard.
        unsafe {
            commit(stay, at);
            drop(PreemptOff::assume());
        }
        return;
    }
    // SAFETY: by the mark the entry is in the buffer, the last event that was reserved there.
    unsafe { commit_and_follow(file, at.ring().as_ref(), start_of(at)) };
}

/// [`commit_careful`] without its short path. `judged` says that the filter has passed the entry.
///
/// # Safety
///
/// As [`commit`].
#[inline(never)]
unsafe fn commit_judged(stay: LentOff<'_>, file: &HotFile, at: &Reservation, judged: bool) {
    // SAFETY: `reserve` has noted the mark.
    let mark = unsafe { at.mark() };
    let (length, apart) = ((mark >> MARK_BITS) as usize, mark & APART != 0);
    let mut context = Context::capture_in_probe();
    if !context.is_plain_task() {
        context = context.rest();
    }
    // SAFETY: where the mark has a length, `reserve` has noted the entry, too.
    let memory = unsafe { at.entry() };
    // SAFETY: the memory that `reserve` returned has this length and holds the common fields.
    let entry = unsafe {
        memory
            .cast::<u64>()
            .write_unaligned(context.header(file.kind));
        core::slice::from_raw_parts(memory, length)
    };
    let flags = file.flags();
    // SAFETY: preemption is off by `stay`; the slot stays as long as the file.
    let triggers = (flags & flag::TRIGGER_COND != 0).then(|| unsafe { file.triggers.get() });
    let triggers = triggers.flatten();
    // SAFETY: the mark says that the entry is in the buffer, so `reserve_held` has stored the ring. It
    // stays, as preemption is off since.
    let ring: Option<&HeldRing> = (!apart).then(|| unsafe { at.ring().as_ref() });
    // As in C, a copy goes where it would have gone before a trigger took a snapshot.
    let buffer = file.instance.buffer();
    let copied_to = buffer.held_ring(&stay);
    let after = triggers.map_or(0, |list| match ring {
        None => list.hit(file, Some(entry), &HitTime::unknown()),
        Some(ring) => {
            let time = HitTime::of_entry(ring.event_time());
            ring.nesting(|| list.hit(file, Some(entry), &time))
        }
    });
    // A trigger may have changed it.
    let flags = file.flags();
    let passes = || {
        // SAFETY: preemption is off by `stay`; the slot stays as long as the file.
        judged || unsafe { file.filter.get() }.is_none_or(|filter| filter.passes(entry))
    };
    let rejected = flags & flag::SOFT_DISABLED != 0 || flags & flag::FILTERED != 0 && !passes();
    // As in C, an entry that a filter or a trigger looks at is shown even while recording is off.
    let is_shown = || flags & MADE_WHILE_OFF != 0 || file.instance.buffer().is_on();
    if flags & flag::OBSERVED != 0 && !rejected && is_shown() {
        console::show(file.kind, entry);
    }
    let rejected = rejected || mark & NO_ROOM != 0;
    match ring.zip(NonNull::new(memory.wrapping_sub(header_of(length)))) {
        None => {
            if !rejected {
                record_copy(buffer, copied_to, entry);
            }
            // SAFETY: by the mark `reserve` has taken it; the entry in it was copied, and triggers that
            // took more have given that back.
            unsafe { Scratch::give_back(stay) };
        }
        // SAFETY: both are of `reserve_held`; what triggers have recorded there has ended.
        Some((ring, event)) => unsafe {
            match rejected {
                true => file.instance.buffer().discard_held(ring, event),
                false => file.instance.buffer().commit_held(ring),
            }
        },
    }
    let followed = !rejected && flags & flag::FOLLOWED != 0;
    if followed || after != 0 {
        // SAFETY: `reserve` has filled it in.
        let start = unsafe { start_of(at) };
        let start = followed.then_some((ring.unwrap_or(copied_to), start));
        commit_done(file, context, start, triggers, after);
    }
}

/// The work after an entry that was checked. Stack traces follow it, on its ring, if there is a `start`.
fn commit_done(
    file: &HotFile,
    context: Context,
    start: Option<(&HeldRing, Start<'_>)>,
    triggers: Option<&TriggerList>,
    after: u32,
) {
    if let Some((ring, start)) = start {
        follow(file, ring, context, start);
    }
    if let Some(list) = triggers.filter(|_| after != 0) {
        list.hit_after(file, after);
    }
}

/// Records a copy of the complete `entry` on `ring`, which `buffer` has or had since preemption is off. If
/// there is no room, the ring buffer counts the loss.
#[inline(always)]
fn record_copy(buffer: &Buffer, ring: &HeldRing, entry: &[u8]) {
    let event = match ring.try_reserve(entry.len()) {
        Attempt::Reserved(event) => Some(event),
        // SAFETY: `tried` is what `try_reserve` gave just now on this ring, in this context.
        tried => unsafe { buffer.reserve_rest(ring, tried, entry.len()) },
    };
    let Some(event) = event else {
        return;
    };
    let place = event.as_ptr().wrapping_add(header_of(entry.len()));
    // SAFETY: the payload has that many bytes, and only this context writes it; it is the last
    // event that was reserved there.
    unsafe {
        copy_words(entry, place);
        EntryMade::set(true);
        buffer.commit_held(ring);
    }
}

/// Copies `from` word by word, since entries are short.
///
/// # Safety
///
/// `to` is valid for writes of `from.len()` bytes.
#[inline(always)]
unsafe fn copy_words(from: &[u8], to: *mut u8) {
    let mut to = to;
    let mut words = from.chunks_exact(8);
    for word in words.by_ref() {
        // SAFETY: a chunk has eight bytes, and `to` has room for all of `from`.
        unsafe { to.cast::<[u8; 8]>().write(*word.as_ptr().cast()) };
        to = to.wrapping_add(8);
    }
    for byte in words.remainder() {
        // SAFETY: `to` has room for all of `from`, of which this byte is the next.
        unsafe { to.write(*byte) };
        to = to.wrapping_add(1);
    }
}

/// Whether a hit of `file` leaves no entry. Runs the triggers that need no entry. The code of
/// `TRACE_EVENT()` calls this. Any context.
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_DYNAMIC_EVENTS))]
#[inline(always)]
pub(crate) fn is_left_out(file: &HotFile) -> bool {
    file.flags() & ASKED != 0 && {
        let _stay = PreemptOff::new();
        is_not_recorded(file)
    }
}

/// Records an entry of `length` bytes. `fill` writes the bytes after the common fields. Called in
/// probes written in Rust, and elsewhere. Any context.
#[cfg(any(
    CONFIG_FTRACE_SYSCALLS,
    CONFIG_TRACE_EVENT_INJECT,
    CONFIG_DYNAMIC_EVENTS
))]
#[inline(always)]
pub(crate) fn record(
    stay: &PreemptOff,
    file: &HotFile,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) {
    let mut at = Reservation::new();
    let entry = reserve(stay.lend(), file, &mut at, length);
    if !entry.is_null() && length >= COMMON {
        // SAFETY: `at` and `entry` are of the reservation of `length` bytes in this context.
        unsafe { fill_and_commit(stay.lend(), &mut at, entry, length, fill) };
    }
}

/// Whether an entry of `length` bytes would be made for `file`: to be recorded, or for filters and
/// triggers to look at. Any context.
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) fn is_made(stay: &PreemptOff, file: &HotFile, length: usize) -> bool {
    let flags = file.flags();
    if flags & flag::PID_FILTER != 0 && file.pids.ignores() {
        return false;
    }
    let buffer = file.instance.buffer();
    flags & CHECKED & !flag::OBSERVED != 0
        || length <= buffer.max_entry_here(stay) && buffer.is_recording_here(stay)
}

/// # Safety
///
/// `entry` is what [`reserve`] has just returned in this context for `at` and `length` bytes, which
/// are [`COMMON`] or more; its file still exists.
#[cfg(any(
    CONFIG_FTRACE_SYSCALLS,
    CONFIG_TRACE_EVENT_INJECT,
    CONFIG_DYNAMIC_EVENTS
))]
#[inline(always)]
unsafe fn fill_and_commit(
    stay: LentOff<'_>,
    at: &mut Reservation,
    entry: *mut u8,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) {
    // SAFETY: `length` bytes were reserved, and only this context uses them until the commit, with
    // preemption off since the reservation.
    unsafe {
        let fields = entry.wrapping_add(COMMON);
        fill(core::slice::from_raw_parts_mut(fields, length - COMMON));
        commit(stay, at);
    }
}

/// Whether a probe makes no entry: the event is soft-disabled, or the task is not recorded. Runs
/// the triggers that need no entry. Any context.
#[cold]
pub(crate) fn is_not_recorded(file: &HotFile) -> bool {
    let flags = file.flags();
    if flags & flag::TRIGGER_COND != 0 {
        return false;
    }
    if flags & flag::TRIGGER_MODE != 0 {
        file.triggers.with(|triggers| {
            if let Some(list) = triggers {
                list.hit(file, None, &HitTime::unknown());
            }
        });
    }
    // As in C, the hit whose trigger enables the event is not recorded, nor the one that disables it.
    let soft_disabled = (flags | file.flags()) & flag::SOFT_DISABLED != 0;
    let is_ignored = || {
        let _stay = PreemptOff::new();
        ignores_current(file)
    };
    soft_disabled || flags & flag::PID_FILTER != 0 && is_ignored()
}

/// Whether the instance does not record events of the current task. Any context, preemption off.
pub(crate) fn ignores_current(file: &HotFile) -> bool {
    // Without a list nothing keeps the word of the CPU up to date.
    file.pids.is_active() && file.pids.ignores()
}
