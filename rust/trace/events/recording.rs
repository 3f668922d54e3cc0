// SPDX-License-Identifier: GPL-2.0

//! The way of an event's entry into the buffer, as the generated code of its probe goes it: it
//! reserves, fills in, and commits, with preemption off.
//!
//! The word of the file's flags is looked at once. If it asks for nothing, the entry is reserved in
//! the buffer. Otherwise it is made in memory of this CPU's, where filters and triggers look at it,
//! and copied into the buffer if it is to be recorded: what a filter rejects was never reserved. A
//! hit that interrupts another one in that memory reserves, and gives up what is rejected.
//!
//! Nothing here locks, allocates, sleeps or can panic; any context, NMI included.

use super::console;
use super::file::HotFile;
use super::scratch::Scratch;
use super::trigger::TriggerList;
use crate::core::parse::options::Flag;
use crate::core::ring_buffer::{Attempt, Header};
use crate::kernel::context::PreemptOff;
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_TRACE_EVENT_INJECT))]
use crate::kernel::trace_event::COMMON;
use crate::kernel::trace_event::{flag, Reservation};
use crate::trace::buffer::entry::{Context, CpuFlag, EntryMade};
use crate::trace::tasks::stack;
use core::mem::ManuallyDrop;
use core::ptr::{null_mut, NonNull};

/// Flags that ask for more than to be recorded.
const CAREFUL: usize = CHECKED | flag::PID_FILTER | flag::FOLLOWED;
/// Flags that ask for a look at the entry before it is recorded.
const CHECKED: usize = flag::FILTERED | flag::SOFT_DISABLED | flag::TRIGGER_COND | flag::OBSERVED;

/// The mark of an entry that is in the buffer, and to be committed.
const PLAIN: u32 = 0;
/// The mark of one in the buffer that is to be looked at; its length is above.
const LOOKED_AT: u32 = 1;
/// The mark of one in [`Scratch`]; its length is above.
const APART: u32 = 2;
/// The mark of one in the buffer that something is recorded behind.
const FOLLOWED: u32 = 3;
/// Bits of the mark below the length.
const MARK_BITS: u32 = 2;

/// Bytes of the ring buffer's header before a payload of `length`.
#[inline(always)]
const fn header_of(length: usize) -> usize {
    if length > Header::MAX_SMALL {
        8
    } else {
        4
    }
}

/// Reserves `length` bytes, common fields included, for an entry of `file`'s, and writes the
/// common fields. Null if it is not to be recorded, or cannot be. In the event's probe.
///
/// All but the case that nearly always holds leaves by a call at the end: that way nothing here
/// lives across a call.
#[inline(always)]
pub(crate) fn reserve(file: &HotFile, at: &mut Reservation, length: usize) -> *mut u8 {
    if file.flags() & CAREFUL != 0 {
        return reserve_careful(file, at, length);
    }
    let context = Context::capture_in_probe();
    if !context.is_plain_task() {
        return reserve_anywhere(file, at, length);
    }
    reserve_in_buffer(file, at, length, context.header(file.kind))
}

/// [`reserve`] in interrupts, and of tasks about which there is more to say.
#[inline(never)]
fn reserve_anywhere(file: &HotFile, at: &mut Reservation, length: usize) -> *mut u8 {
    let context = Context::capture_in_probe().rest();
    reserve_in_buffer(file, at, length, context.header(file.kind))
}

#[inline(always)]
fn reserve_in_buffer(file: &HotFile, at: &mut Reservation, length: usize, header: u64) -> *mut u8 {
    // SAFETY: the generated code has preemption off until it has committed; nothing turns it on by
    // this guard.
    let stay = ManuallyDrop::new(unsafe { PreemptOff::assume() });
    match file.instance.buffer().try_reserve(length, &stay) {
        Attempt::Reserved(event) => begin(file, at, event, length, header),
        Attempt::Not => reserve_not(file, at, length, header),
        Attempt::Entered(rest) => reserve_entered(file, at, rest, header),
    }
}

/// Begins the entry in `event`.
#[inline(always)]
fn begin(
    file: &HotFile,
    at: &mut Reservation,
    event: NonNull<u8>,
    length: usize,
    header: u64,
) -> *mut u8 {
    let entry = event.as_ptr().wrapping_add(header_of(length));
    // SAFETY: a payload of at least the common fields, which nobody else writes.
    unsafe { entry.cast::<u64>().write_unaligned(header) };
    EntryMade::set(true);
    at.set(file, PLAIN);
    entry
}

/// The rest of [`reserve`] where nothing was reserved.
#[cold]
#[inline(never)]
fn reserve_not(file: &HotFile, at: &mut Reservation, length: usize, header: u64) -> *mut u8 {
    rest_of(file, at, Attempt::Not, length, header)
}

