// SPDX-License-Identifier: GPL-2.0

//! `function_graph` alone and without any wish: the hot path, from entry to return.
//!
//! Nothing here is traced or calls what is, but at the ends that are marked cold: so there is no guard against recursion. Any
//! context, NMI included. See `Documentation/function-graph.md`.

use crate::kapi::clock;
use crate::kapi::context::PreemptOff;
use crate::kapi::ret_stack::{Current, Frame, Held, Room, Top};
use crate::trace::arch::{Arch, Machine};
use crate::trace::buffer::{Buffer, Plain};
use crate::trace::entry::{kind, Context};
use kernel::bindings::{ftrace_ops, ftrace_regs};
use kernel::sync::atomic::{ordering::Full, Acquire, Atomic, Relaxed, Release};

/// Where the hot path records.
///
/// # Invariants
///
/// `top` is that of no frame, or `buffer` is a buffer that lives until hits are out after the change back.
pub(crate) struct Target {
    /// What its frames end in, while it is registered.
    top: Atomic<u64>,
    buffer: Atomic<*mut Buffer>,
}

impl Target {
    /// Nowhere.
    pub(crate) const fn new() -> Self {
        // INVARIANT: no frame ends in 0.
        Self { top: Atomic::new(0), buffer: Atomic::new(core::ptr::null_mut()) }
    }

    #[inline(always)]
    fn top(&self) -> Top {
        Top(self.top.load(Relaxed))
    }

    /// Takes entries once it is aimed at, as registration `number`.
    ///
    /// # Safety
    ///
    /// `buffer` stays until hits are out after [`Target::close`].
    pub(crate) unsafe fn open(&self, buffer: &Buffer, number: u64) {
        self.buffer.store(core::ptr::from_ref(buffer).cast_mut(), Relaxed);
        // INVARIANT: by the precondition.
        self.top.store(Top::frame(number).0, Release);
    }

    /// Takes no more.
    pub(crate) fn close(&self) {
        // INVARIANT: no frame ends in 0.
        self.top.store(0, Relaxed);
    }

    /// Before it goes, and before one waits for hits.
    pub(crate) fn forget(&self) {
        self.close();
        let this = core::ptr::from_ref(self).cast_mut();
        let nobody = core::ptr::from_ref(&NOBODY).cast_mut();
        let _ = TARGET.cmpxchg(this, nobody, Full);
    }
}

static NOBODY: Target = Target::new();

/// The target that was aimed at last. What it was before has no frames any more that would be reported.
static TARGET: Atomic<*mut Target> = Atomic::new(core::ptr::from_ref(&NOBODY).cast_mut());

/// A target that is forgotten before it goes, which then waits for hits.
#[derive(Clone, Copy)]
pub(crate) struct Aim(*const Target);

// SAFETY: a `Target` may be used from any context.
unsafe impl Send for Aim {}

impl Aim {
    /// # Safety
    ///
    /// [`Target::forget`] is called and hits are waited for before `target` goes.
    pub(crate) unsafe fn new(target: &Target) -> Self {
        Self(target)
    }

    /// Makes it the one of the hot path.
    pub(super) fn take(self) {
        // Pairs with the acquire load in `target`.
        TARGET.store(self.0.cast_mut(), Release);
    }
}

#[inline(always)]
fn target<'a>() -> &'a Target {
    // SAFETY: by the promise of `Aim::new`.
    unsafe { &*TARGET.load(Acquire) }
}

/// The manager's function while the tracer is alone and plain.
///
/// # Safety
///
/// For trampolines and the list: `fregs` is what the trampoline saved at the entry of the function at `ip`.
#[no_mangle]
pub(crate) unsafe extern "C" fn ftrace_graph_plain(
    ip: usize,
    parent_ip: usize,
    _op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    let target = target();
    let top = target.top();
    let current = Current::get();
    if top.0 == 0 || current.is_paused() {
        return;
    }
    let Some(room) = current.room() else {
        // SAFETY: by the precondition.
        return unsafe { enter_without_room(target, top, ip, parent_ip, fregs) };
    };
    // SAFETY: by the precondition.
    unsafe { record_entry(target, top, current, room, ip, parent_ip, fregs) }
}

