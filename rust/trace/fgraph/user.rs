// SPDX-License-Identifier: GPL-2.0

//! References to `struct fgraph_ops`, whose memory C code or an instance owns.

use crate::kernel::ftrace::{
    fgraph_ops, flag, ftrace_graph_ent, ftrace_graph_ret, ftrace_ops, ftrace_regs,
};
use crate::trace::ftrace::ops::OpsRef;
use core::ptr::NonNull;
use kernel::ffi::c_int;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::types::Opaque;

/// A function of type `trace_func_graph_ent_t`.
pub(crate) type Entry =
    unsafe extern "C" fn(*mut ftrace_graph_ent, *mut fgraph_ops, *mut ftrace_regs) -> c_int;
/// A function of type `trace_func_graph_ret_t`.
pub(crate) type Return =
    unsafe extern "C" fn(*mut ftrace_graph_ret, *mut fgraph_ops, *mut ftrace_regs);

/// A `struct fgraph_ops`.
///
/// # Invariants
///
/// It points to one that lives as long as anything here has the reference: while it is registered,
/// after that until hits are out, and during the call that brought it. Its `entryfunc` and
/// `retfunc` are functions or null, and do not change while it is registered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserRef(NonNull<fgraph_ops>);

// SAFETY: a reference to memory that any task may access by the rules above.
unsafe impl Send for UserRef {}

impl UserRef {
    /// # Safety
    ///
    /// `user` is null or a `struct fgraph_ops` for which the type's invariants hold.
    pub(crate) unsafe fn from_raw(user: *mut fgraph_ops) -> Option<Self> {
        // INVARIANT: they hold for what `user` points to.
        NonNull::new(user).map(Self)
    }

    /// The user that `part` of the manager belongs to.
    ///
    /// # Safety
    ///
    /// `part` is the `ops` of a user, as the parts of the manager are.
    pub(super) unsafe fn of(part: OpsRef) -> Self {
        let ops: *mut ftrace_ops = part.as_ptr();
        // SAFETY: `part` is the `ops` of a `struct fgraph_ops`.
        let user = unsafe { kernel::container_of!(ops, fgraph_ops, ops) };
        // SAFETY: a field's structure is not null.
        Self(unsafe { NonNull::new_unchecked(user) })
    }

    /// The pointer.
    pub(crate) fn as_ptr(self) -> *mut fgraph_ops {
        self.0.as_ptr()
    }

    /// Its ops.
    pub(crate) fn ops(self) -> OpsRef {
        // SAFETY: by the type's invariant its field lives as long.
        let ops = unsafe { OpsRef::from_raw(&raw mut (*self.0.as_ptr()).ops) };
        // A field's address is not null, so there is no other case.
        ops.unwrap_or_else(|| unreachable!())
    }

    /// Whether it was ever registered.
    pub(crate) fn is_used(self) -> bool {
        self.ops().has(flag::INITIALIZED)
    }

    /// Its place among the users.
    pub(crate) fn place(self) -> usize {
        // SAFETY: by the type's invariant the field is there.
        let place =
            unsafe { Atomic::<i32>::from_ptr(&raw mut (*self.0.as_ptr()).idx) }.load(Relaxed);
        usize::try_from(place).unwrap_or(0)
    }

    pub(super) fn set_place(self, place: usize) {
        // SAFETY: by the type's invariant the field is there.
        unsafe { Atomic::<i32>::from_ptr(&raw mut (*self.0.as_ptr()).idx) }
            .store(place as i32, Relaxed);
    }

    /// Its entry function.
    pub(crate) fn entry(self) -> Option<Entry> {
        // SAFETY: by the type's invariant it is there and does not change.
        unsafe { (*self.0.as_ptr()).entryfunc }
    }

    /// Its return function.
    pub(crate) fn returned(self) -> Option<Return> {
        // SAFETY: by the type's invariant it is there and does not change.
        unsafe { (*self.0.as_ptr()).retfunc }
    }
}

/// A user in kernel data.
///
/// # Invariants
///
/// Its ops is initialised before anybody else sees it; its functions do not change.
pub(crate) struct StaticUser(Opaque<fgraph_ops>);

// SAFETY: only reached through a `UserRef`, whose accesses are atomic or under locks.
unsafe impl Sync for StaticUser {}

impl StaticUser {
    /// A user with these functions, which are of the C interface and fit each other.
    pub(crate) const fn new(entry: Entry, returned: Return) -> Self {
        // SAFETY: zeros are a `struct fgraph_ops`.
        let mut raw: fgraph_ops = unsafe { core::mem::zeroed() };
        raw.entryfunc = Some(entry);
        raw.retfunc = Some(returned);
        Self(Opaque::new(raw))
    }

    /// The user.
    pub(crate) fn get(&'static self) -> UserRef {
        // SAFETY: static memory, whose functions were there from the beginning.
        let user = unsafe { UserRef::from_raw(self.0.get()) }.unwrap_or_else(|| unreachable!());
        user.ops().init();
        user
    }
}
