// SPDX-License-Identifier: GPL-2.0

//! Instances: a buffer, a current tracer, and a set of options. The kernel starts with the top
//! instance.
//!
//! An [`Instance`] implements what the control files and the C API ask for. The buffer itself is
//! [`super::buffer`]. This room does not know the features of tracing by name. A [`feature`]
//! describes its state for an instance, the effects of its options, and its hooks for the life of
//! an instance. A [`tracer`] records. `boot.rs` registers the tables of both.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`feature`] | the state and the hooks of other rooms for an instance |
//! | [`tracer`], [`current`] | the trait of tracers; start and end of the current one |
//! | [`options`] | the core options and their effects |
//! | [`sizes`] | resizing |
//! | [`snapshot`] | the spare buffer, and the swap of its rings with those of the live buffer |
//! | [`latency`] | the longest latency and its task |
//! | [`persistent`], [`previous_boot`] | buffers that outlive the kernel; instances with such a buffer |
//! | [`list`], [`held`] | the list of instances, creation and removal; references that block the removal |
//! | [`error_log`], [`readers`], [`message`] | refused commands; consuming readers; texts of kernel code |
//!
//! Words: the *top* instance has no name, and its files are directly in tracefs. *Expanded* means
//! that its buffer has left the minimum size of the boot. A *pipe* is an open consuming reader; the
//! tracer cannot change while there is one.
//!
//! Lock order: the state mutex of [`Instance`], then the locks of ops and patch sites
//! (`super::ftrace::ops`), then the reader locks of the buffer (raw spinlocks, innermost). The
//! mutex of the error log is taken and released alone.

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
use self::tracer::{Running, TracerRef};
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

/// A value of [`Instance::users`]: the instance cannot be opened, because it is being created or
/// removed.
const CLOSED: i32 = -1;

/// The fields that the state mutex protects.
struct State {
    /// The current tracer.
    tracer: TracerRef,
    /// The values of each tracer's own options, by row in [`tracer::all`], current or not.
    tracer_flags: KVec<u32>,
    /// The state of the current tracer.
    running: Option<KBox<dyn Running>>,
    /// The options without those that the current tracer forces.
    unforced: Set,
    cpumask: CpuSet,
}

/// Which of an instance's two buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The live buffer, which is recorded into.
    Live,
    /// The spare buffer, which holds the snapshot.
    Snapshot,
}

impl Side {
    /// The one that it is swapped with.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Live => Self::Snapshot,
            Self::Snapshot => Self::Live,
        }
    }
}

/// A trace instance.
#[pin_data]
pub(crate) struct Instance {
    /// The first field, so that it is dropped first: a feature may wait for code that still records
    /// into the buffer.
    features: Features,
    name: Option<CString>,
    #[pin]
    buffer: Buffer,
    #[pin]
    snapshot: Snapshot,
    options: Atomic<u64>,
    /// How full, in percent, the buffer of a CPU must be before readers of whole sub-buffers wake.
    buffer_percent: Atomic<u32>,
    /// The number of open files and C callers, or [`CLOSED`].
    users: Atomic<i32>,
    #[pin]
    state: Mutex<State>,
    #[pin]
    readers: Readers,
    #[pin]
    errors: ErrorLog,
    /// The region of a buffer that outlives the kernel. It stands after the buffer, so that it is
    /// dropped later.
    persistent: Option<Pin<KBox<Persistent>>>,
}

static TOP: SetOnce<Arc<Instance>> = SetOnce::new();

