// SPDX-License-Identifier: GPL-2.0

//! Registered events, and events whose module is held.

#[cfg(CONFIG_DYNAMIC_EVENTS)]
use super::owned::Owned;
use super::Call;
use crate::kernel::own_event::OwnEvent;
use crate::kernel::trace_event_types as types;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use core::any::Any;
use core::ops::Deref;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::atomic::ordering;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use kernel::sync::Arc;

/// A registered event. Dropping it unregisters the event.
///
/// # Invariants
///
/// The call is complete and stays until this is dropped: it is dropped before a module's code is
/// freed. What it has for [`Call::print_fmt`] is as it was made, or the last one of `texts`.
pub(crate) struct Registered {
    call: NonNull<Call>,
    /// Its texts that were rewritten, with their NULs. Those who print may still read an older one.
    texts: KVec<KVec<u8>>,
    /// Its entry type is unregistered.
    is_retracted: bool,
    /// What owns the call, if that does not stay by itself. It is dropped last.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    owner: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: it gives out `&Call` alone.
unsafe impl Send for Registered {}
// SAFETY: by a shared reference it gives out `&Call` alone, which any CPU may use.
unsafe impl Sync for Registered {}

impl Registered {
    /// Registers an event: initialises it and defines its fields. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and as the event's class says.
    ///
    /// # Safety
    ///
    /// `call` is complete, and stays until the result is dropped; it is new, and of `module` or,
    /// where that is null, of the kernel.
    pub(crate) unsafe fn new(
        call: NonNull<bindings::trace_event_call>,
        module: *mut bindings::module,
    ) -> Result<Self> {
        let call = call.cast::<Call>();
        // SAFETY: `call` is complete and new, and stays until the result is dropped.
        unsafe { call.as_ref().init(module) }?;
        // SAFETY: it is a field of the call, and so not at 0; the call is complete, and stays until the
        // result is dropped, which takes the type away first and waits.
        unsafe {
            let event = &raw mut (*call.as_ref().as_ptr()).event;
            types::mark_call(NonNull::new_unchecked(event));
        }
        // INVARIANT: `call` stays until the result is dropped, and has just begun its life.
        let event = Self {
            call,
            texts: KVec::new(),
            is_retracted: false,
            #[cfg(CONFIG_DYNAMIC_EVENTS)]
            owner: None,
        };
        event.define_fields()?;
        Ok(event)
    }

    /// [`Registered::new`] of an event that has no module and is removed on request.
    ///
    /// # Errors
    ///
    /// As [`Registered::new`].
    ///
    /// # Safety
    ///
    /// `call` is complete and new, and stays until the result is dropped.
    pub(crate) unsafe fn dynamic(call: NonNull<bindings::trace_event_call>) -> Result<Self> {
        // SAFETY: `call` is new, so nobody else uses the structure; it is complete, and stays until
        // the result is dropped.
        unsafe {
            (*call.as_ptr()).flags |= Call::DYNAMIC as c_int;
            Self::new(call, null_mut())
        }
    }

    /// [`Registered::new`] of one of the core's own events, which is then never freed.
    ///
    /// # Errors
    ///
    /// As [`Registered::new`].
    pub(crate) fn own(event: OwnEvent) -> Result<Self> {
        // SAFETY: the event is complete by its type, new as it was owned here, and stays for ever.
        unsafe { Self::new(NonNull::from(event.leak()).cast(), null_mut()) }
    }

    /// Keeps `owner`, which owns the call, as long as this.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) fn keep(&mut self, owner: Arc<dyn Any + Send + Sync>) {
        self.owner = Some(owner);
    }

