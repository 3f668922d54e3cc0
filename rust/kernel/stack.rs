// SPDX-License-Identifier: GPL-2.0

//! The kernel stack of the running context, as return addresses.
//!
//! C header: `include/linux/stacktrace.h`.

use super::per_context::PerContext;
#[cfg(CONFIG_KPROBE_EVENTS)]
use super::regs::Regs;
use kernel::bindings;
use kernel::prelude::*;
use kernel::types::Opaque;

/// The most return addresses that are saved.
const DEPTH: usize = 256;

/// A caller's frame, from which its stack is unwound. See `struct rtrace_caller`.
pub(crate) struct Caller(Opaque<bindings::rtrace_caller>);

impl Caller {
    /// # Safety
    ///
    /// `caller` is that of a function which has not returned yet, for the lifetime that the caller
    /// picks.
    pub(crate) unsafe fn new<'a>(caller: *const bindings::rtrace_caller) -> &'a Self {
        // SAFETY: `caller` is that of a function which does not return for `'a`; the type is
        // transparent.
        unsafe { &*caller.cast() }
    }

    /// The address that is returned to.
    #[cfg(CONFIG_SCHED_TRACER)]
    pub(crate) fn ip(&self) -> usize {
        // SAFETY: the frame is there as long as the `Caller`, and its words do not change.
        unsafe { (*self.0.get()).ip }
    }
}

/// Memory for stacks on every CPU.
pub(crate) struct Stacks(PerContext<[usize; DEPTH]>);

impl Stacks {
    /// Allocates it. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(PerContext::new([0; DEPTH])?))
    }

    /// Gives `f` the return addresses on the stack, innermost first. Any context; `f` runs with
    /// preemption off.
    ///
    /// None where RCU does not watch (the unwinder needs it) or the memory is in use many times
    /// over.
    #[inline(always)]
    pub(crate) fn with_current<R>(&self, f: impl FnOnce(&[usize]) -> R) -> Option<R> {
        // SAFETY: the memory has room for as many entries as are said.
        self.with(
            |calls| unsafe { bindings::stack_trace_save(calls.as_mut_ptr(), DEPTH as c_uint, 0) },
            f,
        )
    }

    /// [`Stacks::with_current`] from `caller` on: what lies deeper is not unwound.
    #[cfg(CONFIG_SCHED_TRACER)]
    pub(crate) fn with_caller<R>(
        &self,
        caller: &Caller,
        f: impl FnOnce(&[usize]) -> R,
    ) -> Option<R> {
        let caller = caller.0.get();
        // SAFETY: so many places are free in `calls`; `caller` has the registers of a frame of this
        // stack.
        self.with(
            |calls| unsafe {
                bindings::rtrace_save_stack_of(caller, calls.as_mut_ptr(), DEPTH as c_uint)
            },
            f,
        )
    }

    /// [`Stacks::with_current`] from where `regs` were the registers: what lies deeper is not unwound.
    #[cfg(CONFIG_KPROBE_EVENTS)]
    pub(crate) fn with_regs<R>(&self, regs: &Regs, f: impl FnOnce(&[usize]) -> R) -> Option<R> {
        let regs = regs.as_ptr();
        // SAFETY: so many places are free in `calls`; `regs` are those of a place on this stack.
        self.with(
            |calls| unsafe {
                bindings::stack_trace_save_regs(regs, calls.as_mut_ptr(), DEPTH as c_uint, 0)
            },
            f,
        )
    }

    #[inline(always)]
    fn with<R>(
        &self,
        save: impl FnOnce(&mut [usize; DEPTH]) -> c_uint,
        f: impl FnOnce(&[usize]) -> R,
    ) -> Option<R> {
        rcu_watches().then_some(())?;
        self.0.with(|calls| {
            let count = save(calls);
            f(calls.get(..count as usize).unwrap_or(&[]))
        })
    }
}

/// Writes the return addresses on the stack to `into`, innermost first, as many as fit; says how
/// many. Any context that RCU watches.
#[cfg(CONFIG_STACK_TRACER)]
pub(crate) fn save(into: &mut [usize]) -> usize {
    let room = c_uint::try_from(into.len()).unwrap_or(c_uint::MAX);
    // SAFETY: the memory has room for as many entries as are said.
    unsafe { bindings::stack_trace_save(into.as_mut_ptr(), room, 0) as usize }
}

