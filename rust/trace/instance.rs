// SPDX-License-Identifier: GPL-2.0

//! Instances: a buffer, a current tracer, a set of options. The kernel starts with the top one.
//!
//! An [`Instance`] answers what the control files and the C API ask; the buffer itself is
//! [`super::buffer`], what records is [`super::tracers`].
//!
//! The list of all instances is [`self::list`]. Beside the buffer stands the *snapshot*
//! ([`self::snapshot`]), a second buffer that the first exchanges its rings with. What goes with
//! the current tracer is in [`current`].
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
pub(crate) mod list;
pub(crate) mod persistent;
pub(crate) mod readers;
pub(crate) mod snapshot;

use self::error_log::ErrorLog;
use self::list as instances;
use self::persistent::{Persistent, PreviousBoot};
use self::readers::Readers;
use self::snapshot::Snapshot;
use super::buffer::clock::{self, Clock};
use super::buffer::entry::Context;
use super::buffer::Buffer;
use super::commands::Probes;
use super::fgraph::recorder::GraphRecorder;
use super::ftrace::ops::Ops;
use super::output::printk;
#[cfg(CONFIG_FUNCTION_TRACER)]
use super::profilers::function as profile;
use super::tasks::pids::{self, PidFilter};
use super::tasks::{cmdlines, stack};
#[cfg(CONFIG_BRANCH_TRACER)]
use super::tracers::branch::recording as branch;
use super::tracers::latency::Latency;
use super::tracers::{self, Running, Tracer, TRACERS};
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::core::parse::options::graph::SLEEP_TIME;
use crate::core::parse::options::{Flag, Set, TracerOption};
use crate::kernel::cpus::{self, CpuSet};
use crate::kernel::fs::pseudo_fs::Kept;
use crate::kernel::reserved::Reserved;
use core::iter::once;
use kernel::cpu::CpuId;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};

/// What changes under the state mutex.
struct State {
    /// Index in [`TRACERS`].
    tracer: usize,
    /// Each tracer's own options, whether it is current or not.
    tracer_flags: [u32; TRACERS.len()],
    /// What the current tracer keeps while it is current.
    running: Option<KBox<dyn Running>>,
    /// Option `branch`, as it was when the tracer was set.
    #[cfg(CONFIG_BRANCH_TRACER)]
    branches: Option<branch::Recording>,
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
    /// First, to be dropped first: it waits for hits that record into the buffer.
    graph: GraphRecorder,
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
    latency: Latency,
    #[pin]
    errors: ErrorLog,
    #[pin]
    commands: Probes,
    #[pin]
    pids: PidFilter,
    ops: Option<Arc<Ops>>,
    /// Where the buffer lies, if it outlives the kernel. Behind the buffer, to be dropped later.
    persistent: Option<Pin<KBox<Persistent>>>,
}

static TOP: SetOnce<Arc<Instance>> = SetOnce::new();