/// # Safety
///
/// As for [`ftrace_graph_plain`].
#[cold]
#[inline(never)]
unsafe fn enter_without_room(target: &Target, top: Top, ip: usize, parent_ip: usize, fregs: *mut ftrace_regs) {
    let current = Current::get();
    if let Some(room) = current.make_room() {
        // SAFETY: by the precondition.
        unsafe { record_entry(target, top, current, room, ip, parent_ip, fregs) }
    }
}

/// # Safety
///
/// As for [`ftrace_graph_plain`].
#[inline(always)]
unsafe fn record_entry(
    target: &Target,
    top: Top,
    current: Current,
    room: Room<'_>,
    ip: usize,
    parent_ip: usize,
    fregs: *mut ftrace_regs,
) {
    let depth = current.depth().wrapping_add(1);
    current.set_depth(depth);
    let stay = PreemptOff::new();
    // SAFETY: by the invariant of `Target` it lives, as its `top` was not 0.
    let buffer = unsafe { &*target.buffer.load(Relaxed) };
    let context = Context::capture();
    let mut time = 0;
    let mut made = false;
    if buffer.can_be_fast(context) {
        let (outcome, now) =
            buffer.record_fast(|_| [context.header(kind::GRAPH_ENTRY), ip as u64, depth as u64]);
        made = outcome == Plain::Done || buffer.complete(outcome);
        time = now;
    }
    if !made {
        match entry_any(buffer, context, ip, depth) {
            Some(now) => time = now,
            None => return current.set_depth(depth.wrapping_sub(1)),
        }
    }
    // SAFETY: by the precondition.
    let retp = unsafe { Machine::return_address(fregs) };
    room.push(&Frame { retp: retp as usize, ret: parent_ip, func: ip, data: time, top });
    // SAFETY: the word that the function at `ip` returns by, of which a frame is kept.
    unsafe { retp.write(Machine::return_hook()) };
    drop(stay);
}

/// Records an entry in every case; its time by the clock that functions are timed with.
#[cold]
#[inline(never)]
fn entry_any(buffer: &Buffer, context: Context, ip: usize, depth: i32) -> Option<u64> {
    let time = clock::sched();
    buffer.write_with(context.rest(), kind::GRAPH_ENTRY, 16, |_, bytes| {
        fill(bytes, &[ip as u64, depth as u64]);
    })?;
    Some(time)
}

/// The return of the function of `frame`, if it is one of the target's: where it goes.
#[inline(always)]
pub(super) fn leave(current: Current, frame: &Held<'_>, retval: usize) -> Option<usize> {
    let target = target();
    if frame.top() != target.top() {
        return None;
    }
    let depth = current.depth();
    let counts = u64::from(depth as u32) | u64::from(current.overrun()) << 32;
    let (func, calltime) = (frame.func() as u64, frame.data());
    let stay = PreemptOff::new();
    // SAFETY: by the invariant of `Target` it lives, as its `top` is that of a frame.
    let buffer = unsafe { &*target.buffer.load(Relaxed) };
    let context = Context::capture();
    let mut made = false;
    if buffer.can_be_fast(context) {
        let header = context.header(kind::GRAPH_EXIT);
        let (outcome, _) =
            buffer.record_fast(|now| exit_words(header, func, retval, counts, calltime, now));
        made = outcome == Plain::Done || buffer.complete(outcome);
    }
    if !made {
        exit_any(buffer, context, exit_words(0, func, retval, counts, calltime, clock::sched()));
    }
    let ret = frame.ret();
    current.pop(frame.at());
    current.set_depth(depth.wrapping_sub(1));
    drop(stay);
    Some(ret)
}

/// Words of an exit entry.
pub(super) const EXIT: usize = 6;

/// An exit entry.
#[inline(always)]
pub(super) fn exit_words(header: u64, func: u64, retval: usize, counts: u64, calltime: u64, now: u64) -> [u64; EXIT] {
    [header, func, retval as u64, counts, calltime, now]
}

/// Records a return in every case.
#[cold]
#[inline(never)]
pub(super) fn exit_any(buffer: &Buffer, context: Context, words: [u64; EXIT]) {
    // No room, or recording is off: then the entry says more than both.
    let _ = buffer.write_with(context.rest(), kind::GRAPH_EXIT, 8 * (EXIT - 1), |_, bytes| {
        fill(bytes, words.get(1..).unwrap_or(&[]));
    });
}

/// Writes words one after the other.
pub(super) fn fill(bytes: &mut [u8], words: &[u64]) {
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}
