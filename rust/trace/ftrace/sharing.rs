// SPDX-License-Identifier: GPL-2.0

//! Which ops may share a site: the rules for direct callers and for ops that change where a function
//! goes (IPMODIFY: livepatch, kprobes with a post handler).
//!
//! At one site there can be one direct caller, and one IPMODIFY ops. One of each can share a site
//! if the direct caller's owner agrees, by its `ops_func` (`enum ftrace_ops_cmd`).

use super::hash::SiteSet;
use super::ops::{self, flag, FilterKind, OpsRef, State, DIRECT, FTRACE};
use crate::kernel::ftrace::Command;
use kernel::prelude::*;

/// What [`claim`] is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
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
pub(super) fn claim(
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
pub(super) fn ask_peers_to_share(op: OpsRef) -> Result {
    for_each_peer(op, |peer, addr| {
        peer.ops_func(addr, Command::SHARE_PEER)
            .unwrap_or(Err(EBUSY))
    })
}

/// After an IPMODIFY ops is gone: tells the direct callers at its sites.
pub(super) fn tell_peers_of_leaving(op: OpsRef) {
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
        let peer = caller_at(&FTRACE.lock(), addr);
        if let Some(peer) = peer {
            f(peer, addr)?;
        }
    }
    Ok(())
}

/// The direct caller's ops at `addr`.
pub(super) fn caller_at(state: &State, addr: usize) -> Option<OpsRef> {
    let mut found = None;
    ops::for_each_registered(&state.key, |op| {
        if op.has(flag::DIRECT) && op.covers(addr, (&state.key).into()) {
            found = Some(op);
        }
    });
    found
}
