// SPDX-License-Identifier: GPL-2.0

//! Instances: a buffer, a current tracer, a set of options. The kernel starts with the top one.
//!
//! An [`Instance`] answers what the control files and the C API ask; the buffer itself is
//! [`super::buffer`]. Nothing here names a feature of tracing. What a feature keeps for an instance,
//! what its options do, and what it does as an instance comes and goes, it says in a [`feature`];
//! what records is a [`tracer`]. `boot.rs` hands over the tables of both.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`feature`] | what other rooms keep for an instance, and hear of it |
//! | [`tracer`], [`current`] | the trait of tracers; starting and ending the current one |
//! | [`options`] | the core options and what setting one does |
//! | [`sizes`] | resizing |
//! | [`snapshot`] | the second buffer, which the first exchanges its rings with |
//! | [`latency`] | whose the worst latency is that a tracer keeps there |
//! | [`persistent`], [`previous_boot`] | buffers that outlive the kernel; what an instance does with one |
//! | [`list`], [`held`] | all instances, making and removing them; who keeps one from going |
//! | [`error_log`], [`readers`], [`message`] | why commands were refused; who consumes; texts recorded for others |
//!
//! Words: the *top* instance is the nameless one whose files lie directly in tracefs; *expanded*
//! says that its buffer has left the minimum size that it boots with; a *pipe* is an open consuming
//! reader, which holds the tracer in place.
//!
//! Lock order: [`Instance`]'s state mutex, then the locks of ops and patch sites
//! (`super::ftrace::ops`), then the reader locks of the buffer (raw spinlocks, innermost). The
//! error log's mutex nests in nothing and holds nothing.

mod current;
pub(crate) mod error_log;
pub(crate) mod feature;
mod held;
pub(crate) mod latency;
pub(crate) mod list;
pub(crate) mod message;
mod options;
pub(crate) mod persistent;
mod previous_boot;
pub(crate) mod readers;
mod sizes;
pub(crate) mod snapshot;
pub(crate) mod tracer;

use self::error_log::ErrorLog;
use self::feature::Features;
pub(crate) use self::held::Held;
use self::persistent::Persistent;
use self::readers::Readers;
use self::snapshot::Snapshot;
use self::tracer::{Running, Tracer};
use super::buffer::clock::{self, Clock};
use super::buffer::Buffer;
use crate::core::parse::options::Set;
use crate::kernel::cpus::CpuSet;
use crate::kernel::fs::tracefs::Dir;
use kernel::cpu::CpuId;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::Atomic;
use kernel::sync::{Arc, Mutex, SetOnce};

/// In [`Instance::users`]: nobody can open it, yet or any more.
const CLOSED: i32 = -1;

/// What changes under the state mutex.
struct State {
    /// The current tracer.
    tracer: &'static dyn Tracer,
    /// Its row in [`tracer::all`].
    row: usize,
    /// Each tracer's own options, by row, whether it is current or not.
    tracer_flags: KVec<u32>,
    /// What the current tracer keeps while it is current.
    running: Option<KBox<dyn Running>>,
    /// The options as they were before the current tracer forced some.
    unforced: Set,
    cpumask: CpuSet,
}

/// Which of an instance's two buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that is recorded into.
    Live,
    /// The one that holds the snapshot.
    Snapshot,
}

/// A trace instance.
#[pin_data]
pub(crate) struct Instance {
    /// First, to be dropped first: a feature may wait for what still records into the buffer.
    features: Features,
    name: Option<CString>,
    #[pin]
    buffer: Buffer,
    #[pin]
    snapshot: Snapshot,
    options: Atomic<u64>,
    /// How full, in percent, a CPU's buffer is to be before readers of whole sub-buffers are woken.
    buffer_percent: Atomic<u32>,
    /// Open files and C callers that hold it, or [`CLOSED`].
    users: Atomic<i32>,
    #[pin]
    state: Mutex<State>,
    #[pin]
    readers: Readers,
    #[pin]
    errors: ErrorLog,
    /// Where the buffer lies, if it outlives the kernel. Behind the buffer, to be dropped later.
    persistent: Option<Pin<KBox<Persistent>>>,
}

static TOP: SetOnce<Arc<Instance>> = SetOnce::new();

