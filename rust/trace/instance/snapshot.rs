// SPDX-License-Identifier: GPL-2.0

//! Snapshots. An instance has a second buffer, the *spare* buffer. Taking a snapshot swaps the
//! rings of the two buffers.
//!
//! The events up to the swap stay in the spare buffer, where no writer records. Recording goes on
//! at once in the old rings of the spare buffer; they are not cleared, as in C. The rings of the
//! spare buffer have the least size until the snapshot is *allocated*. After that they follow the
//! sizes of the live buffer.
//!
//! `snapshot/conditional.rs` has snapshots that are taken on a condition.
//!
//! Words: *armed* counts the users that may take a snapshot at any time (function commands,
//! triggers, a tracer). While it is armed, it stays allocated until the file `snapshot` frees it.
//! *The tracer's* means that the current tracer keeps its worst trace there, so no other user may
//! take snapshots.
//!
//! Locks: the instance's state mutex is held for allocating and freeing (except at boot). Clearing
//! takes the lock of CPU hotplug and the spare buffer's resize mutex. Taking a snapshot needs no lock of this module.

mod conditional;

use super::message::EntryFunction;
use super::Instance;
use crate::core::parse::options::Flag;
use crate::kernel::context::PreemptCount;
use crate::kernel::cpus;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::rcu_slot::RcuSlot;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::{Buffer, Rings};
use core::any::Any;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering::Full, Atomic, Relaxed};
use kernel::sync::Arc;

/// How many times in a row a snapshot waits for a buffer to be cleared or resized.
const CLEARS: usize = 100;

/// The spare buffer of an instance, and its users.
#[pin_data]
pub(crate) struct Snapshot {
    #[pin]
    spare: Buffer,
    /// Whether the spare buffer has the sizes of the live buffer. While it has not, its rings
    /// cannot be swapped.
    allocated: Atomic<bool>,
    /// Whether the current tracer keeps its worst trace there.
    owned_by_tracer: Atomic<bool>,
    users: RawLock<Users>,
    /// The owner, which takes snapshots on a condition.
    conditional: RcuSlot<Conditional>,
}

/// The owner of an instance's snapshot.
struct Conditional {
    owner: KBox<dyn Any + Send + Sync>,
    /// The number of the CPU that decides and takes the snapshot, plus 1. 0 if none does.
    deciding: Atomic<u32>,
}

/// Users that exclude each other.
///
/// # Invariants
///
/// At least one of the two is 0.
struct Users {
    /// The number of users that may take a snapshot at any time.
    armed: u32,
    /// The number of mappings of the live buffer.
    mapped: u32,
}

