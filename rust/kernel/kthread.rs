// SPDX-License-Identifier: GPL-2.0

//! Kernel threads that run a function and end.
//!
//! C header: `include/linux/kthread.h`.

use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::error::from_err_ptr;
use kernel::prelude::*;
use kernel::time::{delay::fsleep, Delta};

/// A thread. Dropping it waits for its function.
///
/// # Invariants
///
/// The task was made by `kthread_create_on_node()` with [`main`], and nobody has stopped it. It
/// stays until then.
pub(crate) struct Thread(NonNull<bindings::task_struct>);

impl Thread {
    /// Starts a thread that runs `function`: among the tasks with a real-time priority if it is
    /// `urgent`. Task context, may sleep. `ENOMEM`, `EINTR`.
    pub(crate) fn run(name: &'static CStr, function: fn(), urgent: bool) -> Result<Self> {
        // SAFETY: the strings are static, and `main` takes what is handed over.
        let task = from_err_ptr(unsafe {
            bindings::kthread_create_on_node(
                Some(main),
                function as *mut c_void,
                bindings::NUMA_NO_NODE,
                c"%s".as_char_ptr(),
                name.as_char_ptr(),
            )
        })?;
        // SAFETY: a new thread, which stays until it is stopped.
        unsafe {
            if urgent {
                bindings::sched_set_fifo(task);
            }
            bindings::wake_up_process(task);
        }
        // INVARIANT: just made.
        Ok(Self(NonNull::new(task).ok_or(ENOMEM)?))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: the task is there by the invariant, and is stopped once.
        unsafe { bindings::kthread_stop(self.0.as_ptr()) };
    }
}

/// # Safety
///
/// `function` is a `fn()`.
unsafe extern "C" fn main(function: *mut c_void) -> c_int {
    if function != null_mut() {
        // SAFETY: `function` is a `fn()`.
        let function = unsafe { core::mem::transmute::<*mut c_void, fn()>(function) };
        function();
    }
    // A thread that ends before it is stopped would have to be kept.
    // SAFETY: this is a kernel thread.
    while !unsafe { bindings::kthread_should_stop() } {
        fsleep(Delta::from_millis(1));
    }
    0
}