/// In `Instance::users`: nobody can open it any more.
const CLOSED: i32 = -1;

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

    /// The top instance as a counted reference. Errors as [`Instance::top`].
    pub(crate) fn top_ref() -> Result<Arc<Instance>> {
        Self::top().cloned()
    }

    /// Makes the top instance, with `bytes` of buffer per CPU to come at first use. Once, at boot.
    /// `ENOMEM`.
    pub(super) fn make_top(bytes: usize) -> Result<&'static Arc<Instance>> {
        let top = Self::new(
            None,
            Buffer::new(bytes, false),
            Set::DEFAULT,
            Ops::global(),
            None,
        )?;
        cpus::online().try_for_each(|cpu| top.prepare(cpu))?;
        instances::init(top.clone(), bytes)?;
        TOP.populate(top);
        Self::top()
    }

    /// Makes an instance called `name`, with `bytes` of buffer per CPU and the top's options as far
    /// as they are handed down. Its buffer has no CPUs yet. Task context, may sleep. `ENOMEM`.
    pub(super) fn make(name: CString, bytes: usize) -> Result<Arc<Instance>> {
        let options = Self::top()?.options().for_instance();
        let instance = Self::new(
            Some(name),
            Buffer::new(bytes, true),
            options,
            Some(Ops::without_callback()?),
            None,
        )?;
        instance.buffer.set_overwrite(options.has(Flag::Overwrite));
        Ok(instance)
    }

    /// [`Instance::make`] with the buffer where `persistent` says, and with what is found there.
    /// Boot. `ENOMEM`.
    pub(super) fn make_persistent(
        name: CString,
        persistent: Pin<KBox<Persistent>>,
    ) -> Result<Arc<Instance>> {
        let options = Self::top()?.options().for_instance();
        let ops = Some(Ops::without_callback()?);
        // The box stays where it is, also when it moves into the instance.
        let region: *const _ = persistent.region();
        // SAFETY: the only buffer there; `Instance` has the region dropped behind the buffer.
        let buffer = unsafe { Buffer::in_region(&*region) };
        let clock = persistent.clock();
        let instance = Self::new(Some(name), buffer, options, ops, Some(persistent))?;
        instance.buffer.set_overwrite(options.has(Flag::Overwrite));
        instance.buffer.continue_clock(clock);
        // It has no snapshot, and nobody can arm one: as if it were mapped.
        instance.snapshot.begin_mapping()?;
        Ok(instance)
    }

    fn new(
        name: Option<CString>,
        buffer: impl PinInit<Buffer, Error>,
        options: Set,
        ops: Option<Arc<Ops>>,
        persistent: Option<Pin<KBox<Persistent>>>,
    ) -> Result<Arc<Instance>> {
        Arc::pin_init(
            try_pin_init!(Self {
                graph: GraphRecorder::new(),
                name,
                buffer <- buffer,
                snapshot <- Snapshot::new(),
                options: Atomic::new(options.bits()),
                buffer_percent: Atomic::new(50),
                users: Atomic::new(0),
                state <- new_mutex!(State {
                    tracer: tracers::NOP_ROW,
                    tracer_flags: core::array::from_fn(|row| TRACERS[row].default_flags()),
                    running: None,
                    #[cfg(CONFIG_BRANCH_TRACER)]
                    branches: None,
                    unforced: Set::NONE,
                    cpumask: CpuSet::all(),
                }),
                readers <- Readers::new(),
                latency: Latency::new(),
                errors <- ErrorLog::new(),
                commands <- Probes::new(),
                pids <- PidFilter::new(),
                ops,
                persistent,
            }? Error),
            GFP_KERNEL,
        )
    }

    /// Keeps it from being removed. Any context. `ENODEV` when it is going already.
    pub(crate) fn hold(self: &Arc<Self>) -> Result<Held> {
        let mut users = self.users.load(Relaxed);
        while users != CLOSED && !self.is_leaving() {
            match self
                .users
                .cmpxchg(users, users.checked_add(1).ok_or(EBUSY)?, ordering::Full)
            {
                Ok(_) => return Ok(Held(self.clone())),
                Err(now) => users = now,
            }
        }
        Err(ENODEV)
    }

    /// Makes further [holds](Self::hold) fail. `EBUSY` while there are any, and where its memory
    /// cannot be given back.
    pub(super) fn close(&self) -> Result {
        if self
            .persistent
            .as_ref()
            .is_some_and(|persistent| !persistent.region().can_go())
        {
            return Err(EBUSY);
        }
        self.users
            .cmpxchg(0, CLOSED, ordering::Full)
            .map(drop)
            .map_err(|_| EBUSY)
    }

    /// Ends what it does; it is closed, and no longer in the list. Task context, sleeps.
    pub(super) fn retire(&self) {
        self.stop_tracer(&mut self.state.lock());
        self.commands.clear();
        // Only taking away: neither asks for memory.
        let _ = self.pids.follow_forks(false);
        self.pids.clear(pids::PidListKind::Only);
        self.pids.clear(pids::PidListKind::Not);
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

    /// What is known of the last boot, if its buffer outlives the kernel.
    pub(crate) fn last_boot(&self) -> Option<&'static PreviousBoot> {
        self.persistent
            .as_ref()
            .map(|persistent| persistent.last_boot())
    }

    /// What its buffer's memory holds now, if that outlives the kernel. Boot. `EINVAL` if it does
    /// not, `ENOMEM`.
    pub(super) fn copy_memory(&self) -> Result<Reserved> {
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
    fn is_leaving(&self) -> bool {
        self.is_copy() && self.last_boot().is_some_and(|last| !last.holds())
    }

    /// A module comes or goes; see [`Persistent::module`]. Task context, sleeps.
    pub(super) fn note_module(&self, name: &[u8], text: Option<usize>) {
        if let Some(persistent) = &self.persistent {
            persistent.module(name, text);
        }
    }

    /// What is recorded from now on is of this kernel: forgets what the last boot has left. The
    /// state mutex is held. Task context, sleeps.
    fn begin_anew(&self) {
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
            || self.last_boot().is_some_and(|last| last.holds()) && self.buffer.is_empty(None);
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

    /// One of its two buffers.
    pub(crate) fn side(&self, side: Side) -> &Buffer {
        match side {
            Side::Live => &self.buffer,
            Side::Snapshot => self.snapshot.buffer(),
        }
    }

    /// Takes in a CPU that comes up. Task context, sleeps. `ENOMEM`.
    pub(crate) fn prepare(&self, cpu: CpuId) -> Result {
        self.buffer.prepare(cpu)?;
        self.snapshot.buffer().prepare(cpu)
    }

    /// Who consumes it.
    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// The function commands of its `set_ftrace_filter`.
    pub(crate) fn commands(&self) -> &Probes {
        &self.commands
    }

    /// The latencies that its tracer has found.
    pub(crate) fn latency(&self) -> &Latency {
        &self.latency
    }

    /// Its `error_log`.
    pub(crate) fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// The ops that its filter files edit and its function tracer uses.
    pub(crate) fn ops(&self) -> Option<&Arc<Ops>> {
        self.ops.as_ref()
    }

    /// What its `function_graph` has.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn graph(&self) -> &GraphRecorder {
        &self.graph
    }

    /// Tells the current tracer to look at its options, and what else it goes by. Task context, may
    /// sleep. Errors as of [`Running::changed`].
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn refresh_tracer(&self) -> Result {
        self.state.lock().changed()
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
        }
        if !on {
            self.buffer.wake_all();
        }
    }

    /// The current tracer. Task context.
    pub(crate) fn tracer(&self) -> &'static dyn Tracer {
        row(&self.state.lock())
    }

    /// Does what a write of `number` to the file `snapshot` of `cpu`, or to that of all, asks for.
    /// Expands the buffer. Task context, sleeps. Errors as [`Snapshot::command`], and `ENOMEM`.
    pub(crate) fn command_snapshot(&self, cpu: Option<CpuId>, number: u64) -> Result {
        let _state = self.state.lock();
        self.snapshot.command(&self.buffer, cpu, number)
    }

    /// Expands the buffer from the size of boot, once; what the last boot has left in it is
    /// forgotten. Task context, sleeps. `ENOMEM`.
    pub(crate) fn expand(&self) -> Result {
        let _state = self.state.lock();
        self.begin_anew();
        self.buffer.expand()
    }

    /// Allocates the snapshot. Task context, sleeps. `ENOMEM`.
    pub(crate) fn allocate_snapshot(&self) -> Result {
        let _state = self.state.lock();
        self.snapshot.allocate(&self.buffer)
    }

    /// Allocates it for somebody who takes snapshots at any time; [`Snapshot::disarm`] undoes it.
    /// Task context, sleeps. `ENOMEM`.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    pub(crate) fn arm_snapshot(&self) -> Result {
        let _state = self.state.lock();
        self.snapshot.arm(&self.buffer)
    }

    /// The core options that are on. Any context.
    pub(crate) fn options(&self) -> Set {
        Set::from_bits(self.options.load(Relaxed))
    }

    /// Sets a core option and does what it means. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EINVAL` where the option cannot be cleared; it is then as before.
    pub(crate) fn set_option(self: &Arc<Self>, flag: Flag, on: bool) -> Result {
        let mut state = self.state.lock();
        if self.options().has(flag) == on {
            return Ok(());
        }
        if flag == Flag::Overwrite && row(&state).forces().has(flag) {
            return Err(EINVAL);
        }
        if self.is_copy() && matches!(flag, Flag::TracePrintkDest | Flag::CopyTraceMarker) {
            return Err(EACCES);
        }
        if let Some(running) = &mut state.running {
            running.option(flag, on)?;
        }
        match flag {
            Flag::RecordCmd => cmdlines::save_names(on),
            Flag::RecordTgid => cmdlines::save_tgids(on)?,
            Flag::Overwrite => self.buffer.set_overwrite(on),
            Flag::Printk => printk::switched(on),
            Flag::FunctionFork => self.pids.follow_forks(on)?,
            #[cfg(CONFIG_FUNCTION_TRACER)]
            Flag::GraphTime => profile::set_graph_time(on)?,
            Flag::TracePrintkDest => return instances::set_printk_dest(self, on),
            Flag::CopyTraceMarker => instances::set_marker_copy(self, on),
            _ => {}
        }
        self.show_option(flag, on);
        Ok(())
    }

    /// Sets an option's bit, and does nothing else. Any context.
    pub(super) fn show_option(&self, flag: Flag, on: bool) {
        let mut bits = self.options.load(Relaxed);
        while let Err(now) =
            self.options
                .cmpxchg(bits, Set::from_bits(bits).with(flag, on).bits(), Relaxed)
        {
            bits = now;
        }
    }

    /// The current tracer's own options with their values. Task context.
    pub(crate) fn tracer_options(&self) -> (&'static [TracerOption], u32) {
        let state = self.state.lock();
        (row(&state).options(), state.tracer_flags[state.tracer])
    }

    /// The options of the tracer in row `tracer` of [`TRACERS`] that are on, current or not. Task
    /// context.
    pub(crate) fn flags_of(&self, tracer: usize) -> u32 {
        self.state
            .lock()
            .tracer_flags
            .get(tracer)
            .copied()
            .unwrap_or(0)
    }

    /// Sets an option of the current tracer. Task context, may sleep. Errors as
    /// [`Instance::set_flag_of`].
    pub(crate) fn set_tracer_option(&self, option: &TracerOption, on: bool) -> Result {
        let mut state = self.state.lock();
        let tracer = state.tracer;
        state.set_flag(tracer, option, on)?;
        drop(state);
        self.tell_profiler(option, on)
    }

    /// Sets an option of the tracer in row `tracer` of [`TRACERS`], current or not. Task context,
    /// may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the tracer refuses or there is none in that row, `ENOMEM`; the option is then
    /// as before.
    pub(crate) fn set_flag_of(&self, tracer: usize, option: &TracerOption, on: bool) -> Result {
        self.state.lock().set_flag(tracer, option, on)?;
        self.tell_profiler(option, on)
    }

    /// The profiler goes by the top's `sleep-time`, current tracer or not.
    fn tell_profiler(&self, option: &TracerOption, on: bool) -> Result {
        #[cfg(CONFIG_FUNCTION_TRACER)]
        if self.is_top() && *option == SLEEP_TIME {
            return profile::set_sleep_time(on);
        }
        let _ = (option, on);
        Ok(())
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

    /// Gives the buffer of `cpu` (all of them: `None`) room for `bytes`. What fits of the data
    /// stays. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for 0; `ENOMEM`, `EBUSY` while somebody reads without consuming (the old buffer is
    /// then still there).
    pub(crate) fn resize(&self, cpu: Option<CpuId>, bytes: usize) -> Result {
        if bytes == 0 {
            return Err(EINVAL);
        }
        let _state = self.state.lock();
        self.change_both(cpu, |buffer| buffer.resize(cpu, bytes))
    }

    /// Has `change` done to the snapshot's buffer, if that is allocated, and to the live one: to
    /// both or none. The state mutex is held. `EBUSY` while somebody reads or maps one of them, of
    /// `cpu` or of all.
    fn change_both(&self, cpu: Option<CpuId>, change: impl Fn(&Buffer) -> Result) -> Result {
        // A snapshot in between would exchange rings that differ.
        let _rings = self.buffer.keep_rings();
        if self.buffer.is_held(cpu) {
            return Err(EBUSY);
        }
        if self.snapshot.is_allocated() {
            change(self.snapshot.buffer())?;
        }
        change(&self.buffer).inspect_err(|_| self.snapshot.follow(&self.buffer, cpu))
    }

    /// Gives sub-buffers 2^`order` pages, and forgets the data. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EBUSY` as [`Instance::resize`].
    pub(crate) fn set_sub_buffer_order(&self, order: u32) -> Result {
        let _state = self.state.lock();
        self.change_both(None, |buffer| buffer.set_order(order))
    }

    /// How full, in percent, a CPU's buffer is to be before readers of whole sub-buffers are woken;
    /// 0 means any event. Any context.
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

    /// What closing `free_buffer` does: shrinks the buffer to its least and forgets the data; with
    /// option `disable_on_free` recording is switched off, too. Task context, sleeps.
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

    /// Which tasks are traced (`set_ftrace_pid`, `set_ftrace_notrace_pid`).
    pub(crate) fn pids(&self) -> &PidFilter {
        &self.pids
    }

    /// Adds the pids of one write to a list, all or none; gives what the write returns. Task
    /// context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what is no number or too large, `ENOMEM`.
    pub(crate) fn write_pids(&self, which: pids::PidListKind, text: &[u8]) -> Result<usize> {
        let mut state = self.state.lock();
        let used = self.pids.write(which, text)?;
        state.changed()?;
        Ok(used)
    }

    /// Forgets a list of pids. Task context, may sleep. `ENOMEM`.
    pub(crate) fn clear_pids(&self, which: pids::PidListKind) -> Result {
        let mut state = self.state.lock();
        self.pids.clear(which);
        state.changed()
    }

    /// Records an entry of type `kind` made in `context` at `ip`, of `ip` and `parts`; where option
    /// `stacktrace` is on, the stack from the function around `ip` on follows. It may be made while
    /// an entry of this context is unfinished. Any context. None when it was not recorded.
    pub(crate) fn record_message(
        &self,
        context: Context,
        kind: u16,
        ip: usize,
        parts: &[&[u8]],
    ) -> Option<()> {
        self.buffer.nested(|| {
            let ip_bytes = ip.to_ne_bytes();
            self.buffer.write_parts(
                context,
                kind,
                Iterator::chain(once(&ip_bytes[..]), parts.iter().copied()),
            )?;
            if self.options().has(Flag::StackTrace) {
                stack::record_caller(&self.buffer, context, ip);
            }
            Some(())
        })
    }
}

