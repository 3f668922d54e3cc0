// SPDX-License-Identifier: GPL-2.0

//! Registration, and changes of sets.

use super::raw::{flag, FilterKind, OpsRef};
use super::retire::{wait_for_trampolines, Retired, SharedSet};
use super::trampoline::{call_again, call_nothing, cut_off, ensure_trampoline, free_trampoline};
use super::update::{sync, Scope};
use super::{is_dead, list, Key, Manager, Parts, State, DIRECT, FTRACE};
use crate::kernel::memory;
use crate::trace::ftrace::hash::SiteSet;
use crate::trace::ftrace::sharing::{self, Claim};
use kernel::prelude::*;

/// Starts calling an ops at the sites it covers: `register_ftrace_function()`.
///
/// # Errors
///
/// `ENODEV` when ftrace is disarmed; `EBUSY` when it is registered, or when another ops that may
/// not share is at one of its sites; `EINVAL` without function, for one marked deleted, and for one
/// that changes where functions go but names none.
pub(crate) fn register(op: OpsRef) -> Result {
    let _direct = DIRECT.lock();
    op.init();
    sharing::ask_peers_to_share(op)?;
    register_locked(op)
}

/// [`register`] for holders of [`DIRECT`].
pub(crate) fn register_locked(op: OpsRef) -> Result {
    op.init();
    let done = start(&mut FTRACE.lock(), op, op);
    // Disarmed meanwhile: the caller frees what a hit may still be in.
    if done.is_err() && is_dead() && op.has(flag::DYNAMIC) {
        wait_for_trampolines();
    }
    done
}

/// Registers `op`, of whose sites the sets of `scope` tell.
pub(crate) fn start(state: &mut State, op: OpsRef, scope: OpsRef) -> Result {
    if is_dead() {
        return Err(ENODEV);
    }
    if op.has(flag::DELETED) || op.func_addr() == 0 {
        return Err(EINVAL);
    }
    if kernel::warn_on!(op.has(flag::ENABLED)) {
        return Err(EBUSY);
    }
    if !op.has(flag::OWNED) && !memory::is_kernel_core_data(op.as_ptr() as usize) {
        op.set(flag::DYNAMIC);
    }
    sharing::claim(
        state,
        op,
        None,
        op.set_of(FilterKind::Filter, &state.key),
        Claim::New,
    )?;
    op.save_func();
    ensure_trampoline(state, op);
    let waits = changes_many(&state.key, op, scope);
    if waits {
        call_nothing(op);
    }
    list::add(&state.key, op);
    op.set(flag::ENABLED);
    sync_ops(state, scope);
    if waits && !is_dead() {
        call_again(op);
    }
    if is_dead() {
        list::remove(&state.key, op);
        op.clear(flag::ENABLED);
        cut_off(state, op);
        return Err(ENODEV);
    }
    Ok(())
}

/// Stops calling an ops: `unregister_ftrace_function()`. If its memory is not the kernel's own
/// data, nor that of an [`Ops`](super::Ops), no callback of it runs any more when this returns.
///
/// # Errors
///
/// `ENODEV` when ftrace is disarmed, and then it is not called any more all the same; `EBUSY` when
/// it is not registered.
pub(crate) fn unregister(op: OpsRef) -> Result {
    {
        let mut state = FTRACE.lock();
        if !op.has(flag::ENABLED) {
            if is_dead() {
                return Err(ENODEV);
            }
            kernel::warn_on!(true);
            return Err(EBUSY);
        }
        stop(&mut state, op, op);
        // The change of its sites may have been what disarmed it.
        if is_dead() {
            cut_off(&state, op);
        }
    }
    if op.has(flag::DYNAMIC) {
        wait_for_trampolines();
        free_trampoline(op);
    }
    if is_dead() {
        return Err(ENODEV);
    }
    sharing::tell_peers_of_leaving(op);
    Ok(())
}

/// Takes `op`, of whose sites the sets of `scope` tell, from the list and from its sites.
pub(crate) fn stop(state: &mut State, op: OpsRef, scope: OpsRef) {
    if changes_many(&state.key, op, scope) {
        call_nothing(op);
    }
    list::remove(&state.key, op);
    op.clear(flag::ENABLED);
    sync_ops(state, scope);
}

/// Calls `new` in the place of `old`, whose sets it uses. Each hit calls one of the two; but as
/// [`changes_many`] says, hits call neither while many sites are patched.
///
/// # Errors
///
/// `EBUSY` when `old` is not registered, `EINVAL` when `new` has other sets, `ENODEV` when ftrace is
/// disarmed, and then neither is called.
pub(super) fn replace(old: OpsRef, new: OpsRef) -> Result {
    let mut state = FTRACE.lock();
    if is_dead() {
        return Err(ENODEV);
    }
    if !old.has(flag::ENABLED) {
        return Err(EBUSY);
    }
    if !new.shares_sets(old) || (old.flags() | new.flags()) & (flag::IPMODIFY | flag::DIRECT) != 0 {
        return Err(EINVAL);
    }
    new.save_func();
    ensure_trampoline(&state, new);
    let waits = changes_many(&state.key, new, new);
    if waits {
        call_nothing(old);
        call_nothing(new);
    }
    list::replace(&state.key, old, new);
    old.clear(flag::ENABLED);
    new.set(flag::ENABLED);
    sync_ops(&mut state, new);
    if is_dead() {
        list::remove(&state.key, new);
        new.clear(flag::ENABLED);
        cut_off(&state, old);
        cut_off(&state, new);
        return Err(ENODEV);
    }
    if waits {
        call_again(new);
    }
    Ok(())
}

