// SPDX-License-Identifier: GPL-2.0

//! Probes on the tracepoints of the scheduler and of interrupts.
//!
//! C headers: `include/linux/tracepoint.h`, `include/trace/events/sched.h`,
//! `include/trace/events/irq.h`.

#[cfg(CONFIG_OSNOISE_TRACER)]
use super::osnoise::Name;
use super::stack::Caller;
use core::ffi::c_void;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::sync::Arc;
use kernel::task::Task;

/// A view of a live task, for probes.
#[derive(Clone, Copy)]
pub(crate) struct TaskView<'a>(&'a kernel::types::Opaque<bindings::task_struct>);

/// Length of a task's name with its NUL.
pub(crate) const COMM: usize = bindings::TASK_COMM_LEN as usize;

impl TaskView<'_> {
    /// A view of `task`.
    ///
    /// # Safety
    ///
    /// `task` is a task that stays for the lifetime that the caller picks.
    pub(crate) unsafe fn new<'a>(task: *mut bindings::task_struct) -> TaskView<'a> {
        // SAFETY: `task` stays for `'a`; the type is transparent.
        TaskView(unsafe { &*task.cast() })
    }

    /// Runs `f` on the task this is called from.
    #[inline(always)]
    pub(crate) fn with_current<R>(f: impl FnOnce(TaskView<'_>) -> R) -> R {
        // SAFETY: `current` stays while it runs, and it runs `f`.
        f(unsafe { TaskView::new(bindings::get_current()) })
    }

    /// The C structure, which stays as long as this is used.
    pub(crate) fn as_ptr(self) -> NonNull<bindings::task_struct> {
        NonNull::from(self.0).cast()
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

    /// Its priority as the scheduler has it now: below 0 for deadlines, below 100 for real time,
    /// 120 by default.
    pub(crate) fn prio(self) -> i32 {
        // SAFETY: the task is live; the word does not tear.
        unsafe { (&raw const (*self.0.get()).prio).read_volatile() }
    }

    /// Its nice value.
    pub(crate) fn nice(self) -> i32 {
        // SAFETY: the task is live; the word does not tear.
        let fixed = unsafe { (&raw const (*self.0.get()).static_prio).read_volatile() };
        fixed.wrapping_sub(bindings::DEFAULT_PRIO as i32)
    }

    /// Its scheduling policy, `SCHED_*`.
    pub(crate) fn policy(self) -> u32 {
        // SAFETY: the task is live; the word does not tear.
        unsafe { (&raw const (*self.0.get()).policy).read_volatile() }
    }

    /// Its real-time priority, higher is more; 0 where it has none.
    pub(crate) fn rt_priority(self) -> u32 {
        // SAFETY: the task is live; the word does not tear.
        unsafe { (&raw const (*self.0.get()).rt_priority).read_volatile() }
    }

    /// Its user, as the kernel numbers it.
    pub(crate) fn uid(self) -> u32 {
        // SAFETY: no preconditions for the current task; the other's is live.
        unsafe {
            match self.is(TaskView::new(bindings::get_current())) {
                true => bindings::rtrace_current_user(),
                false => bindings::rtrace_task_user(self.0.get()),
            }
        }
    }

    /// The CPU it runs on, or ran last.
    pub(crate) fn cpu(self) -> u32 {
        // SAFETY: the task is live.
        unsafe { bindings::rtrace_task_cpu(self.0.get()) }
    }

    /// Its state, as entries and `sched_switch` number it.
    pub(crate) fn state(self) -> u8 {
        // SAFETY: the task is live.
        unsafe { bindings::rtrace_task_state(self.0.get()) as u8 }
    }

    /// Whether it has a deadline.
    pub(crate) fn has_deadline(self) -> bool {
        self.prio() < 0
    }

    /// Whether it is a real-time task, or one with a deadline.
    pub(crate) fn is_urgent(self) -> bool {
        self.prio() < bindings::MAX_RT_PRIO as i32
    }

    /// Where it is; never 0. Tells tasks apart as long as one of them is held.
    pub(crate) fn address(self) -> usize {
        self.0.get() as usize
    }

    /// Whether it is the same task.
    pub(crate) fn is(self, other: TaskView<'_>) -> bool {
        self.address() == other.address()
    }

    /// A reference that keeps it. Any context.
    pub(crate) fn hold(self) -> ARef<Task> {
        // SAFETY: a `Task` is a `task_struct`, and this one is live.
        unsafe { &*self.0.get().cast::<Task>() }.into()
    }

    /// Its name, up to and including a NUL. It may be changing: a mix of two names is possible,
    /// bytes beyond not.
    pub(crate) fn comm(self) -> [u8; COMM] {
        // SAFETY: the task is live, and the array is plain bytes of this length, read one by one.
        unsafe {
            (&raw const (*self.0.get()).comm)
                .cast::<[u8; COMM]>()
                .read_volatile()
        }
    }
}

/// Runs `f` on a task that is held.
pub(crate) fn view<R>(task: &Task, f: impl FnOnce(TaskView<'_>) -> R) -> R {
    // SAFETY: the reference keeps it while `f` runs.
    f(unsafe { TaskView::new(task.as_ptr()) })
}

/// The number that the current task's user name space has for the kernel's `uid`.
pub(crate) fn user_here(uid: u32) -> u32 {
    // SAFETY: no preconditions.
    unsafe { bindings::rtrace_user_here(uid) }
}

/// The highest pid that there can be now, in the first namespace.
pub(crate) fn pid_max() -> usize {
    // SAFETY: a static whose word does not tear.
    let max = unsafe { (&raw const bindings::init_pid_ns.pid_max).read_volatile() };
    usize::try_from(max).unwrap_or(0)
}

/// The table of points: each row gives a [`Point`] and what is called there.
///
/// Those above the line have a function in C called, which tells where it was called from: it calls
/// `switched_at` or `woken_at`. Those below have a method of [`TaskProbe`] called: the tracepoint's
/// arguments are followed by the method's, each with its value. A value may use what the tracepoint's
/// pointers point to, which stays during the probe.
macro_rules! points {
    (
        $($(#[doc = $c_doc:literal])+ $c_point:ident: $c_tracepoint:ident => $c_function:ident;)+
        ---
        $(
            $(#[doc = $doc:literal])+
            $(#[cfg($($cfg:tt)+)])?
            $point:ident: $tracepoint:ident($($arg:ident: $arg_type:ty),*)
                => $method:ident($($own:ident: $own_type:ty = $value:expr),*);
        )+
    ) => {
        /// What a probe does; implement those that are registered. No sleeping, no waking, no traced
        /// lock: in `switched`, `woken` and `migrated` preemption is off, and nearly always a lock of
        /// the scheduler's is held with interrupts off. In `forked` and `freed` preemption may be on.
        /// The last ones are called in interrupts.
        pub(crate) trait TaskProbe: Send + Sync + 'static {
            /// `sched_switch`.
            fn switched(&self, _prev: TaskView<'_>, _next: TaskView<'_>) {}
            /// `sched_switch`, with the place in the code that it is called from.
            fn switched_at(&self, prev: TaskView<'_>, next: TaskView<'_>, _from: &Caller) {
                self.switched(prev, next);
            }
            /// `sched_wakeup`, `sched_wakeup_new` and `sched_waking`.
            fn woken(&self, _task: TaskView<'_>) {}
            /// The same, with the place in the code that it is called from.
            fn woken_at(&self, task: TaskView<'_>, _from: &Caller) {
                self.woken(task);
            }
            $(
                $(#[doc = $doc])+
                $(#[cfg($($cfg)+)])?
                fn $method(&self, $($own: $own_type),*) {
                    let _ = ($($own,)*);
                }
            )+
        }

        /// Where probes can be put.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Point {
            $($(#[doc = $c_doc])+ $c_point,)+
            $($(#[doc = $doc])+ $(#[cfg($($cfg)+)])? $point,)+
        }

        impl Point {
            fn tracepoint(self) -> *mut bindings::tracepoint {
                match self {
                    $(Self::$c_point => &raw mut bindings::$c_tracepoint,)+
                    $($(#[cfg($($cfg)+)])? Self::$point => &raw mut bindings::$tracepoint,)+
                }
            }

            fn function<T: TaskProbe>(self) -> *mut c_void {
                match self {
                    $(Self::$c_point => bindings::$c_function as *mut c_void,)+
                    $(
                        $(#[cfg($($cfg)+)])?
                        Self::$point => {
                            /// # Safety
                            ///
                            /// As a probe of the tracepoint that was registered with the address of a
                            /// live `Bound<T>`.
                            unsafe extern "C" fn $method<T: TaskProbe>(
                                data: *mut c_void,
                                $($arg: $arg_type),*
                            ) {
                                // SAFETY: `data` is the live `Bound<T>` that it was registered with;
                                // what the tracepoint passes pointers to stays during the probe.
                                unsafe { (*data.cast::<Bound<T>>()).data.$method($($value),*) };
                            }
                            $method::<T> as *mut c_void
                        }
                    )+
                }
            }
        }
    };
}

points! {
    /// `sched_switch`: a CPU switches tasks.
    Switch: __tracepoint_sched_switch => rtrace_probe_switch;
    /// `sched_wakeup`: a task becomes runnable.
    Wakeup: __tracepoint_sched_wakeup => rtrace_probe_wakeup;
    /// `sched_wakeup_new`: a new task becomes runnable.
    WakeupNew: __tracepoint_sched_wakeup_new => rtrace_probe_wakeup;
    /// `sched_waking`: a task is to become runnable.
    Waking: __tracepoint_sched_waking => rtrace_probe_wakeup;
    ---
    /// `sched_migrate_task`: `task`, which may be asleep, goes to `cpu`.
    Migrate: __tracepoint_sched_migrate_task(task: *mut bindings::task_struct, cpu: c_int)
        => migrated(task: TaskView<'_> = TaskView::new(task), cpu: u32 = cpu as u32);
    /// `sched_process_fork`.
    Fork: __tracepoint_sched_process_fork(
        parent: *mut bindings::task_struct, child: *mut bindings::task_struct
    ) => forked(
        parent: TaskView<'_> = TaskView::new(parent), child: TaskView<'_> = TaskView::new(child)
    );
    /// `sched_process_free`: a task is freed.
    Free: __tracepoint_sched_process_free(task: *mut bindings::task_struct)
        => freed(task: TaskView<'_> = TaskView::new(task));
    /// `irq_handler_entry`: a handler of interrupt `irq` begins.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    IrqEntry: __tracepoint_irq_handler_entry(irq: c_int, _action: *mut bindings::irqaction)
        => irq_entered(irq: i32 = irq);
    /// `irq_handler_exit`: it ends; its action is called `name`.
    #[cfg(CONFIG_OSNOISE_TRACER)]
    IrqExit: __tracepoint_irq_handler_exit(
        irq: c_int, action: *mut bindings::irqaction, _ret: c_int
    ) => irq_left(irq: i32 = irq, name: Name<'_> = Name::new((*action).name));
    /// `softirq_entry`: a softirq begins.
    #[cfg(all(CONFIG_OSNOISE_TRACER, not(CONFIG_PREEMPT_RT)))]
    SoftirqEntry: __tracepoint_softirq_entry(vector: c_uint) => softirq_entered(vector: u32 = vector);
    /// `softirq_exit`: it ends.
    #[cfg(all(CONFIG_OSNOISE_TRACER, not(CONFIG_PREEMPT_RT)))]
    SoftirqExit: __tracepoint_softirq_exit(vector: c_uint) => softirq_left(vector: u32 = vector);
}

/// The priority of a probe that is called before an event's entry is made.
pub(crate) const BEFORE_EVENTS: c_int = c_int::MAX;
/// The priority of one that is called behind.
pub(crate) const BEHIND_EVENTS: c_int = 0;

/// What probes get as their data.
#[repr(C)]
struct Bound<T> {
    /// For C, which takes a pointer to this for one to the whole.
    entry: bindings::rtrace_sched_probe,
    data: Arc<T>,
}

/// Probes; dropping it removes those that are in place and waits until none runs. Task context.
pub(crate) struct Probes<T: TaskProbe> {
    points: &'static [Point],
    /// So many of them are in place.
    registered: usize,
    priority: c_int,
    bound: KBox<Bound<T>>,
}

impl<T: TaskProbe> Probes<T> {
    /// Calls `data` at `points`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn register(points: &'static [Point], data: Arc<T>) -> Result<Self> {
        Self::register_at(points, data, bindings::TRACEPOINT_DEFAULT_PRIO as c_int)
    }

    /// [`Probes::register`] before all that have a lower `priority`; [`BEFORE_EVENTS`] and
    /// [`BEHIND_EVENTS`] are where they say.
    pub(crate) fn register_at(
        points: &'static [Point],
        data: Arc<T>,
        priority: c_int,
    ) -> Result<Self> {
        let entry = bindings::rtrace_sched_probe {
            switched: Some(on_switch::<T>),
            woken: Some(on_wakeup::<T>),
        };
        let mut probes = Self {
            points,
            registered: 0,
            priority,
            bound: KBox::new(Bound { entry, data }, GFP_KERNEL)?,
        };
        probes.resume()?;
        Ok(probes)
    }

    /// Puts those in place that are not. Task context, may sleep. `ENOMEM`: then none is.
    pub(crate) fn resume(&mut self) -> Result {
        while let Some(point) = self.points.get(self.registered) {
            // SAFETY: the function has the prototype of the tracepoint with a leading pointer, for
            // which it gets the address of a `Bound<T>`; that lives until `drop` has removed the
            // probe.
            let result = to_result(unsafe {
                bindings::tracepoint_probe_register_prio(
                    point.tracepoint(),
                    point.function::<T>(),
                    self.address(),
                    self.priority,
                )
            });
            if result.is_err() {
                self.pause();
                return result;
            }
            self.registered += 1;
        }
        Ok(())
    }

    /// Removes them without waiting: one may still run, until this is dropped. Whoever puts them in
    /// place next waits for that, so it is made short. Task context, may sleep.
    pub(crate) fn pause(&mut self) {
        if self.registered == 0 {
            return;
        }
        for point in self
            .points
            .iter()
            .take(core::mem::take(&mut self.registered))
        {
            // SAFETY: undoes the registration with the same arguments. It can only fail for want of
            // memory, and then the tracepoint code itself has put a function that does nothing in
            // the probe's place.
            unsafe {
                bindings::tracepoint_probe_unregister(
                    point.tracepoint(),
                    point.function::<T>(),
                    self.address(),
                );
            }
        }
        expedite_probes();
    }

    fn address(&self) -> *mut c_void {
        (&raw const *self.bound).cast_mut().cast()
    }
}

impl<T: TaskProbe> Drop for Probes<T> {
    fn drop(&mut self) {
        self.pause();
        // Probes run in SRCU read sections, where they may be preempted: after this none uses
        // `bound` any more. SAFETY: task context, where sleeping is allowed.
        unsafe { bindings::tracepoint_synchronize_unregister() };
    }
}

/// Makes the grace period shorter that began when a probe was removed, and that the next new probe of
/// any tracepoint waits for. Does not wait. Task context.
pub(crate) fn expedite_probes() {
    // SAFETY: task context; before the scheduler runs, nothing is done.
    unsafe { bindings::rtrace_expedite_probes() };
}

/// # Safety
///
/// As a probe of `sched_switch` that was registered with the address of a live `Bound<T>`.
unsafe extern "C" fn on_switch<T: TaskProbe>(
    probe: *mut bindings::rtrace_sched_probe,
    prev: *mut bindings::task_struct,
    next: *mut bindings::task_struct,
    from: *const bindings::rtrace_caller,
) {
    // SAFETY: `probe` is the live `Bound<T>` that it was registered with; both tasks stay during
    // the probe, and so does its caller's frame.
    unsafe {
        let from = Caller::new(from);
        (*probe.cast::<Bound<T>>()).data.switched_at(
            TaskView::new(prev),
            TaskView::new(next),
            from,
        );
    }
}

/// # Safety
///
/// As a probe of `sched_wakeup` or `sched_wakeup_new` that was registered with the address of a
/// live `Bound<T>`.
unsafe extern "C" fn on_wakeup<T: TaskProbe>(
    probe: *mut bindings::rtrace_sched_probe,
    task: *mut bindings::task_struct,
    from: *const bindings::rtrace_caller,
) {
    // SAFETY: `probe` is the live `Bound<T>` that it was registered with; the task stays during the
    // probe, and so does its caller's frame.
    unsafe {
        (*probe.cast::<Bound<T>>())
            .data
            .woken_at(TaskView::new(task), Caller::new(from))
    };
}
