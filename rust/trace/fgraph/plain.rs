// SPDX-License-Identifier: GPL-2.0

//! `function_graph` as the only user, with default options: the hot path, from entry to return.
//!
//! Nothing here is traced or calls what is, but at the ends that are marked cold: so there is no
//! guard against recursion. Any context, NMI included. See `Documentation/function-graph.md`.

use crate::core::format::entry::{Entry as _, FuncgraphEntry, FuncgraphExit};
use crate::core::sys::{acquires, barrier};
use crate::kernel::clock;
use crate::kernel::context::{PreemptCount, PreemptOff};
use crate::kernel::ftrace::ftrace_graph_ret;
use crate::trace::buffer::entry::{Context, PlainCount};
use crate::trace::buffer::{Body, Buffer, Unfinished};
use crate::trace::fgraph::ret_stack::{Current, Frame, Held, Room, Top};
use crate::trace::ftrace::arch::{Arch, Machine};
use core::mem::offset_of;
use kernel::sync::atomic::{ordering::Full, Acquire, Atomic, Relaxed, Release};

/// Where the hot path records.
///
/// # Invariants
///
/// `top` is that of no frame, or `buffer` is a buffer that lives until hits are out after the
/// change back.
pub(crate) struct Target {
    /// What its frames end in, while it is registered.
    top: Atomic<u64>,
    buffer: Atomic<*mut Buffer>,
}

impl Target {
    /// A target without a buffer.
    pub(crate) const fn new() -> Self {
        // INVARIANT: no frame ends in 0.
        Self {
            top: Atomic::new(0),
            buffer: Atomic::new(core::ptr::null_mut()),
        }
    }

    #[inline(always)]
    fn top(&self) -> Top {
        // Pairs with the release store in `open`: who finds the top of a frame finds its buffer.
        Top(self.top.load(Acquire))
    }

    /// Opens the target, as registration `number`. It records once it is the current one.
    ///
    /// # Safety
    ///
    /// `buffer` stays until hits are out after [`Target::close`].
    pub(crate) unsafe fn open(&self, buffer: &Buffer, number: u64) {
        self.buffer
            .store(core::ptr::from_ref(buffer).cast_mut(), Relaxed);
        // INVARIANT: the buffer was stored before, and stays until hits are out. Pairs with the
        // acquire load in `top`.
        self.top.store(Top::frame(number).0, Release);
    }

    /// Closes the target: nothing is recorded by it any more.
    pub(crate) fn close(&self) {
        // INVARIANT: no frame ends in 0.
        self.top.store(0, Relaxed);
    }

    /// Makes it the current target no more. To be called before hits are waited for and it is
    /// dropped.
    pub(crate) fn forget(&self) {
        self.close();
        let this = core::ptr::from_ref(self).cast_mut();
        let nobody = core::ptr::from_ref(&NOBODY).cast_mut();
        let _ = TARGET.cmpxchg(this, nobody, Full);
    }
}

static NOBODY: Target = Target::new();

/// The current target. Frames of earlier ones are not reported.
static TARGET: Atomic<*mut Target> = Atomic::new(core::ptr::from_ref(&NOBODY).cast_mut());

/// A reference to a target. Before the target is dropped it is forgotten, and hits are waited for.
#[derive(Clone, Copy)]
pub(crate) struct TargetRef(*const Target);

// SAFETY: a `Target` may be used from any context.
unsafe impl Send for TargetRef {}

impl TargetRef {
    /// # Safety
    ///
    /// [`Target::forget`] is called and hits are waited for before `target` goes.
    pub(crate) unsafe fn new(target: &Target) -> Self {
        Self(target)
    }

    /// Makes it the current target.
    pub(super) fn take(self) {
        // Pairs with the acquire load in `target`.
        TARGET.store(self.0.cast_mut(), Release);
    }
}

#[inline(always)]
fn target<'a>() -> &'a Target {
    // SAFETY: `TargetRef::new` was given a target that outlives all hits, and nothing else is
    // stored here.
    unsafe { &*TARGET.load(Acquire) }
}

crate::kernel::kprobes::no_kprobe!(enter_any, leave_any);

