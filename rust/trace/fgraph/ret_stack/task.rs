// SPDX-License-Identifier: GPL-2.0

//! Any task's shadow stack: how its words are reached, its frames for unwinders, and its life.

use super::layout::{Frame, Top, Words, DATA, FRAME, FUNC, LAST, NO_STACK, RET, RETP, TOP, WORDS};
use super::Current;
use crate::core::sys::add_here;
use crate::kernel::ftrace::{self, running_task, task_struct};
use crate::kernel::tracepoint::TaskView;
use core::mem::offset_of;
use core::ptr::{self, NonNull};
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};

/// A task, as far as shadow stacks are concerned.
///
/// # Invariants
///
/// It stays as long as this is used. Once it runs, [`Task::used`] is at most [`LAST`] and a frame if
/// it has a stack, and else [`NO_STACK`].
#[derive(Clone, Copy)]
pub(super) struct Task(pub(super) NonNull<task_struct>);

macro_rules! field {
    ($task:expr, $field:ident as $ty:ty) => {
        // SAFETY: by the invariant of `Task` it is alive, and its field has this size and
        // alignment.
        unsafe { Atomic::<$ty>::from_ptr((&raw mut (*$task.0.as_ptr()).$field).cast()) }
    };
}
pub(super) use field;

impl Task {
    /// It is in no traced function.
    fn begin(&self) {
        let used = match self.stack().load(Relaxed).is_null() {
            true => NO_STACK,
            false => 0,
        };
        // INVARIANT: just so.
        self.used().store(used, Relaxed);
        field!(self, curr_ret_depth as i32).store(-1, Relaxed);
    }

    #[inline(always)]
    pub(super) fn used(&self) -> &Atomic<i32> {
        field!(self, curr_ret_stack as i32)
    }

    /// Changes [`Task::used`] by a number, in one instruction.
    ///
    /// # Safety
    ///
    /// The task runs this, and there is room for so much, or so much above the place that remains.
    #[inline(always)]
    pub(super) unsafe fn change_used<const BY: i32>(&self) {
        const AT: usize = offset_of!(task_struct, curr_ret_stack);
        // SAFETY: by the invariant the task stays, and only itself changes the word.
        unsafe { add_here::<AT, BY, _>(self.0.as_ptr()) };
    }

    #[inline(always)]
    pub(super) fn stack(&self) -> &Atomic<*mut u64> {
        field!(self, ret_stack as *mut u64)
    }

    /// Word `at` of the stack at `base`.
    ///
    /// # Safety
    ///
    /// `base` is the task's stack and stays so; `at` is below [`WORDS`].
    #[inline(always)]
    pub(super) unsafe fn word<'a>(&self, base: *mut u64, at: usize) -> &'a Atomic<u64> {
        // SAFETY: `base` is the task's stack and `at` is below `WORDS`: a word of it. All
        // accesses are atomic.
        unsafe { Atomic::from_ptr(base.wrapping_add(at)) }
    }

    /// The frames from the one below `used` on, innermost first, with where each begins.
    pub(super) fn frames(&self, used: usize) -> Frames<'_> {
        Frames {
            task: self,
            base: self.stack().load(Relaxed),
            used,
        }
    }
}

impl Task {
    /// The frame at `at`.
    ///
    /// # Safety
    ///
    /// `base` is the task's stack and stays so; `at` is at most [`LAST`].
    #[inline(always)]
    unsafe fn frame(&self, base: *mut u64, at: usize) -> Frame {
        // SAFETY: `base` is a task's stack that stays, and a frame begins at `at`.
        let word = |of: usize| unsafe { self.word(base, at.wrapping_add(of)) }.load(Relaxed);
        Frame {
            retp: word(RETP) as usize,
            ret: word(RET) as usize,
            func: word(FUNC) as usize,
            data: word(DATA),
            top: Top(word(TOP)),
        }
    }
}

/// See [`Task::frames`]. It ends early where the words make no sense, which can be so for a task
/// that runs on another CPU.
pub(super) struct Frames<'a> {
    task: &'a Task,
    base: *mut u64,
    used: usize,
}

impl Iterator for Frames<'_> {
    type Item = (usize, Frame);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let last = self
                .used
                .checked_sub(1)
                .filter(|at| *at < WORDS && !self.base.is_null())?;
            // SAFETY: the stack stays: the task runs this, or whoever unwinds it holds a reference;
            // `last` is below `WORDS`.
            let top = Top(unsafe { self.task.word(self.base, last) }.load(Relaxed));
            if let Some((_, words)) = top.as_data() {
                self.used = last.checked_sub(words)?;
                continue;
            }
            self.used = self
                .used
                .checked_sub(FRAME)
                .filter(|at| top.is_frame() && *at <= LAST)?;
            // SAFETY: the stack stays: the task runs this, or whoever unwinds it holds a reference;
            // `used` is at most `LAST`.
            return Some((self.used, unsafe { self.task.frame(self.base, self.used) }));
        }
    }
}

