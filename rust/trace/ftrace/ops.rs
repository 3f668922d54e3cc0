// SPDX-License-Identifier: GPL-2.0

//! Callbacks at patch sites: registration, and the filters that say where.
//!
//! An ops is a `struct ftrace_ops` (its layout is ABI): C code makes its own, Rust code makes an
//! [`Ops`]. The registered ones are in a [`list`]. What a site does is not kept but computed:
//! [`update::sync`] asks, for each site that a change may concern, which ops cover it, and patches
//! those whose text says otherwise, in one batch:
//!
//! | ops at the site | the site |
//! | --- | --- |
//! | none | NOP |
//! | one, a direct caller | calls or jumps to the direct caller |
//! | one | calls the trampoline made for it, which calls its function |
//! | several, or one without trampoline | calls `ftrace_caller`, which walks the list; `ftrace_regs_caller` if one wants registers |
//!
//! Lock order: [`DIRECT`], then [`FTRACE`], then `text_mutex` or [`OPS_INIT`]. The first keeps direct callers and
//! ops that change where a function goes from coming to one site unasked. All of it may sleep; hits
//! take no lock.

mod edit;
#[allow(unsafe_code, reason = "proof of the lock")]
mod key;
#[allow(unsafe_code, reason = "what hits walk")]
pub(crate) mod list;
mod manager;
#[allow(unsafe_code, reason = "a callback whose type is forgotten")]
mod owner;
#[allow(unsafe_code, reason = "C's structure")]
mod raw;
mod register;
#[allow(unsafe_code, reason = "freed after hits")]
mod retire;
mod show;
#[allow(unsafe_code, reason = "code made at run time")]
mod trampoline;
#[allow(unsafe_code, reason = "patches text")]
pub(crate) mod update;

pub(crate) use edit::{apply_pending, edit_set, matching_sites, Edit, List};
pub(crate) use key::Key;
pub(crate) use list::{
    any as any_registered, for_each as for_each_registered, nth_trampoline, trampoline_at,
};
pub(crate) use manager::{Manager, Parts};
pub(crate) use owner::{
    callback_of, thunk, Arguments, Callback, CallbackSymbol, Entry, Flags, Hit, Nothing, Ops, Saved,
};
pub(crate) use raw::{flag, AtomicOps, FilterKind, Func, OpsRef, StaticOps};
pub(crate) use register::{
    change_direct, change_set, free_sets, register, register_locked, start, stop, sync_ops,
    unregister, Shared,
};
pub(crate) use retire::wait_for_trampolines;
pub(crate) use show::write_line;
pub(crate) use trampoline::{ensure_trampoline, renew_trampolines};

use super::sites::word::Targets;
use crate::kernel::ftrace::keep_kprobes;
use kernel::{
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
};

kernel::sync::global_lock! {
    /// The ftrace lock.
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static FTRACE: Mutex<State> = State {
        key: Key::THE_ONE,
        targets: Targets::new(),
        owners: KVec::new(),
        removals: 0,
    };
}

kernel::sync::global_lock! {
    /// Taken, before [`FTRACE`], around what makes direct callers and instruction-pointer changers
    /// share sites.
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static DIRECT: Mutex<()> = ();
}

kernel::sync::global_lock! {
    /// Taken, last of all, by the task that uses an ops of C code for the first time.
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static OPS_INIT: Mutex<()> = ();
}

/// What the ftrace lock protects, besides the list of ops, the tables of sites and the ops's
/// fields.
pub(crate) struct State {
    /// Proof of the lock.
    pub(crate) key: Key,
    /// What sites lead to.
    pub(crate) targets: Targets,
    /// All [`Ops`], registered or not: those whose sets know waiting module patterns and modules
    /// that go.
    owners: KVec<OpsRef>,
    /// How many tables of sites have gone.
    removals: usize,
}

impl State {
    /// How many tables of sites have gone: a set that was copied before the latest did may name
    /// sites that are no more.
    pub(crate) fn removals(&self) -> usize {
        self.removals
    }

    /// A table of sites has gone.
    pub(crate) fn note_removal(&mut self) {
        self.removals = self.removals.wrapping_add(1);
    }

    /// The proof of the lock, and what sites lead to.
    pub(crate) fn sites(&mut self) -> (&Key, &mut Targets) {
        (&self.key, &mut self.targets)
    }

    /// The `i`th [`Ops`].
    pub(crate) fn owner(&self, i: usize) -> Option<OpsRef> {
        self.owners.get(i).copied()
    }
}

/// Set once something was not as it must be, or by `ftrace_kill()`: nothing is patched ever after.
static DEAD: Atomic<bool> = Atomic::new(false);

/// The functions that sites lead to, by their C names: the C interface has them.
pub(crate) struct Symbols;

/// What [`Symbols`] are.
pub(crate) trait ListSymbols {
    /// Calls [`list::hit_one`].
    const ASSIST: Func;
}

/// `kernel.ftrace_enabled`: a variable of C's, which [`crate`]'s C interface has.
pub(crate) struct Enabled;

/// What [`Enabled`] is.
pub(crate) trait Switch {
    /// Whether it is on. Any context.
    fn get() -> bool;

    /// Switches it. Any context.
    fn set(on: bool);
}

/// Has ftrace been disarmed?
pub(crate) fn is_dead() -> bool {
    DEAD.load(Relaxed)
}

/// Disarms ftrace for good: no site is changed any more. Any context.
pub(crate) fn kill() {
    DEAD.store(true, Relaxed);
    Enabled::set(false);
    keep_kprobes();
}

/// Whether it is the C structure of an [`Ops`].
pub(crate) fn is_owned(op: OpsRef) -> bool {
    FTRACE.lock().owners.iter().any(|owned| *owned == op)
}
