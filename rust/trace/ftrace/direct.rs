// SPDX-License-Identifier: GPL-2.0

//! Direct callers: code that sites call without any trampoline of ours, and the rules for ops that
//! change where a function goes (IPMODIFY: livepatch, kprobes with a post handler).
//!
//! At one site there can be one direct caller, and one IPMODIFY ops. One of each can share a site
//! if the direct caller's owner agrees, by its `ops_func` (`enum ftrace_ops_cmd`). Where a direct
//! caller is the only ops, its site leads to it; else the list calls [`list::call_direct`], which has
//! `ftrace_regs_caller` go there at its end.
//!
//! Stands for the `*_ftrace_direct*()` functions of `include/linux/ftrace.h`; used by BPF and
//! `samples/ftrace`.

use super::arch::Target;
use super::hash::SiteSet;
use super::ops::{self, flag, list, update, FilterKind, OpsRef, Shared, State, DIRECT, FTRACE};
use crate::kernel::ftrace::Command;
use kernel::prelude::*;

/// What [`claim`] is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// An ops is to be registered.
    New,
    /// A registered ops changes its filter.
    Changed,
    /// A direct caller goes elsewhere, at the same sites.
    Retargeted,
}

/// May `op`, if it is a direct caller or an IPMODIFY ops, have the sites of `new` besides (or,
/// retargeted, as well as) those of `old`?
///
/// # Errors
///
/// `EINVAL` for all functions; `EBUSY` when an ops that does not share is there; what the direct
/// caller's owner says.
pub(crate) fn claim(
    state: &State,
    op: OpsRef,
    old: Option<&SiteSet>,
    new: Option<&SiteSet>,
    how: Claim,
) -> Result {
    if !op.has(flag::IPMODIFY | flag::DIRECT) {
        return Ok(());
    }
    if kernel::warn_on!(op.has(flag::IPMODIFY) && op.has(flag::DIRECT)) {
        return Ok(());
    }
    let Some(new) = new.filter(|n| !n.is_empty()) else {
        return Err(EINVAL);
    };
    for (addr, _) in new.iter() {
        if how != Claim::Retargeted && old.is_some_and(|o| o.contains(addr)) {
            continue;
        }
        let mut taken = false;
        ops::for_each_registered(&state.key, |other| {
            taken |=
                other != op && other.has(flag::IPMODIFY) && other.covers(addr, (&state.key).into());
        });
        if taken && op.has(flag::IPMODIFY) {
            return Err(EBUSY);
        }
        if taken {
            op.ops_func(addr, Command::SHARE_SELF)
                .unwrap_or(Err(EBUSY))?;
        }
    }
    Ok(())
}

/// Before an IPMODIFY ops is registered: asks the direct callers at its sites. For holders of
/// [`DIRECT`] alone, since their owners may call back.
///
/// # Errors
///
/// `EBUSY` when a direct caller has no say; else what it says.
pub(crate) fn ask_peers_to_share(op: OpsRef) -> Result {
    for_each_peer(op, |peer, addr| {
        peer.ops_func(addr, Command::SHARE_PEER)
            .unwrap_or(Err(EBUSY))
    })
}

/// After an IPMODIFY ops is gone: tells the direct callers at its sites.
pub(crate) fn tell_peers_of_leaving(op: OpsRef) {
    if op.has(flag::IPMODIFY) {
        let _direct = DIRECT.lock();
        // Telling is a courtesy, so there is no error.
        let _ = for_each_peer(op, |peer, addr| {
            let _ = peer.ops_func(addr, Command::PEER_GONE);
            Ok(())
        });
    }
}

fn for_each_peer(op: OpsRef, f: impl Fn(OpsRef, usize) -> Result) -> Result {
    if !op.has(flag::IPMODIFY) {
        return Ok(());
    }
    // A copy, since peers are called without the ftrace lock.
    let filter = {
        let state = FTRACE.lock();
        op.set_of(FilterKind::Filter, &state.key)
            .map(SiteSet::try_clone)
            .transpose()?
    };
    for (addr, _) in filter.iter().flat_map(SiteSet::iter) {
        let peer = at(&FTRACE.lock(), addr);
        if let Some(peer) = peer {
            f(peer, addr)?;
        }
    }
    Ok(())
}

/// The direct caller's ops at `addr`.
fn at(state: &State, addr: usize) -> Option<OpsRef> {
    let mut found = None;
    ops::for_each_registered(&state.key, |op| {
        if op.has(flag::DIRECT) && op.covers(addr, (&state.key).into()) {
            found = Some(op);
        }
    });
    found
}

/// Where the direct caller at `addr` is; off if there is none: `ftrace_find_rec_direct()`.
pub(crate) fn target_at(addr: usize) -> Target {
    let state = FTRACE.lock();
    at(&state, addr).map_or(Target::OFF, |op| op.direct_at(addr, (&state.key).into()))
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
        if filter.iter().any(|(addr, _)| at(&state, addr).is_some()) {
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
    if calls.iter().any(|(addr, _)| at(&state, addr).is_some()) {
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
