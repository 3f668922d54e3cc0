// SPDX-License-Identifier: GPL-2.0

//! References to `struct ftrace_ops`, whose memory C code or [`super::Ops`] owns.
//!
//! This is the one place that looks into the C structure. Its fields are of three kinds: `flags`,
//! `next`, `func`, `func_hash` and the two sets that it leads to are read by hits at any time and
//! written under the ftrace lock, or by their owner while the ops is not registered, so all accesses
//! are atomic; the trampoline's fields are read by the unwinder likewise; the rest belongs to holders
//! of the lock.

use super::key::Key;
use super::manager::{Manager, Parts};
use super::retire::{Retired, SharedSet};
use super::OPS_INIT;
use crate::kernel::ftrace::{self, ftrace_ops, ftrace_ops_hash, ftrace_regs, list_head, Command};
use crate::kernel::recursion::InHit;
use crate::trace::ftrace::arch::{Arch, Machine, Target};
use crate::trace::ftrace::hash::SiteSet;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use kernel::{
    prelude::*,
    sync::atomic::{Acquire, Atomic, Relaxed, Release},
    types::{NotThreadSafe, Opaque},
};

/// A function of type `ftrace_func_t`.
pub(crate) type Func = unsafe extern "C" fn(usize, usize, *mut ftrace_ops, *mut ftrace_regs);

/// Flags of an ops: those of C's, and some of our own where C has none.
pub(crate) mod flag {
    pub(crate) use crate::kernel::ftrace::flag::*;

    /// The callback looks at no registers.
    pub(crate) const PLAIN: usize = 1 << 63;
    /// Its owner keeps what hits need until they are out, also when it goes.
    pub(crate) const OWNED: usize = 1 << 61;
    /// The callback is called only while the gate is open.
    pub(crate) const GATED: usize = 1 << 60;
    /// The callback records entries of the function tracer, and does nothing else.
    pub(crate) const RECORDS: usize = 1 << 59;
    /// The trampoline made for it saves all registers.
    pub(crate) const ALL_SAVED: usize = 1 << 62;
}

/// A `struct ftrace_ops`.
///
/// # Invariants
///
/// It points to a `struct ftrace_ops` that lives as long as anything in this subsystem has the
/// reference: while it is registered (the rule of `register_ftrace_function()`), and during the
/// call that brought it here. Its `func_hash` is null before [`OpsRef::init`] and valid after. Set
/// pointers are null or came from [`OpsRef::replace_set`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpsRef(NonNull<ftrace_ops>);

// SAFETY: a reference to memory that any task may access by the rules above.
unsafe impl Send for OpsRef {}

/// Which of the two sets of an ops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterKind {
    /// `set_ftrace_filter`: only these; empty means all.
    Filter,
    /// `set_ftrace_notrace`: never these.
    NoTrace,
}

/// The proof that a set which an ops has now is not freed as long as `'a`: preemption is off, or the
/// ftrace lock is held and no set replaced.
#[derive(Clone, Copy)]
pub(crate) struct Witness<'a>(PhantomData<&'a ()>, NotThreadSafe);

impl<'a> From<InHit<'a>> for Witness<'a> {
    /// Preemption is off.
    #[inline(always)]
    fn from(_hit: InHit<'a>) -> Self {
        Self(PhantomData, NotThreadSafe)
    }
}

impl<'a> From<&'a Key> for Witness<'a> {
    /// The lock is held; who replaces a set borrows the key mutably.
    #[inline(always)]
    fn from(_key: &'a Key) -> Self {
        Self(PhantomData, NotThreadSafe)
    }
}

macro_rules! field {
    ($self:ident.$field:ident as $ty:ty) => {
        // SAFETY: by the type's invariant the structure is alive, and its field has this size and
        // alignment.
        unsafe { Atomic::<$ty>::from_ptr((&raw mut (*$self.0.as_ptr()).$field).cast()) }
    };
}

impl OpsRef {
    /// # Safety
    ///
    /// `ops` is null or a `struct ftrace_ops` for which the type's invariants hold.
    pub(crate) unsafe fn from_raw(ops: *mut ftrace_ops) -> Option<Self> {
        // INVARIANT: they hold for what `ops` points to.
        NonNull::new(ops).map(OpsRef)
    }

    /// The pointer.
    pub(crate) fn as_ptr(self) -> *mut ftrace_ops {
        self.0.as_ptr()
    }