/// Where the function whose return address was at `retp` really returns to; none if it is in no
/// frame of `task`, or only in those that return to `hook` themselves, as functions do that were
/// jumped to at the end of others.
///
/// Looks from the frame that begins at `*from` (0: all) outwards and leaves there the one it found.
/// Any context.
///
/// # Safety
///
/// `task` is a task that the caller has a reference to.
pub(crate) unsafe fn find(
    task: *mut task_struct,
    from: &mut i32,
    retp: usize,
    hook: usize,
) -> Option<usize> {
    let task = Task(NonNull::new(task)?);
    let used = if *from > 0 {
        *from
    } else {
        task.used().load(Relaxed)
    };
    let (at, frame) = task
        .frames(usize::try_from(used).ok()?)
        .find(|(_, frame)| frame.retp == retp && frame.ret != hook)?;
    *from = at as i32;
    Some(frame.ret)
}

/// Where the innermost function of `task` really returns to, `hook` itself apart. Any context.
///
/// # Safety
///
/// `task` is a task that the caller has a reference to.
pub(crate) unsafe fn innermost_return(task: *mut task_struct, hook: usize) -> Option<usize> {
    let task = Task(NonNull::new(task)?);
    let used = usize::try_from(task.used().load(Relaxed)).ok()?;
    let found = task
        .frames(used)
        .map(|(_, frame)| frame.ret)
        .find(|ret| *ret != hook);
    found
}

/// A new task has no stack.
///
/// # Safety
///
/// `task` is being made.
pub(crate) unsafe fn init(task: *mut task_struct) {
    let Some(task) = NonNull::new(task).map(Task) else {
        return;
    };
    task.stack().store(ptr::null_mut(), Relaxed);
    field!(task, trace_overrun as u32).store(0, Relaxed);
    field!(task, ftrace_timestamp as u64).store(0, Relaxed);
    // SAFETY: the task does not run yet.
    unsafe { begin(task.0.as_ptr()) };
}

/// An idle task begins anew; what it was in before its CPU went off line never returns. Nothing
/// happens to the running task, which is in functions that do: the boot CPU's becomes an idle task
/// on the way.
///
/// # Safety
///
/// `task` is the running task, or does not run.
pub(crate) unsafe fn begin(task: *mut task_struct) {
    let Some(task) = NonNull::new(task).map(Task) else {
        return;
    };
    if task.0 != running_task() {
        task.begin();
    }
}

/// The running task hibernates the machine, or has done so: nothing of it is traced between, when
/// its memory is copied while it runs.
#[cfg(CONFIG_HIBERNATION)]
pub(in crate::trace::fgraph) fn pause_around_hibernation(begins: bool) {
    let pause = field!(Task(running_task()), tracing_graph_pause as i32);
    if begins {
        pause.fetch_add(1, Relaxed);
    } else {
        pause.fetch_sub(1, Relaxed);
    }
}

/// The idle task of `cpu`, which is down and about to come up, begins anew. Task context.
pub(crate) fn begin_idle(cpu: CpuId) {
    if let Some(task) = ftrace::idle_task(cpu) {
        // SAFETY: the task of a CPU that is down does not run, and stays.
        unsafe { begin(task.as_ptr()) };
    }
}

/// [`init`] was not called for the boot CPU's task, as nobody forked it. It is in no traced
/// function now. At boot, before anything is traced.
pub(crate) fn begin_boot_task() {
    Current::get().0.begin();
}

/// Frees the stack of a task that is gone.
///
/// # Safety
///
/// Nobody else uses `task` any more.
pub(crate) unsafe fn free(task: *mut task_struct) {
    let Some(task) = NonNull::new(task).map(Task) else {
        return;
    };
    let words = task.stack().xchg(ptr::null_mut(), ordering::Full);
    if !words.is_null() {
        // SAFETY: `Current::take_spare` put a box's words there, and nobody uses the task any more.
        drop(unsafe { KBox::from_raw(words.cast::<Words>()) });
    }
}

/// At a switch from `prev` to `next`: counts how long a task does not run, for
/// [`Current::sleep_time`].
pub(crate) fn count_sleep(prev: TaskView<'_>, next: TaskView<'_>, now: u64) {
    // INVARIANT: a `TaskView` is of a task that stays.
    let (prev, next) = (Task(prev.as_ptr()), Task(next.as_ptr()));
    field!(prev, ftrace_timestamp as u64).store(now, Relaxed);
    let since = field!(next, ftrace_timestamp as u64).load(Relaxed);
    if since != 0 {
        let total = field!(next, ftrace_sleeptime as u64);
        total.store(
            total.load(Relaxed).wrapping_add(now.wrapping_sub(since)),
            Relaxed,
        );
    }
}
