// SPDX-License-Identifier: GPL-2.0

//! Probes on the scheduler's tracepoints.
//!
//! C headers: `include/linux/tracepoint.h`, `include/trace/events/sched.h`.

use core::ffi::c_void;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::sync::Arc;

/// A task, as far as probes look at it.
#[derive(Clone, Copy)]
pub(crate) struct TaskView<'a>(&'a kernel::types::Opaque<bindings::task_struct>);

/// Length of a task's name with its NUL.
pub(crate) const COMM: usize = bindings::TASK_COMM_LEN as usize;

impl TaskView<'_> {
    /// # Safety
    ///
    /// `task` is a task that stays for the lifetime that the caller picks.
    unsafe fn new<'a>(task: *mut bindings::task_struct) -> TaskView<'a> {
        // SAFETY: by the precondition.
        TaskView(unsafe { &*task.cast() })
    }

    /// Runs `f` on the task this is called from.
    pub(crate) fn with_current<R>(f: impl FnOnce(TaskView<'_>) -> R) -> R {
        // SAFETY: `current` stays while it runs, and it runs `f`.
        f(unsafe { TaskView::new(bindings::get_current()) })
    }

    /// Its address.
    pub(crate) fn as_ptr(self) -> *mut bindings::task_struct {
        self.0.get()
    }

    /// Its pid in the first namespace.
    pub(crate) fn pid(self) -> i32 {
        // SAFETY: the task is live; its pid does not change while it can be seen.
        unsafe { (*self.0.get()).pid }
    }

    /// The pid of its thread group.
    pub(crate) fn tgid(self) -> i32 {
        // SAFETY: the task is live; the word does not tear.
        unsafe { (&raw const (*self.0.get()).tgid).read_volatile() }
    }

    /// Its name, up to and including a NUL. It may be changing: a mix of two names is possible, bytes beyond not.
    pub(crate) fn comm(self) -> [u8; COMM] {
        // SAFETY: the task is live, and the array is plain bytes of this length, read one by one.
        unsafe { (&raw const (*self.0.get()).comm).cast::<[u8; COMM]>().read_volatile() }
    }
}

/// The highest pid that there can be now, in the first namespace.
pub(crate) fn pid_max() -> usize {
    // SAFETY: a static whose word does not tear.
    let max = unsafe { (&raw const bindings::init_pid_ns.pid_max).read_volatile() };
    usize::try_from(max).unwrap_or(0)
}

/// What a probe does; implement those that are registered. They run with preemption off, `switched` and `woken`
/// with interrupts off and the run queue locked: no sleeping, no waking, no traced lock.
pub(crate) trait TaskProbe: Send + Sync + 'static {
    /// `sched_switch`.
    fn switched(&self, _prev: TaskView<'_>, _next: TaskView<'_>) {}
    /// `sched_wakeup` and `sched_wakeup_new`.
    fn woken(&self, _task: TaskView<'_>) {}
    /// `sched_process_fork`.
    fn forked(&self, _parent: TaskView<'_>, _child: TaskView<'_>) {}
    /// `sched_process_free`.
    fn freed(&self, _task: TaskView<'_>) {}
}

/// Where probes can be put.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// A CPU turns to another task.
    Switch,
    /// A task becomes runnable.
    Wakeup,
    /// A new task becomes runnable.
    WakeupNew,
    /// A task made another.
    Fork,
    /// The last trace of a task goes.
    Free,
}

impl Point {
    fn tracepoint(self) -> *mut bindings::tracepoint {
        match self {
            Self::Switch => &raw mut bindings::__tracepoint_sched_switch,
            Self::Wakeup => &raw mut bindings::__tracepoint_sched_wakeup,
            Self::WakeupNew => &raw mut bindings::__tracepoint_sched_wakeup_new,
            Self::Fork => &raw mut bindings::__tracepoint_sched_process_fork,
            Self::Free => &raw mut bindings::__tracepoint_sched_process_free,
        }
    }

    fn function<T: TaskProbe>(self) -> *mut c_void {
        match self {
            Self::Switch => on_switch::<T> as *mut c_void,
            Self::Wakeup | Self::WakeupNew => on_wakeup::<T> as *mut c_void,
            Self::Fork => on_fork::<T> as *mut c_void,
            Self::Free => on_free::<T> as *mut c_void,
        }
    }
}

/// Probes that are in place; dropping it removes them and waits until none runs. Task context.
pub(crate) struct Probes<T: TaskProbe> {
    points: &'static [Point],
    registered: usize,
    data: Arc<T>,
}

impl<T: TaskProbe> Probes<T> {
    /// Calls `data` at `points`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn register(points: &'static [Point], data: Arc<T>) -> Result<Self> {
        let mut probes = Self { points, registered: 0, data };
        for point in points {
            // SAFETY: the function has the prototype of the tracepoint with a leading pointer, for which it gets
            // the address of `data`; that lives until `drop` has removed the probe.
            to_result(unsafe {
                bindings::tracepoint_probe_register(
                    point.tracepoint(),
                    point.function::<T>(),
                    Arc::as_ptr(&probes.data).cast_mut().cast(),
                )
            })?;
            probes.registered += 1;
        }
        Ok(probes)
    }
}

impl<T: TaskProbe> Drop for Probes<T> {
    fn drop(&mut self) {
        for point in self.points.iter().take(self.registered) {
            // SAFETY: undoes the registration with the same arguments. It can only fail for want of memory, and
            // then the tracepoint code itself has put a function that does nothing in the probe's place.
            unsafe {
                bindings::tracepoint_probe_unregister(
                    point.tracepoint(),
                    point.function::<T>(),
                    Arc::as_ptr(&self.data).cast_mut().cast(),
                );
            }
        }
        // Probes run with preemption off: after this none uses `data` any more.
        kernel::sync::rcu::synchronize_rcu();
    }
}

/// # Safety
///
/// As a probe of `sched_switch` that was registered with the address of a live `T`.
unsafe extern "C" fn on_switch<T: TaskProbe>(
    data: *mut c_void,
    _preempt: bool,
    prev: *mut bindings::task_struct,
    next: *mut bindings::task_struct,
    _prev_state: c_uint,
) {
    // SAFETY: by the precondition; both tasks stay during the probe.
    unsafe { (*data.cast::<T>()).switched(TaskView::new(prev), TaskView::new(next)) };
}

/// # Safety
///
/// As a probe of `sched_wakeup` or `sched_wakeup_new` that was registered with the address of a live `T`.
unsafe extern "C" fn on_wakeup<T: TaskProbe>(data: *mut c_void, task: *mut bindings::task_struct) {
    // SAFETY: by the precondition; the task stays during the probe.
    unsafe { (*data.cast::<T>()).woken(TaskView::new(task)) };
}

/// # Safety
///
/// As a probe of `sched_process_fork` that was registered with the address of a live `T`.
unsafe extern "C" fn on_fork<T: TaskProbe>(
    data: *mut c_void,
    parent: *mut bindings::task_struct,
    child: *mut bindings::task_struct,
) {
    // SAFETY: by the precondition; both tasks stay during the probe.
    unsafe { (*data.cast::<T>()).forked(TaskView::new(parent), TaskView::new(child)) };
}

/// # Safety
///
/// As a probe of `sched_process_free` that was registered with the address of a live `T`.
unsafe extern "C" fn on_free<T: TaskProbe>(data: *mut c_void, task: *mut bindings::task_struct) {
    // SAFETY: by the precondition; the task stays during the probe.
    unsafe { (*data.cast::<T>()).freed(TaskView::new(task)) };
}
