// SPDX-License-Identifier: GPL-2.0

//! The list of registered ops, and the two functions that call them: hot, any context, NMI
//! included.
//!
//! Holders of the ftrace lock change the list; hits walk it with preemption disabled. An ops that
//! is taken out keeps its `next`, and its owner keeps it alive until no hit can use it
//! ([`super::retire::wait_for_trampolines`]).

use super::key::Key;
use super::raw::{flag, OpsRef};
use crate::kernel::context::PreemptOff;
use crate::kernel::ftrace::{self, ftrace_ops, ftrace_regs};
use crate::kernel::recursion::{InHit, ListGuard};
use crate::kernel::stack::rcu_watches;
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::tasks::stack::{Has, Trampolines};
use core::ptr;
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};

/// First registered ops.
static HEAD: Atomic<*mut ftrace_ops> = Atomic::new(ptr::null_mut());

/// First ops with a trampoline of its own, registered or not.
static TRAMPOLINES: Atomic<*mut ftrace_ops> = Atomic::new(ptr::null_mut());

#[inline]
fn at(link: &Atomic<*mut ftrace_ops>) -> Option<OpsRef> {
    // SAFETY: what is in the lists fulfils the invariants of `OpsRef`: `add` and `add_trampoline`
    // took references, and an ops that was taken out stays until no hit can be at it. Acquire pairs
    // with the release stores in `add`, `add_trampoline` and `unlink`.
    unsafe { OpsRef::from_raw(link.load(Acquire)) }
}

/// Calls `f` for each registered ops.
pub(crate) fn for_each(_key: &Key, mut f: impl FnMut(OpsRef)) {
    let mut next = at(&HEAD);
    while let Some(op) = next {
        f(op);
        next = at(op.next());
    }
}

/// Is any ops registered?
pub(crate) fn any() -> bool {
    !HEAD.load(Relaxed).is_null()
}

/// Adds an ops at the front.
pub(super) fn add(_key: &Key, op: OpsRef) {
    op.next().store(HEAD.load(Relaxed), Relaxed);
    // Pairs with the acquire load in `at`.
    HEAD.store(op.as_ptr(), Release);
}

/// Takes an ops out. It keeps its `next` for hits that use it.
pub(super) fn remove(_key: &Key, op: OpsRef) {
    unlink(&HEAD, op, OpsRef::next);
}

/// Puts `new` in the place of `old`: a walk finds one of them. `old` keeps its `next` for hits that
/// use it.
pub(super) fn replace(_key: &Key, old: OpsRef, new: OpsRef) {
    let mut link = &HEAD;
    while let Some(here) = at(link) {
        if here == old {
            new.next().store(old.next().load(Relaxed), Relaxed);
            // Pairs with the acquire load in `at`.
            link.store(new.as_ptr(), Release);
            return;
        }
        link = here.next();
    }
}

/// Adds an ops whose trampoline was just made.
pub(super) fn add_trampoline(_key: &Key, op: OpsRef) {
    op.next_trampoline()
        .store(TRAMPOLINES.load(Relaxed), Relaxed);
    // Pairs with the acquire load in `at`.
    TRAMPOLINES.store(op.as_ptr(), Release);
}

/// Calls `f` for each ops with a trampoline of its own.
pub(super) fn for_each_trampoline(_key: &Key, mut f: impl FnMut(OpsRef)) {
    let mut next = at(&TRAMPOLINES);
    while let Some(op) = next {
        f(op);
        next = at(op.next_trampoline());
    }
}

/// Takes out an ops whose trampoline is to be freed.
pub(super) fn remove_trampoline(_key: &Key, op: OpsRef) {
    unlink(&TRAMPOLINES, op, OpsRef::next_trampoline);
}

fn unlink(
    head: &'static Atomic<*mut ftrace_ops>,
    op: OpsRef,
    next: impl Fn(OpsRef) -> &'static Atomic<*mut ftrace_ops>,
) {
    let mut link = head;
    while let Some(here) = at(link) {
        if here == op {
            link.store(next(op).load(Relaxed), Release);
            return;
        }
        link = next(here);
    }
}

