// SPDX-License-Identifier: GPL-2.0

//! Tracing functions from entry to return: its users, and what runs at a function's entry and
//! return.
//!
//! A *user* is a `struct fgraph_ops` (its layout is ABI): an entry and a return function and an ops
//! whose sets say where. There are up to [`USERS`] at a time. All are parts of one ops, the manager
//! ([`manager`]), since they share the function's one return address: at a hit the manager's
//! function puts a frame on the task's shadow stack ([`crate::trace::fgraph::ret_stack`]), hooks
//! the return address, and at the return the frame says whose it is.
//!
//! A user that is the only one may be traced *alone*, with an entry and a return of its own that do
//! all in one go ([`plain`], the function profiler); else the functions are [`shared`]. Frames say
//! which it was, by [`Top`](ret_stack::Top), so that the path may change while functions have not returned.
//!
//! Users are numbered as they register, and frames bear that number or a later one: what was
//! entered before a user came is not shown to it, even in the place of another that has gone.
//!
//! Lock order: `GRAPH`, then the ftrace lock. Hits take none.

pub(crate) mod filter;
#[cfg(CONFIG_FPROBE)]
pub(crate) mod fprobe;
#[allow(unsafe_code, reason = "a callback whose type is forgotten")]
pub(crate) mod graph_user;
#[allow(unsafe_code, reason = "parts are users")]
mod manager;
#[cfg(CONFIG_TRACER_MAX_TRACE)]
pub(crate) mod measured;
#[allow(unsafe_code, reason = "the hot path: hooks returns")]
pub(crate) mod plain;
#[allow(unsafe_code, reason = "records into what its owner has")]
pub(crate) mod recorder;
#[allow(unsafe_code, reason = "shadow stacks")]
pub(crate) mod ret_stack;
#[allow(unsafe_code, reason = "hooks returns")]
pub(crate) mod shared;
pub(crate) mod sleep;
#[allow(unsafe_code, reason = "C's structure")]
pub(crate) mod user;

use super::ftrace::arch::Hooking;
use super::ftrace::ops::{self, Func};
use crate::kernel::ftrace::ftrace_regs;
use kernel::prelude::*;
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};
pub(crate) use sleep::Sleepless;
pub(crate) use user::UserRef;

/// So many users there can be.
pub(crate) const USERS: usize = ret_stack::MAX_USERS;

/// How a user is traced when it is the only one.
#[derive(Clone, Copy)]
pub(crate) enum EntryPath {
    /// As it would be beside others.
    Shared,
    /// By [`plain`].
    Plain(plain::TargetRef),
    /// By an entry function of its own, whose frames are [`shared::Alone`]'s.
    Alone(EntryFuncs),
}

/// The manager's function.
#[derive(Clone, Copy)]
pub(crate) struct EntryFuncs {
    /// What the list calls, and trampolines if there is no other.
    pub(crate) func: Func,
    /// The same where no registers are needed.
    pub(crate) hooking: Option<Hooking>,
}

impl EntryPath {
    /// The manager's function for it, which is ready to be called then.
    fn take(self) -> EntryFuncs {
        match self {
            EntryPath::Shared => SHARED,
            EntryPath::Plain(target) => {
                target.take();
                EntryFuncs {
                    func: Symbols::PLAIN,
                    hooking: Some(Symbols::PLAIN_HOOKING),
                }
            }
            EntryPath::Alone(funcs) => funcs,
        }
    }
}

/// Those of users that look at registers.
const SHARED: EntryFuncs = EntryFuncs {
    func: Symbols::SHARED,
    hooking: None,
};

/// The functions that sites and the return hook call, by their C names: the C interface has them.
pub(crate) struct Symbols;

/// What [`Symbols`] are.
pub(crate) trait HookSymbols {
    /// Calls [`shared::hit`].
    const SHARED: Func;
    /// Calls [`plain::hit`].
    const PLAIN: Func;
    /// Calls it without registers.
    const PLAIN_HOOKING: Hooking;
    /// Calls [`shared::returns`]; what the architecture's return hook calls.
    const RETURNS: unsafe extern "C" fn(*mut ftrace_regs, usize) -> usize;
}

/// A registered user.
pub(crate) struct Registered {
    user: UserRef,
    path: EntryPath,
}