    /// Makes zeroed or partly initialised ops of C code usable. Task context, may sleep; locks nothing
    /// below [`OPS_INIT`].
    #[inline(never)]
    pub(crate) fn init(self) {
        // Pairs with the release store at the end.
        if field!(self.flags as usize).load(Acquire) & flag::INITIALIZED != 0 {
            return;
        }
        let _alone = OPS_INIT.lock();
        if self.has(flag::INITIALIZED) {
            // Another task was first.
            return;
        }
        let p = self.as_ptr();
        // SAFETY: by the type's invariant it is alive. A list head of its own, and a lock that C code
        // may take, are set up once, as the flag says, by the holder of the lock; who uses them has
        // seen the flag.
        unsafe {
            ftrace::init_hash(&raw mut (*p).local_hash);
            (*p).list = empty_list(&raw mut (*p).list);
            (*p).subop_list = empty_list(&raw mut (*p).subop_list);
        }
        // SAFETY: by the type's invariant the structure is alive.
        let own = unsafe { &raw mut (*p).local_hash };
        field!(self.func_hash as *mut ftrace_ops_hash).store(own, Relaxed);
        // Pairs with the acquire load at the beginning.
        field!(self.flags as usize).store(self.flags() | flag::INITIALIZED, Release);
    }

    /// Uses the sets of `other`, before any own.
    pub(crate) fn share_sets(self, other: OpsRef) {
        field!(self.func_hash as *mut ftrace_ops_hash).store(other.func_hash(), Relaxed);
    }

    #[inline(always)]
    fn func_hash(self) -> *mut ftrace_ops_hash {
        field!(self.func_hash as *mut ftrace_ops_hash).load(Relaxed)
    }

    /// Serialises changes of its sets. Task context, sleeps; before the ftrace lock. After
    /// [`OpsRef::init`].
    pub(super) fn lock_sets(self) -> ftrace::HashGuard {
        // SAFETY: by the type's invariant; `init` has made the lock, which lives as long as the ops
        // whose sets these are: the caller has that during the call.
        unsafe { ftrace::HashGuard::lock(self.func_hash()) }
    }

    /// Does it use the same sets as `other`?
    pub(crate) fn shares_sets(self, other: OpsRef) -> bool {
        self.func_hash() == other.func_hash()
    }

    /// Its flags.
    #[inline]
    pub(crate) fn flags(self) -> usize {
        field!(self.flags as usize).load(Relaxed)
    }

    /// Whether it has any of `flags`.
    #[inline]
    pub(crate) fn has(self, flags: usize) -> bool {
        self.flags() & flags != 0
    }

    /// Sets `flags`. For holders of the ftrace lock.
    pub(crate) fn set(self, flags: usize) {
        field!(self.flags as usize).store(self.flags() | flags, Relaxed);
    }

    /// Clears `flags`. For holders of the ftrace lock.
    pub(crate) fn clear(self, flags: usize) {
        field!(self.flags as usize).store(self.flags() & !flags, Relaxed);
    }

    /// Does it want all registers?
    #[inline]
    pub(crate) fn wants_regs(self) -> bool {
        self.has(flag::SAVE_REGS)
    }