impl Instance {
    /// The top instance. Any context.
    ///
    /// # Errors
    ///
    /// `ENODEV` before `early_trace_init()`, and always if that could not allocate it.
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
        let idle = tracer::get(tracer::idle())?;
        let mut tracer_flags = KVec::with_capacity(tracer::all().len(), GFP_KERNEL)?;
        for (row, tracer) in tracer::all().iter().enumerate() {
            // Inherited from the top instance, like its core options.
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

    /// Calls [`Feature::created`](feature::Feature) of all features. Errors as theirs.
    fn notify_created(self: &Arc<Self>) -> Result {
        self.features
            .iter()
            .try_for_each(|feature| feature.created(self))
    }

    /// Makes the features add their files to `directory`, the instance's own. Once; boot or task
    /// context, may sleep. Errors as [`Feature::directory_made`](feature::Feature).
    pub(crate) fn make_files(self: &Arc<Self>, directory: &Dir) -> Result {
        self.features
            .iter()
            .try_for_each(|feature| feature.directory_made(self, directory))
    }

    /// Stops the tracer and calls [`Feature::retire`](feature::Feature) of all features. The
    /// instance is closed and not in the list any more. Task context, sleeps.
    fn retire(self: &Arc<Self>) {
        self.retire_tracer();
        self.features
            .iter()
            .for_each(|feature| feature.retire(self));
        self.count_options(false);
    }

    /// Whether its name is `name`. The top instance has no name.
    pub(crate) fn is_called(&self, name: &[u8]) -> bool {
        self.name().is_some_and(|its| its.to_bytes() == name)
    }

    /// The name of its directory. The top instance has none.
    pub(crate) fn name(&self) -> Option<&CStr> {
        self.name.as_deref()
    }

    /// Whether this is the top instance.
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

    /// Prepares both buffers for a CPU that comes online, or neither. Task context, sleeps. `ENOMEM`.
    pub(crate) fn prepare(&self, cpu: CpuId) -> Result {
        // A snapshot between the two would swap rings of different sizes.
        let _ring = self.buffer.keep_rings_of(Some(cpu));
        let live = self.buffer.coming(cpu)?;
        let spare = self.snapshot.buffer().coming(cpu)?;
        live.take_in();
        spare.take_in();
        Ok(())
    }

    /// The consuming readers.
    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Its `error_log`.
    pub(crate) fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// Whether `tracing_on` allows recording. Any context.
    pub(crate) fn tracing_on(&self) -> bool {
        self.buffer.is_on()
    }

    /// Sets `tracing_on`. Tells the current tracer and wakes sleeping readers. Task context, may
    /// sleep.
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

    /// Handles a write of `number` to the file `snapshot` of `cpu`, or of all CPUs. Expands the
    /// buffer first. Task context, sleeps. Errors as [`Snapshot::command`], and `ENOMEM`.
    pub(crate) fn command_snapshot(&self, cpu: Option<CpuId>, number: u64) -> Result {
        let _state = self.state.lock();
        self.snapshot.command(self, cpu, number)
    }

    /// Allocates the snapshot. Task context, sleeps. `ENOMEM`; `EINVAL` as
    /// [`Instance::may_have_snapshot`].
    pub(crate) fn allocate_snapshot(&self) -> Result {
        self.may_have_snapshot()?;
        let _state = self.state.lock();
        self.snapshot.allocate(&self.buffer)
    }

    /// Allocates the snapshot for a user that may take one at any time; [`Snapshot::disarm`] undoes
    /// it. Task context, sleeps. `ENOMEM`; `EINVAL` as [`Instance::may_have_snapshot`].
    pub(crate) fn arm_snapshot(&self) -> Result {
        self.may_have_snapshot()?;
        let _state = self.state.lock();
        self.snapshot.arm(&self.buffer)
    }

    /// The clock of the timestamps. Any context.
    pub(crate) fn clock(&self) -> &'static Clock {
        self.buffer.clock()
    }

    /// Changes the clock and clears the buffer, since times of two clocks cannot be compared. Task
    /// context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no clock called `name`; `EACCES` in a read-only copy of another instance.
    pub(crate) fn set_clock(&self, name: &[u8]) -> Result {
        self.set_clock_row(clock::find(name)?)
    }

    /// [`Instance::set_clock`] with the row of the clock in their table. Task context, may sleep. `EACCES` in a read-only
    /// copy of another instance.
    pub(crate) fn set_clock_row(&self, row: usize) -> Result {
        self.may_record()?;
        let _state = self.state.lock();
        // A snapshot between the two would swap rings with different clocks.
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

    /// Changes the CPUs that record. The others keep their events. Task context.
    pub(crate) fn set_cpumask(&self, mask: CpuSet) {
        let mut state = self.state.lock();
        self.buffer.set_mask(&mask);
        self.snapshot.buffer().set_mask(&mask);
        state.cpumask = mask;
    }
}
