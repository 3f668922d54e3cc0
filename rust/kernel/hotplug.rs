// SPDX-License-Identifier: GPL-2.0

//! A callback for CPUs that are about to come up, and a lock against CPU hotplug.
//!
//! C header: `include/linux/cpuhotplug.h`.

use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::error::{from_result, to_result};
use kernel::prelude::*;
use kernel::sync::SetOnce;
use kernel::types::NotThreadSafe;

/// What is called for each CPU that is about to come up, on another one. Task context, may sleep;
/// an error keeps the CPU down.
type Handler = fn(CpuId) -> Result;

static HANDLER: SetOnce<Handler> = SetOnce::new();

/// Has `handler` called from now on, at the step that is reserved for trace buffers. Once, in task
/// context.
pub(crate) fn before_up(handler: Handler) -> Result {
    if !HANDLER.populate(handler) {
        return Err(EBUSY);
    }
    // SAFETY: the name lives forever, and `prepare` may be called with any CPU.
    to_result(unsafe {
        bindings::__cpuhp_setup_state(
            bindings::cpuhp_state_CPUHP_TRACE_RB_PREPARE,
            c"trace/RB:prepare".as_char_ptr(),
            false,
            Some(prepare),
            None,
            false,
        )
    })
}

/// While it lives, no CPU comes up or goes down. Task context, sleeps.
pub(crate) struct Hold(NotThreadSafe);

impl Hold {
    /// Waits until no CPU is on its way.
    pub(crate) fn new() -> Self {
        // SAFETY: undone by `drop`, in the same task.
        unsafe { bindings::rtrace_cpus_read_lock() };
        Self(NotThreadSafe)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // SAFETY: undoes `new`.
        unsafe { bindings::rtrace_cpus_read_unlock() };
    }
}

extern "C" fn prepare(cpu: c_uint) -> c_int {
    from_result(|| {
        let cpu = CpuId::from_u32(cpu).ok_or(EINVAL)?;
        HANDLER.as_ref().map_or(Ok(()), |handler| handler(cpu))?;
        Ok(0)
    })
}