/// More sites than this take several batches of patches.
const BATCH: usize = 256;

/// Whether so many sites of the tracer's ops `op` change that its trampoline calls nothing until all
/// are patched. The code that patches text is traced itself from its first batch on. Those hits
/// would be most of the cost, and most of the trace.
fn changes_many(key: &Key, op: OpsRef, scope: OpsRef) -> bool {
    let filter = scope.set_of(FilterKind::Filter, key);
    op.has(flag::OWNED) && filter.is_none_or(|set| set.is_empty() || set.len() > BATCH)
}

/// Brings the sites up to date that the sets of `op` name.
pub(crate) fn sync_ops(state: &mut State, op: OpsRef) {
    let (key, targets) = state.sites();
    match op.set_of(FilterKind::Filter, key) {
        Some(filter) if !filter.is_empty() => sync(key, targets, Scope::Sets(&[filter])),
        _ => sync(key, targets, Scope::All),
    }
}

/// What [`change_set`] need not ask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shared {
    /// An ordinary change: what changes where functions go asks at the sites that are new.
    Ask,
    /// No site is new.
    Shrinks,
}

/// Makes `new` one of the sets of `op`, and brings the sites to it if it is registered, or an ops
/// that shares the set.
///
/// # Errors
///
/// `ENODEV` when ftrace is disarmed, `ENOMEM`, `EINVAL` for a notrace set of an ops that changes
/// where functions go and for taking all functions with it, `EBUSY` when another such is there.
pub(crate) fn change_set(
    state: &mut State,
    op: OpsRef,
    which: FilterKind,
    new: SiteSet,
    how: Shared,
) -> Result {
    exchange_set(state, op, which, new, how).map(drop)
}

/// [`change_set`] of the filter of a direct caller. If that disarms ftrace, the filter stays as it
/// was, but hits may have gone where the new one leads meanwhile.
///
/// # Errors
///
/// As of [`change_set`]; `ENODEV` also when ftrace is disarmed by it.
pub(crate) fn change_direct(state: &mut State, op: OpsRef, new: SiteSet, how: Shared) -> Result {
    let old = exchange_set(state, op, FilterKind::Filter, new, how)?;
    if is_dead() {
        drop(op.put_back_set(FilterKind::Filter, old, &mut state.key));
        return Err(ENODEV);
    }
    Ok(())
}

/// [`change_set`]; gives the set that was there.
fn exchange_set(
    state: &mut State,
    op: OpsRef,
    which: FilterKind,
    new: SiteSet,
    how: Shared,
) -> Result<Retired> {
    if is_dead() {
        return Err(ENODEV);
    }
    if op.has(flag::IPMODIFY) && which == FilterKind::NoTrace {
        return Err(EINVAL);
    }
    if op.has(flag::ENABLED) && which == FilterKind::Filter && how == Shared::Ask {
        sharing::claim(
            state,
            op,
            op.set_of(which, &state.key),
            Some(&new),
            Claim::Changed,
        )?;
    }
    // No set is quicker to ask than an empty one.
    let new = if new.is_empty() {
        None
    } else {
        Some(SharedSet::new(new)?)
    };
    let old = op.replace_set(which, new, &mut state.key);
    let mut concerned = Manager::parts().any(|part| part.shares_sets(op));
    list::for_each(&state.key, |other| concerned |= other.shares_sets(op));
    if !concerned {
        return Ok(old);
    }
    let empty = SiteSet::new();
    let old_set = old.set().unwrap_or(&empty);
    let (key, targets) = state.sites();
    let new_set = op.set_of(which, key).unwrap_or(&empty);
    if which == FilterKind::Filter && (old_set.is_empty() || new_set.is_empty()) {
        sync(key, targets, Scope::All);
    } else {
        sync(key, targets, Scope::Sets(&[old_set, new_set]));
    }
    Ok(old)
}

/// Frees the sets of an ops that is not registered: `ftrace_free_filter()`.
pub(crate) fn free_sets(op: OpsRef) {
    op.init();
    let mut state = FTRACE.lock();
    if kernel::warn_on!(op.has(flag::ENABLED)) {
        return;
    }
    drop(op.replace_set(FilterKind::Filter, None, &mut state.key));
    drop(op.replace_set(FilterKind::NoTrace, None, &mut state.key));
}
