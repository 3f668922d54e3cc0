// SPDX-License-Identifier: GPL-2.0

//! The profiler alone: the hot path, from entry to return. Any context, NMI included; nothing here
//! is traced.
//!
//! A frame keeps the address of the function's record in the table of the CPU that made it, and its
//! [`Top`] says which CPU that is. So a return on the same CPU, as nearly all are, looks up nothing.

use super::table::{self, Record};
use crate::kernel::clock;
use crate::kernel::context::PreemptOff;
use crate::kernel::cpus;
use crate::kernel::function_profile::{is_top_here, top_here, HotWords, CPUS};
use crate::trace::fgraph::plain::{done, hook};
use crate::trace::fgraph::ret_stack::{Current, Frame, Held, Room, Top};
use crate::trace::fgraph::shared::{Alone, OwnFrames};
use core::ptr;
use kernel::cpu::CpuId;
use kernel::sync::atomic::{Atomic, Relaxed};

/// The registration that frames are made of now; 0, which none has, while it is off.
static NUMBER: Atomic<u64> = Atomic::new(0);

/// The bits of a frame's number that are the CPU's. Those above are the registration's.
const CPU_BITS: u32 = 16;

/// Set in the numbers of these frames; those of other kinds do not come so far.
const OWN: u64 = 1 << 55;

const _: () = assert!(CPUS <= 1 << CPU_BITS);

/// What the frames of registration `number` end in on `cpu`.
fn top_of(number: u64, cpu: CpuId) -> Top {
    Top::frame(OWN | number << CPU_BITS | u64::from(cpu.as_u32()))
}

/// Does a frame of registration `number` end in `top`, whatever CPU has made it?
fn is_of(top: Top, number: u64) -> bool {
    top.is_frame() && top.number() >> CPU_BITS == (OWN >> CPU_BITS | number)
}

/// Frames are made as of registration `number` from now on. The tables are prepared, and the clock
/// can be read in line.
pub(super) fn open(number: u64) {
    NUMBER.store(number, Relaxed);
    for cpu in cpus::possible() {
        HotWords::of(cpu).set_top(top_of(number, cpu).0);
    }
}

/// No more are made, and those that were do not count.
pub(super) fn close() {
    NUMBER.store(0, Relaxed);
    for cpu in cpus::possible() {
        HotWords::of(cpu).set_top(0);
    }
}

/// The time. Preemption is off.
#[inline(always)]
fn now(_stay: &PreemptOff) -> u64 {
    // SAFETY: preemption is off, says the guard.
    unsafe { clock::sched_native() }
}

/// The record that a frame of ours keeps in the place of its function.
///
/// # Safety
///
/// The frame was made by [`keep`].
#[inline(always)]
unsafe fn record_of(frame: &Held<'_>) -> &'static Record {
    // SAFETY: `keep` puts the address of a record there, and records stay.
    unsafe { &*ptr::with_exposed_provenance(frame.func()) }
}

crate::kernel::kprobes::no_kprobe!(enter_any);

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
    let stay = PreemptOff::new();
    let top = Top(top_here(&stay));
    let current = Current::get();
    if top.0 == 0 || current.is_paused() {
        return;
    }
    // SAFETY: `open` says so, whose `top` was found.
    if let Some(record) = unsafe { table::find_near(ip as u64, &stay) } {
        if let Some(room) = current.room() {
            record.hit();
            // SAFETY: the function that returns by the word at `retp` is entered just now.
            return unsafe { keep(current, room, retp, record, top, &stay) };
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
    let top = Top(top_here(&stay));
    let Some(table) = table::this(&stay).filter(|_| top.0 != 0) else {
        return;
    };
    let Some(record) = table.find(ip as u64).or_else(|| table.add(ip as u64)) else {
        return;
    };
    record.hit();
    let Some(room) = current.room().or_else(|| current.make_room(0)) else {
        return;
    };
    // SAFETY: the function that returns by the word at `retp` is entered just now.
    unsafe { keep(current, room, retp, record, top, &stay) }
}

/// Keeps a frame of the function of `record`, and hooks its return.
///
/// # Safety
///
/// The function is entered just now, and returns by the word at `retp`.
#[inline(always)]
unsafe fn keep(
    current: Current,
    room: Room<'_>,
    retp: *mut usize,
    record: &'static Record,
    top: Top,
    stay: &PreemptOff,
) {
    current.set_depth(current.depth().wrapping_add(1));
    let frame = Frame {
        retp: 0,
        ret: 0,
        func: ptr::from_ref(record).expose_provenance(),
        data: now(stay),
        top,
    };
    // SAFETY: the caller says so.
    unsafe { hook(room, retp, frame) }
}

impl OwnFrames for Alone {
    #[inline(always)]
    unsafe fn leave_here(current: Current, frame: &Held<'_>, top: Top) -> Option<usize> {
        let stay = PreemptOff::new();
        if !is_top_here(top.0, &stay) {
            return None;
        }
        let time = now(&stay).wrapping_sub(frame.data());
        // SAFETY: a frame that ends so was made there, by this CPU.
        unsafe { record_of(frame) }.took(time);
        // SAFETY: the frame is the innermost one, and its function returns there.
        Some(unsafe { done(current, frame) })
    }

    unsafe fn leave(current: Current, frame: &Held<'_>) -> Option<usize> {
        // First: who finds the number is waited for before the tables are emptied.
        let stay = PreemptOff::new();
        let number = NUMBER.load(Relaxed);
        if number == 0 || !is_of(frame.top(), number) {
            return None;
        }
        let time = now(&stay).wrapping_sub(frame.data());
        // SAFETY: a frame that ends so was made there, by another CPU.
        let site = unsafe { record_of(frame) }.site();
        if let Some(record) = table::this(&stay).and_then(|table| table.find(site)) {
            record.took(time);
        }
        // SAFETY: the frame is the innermost one, and its function returns there.
        Some(unsafe { done(current, frame) })
    }
}
