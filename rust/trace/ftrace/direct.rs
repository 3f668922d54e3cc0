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
use super::ops::{self, flag, list, update, FilterKind, OpsRef, Shared, DIRECT, FTRACE};
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
        let state = FTRACE.lock();
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
/// `EINVAL` for an ops that is none of a direct caller, and what its owner says to sharing.
pub(crate) fn modify(op: OpsRef, target: Target) -> Result {
    check(op)?;
    let _direct = DIRECT.lock();
    modify_locked(op, target)
}

/// [`modify`] for holders of [`DIRECT`].
pub(crate) fn modify_locked(op: OpsRef, target: Target) -> Result {
    check(op)?;
    let mut state = FTRACE.lock();
    let filter = op.set_of(FilterKind::Filter, &state.key).ok_or(EINVAL)?;
    claim(&state, op, Some(filter), Some(filter), Claim::Retargeted)?;
    op.set_direct_call(target);
    let (key, targets) = state.sites();
    if let Some(filter) = op.set_of(FilterKind::Filter, key) {
        update::sync(key, targets, update::Scope::Sets(&[filter]));
    }
    if ops::is_dead() {
        return Err(ENODEV);
    }
    Ok(())
}

/// Adds the sites of `calls`, each with its own direct caller, and registers the ops if it had
/// none: `update_ftrace_direct_add()`.
///
/// # Errors
///
/// `EINVAL` for nothing to add, a site that has a direct caller, or an ops that is otherwise in
/// use; `ENOMEM`; as [`ops::register`].
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
        .filter(|f| f.len() != 0);
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
    ops::change_set(&mut state, op, FilterKind::Filter, new, Shared::Ask)?;
    if !first {
        return Ok(());
    }
    drop(state);
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
/// another direct caller.
pub(crate) fn del(op: OpsRef, calls: &SiteSet) -> Result {
    check(op)?;
    let _direct = DIRECT.lock();
    let mut state = FTRACE.lock();
    let key = &state.key;
    let old = op.set_of(FilterKind::Filter, key).ok_or(EINVAL)?;
    if calls.len() == 0
        || calls
            .iter()
            .any(|(addr, target)| !old.contains(addr) || op.direct_at(addr, key.into()) != target)
    {
        return Err(EINVAL);
    }
    let mut new = old.try_clone()?;
    new.retain(|addr| !calls.contains(addr))?;
    if new.len() != 0 {
        return ops::change_set(&mut state, op, FilterKind::Filter, new, Shared::Shrinks);
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
/// `EINVAL` for an ops that is none of a direct caller or nothing to change, `ENOMEM`, what its
/// owner says to sharing.
pub(crate) fn change(op: OpsRef, calls: &SiteSet, locked: bool) -> Result {
    check(op)?;
    if calls.len() == 0 {
        return Err(EINVAL);
    }
    let _direct = if locked { None } else { Some(DIRECT.lock()) };
    let mut state = FTRACE.lock();
    let mut new = op
        .set_of(FilterKind::Filter, &state.key)
        .ok_or(EINVAL)?
        .try_clone()?;
    claim(&state, op, None, Some(&new), Claim::Retargeted)?;
    for (addr, target) in calls.iter() {
        if new.contains(addr) {
            new.insert_with(addr, target)?;
        }
    }
    ops::change_set(&mut state, op, FilterKind::Filter, new, Shared::Shrinks)
}
