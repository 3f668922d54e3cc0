// SPDX-License-Identifier: GPL-2.0

//! Callbacks for CPUs that come up and go down, and a lock against CPU hotplug.
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

static AT_CHANGE: SetOnce<fn()> = SetOnce::new();

/// Has `told` called from now on whenever a CPU has come up or is about to go, on that one, and whenever
/// one has gone or could not come up, on another one. Task context, may sleep. Once, in task context.
pub(crate) fn at_change(told: fn()) -> Result {
    extern "C" fn tell(_: c_uint) -> c_int {
        if let Some(told) = AT_CHANGE.as_ref() {
            told();
        }
        0
    }

    if !AT_CHANGE.populate(told) {
        return Err(EBUSY);
    }
    let (up, gone) = (
        bindings::cpuhp_state_CPUHP_AP_ONLINE_DYN,
        bindings::cpuhp_state_CPUHP_BP_PREPARE_DYN,
    );
    for (state, at_start) in [(up, Some(tell as _)), (gone, None)] {
        // SAFETY: the name lives forever, and `tell` may be called with any CPU.
        let state = unsafe {
            bindings::__cpuhp_setup_state(
                state,
                c"trace/RB:work".as_char_ptr(),
                false,
                at_start,
                Some(tell),
                false,
            )
        };
        // The number of the step, or an error.
        to_result(state.min(0))?;
    }
    Ok(())
}

/// While it lives, no CPU comes up or goes down. Task context, sleeps. Not where one lives already:
/// who waits to bring a CPU up would come between the two, and wait for ever.
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

/// Who is told of CPUs that have come up and are about to go down.
#[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
pub(crate) trait Follower: 'static {
    /// The name of the step.
    const NAME: &'static CStr;

    /// `cpu` has come up. A work item, which does not hold up hotplug: the CPU may have gone again.
    /// Sleeps.
    fn came_up(cpu: CpuId);

    /// `cpu` goes down. A thread of that CPU, which holds up hotplug. Sleeps.
    fn goes_down(cpu: CpuId);
}

/// Has `F` told from now on. Once for an `F`, in task context.
#[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
pub(crate) fn follow<F: Follower>() -> Result {
    extern "C" fn up<F: Follower>(cpu: c_uint) -> c_int {
        // An error would keep the CPU down, whether or not anybody is interested in it.
        if let Some(Err(error)) = CpuId::from_u32(cpu).map(|cpu| arrival::queue(cpu, F::came_up)) {
            pr_warn!(
                "CPU {cpu} has come up, and {} is not told: {error:?}\n",
                F::NAME
            );
        }
        0
    }

    extern "C" fn down<F: Follower>(cpu: c_uint) -> c_int {
        if let Some(cpu) = CpuId::from_u32(cpu) {
            F::goes_down(cpu);
        }
        0
    }

    // SAFETY: the name lives forever, and the functions may be called with any CPU.
    let state = unsafe {
        bindings::__cpuhp_setup_state(
            bindings::cpuhp_state_CPUHP_AP_ONLINE_DYN,
            F::NAME.as_char_ptr(),
            false,
            Some(up::<F>),
            Some(down::<F>),
            false,
        )
    };
    // The number of the step, or an error.
    to_result(state.min(0))
}

/// CPUs that have come up, as work items.
#[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
mod arrival {
    use super::super::queues;
    use kernel::cpu::CpuId;
    use kernel::prelude::*;
    use kernel::sync::Arc;
    use kernel::workqueue::{self, new_work, WorkItem};

    #[pin_data]
    struct Arrival {
        cpu: CpuId,
        tell: fn(CpuId),
        #[pin]
        work: workqueue::Work<Self>,
    }

    workqueue::impl_has_work! {
        impl HasWork<Self> for Arrival { self.work }
    }

    impl WorkItem for Arrival {
        type Pointer = Arc<Self>;

        fn run(this: Arc<Self>) {
            (this.tell)(this.cpu);
        }
    }

    /// Has `tell` called. May sleep. `ENOMEM`.
    pub(super) fn queue(cpu: CpuId, tell: fn(CpuId)) -> Result {
        let arrival = pin_init!(Arrival {
            cpu,
            tell,
            work <- new_work!("rtrace::arrival"),
        });
        // A new item is in no queue.
        let _ = queues::any_cpu().enqueue(Arc::pin_init(arrival, GFP_KERNEL)?);
        Ok(())
    }
}
