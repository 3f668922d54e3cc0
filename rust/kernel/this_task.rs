// SPDX-License-Identifier: GPL-2.0

//! What the running task does with itself: it stays on its CPU, waits, holds off what could
//! interrupt it, and lets others run. Task context.
//!
//! C headers: `include/linux/preempt.h`, `include/linux/sched.h`.

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

/// While it lives, something is held off on this CPU. Other tracers see that.
pub(crate) struct HeldOff(Kind, NotThreadSafe);

impl HeldOff {
    /// Does not nest.
    pub(crate) fn new(kind: Kind) -> Self {
        // SAFETY: undone by `drop`, on this CPU.
        unsafe {
            match kind {
                #[cfg(CONFIG_OSNOISE_TRACER)]
                Kind::Nothing => {}
                #[cfg(CONFIG_OSNOISE_TRACER)]
                Kind::Tasks => bindings::rtrace_preempt_disable(),
                Kind::Interrupts => bindings::rtrace_local_irq_disable(),
            }
        }
        Self(kind, NotThreadSafe)
    }

    /// Lets a grace period of RCU end, and other tasks run that wish to, as far as they are not held
    /// off.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    pub(crate) fn breathe(&self) {
        // SAFETY: interrupts are off around the quiescent state. The task is in no read section.
        unsafe {
            if self.0 != Kind::Interrupts {
                bindings::rtrace_local_irq_disable();
            }
            bindings::rtrace_momentary_eqs();
            if self.0 != Kind::Interrupts {
                bindings::rtrace_local_irq_enable();
            }
            if self.0 == Kind::Nothing {
                bindings::rtrace_cond_resched();
            }
        }
    }
}

impl Drop for HeldOff {
    fn drop(&mut self) {
        // SAFETY: undoes `new`.
        unsafe {
            match self.0 {
                #[cfg(CONFIG_OSNOISE_TRACER)]
                Kind::Nothing => {}
                #[cfg(CONFIG_OSNOISE_TRACER)]
                Kind::Tasks => bindings::rtrace_preempt_enable(),
                Kind::Interrupts => bindings::rtrace_local_irq_enable(),
            }
        }
    }
}

/// Lets those go on who wait for all tasks to have been scheduled once.
#[cfg(CONFIG_OSNOISE_TRACER)]
pub(crate) fn pass_for_tasks_rcu() {
    // SAFETY: task context, in no read section.
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
