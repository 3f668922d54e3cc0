// SPDX-License-Identifier: GPL-2.0

//! Entry and return of functions that several users may want: the manager's function, and what the
//! return hook calls.
//!
//! Any context, NMI included. Users' functions may be traced themselves, so both sides keep a
//! context from coming here while it is here.

use super::{manager, plain, HookSymbols, Symbols, UserRef, USERS};
use crate::kernel::ftrace::{self, ftrace_graph_ent, ftrace_graph_ret, ftrace_regs};
use crate::kernel::recursion::{Guard, InHit};
use crate::trace::fgraph::ret_stack::{Current, Frame, Held, Returning, Top};
use crate::trace::ftrace::arch::{Arch, Machine};

/// The kind of frames that are made here.
const SHARED: Top = Top::frame(0);

/// The user that has an entry function of its own ([`super::EntryPath::Alone`]); [`OwnFrames`] is
/// implemented by the room that has it.
pub(crate) struct Alone;

/// What [`Alone`] does at returns. Any context, NMI included; nothing of it is traced.
pub(crate) trait OwnFrames {
    /// The return of the function of `frame`, which ends in `top`: where it goes. None if this is not
    /// one of its own, made on this CPU.
    ///
    /// # Safety
    ///
    /// It is the innermost one.
    unsafe fn leave_here(current: Current, frame: &Held<'_>, top: Top) -> Option<usize>;

    /// [`OwnFrames::leave_here`] of a frame that any CPU has made. None if it is not one of its own.
    ///
    /// # Safety
    ///
    /// It is the innermost one.
    unsafe fn leave(current: Current, frame: &Held<'_>) -> Option<usize>;
}

/// Words that a tracer keeps of a call, the one that ends them included.
const TRACERS_WORDS: usize = 3;

/// What such a frame keeps: the users that want the return, one bit each, and the number of the
/// registration that was the latest when it was made.
#[derive(Clone, Copy)]
struct Wanted(u64);

impl Wanted {
    fn new(users: u64, latest: u64) -> Self {
        Self(latest << USERS | users)
    }

    #[inline(always)]
    fn users(self) -> impl Iterator<Item = usize> {
        manager::bits(self.0 & !(!0 << USERS))
    }

    fn latest(self) -> u64 {
        self.0 >> USERS
    }
}

crate::kernel::kprobes::no_kprobe!(leave, leave_skipped);

/// The manager's function when there are several users, or one that is not traced alone.
///
/// # Safety
///
/// For trampolines and the list: `fregs` is what the trampoline saved at the entry of the function
/// at `ip`.
#[inline(always)]
pub(crate) unsafe fn hit(ip: usize, parent_ip: usize, fregs: *mut ftrace_regs) {
    let current = Current::get();
    if current.is_paused() {
        return;
    }
    let Some(guard) = Guard::enter(ip, parent_ip) else {
        return;
    };
    // SAFETY: the trampoline saved `fregs` at the function's entry, where this word is on the
    // stack.
    let retp = unsafe { Machine::return_address(fregs) };
    let depth = current.depth().wrapping_add(1);
    current.set_depth(depth);
    // SAFETY: that is the word, and the trampoline has saved `fregs`.
    if unsafe { enter(guard.lend(), current, ip, retp, depth, fregs) } {
        // SAFETY: a word of the stack that the trampoline found; a frame is kept of what it was.
        unsafe { retp.write(Machine::return_hook()) };
    } else {
        current.set_depth(depth.wrapping_sub(1));
    }
}

/// Calls the users' entry functions. Is there a frame now, because a user wants the return?
///
/// # Safety
///
/// `retp` is the word of the stack that the function at `ip` returns by, and `fregs` is what the
/// trampoline saved at its entry.
unsafe fn enter(
    hit: InHit<'_>,
    current: Current,
    ip: usize,
    retp: *mut usize,
    depth: i32,
    fregs: *mut ftrace_regs,
) -> bool {
    // The number after the places: it is that of their users then, or a later one.
    // What tracers keep: with room for that they record it, or it is counted.
    let taken = manager::taken();
    let latest = super::latest();
    let words = (taken.count_ones() as usize).wrapping_mul(TRACERS_WORDS);
    let Some(room) = current
        .room_below(words)
        .or_else(|| current.make_room(words))
    else {
        return false;
    };
    // SAFETY: a word of this stack, whose function is entered just now.
    let ret = unsafe { retp.read() };
    // SAFETY: what the function returns by and where to was read just now.
    unsafe {
        room.push(&Frame {
            retp: retp as usize,
            ret,
            func: ip,
            data: 0,
            top: SHARED,
        })
    };
    let mut users = 0u64;
    for i in manager::bits(taken) {
        let Some(part) = manager::part(i) else {
            continue;
        };
        let above = current.used();
        // SAFETY: the manager's parts are the ops of users.
        let user = unsafe { UserRef::of(part) };
        // SAFETY: the trampoline saved `fregs` at the entry of the function at `ip`.
        let wants = || unsafe { call_entry(user, ip, depth, fregs) };
        // One that has come to the place of another meanwhile is shown neither the entry nor the return.
        if super::since(i) <= latest && part.covers(ip, hit.into()) && wants() {
            users |= 1 << i;
        } else {
            // What it has reserved goes.
            // SAFETY: so much was in use before the user was asked; there is data alone above.
            unsafe { current.pop(above) };
        }
    }
    if users == 0 {
        // SAFETY: the frame begins there, and its function's return was not hooked.
        unsafe { current.pop(room.at()) };
        return false;
    }
    // SAFETY: the frame that was pushed there is still there, with data alone above it.
    unsafe { current.frame_at(room.at()) }.set_data(Wanted::new(users, latest).0);
    true
}

/// Calls a user's entry function. Does it want the return?
///
/// # Safety
///
/// `fregs` is what the trampoline saved at the entry of the function at `ip`.
unsafe fn call_entry(user: UserRef, ip: usize, depth: i32, fregs: *mut ftrace_regs) -> bool {
    let Some(entry) = user.entry() else {
        return false;
    };
    let mut trace = ftrace_graph_ent {
        func: ip,
        depth: depth as _,
    };
    // SAFETY: the user registered the function for this; `fregs` is what the trampoline saved.
    unsafe { entry(&mut trace, user.as_ptr(), fregs) != 0 }
}

/// What the return hook calls: reports the return, and says where it goes.
///
/// # Safety
///
/// For the hook alone: `fregs` is what it saved, `retval` what the function returned.
#[inline(always)]
pub(crate) unsafe fn returns(fregs: *mut ftrace_regs, retval: usize) -> usize {
    let current = Current::get();
    // SAFETY: the return hook saved `fregs`.
    let retp = unsafe { Machine::hooked_address(fregs) };
    // SAFETY: the hook has run, so the function has a frame.
    if let Some(frame) = unsafe { current.innermost_of(retp) } {
        let top = frame.top();
        if let Some(target) = plain::owner(top) {
            // SAFETY: it was found just now, as the innermost one.
            return unsafe { plain::leave(target, retval) };
        }
        // SAFETY: the frame was found just now, as the innermost one.
        if let Some(ret) = unsafe { Alone::leave_here(current, &frame, top) } {
            return ret;
        }
    }
    // SAFETY: the return hook saved `fregs`, and `retp` was read from there.
    unsafe { leave(fregs, retval, retp) }
}

/// # Safety
///
/// As for [`returns`].
#[cold]
#[inline(never)]
unsafe fn leave(fregs: *mut ftrace_regs, retval: usize, retp: usize) -> usize {
    let current = Current::get();
    let Some(frame) = current
        .innermost_below_data()
        .filter(|frame| frame.retp() == retp)
    else {
        // SAFETY: the return hook saved `fregs`, and `retp` was read from there.
        return unsafe { leave_skipped(fregs, retval, retp) };
    };
    // (A frame of another kind has something else in the place of its function.)
    let shared = frame.top() == SHARED;
    if !shared {
        // SAFETY: it is the innermost frame.
        if let Some(ret) = unsafe { Alone::leave(current, &frame) } {
            return ret;
        }
    }
    let ret = frame.ret();
    if let Some(_guard) = shared.then(|| Guard::enter(frame.func(), ret)).flatten() {
        // SAFETY: the return hook saved `fregs`.
        unsafe { Machine::set_return(fregs, ret) };
        // SAFETY: the return hook saved `fregs`.
        unsafe { report(current, &frame, fregs, retval) };
    }
    // SAFETY: the frame is the innermost one, and its function returns to where the frame says.
    unsafe { current.pop(frame.at()) };
    current.set_depth(current.depth().wrapping_sub(1));
    ret
}

/// [`leave`] of a function that is not the innermost one: those in between were left without
/// returning. Without them it is like any other return.
///
/// # Safety
///
/// As for [`returns`].
#[cold]
#[inline(never)]
unsafe fn leave_skipped(fregs: *mut ftrace_regs, retval: usize, retp: usize) -> usize {
    let current = Current::get();
    let Some(Returning { skipped, end }) = current.returning_by(retp) else {
        lost()
    };
    current.set_depth(current.depth().wrapping_sub(skipped as i32));
    // SAFETY: the frames above were left without returning, as what they lie in returns now.
    unsafe { current.pop(end) };
    // SAFETY: the return hook saved `fregs`.
    unsafe { Symbols::RETURNS(fregs, retval) }
}

/// Calls the users' return functions. The frame ends in [`SHARED`].
///
/// # Safety
///
/// `fregs` is what the return hook saved.
unsafe fn report(current: Current, frame: &Held<'_>, fregs: *mut ftrace_regs, retval: usize) {
    let wanted = Wanted(frame.data());
    let mut trace = ftrace_graph_ret {
        func: frame.func(),
        retval,
        depth: current.depth(),
        overrun: current.overrun(),
    };
    for i in wanted.users() {
        // SAFETY: the manager's parts are the ops of users.
        let Some(user) = manager::part(i).map(|part| unsafe { UserRef::of(part) }) else {
            continue;
        };
        if let Some(returned) = user
            .returned()
            .filter(|_| super::since(i) <= wanted.latest())
        {
            // SAFETY: the user registered the function for this; `fregs` is what the hook saved.
            unsafe { returned(&mut trace, user.as_ptr(), fregs) };
        }
    }
}

/// A hooked function returns, and no frame says where to.
#[cold]
#[inline(never)]
fn lost() -> ! {
    ftrace::panic(c"ftrace: a traced function returns to nowhere: its frame is gone")
}
