// SPDX-License-Identifier: GPL-2.0

//! Kernel threads that run a function and end.
//!
//! C header: `include/linux/kthread.h`.

use core::ptr::NonNull;
use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::error::from_err_ptr;
use kernel::prelude::*;
use kernel::time::{delay::fsleep, Delta};

/// Where and how a thread runs.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// On any CPU, like other tasks.
    Any,
    /// On any CPU, with a real-time priority.
    #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
    Urgent,
    /// On this CPU alone.
    #[cfg(CONFIG_RING_BUFFER_STARTUP_TEST)]
    On(CpuId),
}

/// A thread. Dropping it waits for its function: task context, sleeps.
///
/// # Invariants
///
/// The task was made by `kthread_create_on_node()` with [`main`] and `work`, and nobody has stopped
/// it. It stays until then. `work` came from [`KBox::into_raw`].
pub(crate) struct Thread<F: Fn() + Send + Sync + 'static> {
    task: NonNull<bindings::task_struct>,
    work: *mut F,
}

impl<F: Fn() + Send + Sync + 'static> Thread<F> {
    /// Starts a thread that runs `work`. Task context, may sleep. `ENOMEM`, `EINTR`.
    pub(crate) fn run(name: &'static CStr, place: Place, work: F) -> Result<Self> {
        let work = KBox::into_raw(KBox::new(work, GFP_KERNEL)?);
        // SAFETY: the strings are static. `main` takes a pointer to an `F`, which lives until the
        // thread has ended.
        let task = from_err_ptr(unsafe {
            bindings::kthread_create_on_node(
                Some(main::<F>),
                work.cast(),
                bindings::NUMA_NO_NODE,
                c"%s".as_char_ptr(),
                name.as_char_ptr(),
            )
        });
        let task = task.and_then(|task| NonNull::new(task).ok_or(ENOMEM));
        let task = task.inspect_err(|_| {
            // SAFETY: made above, and no thread has it.
            drop(unsafe { KBox::from_raw(work) });
        })?;
        // SAFETY: a new thread, which has not run yet and stays until it is stopped.
        unsafe {
            match place {
                Place::Any => {}
                #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
                Place::Urgent => bindings::sched_set_fifo(task.as_ptr()),
                #[cfg(CONFIG_RING_BUFFER_STARTUP_TEST)]
                Place::On(cpu) => bindings::kthread_bind(task.as_ptr(), cpu.as_u32()),
            }
            bindings::wake_up_process(task.as_ptr());
        }
        // INVARIANT: just made.
        Ok(Self { task, work })
    }
}

impl<F: Fn() + Send + Sync + 'static> Drop for Thread<F> {
    fn drop(&mut self) {
        // SAFETY: the task is there by the invariant, and is stopped once.
        unsafe { bindings::kthread_stop(self.task.as_ptr()) };
        // SAFETY: by the invariant. The thread has ended, or will never call `main`.
        drop(unsafe { KBox::from_raw(self.work) });
    }
}

/// # Safety
///
/// `work` points to an `F` that lives until this returns.
unsafe extern "C" fn main<F: Fn() + Send + Sync + 'static>(work: *mut c_void) -> c_int {
    // SAFETY: as said above.
    unsafe { (*work.cast::<F>())() };
    // A thread that ends before it is stopped would have to be kept.
    // SAFETY: this is a kernel thread.
    while !unsafe { bindings::kthread_should_stop() } {
        fsleep(Delta::from_millis(1));
    }
    0
}
