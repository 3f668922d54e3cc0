// SPDX-License-Identifier: GPL-2.0

//! Kernel threads that run a function and end.
//!
//! C header: `include/linux/kthread.h`.

use core::marker::PhantomData;
use core::ptr::NonNull;
use kernel::bindings;
#[cfg(any(
    CONFIG_RING_BUFFER_STARTUP_TEST,
    CONFIG_HWLAT_TRACER,
    CONFIG_OSNOISE_TRACER
))]
use kernel::cpu::CpuId;
use kernel::error::from_err_ptr;
use kernel::prelude::*;
use kernel::types::NotThreadSafe;

/// Where and how a thread runs.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// On any CPU, like other tasks.
    #[cfg(any(CONFIG_FTRACE_STARTUP_TEST, CONFIG_HWLAT_TRACER))]
    Any,
    /// On any CPU, with a real-time priority.
    #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
    Urgent,
    /// On this CPU alone, whose number is added to the name. Its stack is in the CPU's memory.
    #[cfg(any(
        CONFIG_RING_BUFFER_STARTUP_TEST,
        CONFIG_HWLAT_TRACER,
        CONFIG_OSNOISE_TRACER
    ))]
    On(CpuId),
}

/// What a thread does.
pub(crate) trait Work: Send + Sync + 'static {
    /// Called once, in the thread, which ends when it returns.
    fn run(&self, thread: &ThisThread);
}

impl<F: Fn(&ThisThread) + Send + Sync + 'static> Work for F {
    fn run(&self, thread: &ThisThread) {
        self(thread);
    }
}

/// A thread. Dropping it has the thread stop and waits for its function: task context, sleeps.
///
/// # Invariants
///
/// The task was made by `kthread_create_on_node()` with [`main`] and `work`, nobody has stopped it,
/// and there is a reference to it. `work` came from [`KBox::into_raw`].
pub(crate) struct Thread<W: Work> {
    task: NonNull<bindings::task_struct>,
    work: *mut W,
    _owns: PhantomData<W>,
}

// SAFETY: it is no more than a pointer to a task and the owner of a function, which any task may
// drop.
unsafe impl<W: Work> Send for Thread<W> {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl<W: Work> Sync for Thread<W> {}

impl<W: Work> Thread<W> {
    /// Starts a thread that runs `work`. Task context, may sleep. `ENOMEM`, `EINTR`.
    pub(crate) fn run(name: &'static CStr, place: Place, work: W) -> Result<Self> {
        let work = KBox::into_raw(KBox::new(work, GFP_KERNEL)?);
        let (format, number, node) = match place {
            #[cfg(any(
                CONFIG_RING_BUFFER_STARTUP_TEST,
                CONFIG_HWLAT_TRACER,
                CONFIG_OSNOISE_TRACER
            ))]
            Place::On(cpu) => {
                // SAFETY: any CPU that is possible has a node, or none.
                let node = unsafe { bindings::cpu_to_node(cpu.as_u32() as c_int) };
                (c"%s/%u", cpu.as_u32(), node)
            }
            #[allow(unreachable_patterns, reason = "it depends on the configuration")]
            _ => (c"%s", 0, bindings::NUMA_NO_NODE),
        };
        // SAFETY: the strings are static; the format takes as many arguments as there are, or fewer.
        // `main` takes a pointer to a `W`, which lives until the thread has ended.
        let task = from_err_ptr(unsafe {
            bindings::kthread_create_on_node(
                Some(main::<W>),
                work.cast(),
                node,
                format.as_char_ptr(),
                name.as_char_ptr(),
                number,
            )
        });
        let task = task.and_then(|task| NonNull::new(task).ok_or(ENOMEM));
        let task = task.inspect_err(|_| {
            // SAFETY: made above, and no thread has it.
            drop(unsafe { KBox::from_raw(work) });
        })?;
        // SAFETY: a new thread, which has not run yet and stays until it is stopped; the reference is
        // given back by `drop`.
        unsafe {
            bindings::get_task_struct(task.as_ptr());
            match place {
                #[cfg(any(CONFIG_FTRACE_STARTUP_TEST, CONFIG_HWLAT_TRACER))]
                Place::Any => {}
                #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
                Place::Urgent => bindings::sched_set_fifo(task.as_ptr()),
                #[cfg(any(
                    CONFIG_RING_BUFFER_STARTUP_TEST,
                    CONFIG_HWLAT_TRACER,
                    CONFIG_OSNOISE_TRACER
                ))]
                Place::On(cpu) => bindings::kthread_bind(task.as_ptr(), cpu.as_u32()),
            }
            bindings::wake_up_process(task.as_ptr());
        }
        // INVARIANT: just made, with the reference that was taken.
        Ok(Self {
            task,
            work,
            _owns: PhantomData,
        })
    }
}

impl<W: Work> Drop for Thread<W> {
    fn drop(&mut self) {
        // SAFETY: the task is there by the invariant, even if it has ended, and is stopped once. The
        // reference goes with that.
        unsafe { bindings::kthread_stop_put(self.task.as_ptr()) };
        // SAFETY: by the invariant. The thread has ended, or will never call `main`.
        drop(unsafe { KBox::from_raw(self.work) });
    }
}

/// The running thread, for its function.
pub(crate) struct ThisThread(NotThreadSafe);

impl ThisThread {
    /// Whether its owner waits for the function to return.
    #[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
    pub(crate) fn should_stop(&self) -> bool {
        // SAFETY: this is a kernel thread.
        unsafe { bindings::kthread_should_stop() }
    }

    /// Gives it the real-time priority `priority` of first in, first out.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    pub(crate) fn be_urgent(&self, priority: i32) {
        let param = bindings::sched_param {
            sched_priority: priority,
        };
        // SAFETY: the current task, and a live parameter. It fails for no valid priority.
        unsafe {
            bindings::sched_setscheduler_nocheck(
                bindings::get_current(),
                bindings::SCHED_FIFO as c_int,
                &param,
            );
        }
    }

    /// Sleeps until the monotonic clock shows `time`, or until it should stop.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    pub(crate) fn sleep_until(&self, time: u64) {
        let mut time = time as bindings::ktime_t;
        loop {
            // SAFETY: the state that the sleep below expects.
            unsafe { bindings::rtrace_prepare_to_sleep() };
            if self.should_stop() {
                // SAFETY: no preconditions.
                return unsafe { bindings::rtrace_stay_awake() };
            }
            let mode = bindings::hrtimer_mode_HRTIMER_MODE_ABS;
            // SAFETY: `time` is live. 0: the time has come.
            if unsafe { bindings::schedule_hrtimeout(&mut time, mode) } == 0 {
                return;
            }
        }
    }

    /// Sleeps for so many milliseconds, or until somebody wakes it.
    #[cfg(CONFIG_HWLAT_TRACER)]
    pub(crate) fn sleep(&self, milliseconds: u32) {
        // SAFETY: task context.
        unsafe { bindings::msleep_interruptible(milliseconds) };
    }
}

/// # Safety
///
/// `work` points to a `W` that lives until this returns.
unsafe extern "C" fn main<W: Work>(work: *mut c_void) -> c_int {
    // SAFETY: as said above.
    unsafe { (*work.cast::<W>()).run(&ThisThread(NotThreadSafe)) };
    0
}