    /// The next one in the list.
    #[inline]
    pub(super) fn next(self) -> &'static Atomic<*mut ftrace_ops> {
        // SAFETY: by the type's invariant; the field outlives its use, which is under the rules of
        // the list.
        unsafe { Atomic::from_ptr((&raw mut (*self.0.as_ptr()).next).cast()) }
    }

    /// The next one in the list of trampolines, for which C's list head has no other use.
    #[inline]
    pub(super) fn next_trampoline(self) -> &'static Atomic<*mut ftrace_ops> {
        // SAFETY: by the type's invariant; the field, a pointer as well, outlives its use, which is
        // under the rules of the list.
        unsafe { Atomic::from_ptr((&raw mut (*self.0.as_ptr()).list.next).cast()) }
    }

    /// Opens or closes its gate. Any context.
    #[inline]
    pub(super) fn set_gate(self, open: bool) {
        // SAFETY: by the type's invariant the field is there; a pointer has the size and alignment
        // of a word.
        let gate =
            unsafe { Atomic::<usize>::from_ptr((&raw mut (*self.0.as_ptr()).list.prev).cast()) };
        gate.store(open.into(), Relaxed);
    }

    /// Sets where the rings are that its trampoline will record in. It does so only after
    /// [`OpsRef::record_in_rings`]: where ftrace is disarmed, sites may still lead to a trampoline of an
    /// ops that is not registered.
    pub(super) fn set_rings(self, place: usize) {
        self.rings(ftrace::kept_rings_of).store(place, Relaxed);
    }

    /// Makes its trampoline record where [`OpsRef::set_rings`] has said, or nowhere. For holders of the
    /// ftrace lock.
    pub(super) fn record_in_rings(self, on: bool) {
        let place = match on {
            true => self.rings(ftrace::kept_rings_of).load(Relaxed),
            false => Machine::no_rings(),
        };
        self.rings(ftrace::rings_of).store(place, Relaxed);
    }

    fn rings(self, at: fn(usize) -> usize) -> &'static Atomic<usize> {
        // SAFETY: by the type's invariant the structure is alive, and the word, half of a list head, is
        // in it.
        unsafe { Atomic::from_ptr(at(self.as_ptr() as usize) as *mut usize) }
    }

    /// Address of its function, 0 if none.
    #[inline]
    pub(crate) fn func_addr(self) -> usize {
        field!(self.func as usize).load(Relaxed)
    }

    /// Its function.
    #[inline]
    pub(super) fn func(self) -> Option<Func> {
        // SAFETY: the field's type is an optional function of this signature, which is what a word
        // of it is.
        unsafe { core::mem::transmute::<usize, Option<Func>>(self.func_addr()) }
    }

    /// Sets its function. For holders of the ftrace lock.
    pub(crate) fn set_func(self, func: Option<Func>) {
        field!(self.func as usize).store(func.map_or(0, |f| f as *const () as usize), Relaxed);
    }

    /// Remembers the function at registration.
    pub(super) fn save_func(self) {
        let func = self.func_addr();
        field!(self.saved_func as usize).store(func, Relaxed);
    }

    /// Sets what C calls `private`.
    pub(super) fn set_private(self, private: *mut c_void) {
        field!(self.private as *mut c_void).store(private, Relaxed);
    }

    /// Address of its trampoline or of the one it brought, 0 if none.
    #[inline]
    pub(crate) fn trampoline(self) -> usize {
        // Pairs with the release store in `set_trampoline`.
        field!(self.trampoline as usize).load(Acquire)
    }

    /// What a site of its own calls, given that it has a trampoline.
    pub(super) fn entry(self) -> usize {
        let ours = self.has(flag::ALLOC_TRAMP) && !self.wants_regs();
        if ours && self.has(flag::PLAIN) {
            let plain = Machine::plain_entry(self.trampoline());
            match self.has(flag::RECORDS) && !self.has(flag::RECURSION | flag::RCU) {
                true => Machine::record_entry(self.trampoline()).unwrap_or(plain),
                false => plain,
            }
        } else if ours && self.has(flag::GATED) {
            Machine::gated_entry(self.trampoline())
        } else if ours && Manager::is(self) {
            Machine::hook_entry(self.trampoline())
        } else {
            self.trampoline()
        }
    }

    /// Size of its trampoline.
    #[inline]
    pub(crate) fn trampoline_size(self) -> usize {
        field!(self.trampoline_size as usize).load(Relaxed)
    }

    /// Sets its trampoline. For holders of the ftrace lock.
    pub(crate) fn set_trampoline(self, addr: usize, size: usize) {
        field!(self.trampoline_size as usize).store(size, Relaxed);
        // Pairs with the acquire load in `trampoline`.
        field!(self.trampoline as usize).store(addr, Release);
    }

    /// The direct caller of all its sites that have none of their own.
    pub(crate) fn direct_call(self) -> Target {
        Target(field!(self.direct_call as usize).load(Relaxed))
    }

    /// Sets the direct caller. For holders of the ftrace lock.
    pub(crate) fn set_direct_call(self, target: Target) {
        field!(self.direct_call as usize).store(target.0, Relaxed);
    }

    /// Asks the owner of a direct caller whether it can share a site, see `enum ftrace_ops_cmd`.
    /// `None`: it has no say.
    pub(crate) fn ops_func(self, ip: usize, cmd: Command) -> Option<Result> {
        // SAFETY: by the type's invariant the structure is alive.
        if unsafe { (*self.as_ptr()).ops_func }.is_none() {
            return None;
        }
        // SAFETY: by the type's invariant the ops is alive; it has a function, its owner's to be
        // called with it.
        Some(unsafe { ftrace::ask_owner(self.as_ptr(), ip, cmd) })
    }

    fn set_field(self, which: FilterKind) -> Option<&'static Atomic<*mut SharedSet>> {
        let hash = self.func_hash();
        if hash.is_null() {
            return None;
        }
        // SAFETY: by the type's invariant it is valid, and its fields outlive their use.
        unsafe {
            Some(Atomic::from_ptr(match which {
                FilterKind::Filter => (&raw mut (*hash).filter_hash).cast(),
                FilterKind::NoTrace => (&raw mut (*hash).notrace_hash).cast(),
            }))
        }
    }

    /// One of its sets, for a holder of the ftrace lock; `None` if it never had any.
    pub(crate) fn set_of(self, which: FilterKind, key: &Key) -> Option<&SiteSet> {
        self.set_now(which, key.into())
    }

    /// One of its sets as it is now; `None` if it never had any. Any context.
    #[inline]
    fn set_now(self, which: FilterKind, _witness: Witness<'_>) -> Option<&SiteSet> {
        // Pairs with the release store in `exchange_set`.
        let set = self.set_field(which)?.load(Acquire);
        // SAFETY: by the type's invariant null or a set, which after its replacement is freed once a
        // grace period is over: the witness says that none is over while the result is used, or that
        // the set is not replaced.
        Some(unsafe { set.as_ref() }?.set())
    }

    /// Makes `new` one of its sets and gives the old one. For holders of the ftrace lock, after
    /// [`Self::init`].
    pub(crate) fn replace_set(
        self,
        which: FilterKind,
        new: Option<KBox<SharedSet>>,
        key: &mut Key,
    ) -> Retired {
        self.exchange_set(which, new.map_or(ptr::null_mut(), KBox::into_raw), key)
    }

    /// Makes the set one of its sets again that [`Self::replace_set`] gave, and gives the one in
    /// between. For holders of the ftrace lock.
    pub(crate) fn put_back_set(self, which: FilterKind, old: Retired, key: &mut Key) -> Retired {
        self.exchange_set(which, old.into_raw(), key)
    }

    /// `new` is null or came from `KBox::into_raw`, and is in no ops.
    fn exchange_set(self, which: FilterKind, new: *mut SharedSet, _key: &mut Key) -> Retired {
        let old = match self.set_field(which) {
            Some(field) => {
                let old = field.load(Relaxed);
                // Pairs with the acquire load in `set_now`.
                field.store(new, Release);
                old
            }
            None => ptr::null_mut(),
        };
        // SAFETY: it is null or came from `KBox::into_raw` here, and is now in no ops.
        unsafe { Retired::from_raw(old) }
    }

    /// Does it cover the site at `ip`? Any context, NMI included.
    #[inline]
    pub(crate) fn covers(self, ip: usize, witness: Witness<'_>) -> bool {
        if Manager::is(self) {
            return Manager::parts().any(|part| part.sets_cover(ip, witness));
        }
        self.sets_cover(ip, witness)
    }

    /// Is `ip` in its sets?
    #[inline]
    fn sets_cover(self, ip: usize, witness: Witness<'_>) -> bool {
        let (filter, notrace) = (
            self.set_now(FilterKind::Filter, witness),
            self.set_now(FilterKind::NoTrace, witness),
        );
        filter.is_none_or(|f| f.is_empty() || f.contains(ip))
            && !notrace.is_some_and(|n| n.contains(ip))
    }

    /// The direct caller it has at `ip`; off if it has none. Any context.
    pub(crate) fn direct_at(self, ip: usize, witness: Witness<'_>) -> Target {
        let own = self
            .set_now(FilterKind::Filter, witness)
            .map_or(Target::OFF, |f| f.direct(ip));
        if own.is_off() {
            self.direct_call()
        } else {
            own
        }
    }
}

