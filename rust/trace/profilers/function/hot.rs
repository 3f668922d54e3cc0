// SPDX-License-Identifier: GPL-2.0

//! The profiler alone: the hot path, from entry to return. Any context, NMI included; nothing here
//! is traced.

use super::table::{self, Table};
use crate::kernel::clock;
use crate::kernel::context::PreemptOff;
use crate::trace::fgraph::plain::{done, hook};
use crate::trace::fgraph::ret_stack::{Current, Frame, Top};
use crate::trace::fgraph::shared::{Alone, OwnFrames};
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};

/// What frames end in that are made here; 0, which none does, while it is off.
static TOP: Atomic<u64> = Atomic::new(0);

/// Frames are made as of registration `number` from now on. The tables are prepared, and the clock
/// can be read in line.
pub(super) fn open(number: u64) {
    // Pairs with the acquire loads: who finds it finds the tables, which were stored before.
    TOP.store(Top::frame(number).0, Release);
}

/// No more are made, and those that were do not count.
pub(super) fn close() {
    TOP.store(0, Relaxed);
}

/// The time. Preemption is off.
#[inline(always)]
fn now(_stay: &PreemptOff) -> u64 {
    // SAFETY: preemption is off, says the guard.
    unsafe { clock::sched_native() }
}

/// This CPU's table. The caller has seen [`TOP`] other than 0, or a frame that ends in it.
#[inline(always)]
fn table_here(stay: &PreemptOff) -> &'static Table {
    // SAFETY: `open` says so.
    unsafe { table::here(stay) }
}

crate::kernel::kprobes::no_kprobe!(enter_any, <Alone as OwnFrames>::leave, leave_any,);

/// The manager's function while the profiler is alone.
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
    let top = Top(TOP.load(Acquire));
    let current = Current::get();
    if top.0 == 0 || current.is_paused() {
        return;
    }
    let stay = PreemptOff::new();
    if let Some(record) = table_here(&stay).find_near(ip as u64) {
        if let Some(room) = current.room() {
            record.hit();
            current.set_depth(current.depth().wrapping_add(1));
            let frame = Frame {
                retp: 0,
                ret: 0,
                func: ip,
                data: now(&stay),
                top,
            };
            // SAFETY: the guard that it takes over was forgotten just now; the rest is passed on as
            // it came.
            return unsafe { hook(room, retp, frame) };
        }
    }
    core::mem::forget(stay);
    // SAFETY: the guard that it takes over was forgotten just now; the rest is passed on as it
    // came.
    unsafe { enter_any(ip, retp) }
}

/// [`hit`] in every case.
///
/// # Safety
///
/// As there; the caller has forgotten a guard that holds preemption off.
#[cold]
#[inline(never)]
unsafe fn enter_any(ip: usize, retp: *mut usize) {
    // SAFETY: preemption is off, by a guard that was forgotten before this call.
    let stay = unsafe { PreemptOff::assume() };
    let current = Current::get();
    let top = Top(TOP.load(Acquire));
    if top.0 == 0 {
        return;
    }
    let table = table_here(&stay);
    let Some(record) = table.find(ip as u64).or_else(|| table.add(ip as u64)) else {
        return;
    };
    record.hit();
    let Some(room) = current.room().or_else(|| current.make_room(0)) else {
        return;
    };
    current.set_depth(current.depth().wrapping_add(1));
    let frame = Frame {
        retp: 0,
        ret: 0,
        func: ip,
        data: now(&stay),
        top,
    };
    // SAFETY: the function that returns by the word at `retp` is entered just now.
    unsafe { hook(room, retp, frame) }
}

impl OwnFrames for Alone {
    #[inline(always)]
    fn owns(top: Top) -> bool {
        // The task has found the tables when it made the frame.
        top == Top(TOP.load(Relaxed))
    }

    #[inline(never)]
    unsafe fn leave(current: Current, at: usize) -> usize {
        let stay = PreemptOff::new();
        // SAFETY: there is a frame at `at`, the innermost one, which nobody has popped.
        let frame = unsafe { current.frame_at(at) };
        let Some(record) = table_here(&stay).find_near(frame.func() as u64) else {
            core::mem::forget(stay);
            // SAFETY: the guard that it takes over was forgotten just now; the rest is passed on as
            // it came.
            return unsafe { leave_any(current, at) };
        };
        record.took(now(&stay).wrapping_sub(frame.data()));
        // SAFETY: the frame is the innermost one, and its function returns there.
        unsafe { done(current, &frame) }
    }
}

/// [`OwnFrames::leave`] in every case.
///
/// # Safety
///
/// As there; a guard that holds preemption off was forgotten since.
#[cold]
#[inline(never)]
unsafe fn leave_any(current: Current, at: usize) -> usize {
    // SAFETY: preemption is off, by a guard that was forgotten before this call.
    let stay = unsafe { PreemptOff::assume() };
    let time = now(&stay);
    // SAFETY: there is a frame at `at`, which nobody has popped.
    let frame = unsafe { current.frame_at(at) };
    if let Some(record) = table_here(&stay).find(frame.func() as u64) {
        record.took(time.wrapping_sub(frame.data()));
    }
    // SAFETY: the frame is the innermost one, and its function returns there.
    unsafe { done(current, &frame) }
}
