// SPDX-License-Identifier: GPL-2.0

//! References to `struct fprobe`, whose memory C code owns.

use super::{Kind, Registered};
use crate::kernel::ftrace::{self, fprobe, fprobe_hlist, ftrace_regs};
use crate::kernel::kprobes::Busy;
use crate::kernel::recursion::InHit;
use core::ptr::{self, NonNull};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::types::Opaque;

/// Words of data that a probe can have for each call: `MAX_FPROBE_DATA_SIZE_WORD`.
const MAX_WORDS: usize = (1 << ftrace::FPROBE_DATA_BITS) - 1;

/// A `struct fprobe`.
///
/// # Invariants
///
/// It points to one that lives during the call that brought it here, and if that registered it,
/// until a grace period after its end. All of it but `flags` and `nmissed` stays as it is
/// meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe(NonNull<fprobe>);

// SAFETY: a reference to memory that any context may look at by the rule above.
unsafe impl Send for Probe {}
// SAFETY: a reference to memory that any context may look at by the type's invariant.
unsafe impl Sync for Probe {}

/// What a call of one of a probe's functions passes on.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// The patch site of the function.
    pub(super) site: usize,
    /// Where it returns to.
    pub(super) ret: usize,
    /// What the trampoline, or the return hook, saved.
    pub(super) regs: *mut ftrace_regs,
    /// The probe's data for this call of the function.
    pub(super) data: *mut c_void,
}

impl Probe {
    /// # Safety
    ///
    /// `probe` is null or a `struct fprobe` for which the type's invariants hold.
    pub(crate) unsafe fn from_raw(probe: *mut fprobe) -> Option<Self> {
        // INVARIANT: they hold for what `probe` points to.
        NonNull::new(probe).map(Self)
    }

    /// The pointer.
    pub(super) fn as_ptr(self) -> *mut fprobe {
        self.0.as_ptr()
    }

    fn flags(self) -> u32 {
        // SAFETY: by the type's invariant; C code changes the word at any time.
        unsafe { Atomic::<u32>::from_ptr(&raw mut (*self.as_ptr()).flags) }.load(Relaxed)
    }

    /// Has its owner called `disable_fprobe()`?
    pub(super) fn is_disabled(self) -> bool {
        self.flags() & ftrace::FPROBE_DISABLED != 0
    }

    /// How it is called.
    pub(super) fn kind(self) -> Kind {
        // SAFETY: by the type's invariant the structure is there, and the field stays as it is.
        match unsafe { (*self.as_ptr()).exit_handler } {
            Some(_) => Kind::Return,
            None => Kind::Entry,
        }
    }

    /// Sets it up for a registration; words of its data. `E2BIG` for more than there can be.
    pub(super) fn prepare(self) -> Result<usize> {
        // SAFETY: by the type's invariant; it is not registered, so nobody but its owner, who
        // waits, looks at it.
        let probe = unsafe { &mut *self.as_ptr() };
        let words = probe.entry_data_size.div_ceil(size_of::<usize>());
        if words > MAX_WORDS {
            return Err(E2BIG);
        }
        probe.entry_data_size = words * size_of::<usize>();
        probe.nmissed = 0;
        Ok(words)
    }

    fn list(&self) -> &Atomic<*mut fprobe_hlist> {
        // SAFETY: by the type's invariant the field is there as long as this reference is used; C
        // code changes the word at any time.
        unsafe { Atomic::from_ptr(&raw mut (*self.as_ptr()).hlist_array) }
    }

    /// Whether it is marked as registered. Any context.
    pub(crate) fn is_marked(self) -> bool {
        !self.list().load(Relaxed).is_null()
    }

    /// What C code takes for the answer to whether it is registered; null for no.
    pub(super) fn mark(self, list: *mut fprobe_hlist) {
        self.list().store(list, Relaxed);
    }