/// The manager's function while the tracer is alone and plain.
///
/// All but the case that nearly always holds leaves by a call at the end: that way nothing here
/// lives across a call.
///
/// # Safety
///
/// For trampolines and the list: the function at `ip` is entered, and the word at `retp` is where it
/// returns to.
#[inline(always)]
pub(crate) unsafe fn hit(ip: usize, retp: *mut usize) {
    let (target, current) = (target(), Current::get());
    let top = target.top();
    if top.0 == 0 || current.is_paused() {
        return;
    }
    current.set_depth(current.depth().wrapping_add(1));
    let stay = PreemptOff::new();
    let count = PlainCount::of(PreemptCount::read());
    let Some(count) = count.filter(|_| current.has_room()) else {
        // SAFETY: it is passed on as it came.
        return unsafe { enter_any(ip, retp, target, Unfinished::no_attempt(stay), 0) };
    };
    // SAFETY: by the invariant of `Target` it lives, as its `top` was not 0.
    let buffer = unsafe { &*target.buffer.load(Relaxed) };
    let done = |_stay, time| {
        // SAFETY: there was room above, and recording has put nothing there.
        let room = unsafe { current.room_again() };
        let frame = Frame {
            retp: 0,
            ret: 0,
            func: ip,
            data: time,
            top,
        };
        // SAFETY: the function that returns by the word at `retp` is entered just now.
        unsafe { hook(room, retp, frame) };
    };
    // SAFETY: it is passed on as it came.
    let rest = |left, time| unsafe { enter_any(ip, retp, target, left, time) };
    let made = |_| (current.pid(), call(ip, current.depth()));
    buffer.record_headed(stay, count, made, done, rest);
}

/// [`hit`] in every case, from where it ended with something `left`.
///
/// # Safety
///
/// As there; the depth has been raised. `target` was open when preemption was turned off.
#[cold]
#[inline(never)]
unsafe fn enter_any(
    ip: usize,
    retp: *mut usize,
    target: &Target,
    left: Unfinished<PreemptOff>,
    time: u64,
) {
    let current = Current::get();
    let depth = current.depth();
    // SAFETY: by the invariant of `Target` it lives, as its `top` was not 0.
    let buffer = unsafe { &*target.buffer.load(Relaxed) };
    let (made, stay) = buffer.complete(left);
    // Recording may be off for long, with the tracer on.
    if !made && !buffer.is_recording_here(&stay) {
        return current.set_depth(depth.wrapping_sub(1));
    }
    let top = target.top();
    let room = current
        .room()
        .or_else(|| current.make_room(0))
        .filter(|_| top.0 != 0);
    let time = room.as_ref().and_then(|_| {
        made.then_some(time)
            .or_else(|| entry_any(buffer, ip, depth))
    });
    let (Some(room), Some(time)) = (room, time) else {
        return current.set_depth(depth.wrapping_sub(1));
    };
    // SAFETY: the function that returns by the word at `retp` is entered just now.
    unsafe {
        hook(
            room,
            retp,
            Frame {
                retp: 0,
                ret: 0,
                func: ip,
                data: time,
                top,
            },
        )
    }
}

/// Records an entry in every case; its time by the clock that functions are timed with.
fn entry_any(buffer: &Buffer, ip: usize, depth: i32) -> Option<u64> {
    let time = clock::sched();
    buffer.write(call(ip, depth), [])?;
    Some(time)
}

/// The entry of a call of the function at `ip`.
#[inline(always)]
pub(super) fn call(ip: usize, depth: i32) -> FuncgraphEntry {
    FuncgraphEntry {
        func: ip,
        depth: depth as usize,
    }
}

/// Keeps `frame`, all of which is there but where it returns by, the word at `retp`, and where to,
/// and exchanges that for the hook. Where to is read here, since another callback at the same site
/// may have exchanged it already, as kretprobes do.
///
/// # Safety
///
/// The frame's function is entered just now, and returns by the word at `retp`.
#[inline(always)]
pub(crate) unsafe fn hook(room: Room<'_>, retp: *mut usize, frame: Frame) {
    let frame = Frame {
        retp: retp as usize,
        // SAFETY: the word that the function returns by.
        ret: unsafe { retp.read() },
        ..frame
    };
    // SAFETY: what the function returns by and where to was read just now.
    unsafe { room.push(&frame) };
    // SAFETY: the word that the function returns by, of which a frame is kept.
    unsafe { retp.write(Machine::return_hook()) };
}

/// The target whose frames end in `top`, if it is open.
#[inline(always)]
pub(super) fn owner<'a>(top: Top) -> Option<&'a Target> {
    const AT: usize = offset_of!(Target, top);
    let target = target();
    // Pairs with the release store in `open`, as the load in `top` does.
    // SAFETY: the word is there; each change of it is one instruction's.
    unsafe { acquires::<AT, _>(target, top.0) }.then_some(target)
}

/// The return of the function of the innermost frame, one of `target`: where it goes.
///
/// All but the case that nearly always holds leaves by a call at the end, as in
/// [`hit`].
///
/// # Safety
///
/// [`Current::innermost_of`] gave the frame, no frame or data has come or gone since, and `target` is its
/// [`owner`].
#[inline(always)]
pub(super) unsafe fn leave(target: &Target, retval: usize) -> usize {
    let stay = PreemptOff::new();
    let Some(count) = PlainCount::of(PreemptCount::read()) else {
        // SAFETY: it is passed on as it came.
        return unsafe { leave_any(Unfinished::no_attempt(stay), retval, target) };
    };
    // SAFETY: by the invariant of `Target` it lives, as its `top` is that of a frame.
    let buffer = unsafe { &*target.buffer.load(Relaxed) };
    // From here on the task and its frame are looked up again where they are needed: so few registers
    // are in use that none has to be saved.
    let made = |rettime| {
        let current = Current::get_anew();
        // The caller has got the frame, and it is popped at the end.
        let body = ExitBody {
            current,
            retval,
            rettime,
        };
        (current.pid(), body)
    };
    let done = |_stay, _| {
        let current = Current::get_anew();
        // SAFETY: the caller has got the frame, which is the innermost one; its function returns
        // there.
        unsafe { done(current, &current.innermost_again()) }
    };
    // SAFETY: it is passed on as it came.
    let rest = |left, _| unsafe { leave_any(left, retval, target) };
    buffer.record_headed(stay, count, made, done, rest)
}