    /// Unregisters the entry types of many events with one wait. Task context, sleeps.
    pub(crate) fn retract_all<'a>(events: impl Iterator<Item = &'a mut Self>) {
        let mut any = false;
        for event in events.filter(|event| !event.is_retracted) {
            event.is_retracted = true;
            let id = event.id();
            if id >= types::FIRST {
                types::unregister(id);
                any = true;
            }
        }
        if any {
            types::wait_for_printing();
        }
    }

    /// Unregisters the entry types of events that were made while the kernel runs, with one wait.
    /// `keep` gets each event and its type, which no other event gets before that is dropped. Task
    /// context, sleeps.
    #[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
    pub(crate) fn retire_all<'a, T>(
        events: impl Iterator<Item = (&'a mut Self, T)>,
        mut keep: impl FnMut(T, types::Retired),
    ) {
        for (event, what) in events {
            event.is_retracted = true;
            keep(what, types::retire(event.id()));
        }
        types::wait_for_printing();
    }

    /// Sets a flag that tells how its entries are printed.
    pub(crate) fn mark(&mut self, flag: u32) {
        let flags = self.flags() | flag;
        // SAFETY: nobody else changes the flags of an event that is borrowed mutably.
        unsafe { (&raw mut (*self.as_ptr()).flags).write_volatile(flags as c_int) };
    }

    /// Has `f` change a copy of the text of [`Call::print_fmt`], without its NUL; it gives the length
    /// that is left. If that is another text the event has it from now on. Its class may share the old
    /// one, and those who print read it at any time: it stays as it is. Task context, may sleep.
    /// `ENOMEM`.
    ///
    /// The text of an event that is made while the kernel runs is its own, and is left alone.
    pub(crate) fn rewrite_print_fmt(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> Result {
        if self.has(Call::DYNAMIC) {
            return Ok(());
        }
        let old = self.print_fmt().to_bytes();
        let mut draft = KVec::with_capacity(old.len(), GFP_KERNEL)?;
        draft.extend_from_slice(old, GFP_KERNEL)?;
        let left = f(&mut draft);
        draft.truncate(left);
        if draft.as_slice() == old {
            return Ok(());
        }
        // The text stays, so it gets no more memory than it needs.
        let mut text = KVec::with_capacity(draft.len().saturating_add(1), GFP_KERNEL)?;
        text.extend_from_slice(&draft, GFP_KERNEL)?;
        text.push(0, GFP_KERNEL)?;
        let start = text.as_mut_ptr();
        self.texts.push(text, GFP_KERNEL)?;
        // INVARIANT: it is the last one now.
        // SAFETY: NUL-terminated, and in memory that stays until this is dropped, and with it the
        // event, as that is not a dynamic one.
        unsafe { self.set_print_fmt(start.cast()) };
        Ok(())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        Self::retract_all(core::iter::once(&mut *self));
        // What owns the event frees its fields with it, when nobody holds it any more.
        #[cfg(CONFIG_DYNAMIC_EVENTS)]
        if let Some(owner) = self.owner.take() {
            let users = self
                .users()
                .map_or(0, |users| users.load(ordering::Relaxed));
            if kernel::warn_on!(users != 0) {
                // A `HeldCall` has it still: whoever removed it has not asked. It stays.
                core::mem::forget(owner);
            }
            return;
        }
        // SAFETY: nobody else has the event, but others of its class may be there as long as its
        // module is, which goes as a whole.
        unsafe { self.forget_fields() };
    }
}

impl Deref for Registered {
    type Target = Call;

    fn deref(&self) -> &Call {
        // SAFETY: by the type invariant the call is complete, and stays as long as `self`.
        unsafe { self.call.as_ref() }
    }
}

/// An event that cannot go, as its module is held, or itself if it was added without one, or both for
/// an event with an owner. The kernel's own events have no module, and stay anyway.
///
/// # Invariants
///
/// One reference on the event's module, or on the added event, or on both, is the value's own.
pub(crate) struct HeldCall(NonNull<Call>);

// SAFETY: it gives out `&Call` alone, and a module's references are counted on any CPU.
unsafe impl Send for HeldCall {}
// SAFETY: it gives out `&Call` alone, which any CPU may use.
unsafe impl Sync for HeldCall {}

impl HeldCall {
    /// Holds `event`'s module, or `event` itself; none if the module is going. Task context.
    pub(crate) fn new(event: &Registered) -> Option<Self> {
        // SAFETY: by the invariant of `Registered` the event's module stays while this is borrowed.
        unsafe { Self::of(event) }
    }

    /// As [`HeldCall::new`], for an event that need not be known.
    ///
    /// # Safety
    ///
    /// The event has no module, or that is there: the event is known, or held by somebody else.
    pub(crate) unsafe fn of(call: &Call) -> Option<Self> {
        #[cfg(CONFIG_DYNAMIC_EVENTS)]
        if let Some(owned) = call.owned() {
            // SAFETY: the module is there.
            let held = unsafe { owned.hold() };
            // INVARIANT: both references were taken just now.
            return held.ok().map(|()| Self(NonNull::from(call)));
        }
        if let Some(users) = call.users() {
            users.add(1, ordering::Relaxed);
            // INVARIANT: the reference was taken just now.
            return Some(Self(NonNull::from(call)));
        }
        let module = call.module() as *mut bindings::module;
        // SAFETY: null, or a module that is there.
        let is_held = unsafe { bindings::try_module_get(module) };
        // INVARIANT: the reference was taken just now.
        is_held.then(|| Self(NonNull::from(call)))
    }

    /// Keeps the module held until [`HeldCall::from_kept`].
    pub(crate) fn keep(self) {
        core::mem::forget(self);
    }

    /// Takes over what [`HeldCall::keep`] has left.
    ///
    /// # Safety
    ///
    /// There was one for `call` that nobody else takes over; or `call` has no module.
    pub(crate) unsafe fn from_kept(call: &Call) -> Self {
        // INVARIANT: the reference that was kept is this value's from now on.
        Self(NonNull::from(call))
    }
}

impl Deref for HeldCall {
    type Target = Call;

    fn deref(&self) -> &Call {
        // SAFETY: by the invariant the event's module stays, and with it the event.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for HeldCall {
    fn drop(&mut self) {
        #[cfg(CONFIG_DYNAMIC_EVENTS)]
        if let Some(owned) = self.owned() {
            // SAFETY: by the invariant the references are the value's own, and they are given back
            // here once.
            return unsafe { Owned::release(NonNull::from(owned)) };
        }
        if let Some(users) = self.users() {
            return users.add(-1, ordering::Relaxed);
        }
        let module = self.module() as *mut bindings::module;
        // SAFETY: by the invariant the reference is the value's own, and it is given back here once.
        unsafe { bindings::module_put(module) };
    }
}
