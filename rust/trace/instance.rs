// SPDX-License-Identifier: GPL-2.0

//! Instances: a buffer, a current tracer, a set of options. The kernel starts with the top one.
//!
//! An [`Instance`] answers what the control files and the C API ask; the buffer itself is [`super::buffer`], what
//! records is [`super::tracers`].
//!
//! Words: the *top* instance is the nameless one whose files lie directly in tracefs; *expanded* says that its
//! buffer has left the minimum size that it boots with; a *pipe* is an open consuming reader, which holds the
//! tracer in place.
//!
//! Lock order: [`Instance`]'s state mutex, then the locks of ops and patch sites (`super::ops`), then the reader
//! locks of the buffer (raw spinlocks, innermost). The error log's mutex nests in nothing and holds nothing.

use super::buffer::{Buffer, Size};
use super::clock::{self, Clock};
use super::tracers::{self, Tracer, TRACERS};
use crate::kapi::cpus::CpuSet;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{new_mutex, Arc, Mutex, SetOnce};

/// How many records `error_log` keeps.
pub(crate) const ERRORS: usize = 8;

/// What changes under the state mutex.
struct State {
    /// Index in [`TRACERS`].
    tracer: usize,
    /// Each tracer's own options, whether it is current or not.
    tracer_flags: [u32; TRACERS.len()],
    cpumask: CpuSet,
}

/// One record of `error_log`.
pub(crate) struct ErrorRecord {
    /// When, on the `local` clock (nanoseconds).
    pub(crate) time: u64,
    /// Who found it: `event filter parse error`, `hist:sched:sched_switch`…
    pub(crate) location: KVec<u8>,
    /// What is wrong.
    pub(crate) message: &'static str,
    /// The text that was written.
    pub(crate) command: KVec<u8>,
    /// Offset in `command` that the caret points to.
    pub(crate) column: usize,
}

/// A trace instance.
#[pin_data]
pub(crate) struct Instance {
    name: Option<CString>,
    buffer: Buffer,
    options: Atomic<u64>,
    pipes: Atomic<u32>,
    #[pin]
    state: Mutex<State>,
    #[pin]
    errors: Mutex<KVec<ErrorRecord>>,
}

static TOP: SetOnce<Arc<Instance>> = SetOnce::new();