kernel::sync::global_lock! {
    /// The registered users, by number.
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static GRAPH: Mutex<[Option<Registered>; USERS]> = [const { None }; USERS];
}

/// The number of the latest registration.
static LATEST: Atomic<u64> = Atomic::new(0);

/// Of each place's user, the number of its registration.
static SINCE: [Atomic<u64>; USERS] = [const { Atomic::new(u64::MAX) }; USERS];

/// The number of the latest registration. Any context.
pub(crate) fn latest() -> u64 {
    // Pairs with the release store in `register`.
    LATEST.load(Acquire)
}

/// The number of the registration of the user in place `i`; larger than all others without one. Any
/// context.
pub(crate) fn since(i: usize) -> u64 {
    SINCE.get(i).map_or(u64::MAX, |since| since.load(Relaxed))
}

fn only(users: &[Option<Registered>; USERS]) -> Option<&Registered> {
    let mut all = users.iter().flatten();
    all.next().filter(|_| all.next().is_none())
}

/// The function for the users there are; none without any.
fn funcs(users: &[Option<Registered>; USERS]) -> Option<EntryFuncs> {
    match only(users) {
        Some(registered) => Some(registered.path.take()),
        None => users.iter().any(Option::is_some).then_some(SHARED),
    }
}

/// Starts calling a user. `numbered` gets the number of the registration before the first call.
/// Task context, sleeps.
///
/// # Errors
///
/// `EBUSY` when it is registered, `ENOSPC` when there are too many, `ENOMEM`, `ENODEV` when ftrace
/// is disarmed.
pub(crate) fn register(user: UserRef, path: EntryPath, numbered: &dyn Fn(u64)) -> Result {
    ret_stack::prepare()?;
    #[cfg(CONFIG_HIBERNATION)]
    crate::kernel::hibernation::around(ret_stack::pause_around_hibernation)?;
    let added = add(user, path, numbered);
    if added == Err(ENODEV) {
        // It failed while it patched sites, so hits may use the user, which the caller frees.
        wait();
    }
    added
}

fn add(user: UserRef, path: EntryPath, numbered: &dyn Fn(u64)) -> Result {
    let mut users = GRAPH.lock();
    if kernel::warn_on!(users.iter().flatten().any(|r| r.user == user)) {
        return Err(EBUSY);
    }
    let (place, free) = users
        .iter_mut()
        .enumerate()
        .find(|(_, user)| user.is_none())
        .ok_or(ENOSPC)?;
    let number = latest().wrapping_add(1);
    // Pairs with the acquire load in `latest`: who reads it does not find an earlier user in the place.
    LATEST.store(number, Release);
    user.set_place(place);
    numbered(number);
    *free = Some(Registered { user, path });
    if let Some(since) = SINCE.get(place) {
        since.store(number, Relaxed);
    }
    let funcs = funcs(&users).ok_or(EINVAL)?;
    manager::add(place, user.ops(), funcs).inspect_err(|_| forget(&mut users, place))
}

fn forget(users: &mut [Option<Registered>; USERS], place: usize) {
    if let Some(since) = SINCE.get(place) {
        since.store(u64::MAX, Relaxed);
    }
    if let Some(user) = users.get_mut(place) {
        *user = None;
    }
}

/// Stops calling a user; its functions that have not returned will not be reported. Calls may still
/// be going on ([`ops::wait_for_trampolines`]). Task context, sleeps. Nothing happens to one that
/// is not registered.
pub(crate) fn unregister(user: UserRef) {
    let mut users = GRAPH.lock();
    let Some(place) = users
        .iter()
        .position(|u| u.as_ref().is_some_and(|r| r.user == user))
    else {
        return;
    };
    forget(&mut users, place);
    manager::remove(place, funcs(&users));
}

/// Changes how a registered user is traced when it is alone. Task context, sleeps.
pub(crate) fn set_entry_path(user: UserRef, path: EntryPath) {
    let mut users = GRAPH.lock();
    let Some(registered) = users.iter_mut().flatten().find(|r| r.user == user) else {
        return;
    };
    registered.path = path;
    if let Some(funcs) = funcs(&users) {
        manager::change_funcs(funcs);
    }
}

/// Waits until no hit uses a user that is unregistered. Task context, sleeps long.
pub(crate) fn wait() {
    ops::wait_for_trampolines();
}
