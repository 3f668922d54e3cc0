// SPDX-License-Identifier: GPL-2.0

//! Callbacks at patch sites: registration, and the filters that say where.
//!
//! [`Ops`] is a safe owner of one C `struct ftrace_ops` (its layout is ABI); C code registers its own. A
//! trampoline made for the ops calls its function directly where it is the only one at a site.
//!
//! Lock order: an [`Edit`] holds nothing; `Ops` methods take the ftrace lock, inside it `text_mutex`. They may
//! sleep: task context only.

use super::sites::Site;
use core::fmt;
use kernel::{bindings, prelude::*, sync::Arc};

/// What a callback sees at a hit.
pub(crate) struct Hit<'a> {
    /// Address of the patch site.
    pub(crate) ip: usize,
    /// Return address of the traced function.
    pub(crate) parent_ip: usize,
    /// Registers, as far as the trampoline saved them.
    pub(crate) regs: &'a bindings::ftrace_regs,
}

/// What runs at a hit; one function per type, called straight from the trampoline.
pub(crate) trait Callback: Send + Sync + 'static {
    /// Runs at every hit of every site in the filter, in any context up to NMI, preemption as the traced code has it.
    ///
    /// Must not sleep, lock, allocate or call traced functions without a recursion guard of its own;
    /// with [`Flags::RECURSION`] the guard is taken (and preemption disabled) around it.
    fn hit(&self, hit: &Hit<'_>);
}

/// Flags of an [`Ops`] at its making; values of `FTRACE_OPS_FL_*`.
#[derive(Clone, Copy)]
pub(crate) struct Flags(pub(crate) u32);

impl Flags {
    /// Nothing special.
    pub(crate) const NONE: Flags = Flags(0);
    /// Guard the callback against recursion.
    pub(crate) const RECURSION: Flags = Flags(1 << 4);
    /// Call only while RCU watches.
    pub(crate) const RCU: Flags = Flags(1 << 14);
    /// Not affected by a disabled ftrace.
    pub(crate) const PERMANENT: Flags = Flags(1 << 16);
}

/// Which of the two sets of an ops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// `set_ftrace_filter`: only these; empty means all.
    Filter,
    /// `set_ftrace_notrace`: never these.
    NoTrace,
}

/// Owner of a registration. Dropping it unregisters.
pub(crate) struct Ops {
    _raw: usize,
}

impl Ops {
    /// A new ops that will call `callback`, not registered, with empty filters. ENOMEM.
    pub(crate) fn new<T: Callback>(_callback: Arc<T>, _flags: Flags) -> Result<Arc<Ops>> {
        Err(ENOTSUPP)
    }

    /// The ops of the top instance: `ftrace_set_global_filter()` and `set_ftrace_filter` at the top edit it.
    /// It has no callback until [`Ops::set_callback`].
    pub(crate) fn global() -> Option<Arc<Ops>> {
        None
    }

    /// Replaces the callback; EBUSY while registered.
    pub(crate) fn set_callback<T: Callback>(&self, _callback: Arc<T>) -> Result {
        Err(ENOTSUPP)
    }

    /// Starts calling. EBUSY when it is registered already, ENODEV after `ftrace_kill()`.
    pub(crate) fn register(&self) -> Result {
        Err(ENOTSUPP)
    }

    /// Stops calling; when it returns, no callback runs any more.
    pub(crate) fn unregister(&self) -> Result {
        Err(ENOTSUPP)
    }

    /// Is it registered?
    pub(crate) fn is_registered(&self) -> bool {
        false
    }

    /// Opens one of its sets for changes: a private copy until [`Edit::commit`]. ENOMEM.
    ///
    /// `reset` starts from the empty set (O_TRUNC).
    pub(crate) fn edit(self: &Arc<Self>, _which: Which, _reset: bool) -> Result<Edit> {
        Err(ENOTSUPP)
    }

    /// The sites of a set in address order, then the remembered module patterns: what a filter file reads.
    pub(crate) fn list(&self, _which: Which) -> Result<List> {
        Err(ENOTSUPP)
    }
}

/// A set of an ops being changed; what a filter file is between open and close.
pub(crate) struct Edit {
    _ops: Arc<Ops>,
}

impl Edit {
    /// Applies one token of a filter file without its command part: a name, a glob, a 1-based number, any of
    /// them after `!` to remove, any of them followed by `:mod:MODULE`.
    ///
    /// EINVAL when nothing traceable matches (a module pattern that names no loaded module is remembered instead).
    pub(crate) fn apply(&mut self, _token: &[u8]) -> Result {
        Err(ENOTSUPP)
    }

    /// Adds or removes one address of a site. EINVAL when there is none.
    pub(crate) fn set_ip(&mut self, _addr: usize, _remove: bool) -> Result {
        Err(ENOTSUPP)
    }

    /// Empties the set, remembered module patterns included.
    pub(crate) fn clear(&mut self) {}

    /// Makes the set current and patches what differs, in one batch.
    pub(crate) fn commit(self) -> Result {
        Err(ENOTSUPP)
    }
}

/// A set as it was when listed.
pub(crate) struct List {
    sites: KVVec<Site>,
}

impl List {
    /// The sites, in address order. Empty with no patterns: everything (filter) or nothing (notrace).
    pub(crate) fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The number of remembered module patterns.
    pub(crate) fn patterns(&self) -> usize {
        0
    }

    /// Writes pattern `n` as `pattern:mod:MODULE`.
    pub(crate) fn write_pattern(&self, _n: usize, _w: &mut dyn fmt::Write) -> fmt::Result {
        Err(fmt::Error)
    }
}

/// Sites that `token` (without its command) matches, for function commands: EINVAL when none.
///
/// The caller keeps its own data per site and puts the sites into an ops of its own by [`Edit::set_ip`].
pub(crate) fn matching_sites(_token: &[u8]) -> Result<KVVec<Site>> {
    Err(ENOTSUPP)
}
