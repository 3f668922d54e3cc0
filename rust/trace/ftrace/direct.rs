// SPDX-License-Identifier: GPL-2.0

//! Direct callers: code that sites call without any trampoline of ours.
//!
//! At one site there can be one direct caller ([`super::sharing`]). Where it is the only ops, the
//! site leads to it; else the list calls [`list::call_direct`], which has `ftrace_regs_caller` go
//! there at its end.
//!
//! Stands for the `*_ftrace_direct*()` functions of `include/linux/ftrace.h`; used by BPF and
//! `samples/ftrace`.

use super::arch::Target;
use super::hash::SiteSet;
use super::ops::{self, flag, list, FilterKind, OpsRef, Shared, State, DIRECT, FTRACE};
use super::sharing::{caller_at, claim, Claim};
use kernel::prelude::*;

/// Where the direct caller at `addr` is; off if there is none: `ftrace_find_rec_direct()`.
pub(crate) fn target_at(addr: usize) -> Target {
    let state = FTRACE.lock();
    caller_at(&state, addr).map_or(Target::OFF, |op| op.direct_at(addr, (&state.key).into()))
}

/// Flags of the ops of a direct caller.
const FLAGS: usize = flag::DIRECT | flag::SAVE_REGS;

/// Has the sites in the filter of `op` call `target`: `register_ftrace_direct()`.
///
/// # Errors
///
/// `EINVAL` for an ops in use or without sites, `EBUSY` when a site has a direct caller; as
/// [`ops::register`].
pub(crate) fn register(op: OpsRef, target: Target) -> Result {
    if op.func_addr() != 0
        || op.trampoline() != 0
        || !op.has(flag::INITIALIZED)
        || op.has(flag::ENABLED)
    {
        return Err(EINVAL);
    }
    let _direct = DIRECT.lock();
    {
        let mut state = FTRACE.lock();
        let filter = op
            .set_of(FilterKind::Filter, &state.key)
            .filter(|f| f.len() != 0)
            .ok_or(EINVAL)?;
        if filter
            .iter()
            .any(|(addr, _)| caller_at(&state, addr).is_some())
        {
            return Err(EBUSY);
        }
        // What sites call of their own may be left from an earlier registration.
        let new = leading_to(filter, target)?;
        ops::change_direct(&mut state, op, new, Shared::Shrinks)?;
    }
    op.set_func(Some(list::call_direct));
    op.set(FLAGS);
    op.set_direct_call(target);
    ops::register_locked(op).inspect_err(|_| op.set_func(None))
}

/// Undoes [`register`]. `EINVAL` for an ops that is none of a direct caller.
pub(crate) fn unregister(op: OpsRef) -> Result {
    check(op)?;
    let _direct = DIRECT.lock();
    let result = ops::unregister(op);
    op.set_func(None);
    result
}

fn check(op: OpsRef) -> Result {
    let registered = FLAGS | flag::INITIALIZED | flag::ENABLED;
    if op.flags() & registered != registered {
        return Err(EINVAL);
    }
    Ok(())
}

/// Has the sites of `op` call `target` from now on: `modify_ftrace_direct()`. A function that runs
/// meanwhile calls the one or the other.
///
/// # Errors
///
/// `EINVAL` for an ops that is none of a direct caller, `ENOMEM`, what its owner says to sharing;
/// `ENODEV` when ftrace is disarmed: all goes on calling what it did.
pub(crate) fn modify(op: OpsRef, target: Target) -> Result {
    check(op)?;
    let _direct = DIRECT.lock();
    modify_locked(op, target)
}

/// [`modify`] for holders of [`DIRECT`].
pub(crate) fn modify_locked(op: OpsRef, target: Target) -> Result {
    check(op)?;
    let mut state = FTRACE.lock();
    let new = leading_to(to_retarget(&state, op)?, target)?;
    let changed = ops::change_direct(&mut state, op, new, Shared::Shrinks);
    if changed.is_ok() {
        op.set_direct_call(target);
    }
    drop(state);
    settled(changed)
}

/// The sites of `op`, which are to call something else.
fn to_retarget(state: &State, op: OpsRef) -> Result<&SiteSet> {
    if ops::is_dead() {
        return Err(ENODEV);
    }
    let filter = op.set_of(FilterKind::Filter, &state.key).ok_or(EINVAL)?;
    claim(state, op, None, Some(filter), Claim::Retargeted)?;
    Ok(filter)
}

