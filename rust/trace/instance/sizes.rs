// SPDX-License-Identifier: GPL-2.0

//! The sizes of an instance's two buffers: a change affects both or none.

use super::Instance;
use crate::core::parse::options::Flag;
use crate::trace::buffer::Buffer;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::Relaxed;

impl Instance {
    /// Expands the buffer from its size at boot, once. Events of the last boot are dropped. Task
    /// context, sleeps. `ENOMEM`; `EACCES` in a read-only copy of another instance, whose events stay.
    pub(crate) fn expand(&self) -> Result {
        self.may_record()?;
        let _state = self.state.lock();
        self.begin_anew();
        self.expand_both()
    }

    /// Expands the buffer from its size at boot, and the snapshot with it if that is allocated. While it
    /// is read or mapped it stays as it is, until the next use. The state mutex is held. Task context,
    /// sleeps. `ENOMEM`.
    pub(super) fn expand_both(&self) -> Result {
        let Some(bytes) = self.buffer.to_expand() else {
            return Ok(());
        };
        match self.change_both(None, |buffer| buffer.resize(None, bytes)) {
            Err(error) if error == EBUSY => Ok(()),
            done => done,
        }
    }

    /// Resizes the buffer of `cpu` (`None`: of all CPUs) to `bytes`. Keeps as many events as fit.
    /// Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for 0; `ENOMEM`; `EBUSY` while a non-consuming reader is open; `EACCES` in a read-only
    /// copy of another instance. The old buffer then stays.
    pub(crate) fn resize(&self, cpu: Option<CpuId>, bytes: usize) -> Result {
        self.may_record()?;
        if bytes == 0 {
            return Err(EINVAL);
        }
        let _state = self.state.lock();
        if cpu.is_some_and(|cpu| self.buffer.has_room(cpu, bytes)) {
            self.buffer.stay();
            return Ok(());
        }
        self.change_both(cpu, |buffer| buffer.resize(cpu, bytes))
    }

    /// Applies `change` to the snapshot's buffer, if that is allocated, and to the live buffer: to
    /// both or none. The state mutex is held. `EBUSY` while one of them is read or mapped, for
    /// `cpu` or for all.
    fn change_both(&self, cpu: Option<CpuId>, change: impl Fn(&Buffer) -> Result) -> Result {
        // A snapshot between the two changes would swap rings of different sizes.
        let _rings = self.buffer.keep_rings();
        if self.buffer.is_held(cpu) {
            return Err(EBUSY);
        }
        if self.snapshot.is_allocated() {
            change(self.snapshot.buffer())?;
        }
        change(&self.buffer).inspect_err(|_| self.snapshot.follow(&self.buffer, cpu))
    }

    /// Sets the size of a sub-buffer to 2^`order` pages, and drops all events. Task context,
    /// sleeps. Returns whether it had another size.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EBUSY` as [`Instance::resize`].
    pub(crate) fn set_sub_buffer_order(&self, order: u32) -> Result<bool> {
        let _state = self.state.lock();
        if self.buffer.order() == order {
            return Ok(false);
        }
        self.change_both(None, |buffer| buffer.set_order(order))?;
        Ok(true)
    }

    /// How full, in percent, the buffer of a CPU must be before readers of whole sub-buffers wake.
    /// With 0 any event wakes them. Any context.
    pub(crate) fn buffer_percent(&self) -> u32 {
        self.buffer_percent.load(Relaxed)
    }

    /// Sets [`Instance::buffer_percent`]. `EINVAL` for more than 100.
    pub(crate) fn set_buffer_percent(&self, percent: u64) -> Result {
        let percent = u32::try_from(percent)
            .ok()
            .filter(|&percent| percent <= 100)
            .ok_or(EINVAL)?;
        self.buffer_percent.store(percent, Relaxed);
        Ok(())
    }

    /// The effect of closing `free_buffer`: shrinks the buffer to the least size, which keeps only
    /// the newest events. With option `disable_on_free` it also turns recording off. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EBUSY` as [`Instance::resize`].
    pub(crate) fn free_buffer(&self) -> Result {
        if self.options().has(Flag::DisableOnFree) {
            self.set_tracing_on(false);
        }
        let _state = self.state.lock();
        self.change_both(None, Buffer::shrink)
    }
}