/// A list of its own alone.
fn empty_list(at: *mut list_head) -> list_head {
    list_head { next: at, prev: at }
}

/// An ops in kernel data: it keeps its trampoline, and unregisters without waiting.
pub(crate) struct StaticOps(Opaque<ftrace_ops>);

// SAFETY: only reached through an `OpsRef`, whose accesses are atomic or under locks.
unsafe impl Sync for StaticOps {}

impl StaticOps {
    /// An ops without a function.
    pub(crate) const fn new() -> Self {
        Self(Opaque::zeroed())
    }

    /// Whether it is `op`.
    #[inline]
    pub(crate) fn is(&self, op: OpsRef) -> bool {
        op.as_ptr() == self.0.get()
    }

    /// The ops.
    pub(crate) fn get(&'static self) -> OpsRef {
        // SAFETY: static memory of zeros at first.
        let op = unsafe { OpsRef::from_raw(self.0.get()) }.unwrap_or_else(|| unreachable!());
        op.init();
        op
    }
}

/// A place for an ops that any context may look into.
///
/// # Invariants
///
/// It is null, or what [`AtomicOps::set`] took a reference to.
pub(crate) struct AtomicOps(Atomic<*mut ftrace_ops>);

impl AtomicOps {
    /// Empty.
    pub(crate) const fn none() -> Self {
        // INVARIANT: null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// What is there. Any context.
    #[inline]
    pub(crate) fn get(&self) -> Option<OpsRef> {
        // Pairs with the release store in `set`.
        let op = self.0.load(Acquire);
        // SAFETY: by the type invariant null, or an ops for which those of `OpsRef` hold.
        unsafe { OpsRef::from_raw(op) }
    }

    /// Puts `op` there, or nothing.
    pub(crate) fn set(&self, op: Option<OpsRef>) {
        // Pairs with the acquire load in `get`. INVARIANT: null, or of an `OpsRef`.
        self.0
            .store(op.map_or(ptr::null_mut(), OpsRef::as_ptr), Release);
    }
}
