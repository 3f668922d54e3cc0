// SPDX-License-Identifier: GPL-2.0

//! One ops for all graph users: those at a site are called from one place, since they share the
//! function's return.
//!
//! The *manager* is an ops in the list like any other; its *parts*, the ops of the users, are not,
//! but their sets say what the manager covers. Its function looks at the parts itself.

use super::{UserRef, USERS};
use crate::kernel::kallsyms::SymbolOffset;
use crate::trace::ftrace::ops::{
    ensure_trampoline, flag, is_dead, start, stop, sync_ops, AtomicOps, Func, Manager, OpsRef,
    Parts, StaticOps, FTRACE,
};
use core::fmt;
use kernel::prelude::*;

static MANAGER: StaticOps = StaticOps::new();

static TABLE: [AtomicOps; USERS] = [const { AtomicOps::none() }; USERS];

impl Parts for Manager {
    #[inline]
    fn is(op: OpsRef) -> bool {
        MANAGER.is(op)
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
            // SAFETY: `part` gives the ops of users alone.
            let user = unsafe { UserRef::of(part) };
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

/// Part `i`; it is alive while a caller in a hit stays in it, or holds what keeps parts from going.
/// Any context.
#[inline]
pub(crate) fn part(i: usize) -> Option<OpsRef> {
    TABLE.get(i)?.get()
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
    let manager = MANAGER.get();
    let mut state = FTRACE.lock();
    if is_dead() {
        return Err(ENODEV);
    }
    let place = TABLE.get(i).ok_or(EINVAL)?;
    new.init();
    new.set(flag::ENABLED);
    place.set(Some(new));
    manager.set_func(Some(func));
    if manager.has(flag::ENABLED) {
        ensure_trampoline(&state, manager);
        sync_ops(&mut state, new);
        return Ok(());
    }
    start(&mut state, manager, new).inspect_err(|_| {
        place.set(None);
        new.clear(flag::ENABLED);
    })
}

/// Takes part `i` out. `func` is for those that are left; without, there are none. Hits may still
/// use it.
pub(crate) fn remove(i: usize, func: Option<Func>) {
    let manager = MANAGER.get();
    let Some(old) = part(i) else { return };
    let mut state = FTRACE.lock();
    if let Some(place) = TABLE.get(i) {
        place.set(None);
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
    let manager = MANAGER.get();
    let state = FTRACE.lock();
    if manager.func_addr() != func as *const () as usize {
        manager.set_func(Some(func));
        if manager.has(flag::ENABLED) && !is_dead() {
            ensure_trampoline(&state, manager);
        }
    }
}