/// Keeps an instance from being removed, see [`Instance::hold`].
pub(crate) struct Held(Arc<Instance>);

impl Kept for Held {}

impl Held {
    /// The instance as a C caller knows it (`struct trace_array *`); [`Held::from_raw`] ends what
    /// it is held for.
    pub(crate) fn into_raw(self) -> *const Instance {
        // What is not dropped goes on counting.
        Arc::as_ptr(&core::mem::ManuallyDrop::new(self).0)
    }

    /// Takes back what [`Held::into_raw`] gave.
    ///
    /// # Safety
    ///
    /// `instance` came from there, and this is done once for each time.
    pub(crate) unsafe fn from_raw(instance: *const Instance) -> Self {
        // SAFETY: by the precondition the reference was kept and is nobody's.
        Self(unsafe { Arc::from_raw(instance) })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, ordering::Full) == 1 && self.0.is_leaving() {
            instances::remove_later(&self.0);
        }
    }
}

impl State {
    fn set_flag(&mut self, tracer: usize, option: &TracerOption, on: bool) -> Result {
        TRACERS.get(tracer).ok_or(EINVAL)?.accept(option, on)?;
        let old = self.tracer_flags[tracer];
        let new = if on {
            old | option.bit
        } else {
            old & !option.bit
        };
        self.tracer_flags[tracer] = new;
        if old != new && tracer == self.tracer {
            self.changed()
                .inspect_err(|_| self.tracer_flags[tracer] = old)?;
        }
        Ok(())
    }

    /// Tells the current tracer that it should look at its options and pids.
    fn changed(&mut self) -> Result {
        let flags = self.tracer_flags[self.tracer];
        self.running
            .as_mut()
            .map_or(Ok(()), |running| running.changed(flags))
    }
}

fn row(state: &State) -> &'static dyn Tracer {
    TRACERS[state.tracer]
}
