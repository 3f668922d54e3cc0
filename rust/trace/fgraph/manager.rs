// SPDX-License-Identifier: GPL-2.0

//! One ops for all graph users: those at a site are called from one place, since they share the
//! function's return.
//!
//! The *manager* is an ops in the list like any other; its *parts*, the ops of the users, are not,
//! but their sets say what the manager covers. Its function looks at the parts itself.

use super::{UserRef, USERS};
use crate::kernel::kallsyms::SymbolOffset;
use crate::trace::ftrace::ops::{
    ensure_trampoline, flag, is_dead, start, stop, sync_ops, Func, Manager, OpsRef, Parts, FTRACE,
};
use core::{fmt, ptr};
use kernel::{
    bindings::ftrace_ops,
    prelude::*,
    sync::atomic::{Acquire, Atomic, Relaxed, Release},
    types::Opaque,
};

/// In kernel data: it keeps its trampoline, and unregisters without waiting.
struct Memory(Opaque<ftrace_ops>);

// SAFETY: only reached through an `OpsRef`, whose accesses are atomic or under locks.
unsafe impl Sync for Memory {}

static MANAGER: Memory = Memory(Opaque::zeroed());

static TABLE: [Atomic<*mut ftrace_ops>; USERS] = [const { Atomic::new(ptr::null_mut()) }; USERS];

impl Parts for Manager {
    #[inline]
    fn is(op: OpsRef) -> bool {
        op.as_ptr() == MANAGER.0.get()
    }

    #[inline]
    fn parts() -> impl Iterator<Item = OpsRef> {
        parts()
    }

    /// The newest user first, as far as their places tell.
    fn write_at(addr: usize, w: &mut dyn fmt::Write) -> fmt::Result {
        w.write_str("\tsubops:")?;
        for part in (0..USERS)
            .rev()
            .filter_map(part)
            .filter(|part| part.covers(addr))
        {
            let user = UserRef::of(part);
            let entry = user.entry().map_or(0, |f| f as *const () as usize);
            let ret = user.returned().map_or(0, |f| f as *const () as usize);
            write!(
                w,
                " {{ent:{} ret:{}}}",
                SymbolOffset(entry),
                SymbolOffset(ret)
            )?;
        }
        Ok(())
    }
}

fn manager() -> Result<OpsRef> {
    // SAFETY: static memory of zeros.
    let op = unsafe { OpsRef::from_raw(MANAGER.0.get()) }.ok_or(EINVAL)?;
    op.init();
    Ok(op)
}

/// Part `i`; it is alive while a caller in a hit stays in it, or holds what keeps parts from going.
/// Any context.
#[inline]
pub(crate) fn part(i: usize) -> Option<OpsRef> {
    // Pairs with the release store in `add`.
    let part = TABLE.get(i)?.load(Acquire);
    // SAFETY: null, or what `add` took a reference to.
    unsafe { OpsRef::from_raw(part) }
}

/// The parts there are. Any context, as [`part`].
pub(crate) fn parts() -> impl Iterator<Item = OpsRef> {
    (0..USERS).filter_map(part)
}

/// Adds `new` as part `i`, which is free; hits at any part's sites call `func` from now on.
///
/// # Errors
///
/// `ENODEV` when ftrace is disarmed.
pub(crate) fn add(i: usize, new: OpsRef, func: Func) -> Result {
    let manager = manager()?;
    let mut state = FTRACE.lock();
    if is_dead() {
        return Err(ENODEV);
    }
    let place = TABLE.get(i).ok_or(EINVAL)?;
    new.init();
    new.set(flag::ENABLED);
    // Pairs with the acquire load in `part`.
    place.store(new.as_ptr(), Release);
    manager.set_func(Some(func));
    if manager.has(flag::ENABLED) {
        ensure_trampoline(&state, manager);
        sync_ops(&mut state, new);
        return Ok(());
    }
    start(&mut state, manager, new).inspect_err(|_| {
        place.store(ptr::null_mut(), Relaxed);
        new.clear(flag::ENABLED);
    })
}

/// Takes part `i` out. `func` is for those that are left; without, there are none. Hits may still
/// be at it.
pub(crate) fn remove(i: usize, func: Option<Func>) {
    let (Ok(manager), Some(old)) = (manager(), part(i)) else {
        return;
    };
    let mut state = FTRACE.lock();
    if let Some(place) = TABLE.get(i) {
        place.store(ptr::null_mut(), Relaxed);
    }
    old.clear(flag::ENABLED);
    match func {
        None => stop(&mut state, manager, old),
        Some(func) => {
            manager.set_func(Some(func));
            ensure_trampoline(&state, manager);
            sync_ops(&mut state, old);
        }
    }
}

/// Changes what hits call.
pub(crate) fn set_func(func: Func) {
    let Ok(manager) = manager() else { return };
    let state = FTRACE.lock();
    if manager.func_addr() != func as *const () as usize {
        manager.set_func(Some(func));
        if manager.has(flag::ENABLED) && !is_dead() {
            ensure_trampoline(&state, manager);
        }
    }
}