/// The sites of `set`, which all call `target`. `ENOMEM`.
fn leading_to(set: &SiteSet, target: Target) -> Result<SiteSet> {
    let mut new = set.try_clone()?;
    for (addr, _) in set.iter() {
        new.insert_with(addr, target)?;
    }
    Ok(new)
}

/// The answer to a change; after one that has disarmed ftrace nothing is in what it would have led
/// to, which the caller frees. Without the ftrace lock.
fn settled(changed: Result) -> Result {
    if changed.is_err() && ops::is_dead() {
        ops::wait_for_trampolines();
    }
    changed
}

/// Adds the sites of `calls`, each with its own direct caller, and registers the ops if it had
/// none: `update_ftrace_direct_add()`.
///
/// # Errors
///
/// `EINVAL` for nothing to add, a site that has a direct caller, or an ops that is otherwise in
/// use; `ENOMEM`; `ENODEV` when ftrace is disarmed; as [`ops::register`].
pub(crate) fn add(op: OpsRef, calls: &SiteSet) -> Result {
    if calls.len() == 0 {
        return Err(EINVAL);
    }
    let _direct = DIRECT.lock();
    op.init();
    let mut state = FTRACE.lock();
    if calls
        .iter()
        .any(|(addr, _)| caller_at(&state, addr).is_some())
    {
        return Err(EINVAL);
    }
    let old = op
        .set_of(FilterKind::Filter, &state.key)
        .filter(|f| !f.is_empty());
    let first = old.is_none();
    if first && (op.func_addr() != 0 || op.trampoline() != 0 || op.has(flag::ENABLED)) {
        return Err(EINVAL);
    }
    let mut new = match old {
        Some(old) => old.try_clone()?,
        None => SiteSet::new(),
    };
    for (addr, target) in calls.iter() {
        new.insert_with(addr, target)?;
    }
    let added = ops::change_direct(&mut state, op, new, Shared::Ask);
    drop(state);
    settled(added)?;
    if !first {
        return Ok(());
    }
    op.set_func(Some(list::call_direct));
    op.set(FLAGS);
    ops::register_locked(op).inspect_err(|_| {
        op.set_func(None);
        ops::free_sets(op);
    })
}

/// Takes the sites of `calls` out, and unregisters the ops with the last:
/// `update_ftrace_direct_del()`.
///
/// # Errors
///
/// `EINVAL` for an ops that is none of a direct caller, nothing to take out, or a site that has
/// another direct caller; `ENOMEM`; `ENODEV` when ftrace is disarmed. A site that has gone is taken
/// out already.
pub(crate) fn del(op: OpsRef, calls: &SiteSet) -> Result {
    check(op)?;
    let _direct = DIRECT.lock();
    let mut state = FTRACE.lock();
    let key = &state.key;
    let old = op.set_of(FilterKind::Filter, key).ok_or(EINVAL)?;
    let is_other = |(addr, target)| match old.contains(addr) {
        true => op.direct_at(addr, key.into()) != target,
        false => !old.has_lost(),
    };
    if calls.len() == 0 || calls.iter().any(is_other) {
        return Err(EINVAL);
    }
    let mut new = old.try_clone()?;
    new.retain(|addr| !calls.contains(addr))?;
    if new.len() != 0 {
        return ops::change_direct(&mut state, op, new, Shared::Shrinks);
    }
    drop(state);
    ops::unregister(op)?;
    op.set_func(None);
    ops::free_sets(op);
    Ok(())
}

/// Has the sites of `calls`, as far as the ops has them, call what is there:
/// `update_ftrace_direct_mod()`. `locked`: the caller holds [`DIRECT`].
///
/// # Errors
///
/// `EINVAL` for an ops that is none of a direct caller or nothing to change; else as [`modify`].
pub(crate) fn change(op: OpsRef, calls: &SiteSet, locked: bool) -> Result {
    check(op)?;
    if calls.len() == 0 {
        return Err(EINVAL);
    }
    let _direct = if locked { None } else { Some(DIRECT.lock()) };
    let mut state = FTRACE.lock();
    let mut new = to_retarget(&state, op)?.try_clone()?;
    for (addr, target) in calls.iter() {
        if new.contains(addr) {
            new.insert_with(addr, target)?;
        }
    }
    let changed = ops::change_direct(&mut state, op, new, Shared::Shrinks);
    drop(state);
    settled(changed)
}
