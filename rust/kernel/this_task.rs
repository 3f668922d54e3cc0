// SPDX-License-Identifier: GPL-2.0

//! What the running task does with itself: it stays on its CPU, waits, holds off what could
//! interrupt it, and lets others run. Task context.
//!
//! C headers: `include/linux/preempt.h`, `include/linux/sched.h`.

use super::context::irqs_off;
#[cfg(CONFIG_HWLAT_TRACER)]
use super::cpus::CpuSet;
use kernel::bindings;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use kernel::cpu::CpuId;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use kernel::sync::aref::ARef;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use kernel::task::Task;
use kernel::types::NotThreadSafe;

/// The task does not leave its CPU while it lives.
#[cfg(CONFIG_OSNOISE_TRACER)]
pub(crate) struct Staying(NotThreadSafe);

#[cfg(CONFIG_OSNOISE_TRACER)]
impl Staying {
    /// Nests.
    pub(crate) fn new() -> Self {
        // SAFETY: undone by `drop`, in the same task.
        unsafe { bindings::rtrace_migrate_disable() };
        Self(NotThreadSafe)
    }

    /// For a thread that was made for this CPU: users may set its affinity, and cgroups take it. It
    /// has no effect before this is dropped.
    pub(crate) fn for_good() -> Self {
        let staying = Self::new();
        // SAFETY: no preconditions.
        unsafe { bindings::rtrace_allow_affinity() };
        staying
    }

    /// Whether somebody waits until the task leaves the CPU.
    pub(crate) fn is_in_the_way(&self) -> bool {
        // SAFETY: no preconditions.
        unsafe { bindings::rtrace_migration_pending() }
    }

    /// The CPU.
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    pub(crate) fn cpu(&self) -> CpuId {
        CpuId::current()
    }
}

#[cfg(CONFIG_OSNOISE_TRACER)]
impl Drop for Staying {
    fn drop(&mut self) {
        // SAFETY: undoes `new`.
        unsafe { bindings::rtrace_migrate_enable() };
    }
}

/// Sleeps until somebody wakes the task, or a signal does. `start` sees to that, and must not sleep;
/// if it says false the task does not wait.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) fn wait(start: impl FnOnce() -> bool) {
    // SAFETY: undone by being woken, or below.
    unsafe { bindings::rtrace_prepare_to_sleep() };
    match start() {
        // SAFETY: task context.
        true => unsafe { bindings::schedule() },
        // SAFETY: no preconditions.
        false => unsafe { bindings::rtrace_stay_awake() },
    }
}

/// What a [`HeldOff`] keeps from the task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    Nothing,
    /// Other tasks.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    Tasks,
    /// Interrupts, and so other tasks.
    Interrupts,
}

/// Something is held off on this CPU. Other tracers see that.
pub(crate) struct HeldOff {
    #[cfg(CONFIG_OSNOISE_TRACER)]
    kind: Kind,
    /// It turned interrupts off, which were on.
    irqs: bool,
    _not_send: NotThreadSafe,
}

impl HeldOff {
    /// Runs `f` with it. Regions nest: each restores what it has found. Task context.
    pub(crate) fn with<R>(kind: Kind, f: impl FnOnce(&Self) -> R) -> R {
        let held = Self {
            #[cfg(CONFIG_OSNOISE_TRACER)]
            kind,
            irqs: kind == Kind::Interrupts && !irqs_off(),
            _not_send: NotThreadSafe,
        };
        if held.irqs {
            // SAFETY: they are on, and turned on again below, on this CPU.
            unsafe { bindings::rtrace_local_irq_disable() };
        }
        #[cfg(CONFIG_OSNOISE_TRACER)]
        if kind == Kind::Tasks {
            // SAFETY: undone below, on this CPU.
            unsafe { bindings::rtrace_preempt_disable() };
        }
        let result = f(&held);
        #[cfg(CONFIG_OSNOISE_TRACER)]
        if kind == Kind::Tasks {
            // SAFETY: undoes what was done above.
            unsafe { bindings::rtrace_preempt_enable() };
        }
        if held.irqs {
            // SAFETY: they were on before, and what nests in this region has ended.
            unsafe { bindings::rtrace_local_irq_enable() };
        }
        result
    }

    /// Lets a grace period of RCU end, and other tasks run that wish to, as far as they are not held
    /// off.
    ///
    /// # Safety
    ///
    /// The task is in no read section of RCU, and uses nothing that a grace period protects.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    pub(crate) unsafe fn quiescent_state(&self) {
        let turns_off = !irqs_off();
        // SAFETY: interrupts are off around the quiescent state, and as they were after it. The task is
        // in no read section.
        unsafe {
            if turns_off {
                bindings::rtrace_local_irq_disable();
            }
            bindings::rtrace_momentary_eqs();
            if turns_off {
                bindings::rtrace_local_irq_enable();
            }
        }
        if self.kind == Kind::Nothing {
            // SAFETY: task context.
            unsafe { bindings::rtrace_cond_resched() };
        }
    }
}

/// Lets those go on who wait for all tasks to have been scheduled once, if the task may sleep; see
/// [`HeldOff::quiescent_state`] for what RCU itself waits for.
#[cfg(CONFIG_OSNOISE_TRACER)]
pub(crate) fn pass_for_tasks_rcu() {
    // SAFETY: task context.
    unsafe { bindings::rtrace_tasks_rcu_qs() };
}

/// The CPUs that the task may run on.
#[cfg(CONFIG_HWLAT_TRACER)]
pub(crate) fn cpus() -> CpuSet {
    // SAFETY: the current task's mask is there; words of it may change meanwhile, each as a whole.
    unsafe { CpuSet::read(bindings::rtrace_current_cpus()) }
}

/// Has the task run on those of `cpus` that are up. Sleeps. Errors when there is none.
#[cfg(CONFIG_HWLAT_TRACER)]
pub(crate) fn move_to(cpus: &CpuSet) -> kernel::error::Result {
    // SAFETY: the current task, and a live mask.
    kernel::error::to_result(unsafe {
        bindings::set_cpus_allowed_ptr(bindings::get_current(), cpus.as_ptr())
    })
}

/// Whether there is only one CPU that the task may run on.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) fn is_pinned() -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::rtrace_current_cpu_count() <= 1 }
}

/// A reference to the task.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) fn share() -> ARef<Task> {
    super::tracepoint::TaskView::with_current(|task| task.hold())
}

/// Kills the process of `task`. Any context but NMI.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) fn kill(task: &Task) {
    // SAFETY: the task is held.
    unsafe { bindings::rtrace_kill(task.as_ptr()) };
}
