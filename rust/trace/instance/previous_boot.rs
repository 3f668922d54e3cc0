// SPDX-License-Identifier: GPL-2.0

//! Instances with a buffer that outlives the kernel: they show the events of the last boot until
//! they begin anew.

use super::persistent::{Persistent, PreviousBoot};
use super::Instance;
use crate::core::parse::options::Flag;
use crate::kernel::reserved::Reserved;
use crate::trace::buffer::Buffer;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::Arc;

impl Instance {
    /// As [`Instance::make`], with the buffer in `persistent` and the events found there. Boot.
    /// `ENOMEM`.
    pub(super) fn make_persistent(
        name: CString,
        persistent: Pin<KBox<Persistent>>,
    ) -> Result<Arc<Instance>> {
        let options = Self::top()?.options().for_instance();
        // The box does not move when it moves into the instance.
        let region: *const _ = persistent.region();
        #[allow(unsafe_code, reason = "the order in which fields are dropped")]
        // SAFETY: this is the only buffer in the region; `Instance` drops the region after the
        // buffer, and the box does not move.
        let buffer = unsafe { Buffer::in_region(&*region) };
        let clock = persistent.clock();
        let instance = Self::new(Some(name), buffer, options, Some(persistent))?;
        instance.buffer.set_overwrite(options.has(Flag::Overwrite));
        instance.buffer.continue_clock(clock);
        // Blocks snapshots, as a mapping does: this buffer cannot have any.
        instance.snapshot.begin_mapping()?;
        Ok(instance)
    }

    /// The data of the last boot, if the buffer outlives the kernel.
    pub(crate) fn previous_boot(&self) -> Option<&'static PreviousBoot> {
        self.persistent
            .as_ref()
            .map(|persistent| persistent.previous_boot())
    }

    /// `EINVAL` if the buffer outlives the kernel: such an instance has no snapshot. Any context.
    pub(super) fn may_have_snapshot(&self) -> Result {
        match self.persistent {
            Some(_) => Err(EINVAL),
            None => Ok(()),
        }
    }

    /// `EACCES` in a read-only copy of another instance. Any context.
    pub(super) fn may_record(&self) -> Result {
        match self.is_copy() {
            true => Err(EACCES),
            false => Ok(()),
        }
    }

    /// A copy of the memory of its buffer. Boot. `EINVAL` if the buffer does not outlive the
    /// kernel, `ENOMEM`.
    pub(crate) fn copy_memory(&self) -> Result<Reserved> {
        self.persistent.as_ref().ok_or(EINVAL)?.region().copy()
    }

    /// Whether it is a read-only copy of another instance's events of the last boot.
    pub(crate) fn is_copy(&self) -> bool {
        self.persistent
            .as_ref()
            .is_some_and(|persistent| persistent.region().is_copy())
    }

    /// Whether such a copy was read or cleared. Then it cannot be opened any more, and it is
    /// removed after the last close.
    pub(super) fn is_used_up(&self) -> bool {
        self.is_copy() && self.previous_boot().is_some_and(|last| !last.holds())
    }

    /// A module is loaded or unloaded; see [`Persistent::module`]. Task context, sleeps.
    pub(crate) fn note_module(&self, name: &[u8], text: Option<usize>) {
        if let Some(persistent) = &self.persistent {
            persistent.module(name, text);
        }
    }

    /// Drops the events of the last boot and records those of this kernel from now on. The state
    /// mutex is held. Task context, sleeps.
    pub(super) fn begin_anew(&self) {
        if let Some(persistent) = &self.persistent {
            if persistent.begin(self.buffer.clock_row()) {
                self.buffer.reset();
                persistent.note_text();
            }
        }
    }

    /// Whether all events of the last boot were read that can be. Then it begins anew, but for those of
    /// CPUs that were never up since: they can be read when the CPU comes. A copy, which nobody needs
    /// for them, is used up. Task context, sleeps.
    pub(crate) fn begin_if_empty(&self) -> bool {
        let is_over =
            || self.previous_boot().is_some_and(|last| last.holds()) && self.buffer.is_empty(None);
        if !is_over() {
            return false;
        }
        let _state = self.state.lock();
        let is_over = is_over();
        if is_over && (self.is_copy() || self.buffer.holds_nothing()) {
            self.begin_anew();
        }
        is_over
    }

    /// Whether the buffer can be mapped. Memory that has its own address range cannot.
    pub(crate) fn can_be_mapped(&self) -> bool {
        self.persistent
            .as_ref()
            .is_none_or(|persistent| persistent.region().can_be_mapped())
    }

    /// When the instance is removed, the memory of the buffer is freed. Before this is called, the
    /// events of the last boot stay there for the next one. Any context.
    pub(super) fn give_back_memory_in_the_end(&self) {
        if let Some(persistent) = &self.persistent {
            persistent.region().give_back_in_the_end();
        }
    }

    /// Whether the memory of the buffer can be freed.
    pub(super) fn memory_can_go(&self) -> bool {
        self.persistent
            .as_ref()
            .is_none_or(|persistent| persistent.region().can_go())
    }
}