/// The rest of [`reserve`] after a long time, or one that was interrupted.
#[cold]
#[inline(never)]
fn reserve_entered(file: &HotFile, at: &mut Reservation, rest: u64, header: u64) -> *mut u8 {
    rest_of(file, at, Attempt::Entered(rest), rest as usize, header)
}

fn rest_of(
    file: &HotFile,
    at: &mut Reservation,
    tried: Attempt,
    length: usize,
    header: u64,
) -> *mut u8 {
    // SAFETY: as in `reserve_in_buffer`.
    let stay = ManuallyDrop::new(unsafe { PreemptOff::assume() });
    match file.instance.buffer().reserve_rest(tried, length, &stay) {
        Some(event) => begin(file, at, event, length, header),
        None => null_mut(),
    }
}

/// [`reserve`] where the flags ask for more.
#[cold]
#[inline(never)]
fn reserve_careful(file: &HotFile, at: &mut Reservation, length: usize) -> *mut u8 {
    let flags = file.flags();
    if flags & flag::PID_FILTER != 0 && file.pids.ignores() {
        return null_mut();
    }
    if flags & CHECKED == 0 {
        let entry = reserve_anywhere(file, at, length);
        if flags & flag::FOLLOWED != 0 && !entry.is_null() {
            at.set(file, FOLLOWED);
        }
        return entry;
    }
    let length_above = (length as u32) << MARK_BITS;
    if let Some(entry) = Scratch::take(length) {
        at.set(file, length_above | APART);
        at.set_entry(entry);
        return entry;
    }
    let entry = reserve_anywhere(file, at, length);
    at.set(file, length_above | LOOKED_AT);
    at.set_entry(entry);
    entry
}

/// Ends what [`reserve`] has given.
///
/// # Safety
///
/// `at` is what `reserve` has filled in and not ended, in this context, for the file that it
/// names, which stays meanwhile; the entry is complete.
#[inline(always)]
pub(crate) unsafe fn commit(at: &mut Reservation) {
    // SAFETY: by the precondition.
    let file: &HotFile = unsafe { HotFile::from_raw(at.file()) };
    if at.mark() != PLAIN {
        // SAFETY: by the precondition.
        return unsafe { commit_careful(file, at) };
    }
    // SAFETY: by the precondition, and by the mark, it is the last event that was reserved there.
    unsafe { file.instance.buffer().commit_here() };
}

/// # Safety
///
/// As [`commit`].
#[cold]
#[inline(never)]
unsafe fn commit_and_follow(file: &HotFile) {
    let context = Context::capture_in_probe().rest();
    // SAFETY: by the precondition.
    unsafe { file.instance.buffer().commit_here() };
    follow(file, context);
}

/// Records what follows an entry that was made in `context`.
fn follow(file: &HotFile, context: Context) {
    let (buffer, options) = (file.instance.buffer(), file.instance.options());
    if options.has(Flag::StackTrace) {
        stack::record_behind(buffer, context, file.call().probe());
    }
    // As in C the option does nothing where the architecture cannot walk a user's stack.
    if cfg!(CONFIG_USER_STACKTRACE_SUPPORT) && options.has(Flag::UserStackTrace) {
        stack::record_user(buffer, context);
    }
}

/// # Safety
///
/// As [`commit`].
#[cold]
#[inline(never)]
unsafe fn commit_careful(file: &HotFile, at: &Reservation) {
    if at.mark() == FOLLOWED {
        // SAFETY: by the precondition.
        return unsafe { commit_and_follow(file) };
    }
    let (length, apart) = ((at.mark() >> MARK_BITS) as usize, at.mark() & APART != 0);
    let mut context = Context::capture_in_probe();
    if !context.is_plain_task() {
        context = context.rest();
    }
    let start = at.entry();
    // SAFETY: what `reserve` gave has this length, and holds the common fields.
    let entry = unsafe {
        start
            .cast::<u64>()
            .write_unaligned(context.header(file.kind));
        core::slice::from_raw_parts(start, length)
    };
    let flags = file.flags();
    // SAFETY: the generated code has preemption off; the slot stays as long as the file.
    let triggers = (flags & flag::TRIGGER_COND != 0).then(|| unsafe { file.triggers.get() });
    let triggers = triggers.flatten();
    let after = triggers.map_or(0, |list| list.hit(file, Some(entry)));
    // A trigger may have changed it.
    let flags = file.flags();
    let passes = || {
        // SAFETY: as above.
        unsafe { file.filter.get() }.is_none_or(|filter| filter.passes(entry))
    };
    let rejected = flags & flag::SOFT_DISABLED != 0 || flags & flag::FILTERED != 0 && !passes();
    if flags & flag::OBSERVED != 0 && !rejected && file.instance.buffer().is_on() {
        console::show(file.kind, entry);
    }
    if apart {
        if !rejected {
            record_copy(file, entry);
        }
        Scratch::give_back();
    } else if rejected {
        if let Some(event) = NonNull::new(start.wrapping_sub(header_of(length))) {
            // SAFETY: by the precondition it is the last event that was reserved there.
            unsafe { file.instance.buffer().discard_here(event) };
        }
    } else {
        // SAFETY: as above.
        unsafe { file.instance.buffer().commit_here() };
    }
    let followed = !rejected && flags & flag::FOLLOWED != 0;
    if followed || after != 0 {
        commit_done(file, context, followed, triggers, after);
    }
}

