// SPDX-License-Identifier: GPL-2.0

//! [`Owned`]: an event that has memory of its own, though it belongs to a module.

use crate::kernel::module::Owner;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::prelude::*;
use kernel::types::Opaque;

/// What an event begins with that is counted, whatever else it has.
///
/// # Invariants
///
/// `count` changes the number of references to the event that this is the beginning of.
#[repr(C)]
pub(crate) struct Owned {
    call: Opaque<bindings::trace_event_call>,
    /// The tracepoint that C code takes it for that of; nothing can be called by it. Those who attach BPF
    /// programs to the event ask its name.
    tracepoint: Opaque<bindings::tracepoint>,
    module: Owner,
    count: Count,
}

/// Takes a reference to an event, or gives one back. It is unsafe to give back what was not taken, and
/// to use it after that.
pub(crate) type Count = unsafe fn(NonNull<Owned>, more: bool);

impl Owned {
    /// The beginning of an event of `module`, with a description of zeros.
    ///
    /// # Safety
    ///
    /// `count` counts the references to the event that this becomes the beginning of.
    pub(in crate::kernel) unsafe fn new(module: Owner, count: Count) -> Self {
        // INVARIANT: by the precondition.
        Self {
            call: Opaque::zeroed(),
            tracepoint: Opaque::zeroed(),
            module,
            count,
        }
    }

    /// The event's description.
    pub(in crate::kernel) fn call(&self) -> *mut bindings::trace_event_call {
        self.call.get()
    }

    /// What the description has for a tracepoint.
    pub(in crate::kernel) fn tracepoint(&self) -> *mut bindings::tracepoint {
        self.tracepoint.get()
    }

    /// Its module, as an address; 0 for the kernel. It may be gone, unless the event is known or held.
    pub(super) fn module(&self) -> usize {
        self.module.address()
    }

    /// Holds the module and the event until [`Owned::release`]. Task context. `EBUSY` if the module is
    /// going.
    ///
    /// # Safety
    ///
    /// The module is there: the event is known, or held by somebody else.
    pub(super) unsafe fn hold(&self) -> Result {
        self.module.hold()?;
        // SAFETY: by the invariant it counts the event, which is there as this is borrowed.
        unsafe { (self.count)(NonNull::from(self), true) };
        Ok(())
    }

    /// Undoes [`Owned::hold`]. Task context.
    ///
    /// # Safety
    ///
    /// It was held, and is not used any more.
    pub(super) unsafe fn release(this: NonNull<Self>) {
        // SAFETY: the event is there until its count is changed, which was taken; after that its module
        // alone is held.
        unsafe {
            let (module, count) = (this.as_ref().module.again(), this.as_ref().count);
            count(this, false);
            module.release();
        }
    }
}