    /// Counts a call that was not reported to it.
    pub(super) fn missed(self) {
        // SAFETY: by the type's invariant the structure is there; C code reads the word at any
        // time.
        let missed = unsafe { Atomic::<usize>::from_ptr(&raw mut (*self.as_ptr()).nmissed) };
        // As in C, two CPUs may count one for both.
        missed.store(missed.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Calls its entry function. Does it want the return?
    ///
    /// # Safety
    ///
    /// `call.regs` is what a trampoline saved; `call.data` is null or as many words as
    /// [`Probe::prepare`] said.
    #[inline(always)]
    pub(super) unsafe fn entered(self, call: Call) -> bool {
        if self.flags() & ftrace::FPROBE_KPROBE_SHARED != 0 {
            // Not `call`, which would then lie in memory for every probe.
            let Call {
                site,
                ret,
                regs,
                data,
            } = call;
            // SAFETY: as the caller promises.
            return unsafe { self.entered_alone(site, ret, regs, data) };
        }
        // SAFETY: as the caller promises.
        unsafe { self.call_entered(call) }
    }

    /// [`Probe::entered`] of a probe that kprobes must not run in.
    ///
    /// # Safety
    ///
    /// As there.
    #[cold]
    #[inline(never)]
    unsafe fn entered_alone(
        self,
        site: usize,
        ret: usize,
        regs: *mut ftrace_regs,
        data: *mut c_void,
    ) -> bool {
        let call = Call {
            site,
            ret,
            regs,
            data,
        };
        let Some(_busy) = Busy::new() else {
            self.missed();
            return true;
        };
        // SAFETY: as the caller promises.
        unsafe { self.call_entered(call) }
    }

    /// # Safety
    ///
    /// As [`Probe::entered`].
    #[inline(always)]
    unsafe fn call_entered(self, call: Call) -> bool {
        // SAFETY: by the type's invariant the structure is there, and the field stays as it is.
        let Some(handler) = (unsafe { (*self.as_ptr()).entry_handler }) else {
            return true;
        };
        // SAFETY: the owner registered the function for this; the registers and the data are what
        // it is told.
        unsafe { handler(self.as_ptr(), call.site, call.ret, call.regs, call.data) == 0 }
    }

    /// Calls its exit function.
    ///
    /// # Safety
    ///
    /// `call.regs` is what the return hook saved; `call.data` is what its function for entries got.
    pub(super) unsafe fn returned(self, call: Call) {
        // SAFETY: by the type's invariant the structure is there, and the field stays as it is.
        if let Some(handler) = unsafe { (*self.as_ptr()).exit_handler } {
            // SAFETY: the owner registered the function for this; the registers and the data are
            // what it is told.
            unsafe { handler(self.as_ptr(), call.site, call.ret, call.regs, call.data) };
        }
    }
}

/// What a registered probe's `hlist_array` points to: C's list of sites, which is empty, as they
/// are kept elsewhere.
pub(super) struct List(KBox<Opaque<fprobe_hlist>>);

// SAFETY: nobody looks into it.
unsafe impl Send for List {}

impl List {
    /// `ENOMEM`.
    pub(super) fn new(probe: Probe) -> Result<Self> {
        let list = KBox::new(Opaque::<fprobe_hlist>::zeroed(), GFP_KERNEL)?;
        // SAFETY: memory of its own, not shared yet.
        unsafe { (*list.get()).fp = probe.as_ptr() };
        Ok(Self(list))
    }

    pub(super) fn as_ptr(&self) -> *mut fprobe_hlist {
        self.0.get()
    }
}

/// No data.
pub(super) const NO_DATA: *mut c_void = ptr::null_mut();

/// A place for a registered probe, until it is not.
///
/// # Invariants
///
/// It is null, or a registered probe, whose owner waits a grace period before it goes.
pub(super) struct ProbeSlot(Atomic<*mut fprobe>);

impl ProbeSlot {
    /// With the probe of a registration.
    pub(super) fn new(registered: &Registered) -> Self {
        // INVARIANT: a registration ends by `clear`, and a grace period after that.
        Self(Atomic::new(registered.probe.as_ptr()))
    }

    /// The probe, if it is still registered. It stays as long as preemption is off, and is for the hit
    /// alone.
    #[inline]
    pub(super) fn get(&self, _hit: InHit<'_>) -> Option<Probe> {
        // SAFETY: by the type invariant null, or one that is alive until a grace period is over, which
        // waits for the hit.
        unsafe { Probe::from_raw(self.0.load(Relaxed)) }
    }

    /// The probe is not registered any more.
    pub(super) fn clear(&self) {
        self.0.store(ptr::null_mut(), Relaxed);
    }
}