/// Writes the return addresses on the current task's stack in user space to `into`, innermost first,
/// as many as fit and can be read; says how many: none for a kernel thread. Any context but NMI,
/// preemption off.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) fn save_user(into: &mut [usize]) -> usize {
    if !cfg!(CONFIG_USER_STACKTRACE_SUPPORT) {
        return 0;
    }
    let room = c_uint::try_from(into.len()).unwrap_or(c_uint::MAX);
    // SAFETY: the memory has room for as many entries as are said.
    unsafe { bindings::stack_trace_save_user(into.as_mut_ptr(), room) as usize }
}

/// Does RCU watch this CPU, as unwinding needs? Any context.
pub(crate) fn rcu_watches() -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::rcu_is_watching() }
}

/// Adds to this CPU's count of callers that suspend the measuring of stacks, and reads it. Any
/// context, preemption off.
///
/// C header: `stack_tracer_disable()` of `include/linux/ftrace.h`. The counter is C's, as Rust
/// cannot define static per-CPU data.
#[cfg(CONFIG_STACK_TRACER)]
pub(crate) fn add_unmeasured(more: c_int) -> c_int {
    // SAFETY: no preconditions.
    unsafe { bindings::rtrace_stack_tracer_count(more) }
}

/// How far the place `at` is from the beginning of the task stack that it lies on, if it is one.
/// Any context.
#[cfg(CONFIG_STACK_TRACER)]
#[inline(always)]
pub(crate) fn depth_of(at: usize) -> usize {
    SIZE - (at & (SIZE - 1))
}

/// How much of the current task's stack is left below its caller; 0 on another stack. Any context.
#[inline(never)]
pub(crate) fn room() -> usize {
    let mark = 0usize;
    // SAFETY: the current task is there while it runs, and its stack's address does not change.
    let stack = unsafe { (*bindings::get_current()).stack } as usize;
    let left = (core::hint::black_box(&raw const mark) as usize).wrapping_sub(stack);
    match left {
        0..SIZE => left,
        _ => 0,
    }
}

/// Bytes of a task's stack, which is aligned to as many.
const SIZE: usize = bindings::RTRACE_THREAD_SIZE;

/// The current task's stack from some place to its beginning.
///
/// # Invariants
///
/// The `count` words at `start` are on the stack of the task that made this, which has not left its
/// function since: they are the words of functions that wait for others to return.
#[cfg(CONFIG_STACK_TRACER)]
pub(crate) struct Own {
    start: *const usize,
    count: usize,
}

#[cfg(CONFIG_STACK_TRACER)]
impl Own {
    /// The stack from the place `at` of a word on, if that is on the current task's stack and `f`
    /// runs deeper on it, too; gives what `f` makes of it. Any context.
    pub(crate) fn with<R>(at: usize, f: impl FnOnce(&Own) -> R) -> Option<R> {
        let mark = 0usize;
        let here = (&raw const mark).expose_provenance();
        // SAFETY: no preconditions: the current task has a stack.
        let end = unsafe { bindings::rtrace_task_stack() } as usize;
        let within = |place: usize| place.wrapping_sub(end) < SIZE;
        if !within(at) || !within(here) || here > at || at % align_of::<usize>() != 0 {
            return None;
        }
        // INVARIANT: between this function's frame and the stack's beginning, until `f` has
        // returned.
        Some(f(&Own {
            start: core::ptr::with_exposed_provenance(at),
            count: depth_of(at) / size_of::<usize>(),
        }))
    }

    /// The first place from the `from`th word on where `value` is, as a number of words.
    pub(crate) fn find(&self, from: usize, value: usize) -> Option<usize> {
        (from..self.count).find(|at| {
            let word = self.start.wrapping_add(*at);
            // SAFETY: by the type invariant a word of this task's stack. Other functions' variables
            // change, but a word is read at once.
            unsafe { bindings::rtrace_stack_word(word.cast()) as usize == value }
        })
    }

    /// How deep the stack is at the `word`th word: bytes from there to its beginning.
    pub(crate) fn depth(&self, word: usize) -> usize {
        self.count.saturating_sub(word) * size_of::<usize>()
    }

    /// Whether somebody has written beyond the stack's end.
    pub(crate) fn is_overrun(&self) -> bool {
        // SAFETY: no preconditions.
        unsafe { bindings::rtrace_stack_overrun() }
    }
}