/// [`leave`] in every case, from where it ended with something `left`.
///
/// # Safety
///
/// As there.
#[cold]
#[inline(never)]
unsafe fn leave_any(left: Unfinished<PreemptOff>, retval: usize, target: &Target) -> usize {
    let current = Current::get();
    // SAFETY: the caller has got it, and nobody has popped it since.
    let frame = unsafe { current.innermost_again() };
    // SAFETY: by the invariant of `Target` it lives, as its `top` was that of a frame.
    let buffer = unsafe { &*target.buffer.load(Relaxed) };
    let (made, _stay) = buffer.complete(left);
    if !made {
        let exit = FuncgraphExit {
            rettime: clock::sched(),
            ..exit(current, &frame, retval)
        };
        exit_any(buffer, Context::capture_all(), exit);
    }
    // SAFETY: the frame is the innermost one, and its function returns there.
    unsafe { done(current, &frame) }
}

/// Pops the frame; gives where its function returns to.
///
/// # Safety
///
/// It is the innermost frame, whose function returns, and its return goes there.
#[inline(always)]
pub(crate) unsafe fn done(current: Current, frame: &Held<'_>) -> usize {
    let ret = frame.ret();
    // SAFETY: the frame is the innermost one, and its function returns to where the frame says.
    unsafe { current.pop_innermost() };
    current.set_depth(current.depth().wrapping_sub(1));
    ret
}

/// A [`FuncgraphExit`] whose parts are read as they are stored, one after the other, so that one
/// register is enough for them.
struct ExitBody {
    current: Current,
    retval: usize,
    rettime: u64,
}

impl Body for ExitBody {
    const KIND: u16 = FuncgraphExit::ID;
    const SIZE: usize = HEADER + size_of::<FuncgraphExit>();

    #[inline(always)]
    unsafe fn put(self, at: *mut u8) {
        let Self {
            current,
            retval,
            rettime,
        } = self;
        // SAFETY: whoever made this has got the frame, and pops it afterwards.
        let frame = unsafe { current.innermost_call() };
        // SAFETY: the fields are in the `SIZE` bytes at `at`.
        unsafe {
            let at = at.add(HEADER);
            let func = at.add(offset_of!(FuncgraphExit, func));
            func.cast::<usize>().write_unaligned(frame.func());
            barrier();
            let place = at.add(offset_of!(FuncgraphExit, retval));
            place.cast::<usize>().write_unaligned(retval);
            let depth = at.add(offset_of!(FuncgraphExit, depth));
            depth.cast::<i32>().write_unaligned(current.depth());
            barrier();
            let overrun = at.add(offset_of!(FuncgraphExit, overrun));
            overrun.cast::<u32>().write_unaligned(current.overrun());
            barrier();
            let calltime = at.add(offset_of!(FuncgraphExit, calltime));
            calltime.cast::<u64>().write_unaligned(frame.data());
            barrier();
            let place = at.add(offset_of!(FuncgraphExit, rettime));
            place.cast::<u64>().write_unaligned(rettime);
        }
    }
}

/// Bytes of an entry's header.
const HEADER: usize = size_of::<u64>();

/// The entry of a frame's return, but for when it happens.
#[inline(always)]
fn exit(current: Current, frame: &Held<'_>, retval: usize) -> FuncgraphExit {
    let (depth, overrun) = (current.depth(), current.overrun());
    FuncgraphExit {
        func: frame.func(),
        retval,
        depth: depth as u32,
        overrun,
        calltime: frame.data(),
        rettime: 0,
    }
}

/// The entry of the return `ret` of a function that was called at `calltime` and returned at `rettime`.
#[inline(always)]
pub(super) fn exit_of(ret: &ftrace_graph_ret, calltime: u64, rettime: u64) -> FuncgraphExit {
    FuncgraphExit {
        func: ret.func as usize,
        retval: ret.retval as usize,
        depth: ret.depth as u32,
        overrun: ret.overrun,
        calltime,
        rettime,
    }
}

/// Records a return in every case.
#[cold]
#[inline(never)]
pub(super) fn exit_any(buffer: &Buffer, context: Context, exit: FuncgraphExit) {
    // No room, or recording is off: then the entry says more than both.
    let _ = buffer.write_in(context, exit, []);
}