/// What follows where entries are looked at.
fn commit_done(
    file: &HotFile,
    context: Context,
    followed: bool,
    triggers: Option<&TriggerList>,
    after: u64,
) {
    if followed {
        follow(file, context);
    }
    if let Some(list) = triggers.filter(|_| after != 0) {
        list.hit_after(file, after);
    }
}

/// Records a copy of `entry`, which is complete. Where there is no room the buffer counts it.
/// Preemption is off.
#[inline(always)]
fn record_copy(file: &HotFile, entry: &[u8]) {
    // SAFETY: as in `reserve_in_buffer`.
    let stay = ManuallyDrop::new(unsafe { PreemptOff::assume() });
    let buffer = file.instance.buffer();
    let event = match buffer.try_reserve(entry.len(), &stay) {
        Attempt::Reserved(event) => Some(event),
        tried => buffer.reserve_rest(tried, entry.len(), &stay),
    };
    let Some(event) = event else {
        return;
    };
    let place = event.as_ptr().wrapping_add(header_of(entry.len()));
    // SAFETY: a payload of that many bytes, which nobody else writes; it is the last event that
    // was reserved there.
    unsafe {
        copy_words(entry, place);
        EntryMade::set(true);
        buffer.commit_here();
    }
}

/// Copies `from`, a word at a time: entries are short.
///
/// # Safety
///
/// As many bytes may be written at `to`.
#[inline(always)]
unsafe fn copy_words(from: &[u8], to: *mut u8) {
    let mut to = to;
    let mut words = from.chunks_exact(8);
    for word in words.by_ref() {
        // SAFETY: by the precondition, as below; a chunk has eight bytes.
        unsafe { to.cast::<[u8; 8]>().write(*word.as_ptr().cast()) };
        to = to.wrapping_add(8);
    }
    for byte in words.remainder() {
        // SAFETY: as above.
        unsafe { to.write(*byte) };
        to = to.wrapping_add(1);
    }
}

/// Is a hit of `file` to leave no entry? Does what its triggers do without one; as the code that
/// `TRACE_EVENT()` generates asks. Any context.
#[cfg(CONFIG_FTRACE_SYSCALLS)]
#[inline(always)]
pub(crate) fn is_left_out(file: &HotFile) -> bool {
    const ASKED: usize = flag::TRIGGER_MODE | flag::SOFT_DISABLED | flag::PID_FILTER;
    file.flags() & ASKED != 0 && {
        let _stay = PreemptOff::new();
        is_not_recorded(file)
    }
}

/// Records an entry of `length` bytes, of which `fill` writes those behind the common fields. In a
/// probe that is written in Rust, or elsewhere.
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_TRACE_EVENT_INJECT))]
#[inline(always)]
pub(crate) fn record(
    _stay: &PreemptOff,
    file: &HotFile,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) {
    let mut at = Reservation::new();
    let entry = reserve(file, &mut at, length);
    if entry.is_null() || length < COMMON {
        return;
    }
    // SAFETY: `length` bytes were reserved, which are this context's until they are committed; so
    // they are below, with preemption off since the reservation.
    unsafe {
        let fields = entry.wrapping_add(COMMON);
        fill(core::slice::from_raw_parts_mut(fields, length - COMMON));
        commit(&mut at);
    }
}

/// What a probe asks before it makes an entry of an event with triggers, that is soft-disabled or
/// recorded for some tasks: is there to be none? Hits triggers that need no entry. Any context.
#[cold]
pub(crate) fn is_not_recorded(file: &HotFile) -> bool {
    let flags = file.flags();
    if flags & flag::TRIGGER_COND != 0 {
        return false;
    }
    if flags & flag::TRIGGER_MODE != 0 {
        file.triggers.with(|triggers| {
            if let Some(list) = triggers {
                list.hit(file, None);
            }
        });
    }
    // A trigger may have changed it.
    let flags = file.flags();
    flags & flag::SOFT_DISABLED != 0 || flags & flag::PID_FILTER != 0 && ignores_current(file)
}

/// Is the event that is hit of a task whose events the instance does not record? Any context,
/// preemption off.
pub(crate) fn ignores_current(file: &HotFile) -> bool {
    file.pids.ignores()
}
