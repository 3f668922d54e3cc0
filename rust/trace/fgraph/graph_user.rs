// SPDX-License-Identifier: GPL-2.0

//! [`GraphUser`]: a graph user that Rust code owns, with a callback that is a type.

use super::user::{Entry, Return, UserRef};
use super::{register, set_entry_path, unregister, wait, EntryPath};
use crate::core::format::symbol::ARGUMENTS;
use crate::kernel::ftrace::{
    arguments, fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_regs,
};
use crate::trace::ftrace::ops::OpsRef;
use core::marker::{PhantomData, PhantomPinned};
use kernel::ffi::c_int;
use kernel::prelude::*;
use kernel::types::Opaque;

/// What a graph user does. Its functions are called in any context, NMI included, with preemption
/// off and under a guard against recursion; `place` is the user's among all.
pub(crate) trait GraphCallback: Send + Sync + Sized + 'static {
    /// The traced function at `func` is entered, as the `depth`th of those that have not returned.
    /// Something, if its return is to be told.
    fn enter(&self, place: usize, func: usize, depth: i32, regs: EntryRegs<'_>) -> Option<()>;

    /// A function returns for which [`GraphCallback::enter`] gave something.
    fn leave(&self, place: usize, ret: &ftrace_graph_ret) -> Option<()>;

    /// The user goes: called before the last hits are waited for. Task context.
    fn goes(&self) {}
}

/// The registers at a function's entry.
///
/// # Invariants
///
/// A trampoline saved them, those of arguments among them.
#[derive(Clone, Copy)]
pub(crate) struct EntryRegs<'a>(*mut ftrace_regs, PhantomData<&'a ftrace_regs>);

impl EntryRegs<'_> {
    /// The registers of the function's first arguments, whether it has so many or not.
    pub(crate) fn arguments(self) -> [usize; ARGUMENTS] {
        // SAFETY: by the type invariant these registers were saved.
        unsafe { arguments(self.0) }
    }
}

/// The C functions of a [`GraphCallback`]: its [`entry`] and [`returned`]. Those with known C names
/// are in the C interface.
///
/// # Safety
///
/// They are those of the type, or call them alone.
pub(crate) unsafe trait GraphSymbols: GraphCallback {
    /// [`entry`].
    const ENTRY: Entry;
    /// [`returned`].
    const RETURN: Return;
}

/// A graph user, with what it does. Dropping it unregisters, and waits for hits.
///
/// # Invariants
///
/// It stays where it is from its first registration on, until hits are out after its last one; so
/// do the functions of `raw`, which are those of `T`.
#[repr(C)]
pub(crate) struct GraphUser<T: GraphCallback> {
    /// First, so that a pointer to it is one to the whole.
    raw: Opaque<fgraph_ops>,
    callback: T,
    _stays: PhantomPinned,
}

// SAFETY: `raw` is used by the rules of `UserRef`; `T` may be used from any context.
unsafe impl<T: GraphCallback> Send for GraphUser<T> {}
// SAFETY: `raw` is used by the rules of `UserRef`, and `T` may be used from several contexts at a
// time.
unsafe impl<T: GraphCallback> Sync for GraphUser<T> {}

impl<T: GraphSymbols> GraphUser<T> {
    /// A user that calls `callback`, not registered.
    pub(crate) const fn new(callback: T) -> Self {
        // SAFETY: zeros are a `struct fgraph_ops`.
        let mut raw: fgraph_ops = unsafe { core::mem::zeroed() };
        raw.entryfunc = Some(T::ENTRY);
        raw.retfunc = Some(T::RETURN);
        Self {
            raw: Opaque::new(raw),
            callback,
            _stays: PhantomPinned,
        }
    }
}

impl<T: GraphCallback> GraphUser<T> {
    /// What it calls.
    pub(crate) fn callback(&self) -> &T {
        &self.callback
    }

    fn user(&self) -> UserRef {
        // SAFETY: by the type invariant it stays while it is registered, and its functions are
        // there.
        let user = unsafe { UserRef::from_raw(self.raw.get()) };
        // A field's address is not null, so there is no other case.
        user.unwrap_or_else(|| unreachable!())
    }

    /// Starts calling it, at the functions that the sets of `ops` name; without, at all. Task
    /// context, sleeps. Errors and `numbered` as of [`register`].
    pub(crate) fn register(
        self: Pin<&Self>,
        ops: Option<OpsRef>,
        path: EntryPath,
        numbered: &dyn Fn(u64),
    ) -> Result {
        let user = self.user();
        user.ops().init();
        if let Some(ops) = ops {
            user.ops().share_sets(ops);
        }
        // INVARIANT: it is pinned, and its drop waits.
        register(user, path, numbered)
    }

    /// Changes how it is traced when it is alone. Task context, sleeps.
    pub(crate) fn set_entry_path(&self, path: EntryPath) {
        set_entry_path(self.user(), path);
    }

    /// Stops calling it, if it is registered. Calls may still be going on. Task context, sleeps.
    pub(crate) fn unregister(&self) {
        unregister(self.user());
    }
}

impl<T: GraphCallback> Drop for GraphUser<T> {
    fn drop(&mut self) {
        if self.user().is_used() {
            self.unregister();
            self.callback.goes();
            wait();
        }
    }
}

/// The user's entry function.
///
/// # Safety
///
/// For [`super::shared`]: `user` is that of a `GraphUser<T>`, and was registered; `fregs` is what the
/// trampoline saved.
#[inline(always)]
pub(crate) unsafe extern "C" fn entry<T: GraphCallback>(
    trace: *mut ftrace_graph_ent,
    user: *mut fgraph_ops,
    fregs: *mut ftrace_regs,
) -> c_int {
    // SAFETY: the user lies at the beginning of a `GraphUser<T>`, which stays until hits are out;
    // the entry is the caller's own.
    let (this, trace) = unsafe { (&*user.cast::<GraphUser<T>>(), &*trace) };
    let place = this.user().place();
    // INVARIANT: the manager's function has what its trampoline saved, and that saves them.
    let regs = EntryRegs(fregs, PhantomData);
    let told = this
        .callback
        .enter(place, trace.func as usize, trace.depth as i32, regs);
    c_int::from(told.is_some())
}

/// The user's return function.
///
/// # Safety
///
/// For [`super::shared`]: `user` is that of a `GraphUser<T>`, and was registered.
#[inline(always)]
pub(crate) unsafe extern "C" fn returned<T: GraphCallback>(
    trace: *mut ftrace_graph_ret,
    user: *mut fgraph_ops,
    _: *mut ftrace_regs,
) {
    // SAFETY: the user lies at the beginning of a `GraphUser<T>`, which stays until hits are out;
    // the return is the caller's own.
    let (this, trace) = unsafe { (&*user.cast::<GraphUser<T>>(), &*trace) };
    let _ = this.callback.leave(this.user().place(), trace);
}