impl Instance {
    /// The top instance.
    ///
    /// # Errors
    ///
    /// `ENODEV` before `early_trace_init()`, and for good when that could not allocate it. Any context.
    pub(crate) fn top() -> Result<&'static Instance> {
        TOP.as_ref().map(|top| &**top).ok_or(ENODEV)
    }

    /// The top instance as a counted reference. Errors as [`Instance::top`].
    pub(crate) fn top_ref() -> Result<Arc<Instance>> {
        TOP.as_ref().cloned().ok_or(ENODEV)
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

    /// May entries be recorded, as far as `tracing_on` is concerned? Any context.
    pub(crate) fn tracing_on(&self) -> bool {
        self.buffer.is_on()
    }

    /// Sets `tracing_on`; the current tracer hears of it. Task context, may sleep.
    pub(crate) fn set_tracing_on(&self, on: bool) {
        let state = self.state.lock();
        if self.buffer.set_on(on) == on {
            return;
        }
        let tracer = TRACERS[state.tracer];
        if on {
            tracer.start(self);
        } else {
            tracer.stop(self);
        }
    }

    /// The current tracer. Task context.
    pub(crate) fn tracer(&self) -> &'static dyn Tracer {
        TRACERS[self.state.lock().tracer]
    }

    /// Makes the tracer called `name` (white space around it ignored) the current one. Task context, may sleep.
    ///
    /// The buffer is expanded first. A tracer that fails to start leaves `nop` behind.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an unknown name or one not meant for this kind of instance, `EBUSY` while a pipe is open (unless
    /// the tracer is current already), `ENOMEM`, or what the tracer's start says.
    pub(crate) fn set_tracer(&self, name: &[u8]) -> Result {
        let name = name.trim_ascii();
        let mut state = self.state.lock();
        self.expand()?;
        let next = tracers::find(name).ok_or(EINVAL)?;
        if next == state.tracer {
            return Ok(());
        }
        if !self.is_top() && !TRACERS[next].in_instances() {
            return Err(EINVAL);
        }
        if self.pipes.load(Relaxed) != 0 {
            return Err(EBUSY);
        }
        TRACERS[state.tracer].reset(self);
        state.tracer = tracers::NOP_ROW;
        self.buffer.reset();
        TRACERS[next].init(self, state.tracer_flags[next])?;
        state.tracer = next;
        Ok(())
    }

    /// Opens a consuming reader: until it is dropped the tracer stays as it is. Task context.
    pub(crate) fn open_pipe(self: &Arc<Self>) -> Pipe {
        let _state = self.state.lock();
        self.pipes.fetch_add(1, Relaxed);
        Pipe(self.clone())
    }

    /// The options of `rcore::text::options`, bit *n* being row *n*. Any context.
    pub(crate) fn options(&self) -> u64 {
        self.options.load(Relaxed)
    }

    /// The current tracer's own options with their values, in order. Task context.
    pub(crate) fn tracer_options(&self) -> (&'static dyn Tracer, u32) {
        let state = self.state.lock();
        (TRACERS[state.tracer], state.tracer_flags[state.tracer])
    }

    /// The clock that stamps entries. Any context.
    pub(crate) fn clock(&self) -> &'static Clock {
        self.buffer.clock()
    }

    /// Changes the clock, which empties the buffer: stamps of two clocks do not compare. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there is no clock of that name.
    pub(crate) fn set_clock(&self, name: &[u8]) -> Result {
        let row = clock::find(name)?;
        let _state = self.state.lock();
        self.buffer.set_clock(row);
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

    /// What `buffer_size_kb` shows: of one CPU, or of all when `cpu` is `None`.
    pub(crate) fn size(&self, cpu: Option<CpuId>) -> Size {
        self.buffer.size(cpu)
    }

    /// Gives the buffer of `cpu` (all of them: `None`) room for `bytes`. What fits of the data stays.
    /// Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for 0, `ENOMEM` (the old buffer is then still there).
    pub(crate) fn resize(&self, cpu: Option<CpuId>, bytes: usize) -> Result {
        if bytes == 0 {
            return Err(EINVAL);
        }
        let _state = self.state.lock();
        self.buffer.resize(cpu, bytes)
    }

    /// Gives the buffer its full size, if it still has the one of boot. Task context, sleeps. `ENOMEM`.
    pub(crate) fn expand(&self) -> Result {
        self.buffer.expand()
    }

    /// What closing `free_buffer` does: shrinks the buffer to its least and forgets the data.
    pub(crate) fn free_buffer(&self) {
        let _state = self.state.lock();
        self.buffer.shrink();
    }

    /// Adds a record to `error_log`, dropping the oldest beyond [`ERRORS`]. Task context; lost without memory.
    pub(crate) fn log_error(&self, record: ErrorRecord) {
        let mut errors = self.errors.lock();
        if errors.len() >= ERRORS {
            let _oldest = errors.remove(0);
        }
        let _ = errors.push(record, GFP_KERNEL);
    }

    /// Runs `f` over the records of `error_log`, oldest first. Task context.
    pub(crate) fn with_errors<R>(&self, f: impl FnOnce(&[ErrorRecord]) -> R) -> R {
        f(&self.errors.lock())
    }

    /// Empties `error_log`.
    pub(crate) fn clear_errors(&self) {
        self.errors.lock().clear();
    }
}

/// An open consuming reader of an instance, from [`Instance::open_pipe`].
pub(crate) struct Pipe(Arc<Instance>);

impl core::ops::Deref for Pipe {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.0
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.0.pipes.fetch_sub(1, Relaxed);
    }
}