impl Instance {
    /// The top instance.
    ///
    /// # Errors
    ///
    /// `ENODEV` before `early_trace_init()`, and for good when that could not allocate it. Any
    /// context.
    pub(crate) fn top() -> Result<&'static Arc<Instance>> {
        TOP.as_ref().ok_or(ENODEV)
    }

    fn new(
        name: Option<CString>,
        buffer: impl PinInit<Buffer, Error>,
        options: Set,
        persistent: Option<Pin<KBox<Persistent>>>,
    ) -> Result<Arc<Instance>> {
        let features = Features::new(name.as_deref())?;
        let row = tracer::idle();
        let idle = tracer::get(row)?;
        let mut tracer_flags = KVec::with_capacity(tracer::all().len(), GFP_KERNEL)?;
        for (row, tracer) in tracer::all().iter().enumerate() {
            // Handed down as the top's core options are.
            let flags = TOP
                .as_ref()
                .map_or(tracer.default_flags(), |top| top.flags_of(row));
            tracer_flags.push(flags, GFP_KERNEL)?;
        }
        Arc::pin_init(
            try_pin_init!(Self {
                features,
                name,
                buffer <- buffer,
                snapshot <- Snapshot::new(),
                options: Atomic::new(options.bits()),
                buffer_percent: Atomic::new(50),
                users: Atomic::new(CLOSED),
                state <- new_mutex!(State {
                    tracer: idle,
                    row,
                    tracer_flags,
                    running: None,
                    unforced: Set::NONE,
                    cpumask: CpuSet::all(),
                }),
                readers <- Readers::new(),
                errors <- ErrorLog::new(),
                persistent,
            }? Error),
            GFP_KERNEL,
        )
    }

    /// Tells the features that it is there. Errors as of [`Feature::created`](feature::Feature).
    fn announce(self: &Arc<Self>) -> Result {
        self.features
            .iter()
            .try_for_each(|feature| feature.created(self))
    }

    /// Has the features fill `directory`, which is its own. Once; boot or task context, may sleep.
    /// Errors as of [`Feature::directory_made`](feature::Feature).
    pub(crate) fn furnish(self: &Arc<Self>, directory: &Dir) -> Result {
        self.features
            .iter()
            .try_for_each(|feature| feature.directory_made(self, directory))
    }

    /// Ends what it does; it is closed, and no longer in the list. Task context, sleeps.
    fn retire(self: &Arc<Self>) {
        self.stop_tracer(&mut self.state.lock());
        self.features
            .iter()
            .for_each(|feature| feature.retire(self));
    }

    /// Is this its name? The top instance has none.
    pub(crate) fn is_called(&self, name: &[u8]) -> bool {
        self.name().is_some_and(|its| its.to_bytes() == name)
    }

    /// Its directory's name; the top instance has none.
    pub(crate) fn name(&self) -> Option<&CStr> {
        self.name.as_deref()
    }

    /// Is this the top instance?
    pub(crate) fn is_top(&self) -> bool {
        self.name.is_none()
    }

    /// Its ring buffer.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Its snapshot.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// One of its two buffers.
    pub(crate) fn side(&self, side: Side) -> &Buffer {
        match side {
            Side::Live => &self.buffer,
            Side::Snapshot => self.snapshot.buffer(),
        }
    }

    /// Takes in a CPU that comes up. Task context, sleeps. `ENOMEM`.
    pub(crate) fn prepare(&self, cpu: CpuId) -> Result {
        // A snapshot in between would exchange rings that differ.
        let _rings = self.buffer.keep_rings();
        self.buffer.prepare(cpu)?;
        self.snapshot.buffer().prepare(cpu)
    }

    /// Who consumes it.
    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Its `error_log`.
    pub(crate) fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// May entries be recorded, as far as `tracing_on` is concerned? Any context.
    pub(crate) fn tracing_on(&self) -> bool {
        self.buffer.is_on()
    }

    /// Sets `tracing_on`; the current tracer hears of it, and sleeping readers look around. Task
    /// context, may sleep.
    pub(crate) fn set_tracing_on(&self, on: bool) {
        let mut state = self.state.lock();
        if self.buffer.set_on(on) != on {
            if let Some(running) = &mut state.running {
                running.switched(on);
            }
            self.features
                .iter()
                .for_each(|feature| feature.switched(self, on));
        }
        if !on {
            self.buffer.wake_all();
        }
    }

    /// Does what a write of `number` to the file `snapshot` of `cpu`, or to that of all, asks for.
    /// Expands the buffer. Task context, sleeps. Errors as [`Snapshot::command`], and `ENOMEM`.
    pub(crate) fn command_snapshot(&self, cpu: Option<CpuId>, number: u64) -> Result {
        let _state = self.state.lock();
        self.snapshot.command(&self.buffer, cpu, number)
    }

    /// Allocates the snapshot. Task context, sleeps. `ENOMEM`.
    pub(crate) fn allocate_snapshot(&self) -> Result {
        let _state = self.state.lock();
        self.snapshot.allocate(&self.buffer)
    }

    /// Allocates it for somebody who takes snapshots at any time; [`Snapshot::disarm`] undoes it.
    /// Task context, sleeps. `ENOMEM`.
    pub(crate) fn arm_snapshot(&self) -> Result {
        let _state = self.state.lock();
        self.snapshot.arm(&self.buffer)
    }

    /// The clock that stamps entries. Any context.
    pub(crate) fn clock(&self) -> &'static Clock {
        self.buffer.clock()
    }

    /// Changes the clock, which empties the buffer: stamps of two clocks do not compare. Task
    /// context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there is no clock of that name.
    pub(crate) fn set_clock(&self, name: &[u8]) -> Result {
        let row = clock::find(name)?;
        let _state = self.state.lock();
        // A snapshot in between would exchange rings of two clocks.
        let _rings = self.buffer.keep_rings();
        self.buffer.set_clock(row);
        self.snapshot.buffer().set_clock(row);
        self.begin_anew();
        if let Some(persistent) = &self.persistent {
            persistent.note_clock(row);
        }
        Ok(())
    }

    /// The CPUs that record (`tracing_cpumask`). Task context.
    pub(crate) fn cpumask(&self) -> CpuSet {
        self.state.lock().cpumask
    }

    /// Changes the CPUs that record; the others keep what they have. Task context.
    pub(crate) fn set_cpumask(&self, mask: CpuSet) {
        let mut state = self.state.lock();
        self.buffer.set_mask(&mask);
        state.cpumask = mask;
    }
}
