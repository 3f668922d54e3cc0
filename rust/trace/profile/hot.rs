// SPDX-License-Identifier: GPL-2.0

//! The profiler alone: the hot path, from entry to return. Any context, NMI included; nothing here is traced.

use super::table;
use crate::kapi::clock;
use crate::kapi::context::PreemptOff;
use crate::kapi::ret_stack::{Current, Frame, Held, Top};
use crate::trace::arch::{Arch, Machine};
use kernel::bindings::{ftrace_ops, ftrace_regs};
use kernel::sync::atomic::{Atomic, Relaxed};

/// What frames end in that are made here; 0, which none does, while it is off.
static TOP: Atomic<u64> = Atomic::new(0);
/// May the clock be read in line?
static IN_LINE: Atomic<bool> = Atomic::new(false);

/// Frames are made as of registration `number` from now on.
pub(super) fn open(number: u64) {
    IN_LINE.store(clock::sched_is_native(), Relaxed);
    TOP.store(Top::frame(number).0, Relaxed);
}

/// No more are made, and those that were do not count.
pub(super) fn close() {
    TOP.store(0, Relaxed);
}

#[inline(always)]
fn now(_stay: &PreemptOff) -> u64 {
    if IN_LINE.load(Relaxed) {
        // SAFETY: preemption is off, says the guard.
        unsafe { clock::sched_native() }
    } else {
        clock::sched()
    }
}

/// The manager's function while the profiler is alone.
///
/// # Safety
///
/// For trampolines and the list: `fregs` is what the trampoline saved at the entry of the function at `ip`.
#[no_mangle]
pub(crate) unsafe extern "C" fn ftrace_graph_profile(
    ip: usize,
    parent_ip: usize,
    _op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    let top = Top(TOP.load(Relaxed));
    let current = Current::get();
    if top.0 == 0 || current.is_paused() {
        return;
    }
    let stay = PreemptOff::new();
    let Some(table) = table::here(&stay) else { return };
    let Some(record) = table.find(ip as u64).or_else(|| table.add(ip as u64)) else { return };
    record.hit();
    let Some(room) = current.room().or_else(|| current.make_room()) else { return };
    current.set_depth(current.depth().wrapping_add(1));
    // SAFETY: by the precondition.
    let retp = unsafe { Machine::return_address(fregs) };
    room.push(&Frame { retp: retp as usize, ret: parent_ip, func: ip, data: now(&stay), top });
    // SAFETY: the word that the function at `ip` returns by, of which a frame is kept.
    unsafe { retp.write(Machine::return_hook()) };
}

/// The return of the function of `frame`, if it is one of the profiler's: where it goes.
#[inline(always)]
pub(crate) fn leave(current: Current, frame: &Held<'_>) -> Option<usize> {
    if frame.top() != Top(TOP.load(Relaxed)) {
        return None;
    }
    let stay = PreemptOff::new();
    let took = now(&stay).wrapping_sub(frame.data());
    if let Some(record) = table::here(&stay).and_then(|table| table.find(frame.func() as u64)) {
        record.took(took);
    }
    let ret = frame.ret();
    current.pop(frame.at());
    current.set_depth(current.depth().wrapping_sub(1));
    drop(stay);
    Some(ret)
}
