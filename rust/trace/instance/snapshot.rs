// SPDX-License-Identifier: GPL-2.0

//! Snapshots: an instance has a second buffer, the *spare*, and taking a snapshot exchanges the two
//! buffers' rings.
//!
//! What was recorded up to then stays in the spare, which nothing writes to, and recording goes on
//! at once in what the spare had before: that is not emptied, as in C. The spare has rings of the
//! least size until it is *allocated*; then they have the live buffer's sizes, also when those
//! change.
//!
//! Words: *armed* counts those who may take one at any moment (function commands, triggers, a
//! tracer), for whom it stays allocated until the file `snapshot` frees it; *the tracer's* says
//! that the current tracer keeps its worst trace there, so that nobody else may.
//!
//! Locks: allocating, freeing and clearing want the instance's state mutex held (but for boot).
//! Taking needs no lock of this module.

use super::message::Speaker;
use super::Instance;
use crate::core::parse::options::Flag;
use crate::kernel::context::PreemptCount;
use crate::kernel::raw_lock::RawLock;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The spare buffer of an instance, and who uses it.
#[pin_data]
pub(crate) struct Snapshot {
    #[pin]
    spare: Buffer,
    /// Has the spare the sizes of the live buffer? While not, its rings are kept from being
    /// swapped.
    allocated: Atomic<bool>,
    /// Does the current tracer keep its worst trace there?
    of_tracer: Atomic<bool>,
    users: RawLock<Users>,
}

/// Users that exclude each other.
///
/// # Invariants
///
/// One of the two is 0.
struct Users {
    /// How many may take snapshots at any time.
    armed: u32,
    /// How many mappings of the live buffer there are.
    mapped: u32,
}

impl Snapshot {
    /// Nothing allocated. Task context, sleeps. `ENOMEM`.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            spare <- Buffer::new_spare(),
            allocated: Atomic::new(false),
            of_tracer: Atomic::new(false),
            // INVARIANT: both are 0.
            users: RawLock::new(Users { armed: 0, mapped: 0 }),
        }? Error)
    }

    /// The spare buffer, to be read.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.spare
    }

    /// Can snapshots be taken? Any context.
    pub(crate) fn is_allocated(&self) -> bool {
        self.allocated.load(Relaxed)
    }

    /// Does the current tracer keep its worst trace there? Any context.
    pub(crate) fn is_tracers(&self) -> bool {
        self.of_tracer.load(Relaxed)
    }

    /// Gives the spare the sizes of `live`, if it has not got them. Task context, sleeps. `ENOMEM`.
    pub(crate) fn allocate(&self, live: &Buffer) -> Result {
        if self.is_allocated() {
            return Ok(());
        }
        self.spare.shape_like(live, None)?;
        self.allocated.store(true, Relaxed);
        self.spare.offer_rings(true);
        Ok(())
    }

    /// Goes back to `live`'s sizes, of `cpu` or of all. Where that is not possible (no memory, or
    /// somebody reads the snapshot), it is freed. Task context, sleeps.
    pub(crate) fn follow(&self, live: &Buffer, cpu: Option<CpuId>) {
        if self.is_allocated() && self.spare.shape_like(live, cpu).is_err() {
            pr_warn!("the snapshot could not be resized and is freed\n");
            self.free();
        }
    }

    /// Gives the memory back, and forgets what was there. Task context, sleeps.
    pub(crate) fn free(&self) {
        if self.is_allocated() {
            self.spare.offer_rings(false);
            self.allocated.store(false, Relaxed);
            // Somebody who reads keeps the memory for now; the next snapshot takes it up again.
            let _ = self.spare.give_back();
            self.spare.clear_spare(None);
        }
    }

    /// Forgets what is in the spare, of `cpu` or of all. Task context, sleeps.
    pub(crate) fn clear(&self, cpu: Option<CpuId>) {
        if self.is_allocated() {
            self.spare.clear_spare(cpu);
        }
    }

    /// Allocates for somebody who may take snapshots from now on at any time; undone by
    /// [`Snapshot::disarm`]. Task context, sleeps. `ENOMEM`; `EBUSY` while `live` is mapped.
    pub(crate) fn arm(&self, live: &Buffer) -> Result {
        {
            let mut users = self.users.lock();
            if users.mapped != 0 {
                return Err(EBUSY);
            }
            // INVARIANT: the other is 0.
            users.armed = users.armed.checked_add(1).ok_or(EBUSY)?;
        }
        self.allocate(live).inspect_err(|_| self.disarm())
    }

    /// Undoes one [`Snapshot::arm`]; the memory stays.
    pub(crate) fn disarm(&self) {
        let mut users = self.users.lock();
        users.armed = users.armed.saturating_sub(1);
    }

    /// The live buffer is mapped once more: from now on no snapshots can be taken, until
    /// [`Snapshot::end_mapping`]. `EBUSY` while somebody may take some at any time.
    pub(crate) fn begin_mapping(&self) -> Result {
        let mut users = self.users.lock();
        if users.armed != 0 {
            return Err(EBUSY);
        }
        // INVARIANT: the other is 0.
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

    /// The current tracer begins to keep its worst trace here, or ends that. The caller arms and
    /// disarms.
    pub(crate) fn set_tracers(&self, tracers: bool) {
        self.of_tracer.store(tracers, Relaxed);
    }

    /// Exchanges the rings of `live` with the spare's: all, or those of `cpu`. Whoever has armed it
    /// may do so, in any context but NMI. Nothing is done while recording is paused, as in C.
    ///
    /// # Errors
    ///
    /// `EBUSY` when it is not allocated, or one of the buffers is just resized or emptied.
    pub(crate) fn take(&self, live: &Buffer, cpu: Option<CpuId>) -> Result {
        if live.is_paused() {
            return Ok(());
        }
        live.swap(&self.spare, cpu)?;
        self.spare.set_time_start(0);
        Ok(())
    }

    /// What a write of `number` to the file of `cpu`, or to that of all, does. Task context,
    /// sleeps.
    ///
    /// # Errors
    ///
    /// `EBUSY` while it is the tracer's, `EINVAL` for 0 of one CPU, `ENOMEM`; `EBUSY` when somebody
    /// reads the snapshot and it would have to be resized.
    pub(crate) fn command(&self, live: &Buffer, cpu: Option<CpuId>, number: u64) -> Result {
        if self.is_tracers() {
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
                let taken = self.take(live, cpu);
                self.disarm();
                taken?;
            }
            _ => self.clear(cpu),
        }
        Ok(())
    }
}