impl Snapshot {
    /// A snapshot without allocated memory. Task context, sleeps. `ENOMEM`.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            spare <- Buffer::new_spare(),
            allocated: Atomic::new(false),
            owned_by_tracer: Atomic::new(false),
            // INVARIANT: both are 0.
            users: RawLock::new(Users { armed: 0, mapped: 0 }),
            conditional: RcuSlot::new(),
        }? Error)
    }

    /// The spare buffer, for reading.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.spare
    }

    /// Whether snapshots can be taken. Any context.
    pub(crate) fn is_allocated(&self) -> bool {
        self.allocated.load(Relaxed)
    }

    /// Whether the current tracer keeps its worst trace there. Any context.
    pub(crate) fn is_owned_by_tracer(&self) -> bool {
        self.owned_by_tracer.load(Relaxed)
    }

    /// Whether somebody takes snapshots on a condition, so that nobody else may. Any context.
    pub(crate) fn has_owner(&self) -> bool {
        !self.conditional.is_empty()
    }

    /// Gives the spare buffer the sizes of `live`. Task context, sleeps. `ENOMEM`.
    pub(crate) fn allocate(&self, live: &Buffer) -> Result {
        if self.is_allocated() {
            return Ok(());
        }
        self.spare.shape_like(live, None)?;
        self.allocated.store(true, Relaxed);
        self.spare.offer_rings(true);
        Ok(())
    }

    /// Takes the sizes of `live` again, for `cpu` or for all CPUs. If that fails (no memory, or the
    /// snapshot is being read), frees the snapshot. Task context, sleeps.
    pub(crate) fn follow(&self, live: &Buffer, cpu: Option<CpuId>) {
        if self.is_allocated() && self.spare.shape_like(live, cpu).is_err() {
            pr_warn!("the snapshot could not be resized and is freed\n");
            self.free();
        }
    }

    /// Frees the memory and drops the events. Task context, sleeps.
    pub(crate) fn free(&self) {
        if self.is_allocated() {
            self.spare.offer_rings(false);
            self.allocated.store(false, Relaxed);
            // A reader keeps the memory for now; the next snapshot uses it again.
            let _ = self.spare.give_back();
            self.spare.clear_spare(None);
        }
    }

    /// Drops the events of the spare buffer, for `cpu` or for all CPUs. Task context, sleeps.
    pub(crate) fn clear(&self, cpu: Option<CpuId>) {
        if self.is_allocated() {
            self.spare.clear_spare(cpu);
        }
    }

    /// Allocates the snapshot for a user that may take one at any time. [`Snapshot::disarm`] undoes
    /// it. Task context, sleeps. `ENOMEM`; `EBUSY` while `live` is mapped.
    pub(crate) fn arm(&self, live: &Buffer) -> Result {
        {
            let mut users = self.users.lock();
            if users.mapped != 0 {
                return Err(EBUSY);
            }
            // INVARIANT: `mapped` is 0.
            users.armed = users.armed.checked_add(1).ok_or(EBUSY)?;
        }
        self.allocate(live).inspect_err(|_| self.disarm())
    }

    /// Undoes one [`Snapshot::arm`]. The memory stays allocated. Any context but NMI.
    pub(crate) fn disarm(&self) {
        let mut users = self.users.lock();
        users.armed = users.armed.saturating_sub(1);
    }

    /// Counts a mapping of the live buffer. No snapshot can be taken until
    /// [`Snapshot::end_mapping`]. `EBUSY` while the snapshot is armed.
    pub(crate) fn begin_mapping(&self) -> Result {
        let mut users = self.users.lock();
        if users.armed != 0 {
            return Err(EBUSY);
        }
        // INVARIANT: `armed` is 0.
        users.mapped = users.mapped.checked_add(1).ok_or(EBUSY)?;
        Ok(())
    }

    /// Undoes one [`Snapshot::begin_mapping`].
    pub(crate) fn end_mapping(&self) {
        let mut users = self.users.lock();
        users.mapped = users.mapped.saturating_sub(1);
    }

    fn is_mapped(&self) -> bool {
        self.users.lock().mapped != 0
    }

    /// The current tracer begins or ends to keep its worst trace here. The caller arms and disarms
    /// the snapshot.
    pub(crate) fn set_owned_by_tracer(&self, tracers: bool) {
        self.owned_by_tracer.store(tracers, Relaxed);
    }

    /// Swaps `rings` of `live` and of the spare buffer. The caller has armed the snapshot. Any
    /// context but NMI. As in C, does nothing while recording is paused, nor with one CPU that does not
    /// record.
    ///
    /// # Errors
    ///
    /// `EBUSY` when the snapshot is not allocated, or a buffer is being resized or cleared.
    pub(crate) fn take(&self, live: &Buffer, rings: Rings) -> Result {
        if live.is_paused() || matches!(rings, Rings::Of(cpu) if !live.records_on(cpu)) {
            return Ok(());
        }
        // An entry that is still to be copied is recorded as `tracing_on` was at its hit.
        if self.spare.is_on() != live.is_on() {
            self.spare.set_on(live.is_on());
        }
        live.swap(&self.spare, rings)?;
        self.spare.set_time_start(0);
        Ok(())
    }

    /// Handles a write of `number` to the file `snapshot` of `cpu`, or of all CPUs. Task context,
    /// sleeps.
    ///
    /// # Errors
    ///
    /// `EBUSY` while the current tracer or an owner uses the snapshot, or when a reader blocks a
    /// resize;
    /// `EINVAL` for 0 with one CPU; `ENOMEM`.
    pub(crate) fn command(&self, instance: &Instance, cpu: Option<CpuId>, number: u64) -> Result {
        let live = instance.buffer();
        if self.is_owned_by_tracer() || self.has_owner() {
            return Err(EBUSY);
        }
        match number {
            0 if cpu.is_some() => return Err(EINVAL),
            0 => self.free(),
            1 => {
                if self.is_allocated() {
                    self.spare.shape_like(live, cpu)?;
                }
                self.arm(live)?;
                let taken = take_at_rest(instance, Rings::of(cpu));
                self.disarm();
                taken?;
            }
            _ => self.clear(cpu),
        }
        Ok(())
    }
}

