// SPDX-License-Identifier: GPL-2.0

//! One ops for all graph users: those at a site are called from one place, since they share the
//! function's return.
//!
//! The *manager* is an ops in the list like any other; its *parts*, the ops of the users, are not,
//! but their sets say what the manager covers. Its function looks at the parts itself.

use super::{EntryFuncs, UserRef, USERS};
use crate::kernel::kallsyms::SymbolOffset;
use crate::kernel::sort::sort_by;
use crate::trace::ftrace::arch::Hooking;
use crate::trace::ftrace::ops::{
    ensure_trampoline, flag, is_dead, start, stop, sync_ops, AtomicOps, Key, Manager, OpsRef,
    Parts, StaticOps, FTRACE,
};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};

static MANAGER: StaticOps = StaticOps::new();

/// [`EntryFuncs::hooking`] of its function, 0 for none. Holders of the ftrace lock use it.
static HOOKING: Atomic<usize> = Atomic::new(0);

static TABLE: [AtomicOps; USERS] = [const { AtomicOps::none() }; USERS];

/// The places of [`TABLE`] that are taken, one bit each: hits look at no other. Holders of the
/// ftrace lock change it. A hit that still sees the bit of a place that is free finds nothing
/// there.
static TAKEN: Atomic<u64> = Atomic::new(0);

/// Puts `part` into place `i`, or takes out what is there. The caller holds the ftrace lock.
fn put(i: usize, part: Option<OpsRef>) {
    let Some(place) = TABLE.get(i) else {
        return;
    };
    place.set(part);
    let others = TAKEN.load(Relaxed) & !(1 << i);
    // Pairs with the acquire load in `taken`: the number of its registration is there before.
    TAKEN.store(others | u64::from(part.is_some()) << i, Release);
}

/// Sets what hits call. The caller holds the ftrace lock, and makes the trampoline fit.
fn set_funcs(funcs: EntryFuncs) {
    MANAGER.get().set_func(Some(funcs.func));
    let hooking = funcs.hooking.map_or(0, |f| f as *const () as usize);
    HOOKING.store(hooking, Relaxed);
}

/// The numbers of the bits that are set in `mask`, the lowest first.
#[inline(always)]
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask.wrapping_sub(1);
            lowest
        })
    })
}

/// The places that are taken, one bit each. Any context.
#[inline(always)]
pub(super) fn taken() -> u64 {
    // Pairs with the release store in `put`.
    TAKEN.load(Acquire)
}

impl Parts for Manager {
    #[inline]
    fn is(op: OpsRef) -> bool {
        MANAGER.is(op)
    }

    fn hooking() -> Option<Hooking> {
        // SAFETY: `set_funcs` stores such functions, or 0 for none.
        unsafe { core::mem::transmute::<usize, Option<Hooking>>(HOOKING.load(Relaxed)) }
    }

    #[inline]
    fn parts() -> impl Iterator<Item = OpsRef> {
        parts()
    }

    /// The newest user first.
    fn write_at(addr: usize, key: &Key, w: &mut dyn fmt::Write) -> fmt::Result {
        w.write_str("\tsubops:")?;
        let mut places: [(u64, usize); USERS] = core::array::from_fn(|i| (super::since(i), i));
        sort_by(&mut places, |one, other| other.cmp(one));
        for part in places
            .iter()
            .filter_map(|(_, i)| part(*i))
            .filter(|part| part.covers(addr, key.into()))
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

/// Adds `new` as part `i`, which is free; hits at any part's sites call `funcs` from now on.
///
/// # Errors
///
/// `ENODEV` when ftrace is disarmed.
pub(crate) fn add(i: usize, new: OpsRef, funcs: EntryFuncs) -> Result {
    let manager = MANAGER.get();
    let mut state = FTRACE.lock();
    if is_dead() {
        return Err(ENODEV);
    }
    if i >= USERS {
        return Err(EINVAL);
    }
    new.init();
    new.set(flag::ENABLED);
    put(i, Some(new));
    set_funcs(funcs);
    if manager.has(flag::ENABLED) {
        ensure_trampoline(&state, manager);
        sync_ops(&mut state, new);
        return Ok(());
    }
    start(&mut state, manager, new).inspect_err(|_| {
        put(i, None);
        new.clear(flag::ENABLED);
    })
}

/// Takes part `i` out. `funcs` are for those that are left; without, there are none. Hits may still
/// use it.
pub(crate) fn remove(i: usize, funcs: Option<EntryFuncs>) {
    let manager = MANAGER.get();
    let Some(old) = part(i) else { return };
    let mut state = FTRACE.lock();
    put(i, None);
    old.clear(flag::ENABLED);
    match funcs {
        None => stop(&mut state, manager, old),
        Some(funcs) => {
            set_funcs(funcs);
            ensure_trampoline(&state, manager);
            sync_ops(&mut state, old);
        }
    }
}

/// Changes what hits call.
pub(crate) fn change_funcs(funcs: EntryFuncs) {
    let manager = MANAGER.get();
    let state = FTRACE.lock();
    if manager.func_addr() != funcs.func as *const () as usize {
        set_funcs(funcs);
        if manager.has(flag::ENABLED) && !is_dead() {
            ensure_trampoline(&state, manager);
        }
    }
}