/// A user who may take snapshots of an instance at any time.
pub(crate) struct Armed(Arc<Instance>);

impl Armed {
    /// Allocates the snapshot. Task context, sleeps. `ENOMEM`.
    pub(crate) fn new(instance: &Arc<Instance>) -> Result<Self> {
        instance.arm_snapshot()?;
        Ok(Self(instance.clone()))
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.0.snapshot().disarm();
    }
}

/// Who says why no snapshot was taken.
pub(crate) struct Refusing;

/// Takes a snapshot of `instance`, or says in its buffer why not. Any context.
pub(crate) fn take_or_say(instance: &Instance) {
    let snapshot = instance.snapshot();
    let ip = Refusing::address();
    if PreemptCount::read().in_nmi() {
        say(
            instance,
            ip,
            [
                "*** SNAPSHOT CALLED FROM NMI CONTEXT ***\n",
                "*** snapshot is being ignored        ***\n",
            ],
        );
    } else if !snapshot.is_allocated() {
        say(
            instance,
            ip,
            [
                "*** SNAPSHOT NOT ALLOCATED ***\n",
                "*** stopping trace here!   ***\n",
            ],
        );
        instance.buffer().set_on(false);
    } else if snapshot.is_mapped() {
        say(
            instance,
            ip,
            [
                "*** BUFFER MEMORY MAPPED ***\n",
                "*** Can not use snapshot (sorry) ***\n",
            ],
        );
    } else if snapshot.is_tracers() {
        say(
            instance,
            ip,
            [
                "*** LATENCY TRACER ACTIVE ***\n",
                "*** Can not use snapshot (sorry) ***\n",
            ],
        );
    } else {
        // Where the buffer is just emptied or resized, there is nothing to keep.
        let _ = snapshot.take(instance.buffer(), None);
    }
}

fn say<const N: usize>(instance: &Instance, ip: usize, lines: [&str; N]) {
    if instance.options().has(Flag::Printk) {
        for line in lines {
            // What finds no room is missing, as any entry.
            let _ = instance.record_text(Context::capture_all(), ip, line.as_bytes());
        }
    }
}

/// Takes the snapshot of the end of boot, and says so in the buffer, in the name of the function at
/// `ip`.
pub(crate) fn take_at_boot(instance: &Instance, ip: usize) {
    take_or_say(instance);
    say(instance, ip, ["** Boot snapshot taken **\n"]);
}
