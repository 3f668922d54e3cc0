// SPDX-License-Identifier: GPL-2.0

//! Conditional snapshots: an instance can have one *owner* of its snapshot. Code that acts for the
//! owner decides at each hit whether a snapshot is taken, and can note why. While there is an
//! owner, nobody else takes snapshots of the instance, and no tracer may keep its worst trace
//! there. So what the owner has noted always belongs to the snapshot.

use super::{refusal, take_here, Conditional};
use crate::kernel::context::IrqsOff;
use crate::kernel::raw_lock::around_traced;
use crate::trace::buffer::Rings;
use crate::trace::instance::Instance;
use core::any::Any;
use core::hint::spin_loop;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::sync::Arc;

impl Instance {
    /// Makes `owner` the owner of the snapshot, and arms the snapshot. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EBUSY` if it has an owner, if the current tracer uses it, or while the buffer is mapped;
    /// `EINVAL` where the buffer outlives the kernel; `ENOMEM`.
    pub(crate) fn own_snapshot(&self, owner: KBox<dyn Any + Send + Sync>) -> Result {
        let new = Conditional {
            owner,
            deciding: Atomic::new(0),
        };
        self.may_have_snapshot()?;
        let new = Arc::new(new, GFP_KERNEL)?;
        let _state = self.state.lock();
        let snapshot = &self.snapshot;
        if snapshot.is_owned_by_tracer() || snapshot.has_owner() {
            return Err(EBUSY);
        }
        snapshot.arm(&self.buffer)?;
        snapshot.conditional.replace(Some(new));
        Ok(())
    }

    /// Undoes [`Instance::own_snapshot`]. No decision is under way any more after the return. The
    /// memory stays allocated. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the snapshot has no owner.
    pub(crate) fn disown_snapshot(&self) -> Result {
        let _state = self.state.lock();
        let old = self.snapshot.conditional.replace(None);
        drop(old.ok_or(EINVAL)?);
        self.snapshot.disarm();
        Ok(())
    }

    /// Runs `f` on the owner of the snapshot, with preemption off. Any context.
    pub(crate) fn with_snapshot_owner<R>(&self, f: impl FnOnce(&dyn Any) -> R) -> Option<R> {
        let conditional = &self.snapshot.conditional;
        conditional.with(|now| now.map(|now| f(&*now.owner)))
    }

    /// Runs `decide` on the owner of the snapshot, if there is one. The second argument of `decide`
    /// takes a snapshot and says whether one was taken. If none can be taken, records why, and
    /// `decide` does not run. Returns false if only the owner was missing. Any context; does nothing
    /// in an NMI.
    ///
    /// `decide` runs with interrupts off, on one CPU at a time. A hit that the snapshot itself causes
    /// on this CPU is left out.
    pub(crate) fn snapshot_cond(&self, decide: impl FnOnce(&dyn Any, &dyn Fn() -> bool)) -> bool {
        if refusal(self) {
            return true;
        }
        self.snapshot.conditional.with(|now| {
            let Some(now) = now else { return false };
            IrqsOff::with(|_| {
                let cpu = CpuId::current().as_u32().wrapping_add(1);
                while let Err(other) = now.deciding.cmpxchg(0, cpu, ordering::Acquire) {
                    if other == cpu {
                        return;
                    }
                    spin_loop();
                }
                // Waking is traced; hits on this CPU go back above.
                around_traced();
                decide(&*now.owner, &|| {
                    // While the buffer is paused, nothing is exchanged.
                    !self.buffer.is_paused() && take_here(self, Rings::All).is_ok()
                });
                now.deciding.store(0, ordering::Release);
            });
            true
        })
    }
}