/// Takes a snapshot of `rings` of `instance` for the current task, which the header of the snapshot then
/// shows. Does nothing for a CPU that is offline, as in C. Context and errors as of [`Snapshot::take`].
fn take_here(instance: &Instance, rings: Rings) -> Result {
    let live = instance.buffer();
    if live.is_paused() || matches!(rings, Rings::Of(cpu) if !cpus::is_online(cpu)) {
        return Ok(());
    }
    instance.snapshot().take(live, rings)?;
    #[cfg(CONFIG_TRACER_MAX_TRACE)]
    instance.latency()?.note_snapshot();
    Ok(())
}

/// [`take_here`] in task context: sleeps until neither buffer is cleared, as often as that is in the
/// way.
fn take_at_rest(instance: &Instance, rings: Rings) -> Result {
    for _ in 0..CLEARS {
        match take_here(instance, rings) {
            Err(error) if error == EBUSY => {
                instance.buffer().await_rest();
                instance.snapshot().buffer().await_rest();
            }
            result => return result,
        }
    }
    take_here(instance, rings)
}

/// A user that may take snapshots of an instance at any time. Dropping it disarms the snapshot.
pub(crate) struct Armed {
    instance: Arc<Instance>,
    is_armed: Atomic<bool>,
}

impl Armed {
    /// Allocates and arms the snapshot. Task context, sleeps. `ENOMEM`.
    pub(crate) fn new(instance: &Arc<Instance>) -> Result<Self> {
        instance.arm_snapshot()?;
        Ok(Self {
            instance: instance.clone(),
            is_armed: Atomic::new(true),
        })
    }

    /// Disarms the snapshot before the drop. The user takes no snapshots any more. Any context but
    /// NMI.
    pub(crate) fn disarm(&self) {
        if self.is_armed.xchg(false, Full) {
            self.instance.snapshot().disarm();
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.disarm();
    }
}

/// The function whose address the messages about failed snapshots carry.
pub(crate) struct SnapshotRefused;

/// Takes a snapshot of `instance`, or records in its buffer why it could not. Does nothing while
/// the snapshot has an owner, as in C. Any context.
pub(crate) fn take_or_report(instance: &Instance) {
    let snapshot = instance.snapshot();
    if !refusal(instance) && !snapshot.has_owner() {
        // `EBUSY` means that a whole buffer is being cleared or resized: there is nothing to keep,
        // and during a resize C ignores it, too.
        let _ = take_here(instance, Rings::Free);
    }
}

/// Whether no snapshot can be taken now. If so, records why. Any context.
fn refusal(instance: &Instance) -> bool {
    let snapshot = instance.snapshot();
    let lines = if PreemptCount::read().in_nmi() {
        [
            "*** SNAPSHOT CALLED FROM NMI CONTEXT ***\n",
            "*** snapshot is being ignored        ***\n",
        ]
    } else if !snapshot.is_allocated() {
        [
            "*** SNAPSHOT NOT ALLOCATED ***\n",
            "*** stopping trace here!   ***\n",
        ]
    } else if snapshot.is_mapped() {
        [
            "*** BUFFER MEMORY MAPPED ***\n",
            "*** Can not use snapshot (sorry) ***\n",
        ]
    } else if snapshot.is_owned_by_tracer() {
        [
            "*** LATENCY TRACER ACTIVE ***\n",
            "*** Can not use snapshot (sorry) ***\n",
        ]
    } else {
        return false;
    };
    report(instance, SnapshotRefused::address(), lines);
    if !PreemptCount::read().in_nmi() && !snapshot.is_allocated() {
        instance.buffer().set_on(false);
    }
    true
}

fn report<const N: usize>(instance: &Instance, ip: usize, lines: [&str; N]) {
    if instance.options().has(Flag::Printk) {
        for line in lines {
            // A message that finds no room is lost like any event.
            let _ = instance.record_text(Context::capture_all(), ip, line.as_bytes());
        }
    }
}

/// Takes the snapshot at the end of boot, and records a message in the buffer with `ip` as its
/// function.
pub(crate) fn take_at_boot(instance: &Instance, ip: usize) {
    take_or_report(instance);
    report(instance, ip, ["** Boot snapshot taken **\n"]);
}