/// The ops in whose own trampoline `addr` is. Any context; the answer is good while the caller
/// stays in it.
pub(crate) fn trampoline_at(addr: usize) -> Option<OpsRef> {
    find_trampoline(|op| {
        let start = op.trampoline();
        (start != 0 && addr.wrapping_sub(start) < op.trampoline_size()).then_some(op)
    })
}

impl Has for Trampolines {
    fn has(addr: usize) -> bool {
        trampoline_at(addr).is_some()
    }
}

/// The address of the `n`th trampoline, for `/proc/kallsyms`.
pub(crate) fn nth_trampoline(mut n: usize) -> Option<usize> {
    find_trampoline(|op| {
        let start = op.trampoline();
        if start == 0 {
            return None;
        }
        let is_it = n == 0;
        n = n.saturating_sub(1);
        is_it.then_some(start)
    })
}

/// What `find` gives for the first ops with a trampoline for which it gives something. It runs with
/// preemption off: no ops of the list goes before it has returned.
fn find_trampoline<R>(mut find: impl FnMut(OpsRef) -> Option<R>) -> Option<R> {
    let _stay = PreemptOff::new();
    let mut next = at(&TRAMPOLINES);
    while let Some(op) = next {
        if let Some(found) = find(op) {
            return Some(found);
        }
        next = at(op.next_trampoline());
    }
    None
}

#[inline(always)]
fn wants_now(op: OpsRef) -> bool {
    !op.has(flag::RCU) || rcu_watches()
}

/// A hit at a site with several ops: calls all that cover it.
///
/// # Safety
///
/// For trampolines: `fregs` is what they saved.
#[inline(always)]
pub(crate) unsafe fn hit_all(ip: usize, parent_ip: usize, fregs: *mut ftrace_regs) {
    let Some(guard) = ListGuard::enter(ip, parent_ip) else {
        return;
    };
    // SAFETY: `fregs` is what the trampoline that called this has saved.
    let all_saved = unsafe { Machine::has_all_registers(fregs) };
    let mut next = at(&HEAD);
    while let Some(op) = next {
        // An ops that wants all registers is in the list before its sites are patched to save them.
        let lacks_registers = !all_saved && op.wants_regs();
        if !op.has(flag::STUB)
            && !lacks_registers
            && wants_now(op)
            && op.covers(ip, guard.lend().into())
        {
            if let Some(func) = op.func() {
                // SAFETY: the owner of the ops registered the function for this.
                unsafe { func(ip, parent_ip, op.as_ptr(), fregs) };
            }
        }
        next = at(op.next());
    }
}

/// A hit at a site with one ops that asked for protection: calls it.
///
/// # Safety
///
/// For trampolines: `op` is the ops that the trampoline was made for, `fregs` what it saved.
#[inline(always)]
pub(crate) unsafe fn hit_one(
    ip: usize,
    parent_ip: usize,
    op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    let Some(_guard) = ListGuard::enter(ip, parent_ip) else {
        return;
    };
    // SAFETY: `op` is the ops that the trampoline was made for, which stays until no task is in it.
    let Some(op) = (unsafe { OpsRef::from_raw(op) }) else {
        return;
    };
    if wants_now(op) {
        if let Some(func) = op.func() {
            // SAFETY: the owner of the ops registered the function for this.
            unsafe { func(ip, parent_ip, op.as_ptr(), fregs) };
        }
    }
}

/// What a direct caller's ops does where it is not alone.
///
/// # Safety
///
/// For the list, which is walked with preemption off: `op` is registered, `fregs` what the trampoline
/// saved. (The ops of a direct caller has no trampoline of its own.)
pub(crate) unsafe extern "C" fn call_direct(
    ip: usize,
    _parent_ip: usize,
    op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    // SAFETY: `op` is registered, and stays until no hit can be here.
    if let Some(op) = unsafe { OpsRef::from_raw(op) } {
        // SAFETY: the list has preemption off during the call.
        let hit = unsafe { InHit::assume() };
        let target = op.direct_at(ip, hit.into());
        if !target.is_off() {
            // SAFETY: direct callers ask for all registers, so that is what saved `fregs`.
            unsafe { ftrace::set_direct_caller(fregs, target.0) };
        }
    }
}
