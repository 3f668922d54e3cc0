// SPDX-License-Identifier: GPL-2.0

//! What an instance does with a buffer that outlives the kernel: it shows what the last boot has
//! left there, until it begins anew.

use super::persistent::{Persistent, PreviousBoot};
use super::Instance;
use crate::core::parse::options::Flag;
use crate::kernel::reserved::Reserved;
use crate::trace::buffer::Buffer;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::Arc;

impl Instance {
    /// [`Instance::make`] with the buffer where `persistent` says, and with what is found there.
    /// Boot. `ENOMEM`.
    pub(super) fn make_persistent(
        name: CString,
        persistent: Pin<KBox<Persistent>>,
    ) -> Result<Arc<Instance>> {
        let options = Self::top()?.options().for_instance();
        // The box stays where it is, also when it moves into the instance.
        let region: *const _ = persistent.region();
        #[allow(unsafe_code, reason = "the order in which fields are dropped")]
        // SAFETY: the only buffer there; `Instance` drops the region behind the buffer, and the box
        // leaves it where it is.
        let buffer = unsafe { Buffer::in_region(&*region) };
        let clock = persistent.clock();
        let instance = Self::new(Some(name), buffer, options, Some(persistent))?;
        instance.buffer.set_overwrite(options.has(Flag::Overwrite));
        instance.buffer.continue_clock(clock);
        // It has no snapshot, and nobody can arm one: as if it were mapped.
        instance.snapshot.begin_mapping()?;
        Ok(instance)
    }

    /// What is known of the last boot, if its buffer outlives the kernel.
    pub(crate) fn previous_boot(&self) -> Option<&'static PreviousBoot> {
        self.persistent
            .as_ref()
            .map(|persistent| persistent.previous_boot())
    }

    /// What its buffer's memory holds now, if that outlives the kernel. Boot. `EINVAL` if it does
    /// not, `ENOMEM`.
    pub(crate) fn copy_memory(&self) -> Result<Reserved> {
        self.persistent.as_ref().ok_or(EINVAL)?.region().copy()
    }

    /// Does it hold a copy of what another instance had from the last boot? Nothing is recorded in
    /// such a one.
    pub(crate) fn is_copy(&self) -> bool {
        self.persistent
            .as_ref()
            .is_some_and(|persistent| persistent.region().is_copy())
    }

    /// Was that read or cleared? Then nobody can open it any more, and it goes with the last who
    /// has.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_copy() && self.previous_boot().is_some_and(|last| !last.holds())
    }

    /// A module comes or goes; see [`Persistent::module`]. Task context, sleeps.
    pub(crate) fn note_module(&self, name: &[u8], text: Option<usize>) {
        if let Some(persistent) = &self.persistent {
            persistent.module(name, text);
        }
    }

    /// What is recorded from now on is of this kernel: forgets what the last boot has left. The
    /// state mutex is held. Task context, sleeps.
    pub(super) fn begin_anew(&self) {
        if let Some(persistent) = &self.persistent {
            if persistent.begin(self.buffer.clock_row()) {
                self.buffer.reset();
                persistent.note_text();
            }
        }
    }

    /// The same if the last boot has left something, and that was all read; says whether it was so.
    /// Task context, sleeps.
    pub(crate) fn begin_if_empty(&self) -> bool {
        let over =
            || self.previous_boot().is_some_and(|last| last.holds()) && self.buffer.is_empty(None);
        if !over() {
            return false;
        }
        let _state = self.state.lock();
        let over = over();
        if over {
            self.begin_anew();
        }
        over
    }

    /// Can the memory that it has from outside be given back?
    pub(super) fn memory_can_go(&self) -> bool {
        self.persistent
            .as_ref()
            .is_none_or(|persistent| persistent.region().can_go())
    }
}
