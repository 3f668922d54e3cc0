// SPDX-License-Identifier: GPL-2.0

//! The list of registered ops, and the two functions that call them: hot, any context, NMI
//! included.
//!
//! Holders of the ftrace lock change the list; hits walk it with preemption disabled. An ops that
//! is taken out keeps its `next`, and its owner keeps it alive until no hit can be at it
//! ([`super::retire::wait_for_trampolines`]).

use super::raw::{flag, OpsRef};
use super::Key;
use crate::trace::tasks::stack::{Has, Trampolines};
use core::ptr;
use kernel::{
    bindings::{self, ftrace_ops, ftrace_regs},
    sync::atomic::{Acquire, Atomic, Relaxed, Release},
};

/// First registered ops.
static HEAD: Atomic<*mut ftrace_ops> = Atomic::new(ptr::null_mut());

/// First ops with a trampoline of its own, registered or not.
static TRAMPOLINES: Atomic<*mut ftrace_ops> = Atomic::new(ptr::null_mut());

#[inline]
fn at(link: &Atomic<*mut ftrace_ops>) -> Option<OpsRef> {
    // SAFETY: What is in the lists fulfils the invariants of `OpsRef`: `add` and `add_trampoline`
    // took references. Acquire pairs with the release stores in `insert`.
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

/// Takes an ops out. It keeps its `next` for hits that are at it.
pub(super) fn remove(_key: &Key, op: OpsRef) {
    unlink(&HEAD, op, OpsRef::next);
}

/// Adds an ops whose trampoline was just made.
pub(super) fn add_trampoline(_key: &Key, op: OpsRef) {
    op.next_trampoline()
        .store(TRAMPOLINES.load(Relaxed), Relaxed);
    // Pairs with the acquire load in `at`.
    TRAMPOLINES.store(op.as_ptr(), Release);
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
        start != 0 && addr.wrapping_sub(start) < op.trampoline_size()
    })
}

impl Has for Trampolines {
    fn has(addr: usize) -> bool {
        trampoline_at(addr).is_some()
    }
}

/// The `n`th trampoline, for `/proc/kallsyms`: its address.
pub(crate) fn nth_trampoline(mut n: usize) -> Option<usize> {
    let op = find_trampoline(|op| {
        let found = op.trampoline() != 0 && n == 0;
        n = n.saturating_sub(usize::from(op.trampoline() != 0));
        found
    })?;
    Some(op.trampoline())
}

fn find_trampoline(mut want: impl FnMut(OpsRef) -> bool) -> Option<OpsRef> {
    let _guard = NoPreempt::new();
    let mut next = at(&TRAMPOLINES);
    while let Some(op) = next {
        if want(op) {
            return Some(op);
        }
        next = at(op.next_trampoline());
    }
    None
}

/// Preemption disabled, without being traced.
struct NoPreempt;

impl NoPreempt {
    fn new() -> Self {
        // SAFETY: Undone by the drop.
        unsafe { bindings::rtrace_preempt_disable_notrace() };
        NoPreempt
    }
}

impl Drop for NoPreempt {
    fn drop(&mut self) {
        // SAFETY: Disabled by `new`.
        unsafe { bindings::rtrace_preempt_enable_notrace() };
    }
}

/// Keeps a hit from being hit in the same context, and preemption disabled.
struct Recursion(i32);

impl Recursion {
    #[inline(always)]
    fn enter(ip: usize, parent_ip: usize) -> Option<Self> {
        // SAFETY: Any context; undone by the drop.
        let bit = unsafe { bindings::rtrace_list_recursion_enter(ip, parent_ip) };
        // Not `then_some`, which would make a guard, and drop it, in either case.
        if bit >= 0 {
            Some(Recursion(bit))
        } else {
            None
        }
    }
}

impl Drop for Recursion {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: The bit that `enter` got.
        unsafe { bindings::rtrace_recursion_exit(self.0) };
    }
}

#[inline(always)]
fn wants_now(op: OpsRef) -> bool {
    // SAFETY: Any context.
    !op.has(flag::RCU) || unsafe { bindings::rcu_is_watching() }
}

/// A hit at a site with several ops: calls all that cover it.
///
/// # Safety
///
/// For trampolines: `fregs` is what they saved.
#[no_mangle]
pub(super) unsafe extern "C" fn arch_ftrace_ops_list_func(
    ip: usize,
    parent_ip: usize,
    _op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    let Some(_guard) = Recursion::enter(ip, parent_ip) else {
        return;
    };
    let mut next = at(&HEAD);
    while let Some(op) = next {
        if !op.has(flag::STUB) && wants_now(op) && op.covers(ip) {
            if let Some(func) = op.func() {
                // SAFETY: The owner of the ops registered the function for this.
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
#[no_mangle]
pub(super) unsafe extern "C" fn ftrace_ops_assist_func(
    ip: usize,
    parent_ip: usize,
    op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    let Some(_guard) = Recursion::enter(ip, parent_ip) else {
        return;
    };
    // SAFETY: By the caller's promise, it is registered.
    let Some(op) = (unsafe { OpsRef::from_raw(op) }) else {
        return;
    };
    if wants_now(op) {
        if let Some(func) = op.func() {
            // SAFETY: The owner of the ops registered the function for this.
            unsafe { func(ip, parent_ip, op.as_ptr(), fregs) };
        }
    }
}
