// SPDX-License-Identifier: GPL-2.0

//! The stack tracer: the deepest kernel stack of any task, function by function.
//!
//! It is not one of `current_tracer` but stands beside them: a callback at functions' entries
//! compares how deep the stack is with the deepest so far, which takes a few instructions; where it
//! is deeper, the stack is unwound and kept. Stacks of interrupts are not looked at.
//!
//! Files: `stack_trace`, `stack_max_size`, `stack_trace_filter`; `kernel.stack_tracer_enabled`; the
//! boot parameters `stacktrace` and `stacktrace_filter=`.
//!
//! Locks: [`Switch`]'s mutex, then those of ops. [`DEEPEST`] is taken with the tracer off on this
//! CPU, as what unwinds is traced itself.

use crate::kernel::context::{with_interrupts_off, PreemptCount, PreemptOff};
use crate::kernel::fs::lockdown::check_lockdown;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::stack::{self, Own};
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::ftrace::ops::{
    thunk, Arguments, Callback, CallbackSymbol, Entry, FilterKind, Flags, Hit, Ops,
};
use core::marker::PhantomData;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};

/// How many functions of a stack are kept.
const MOST: usize = 500;

/// `stack_max_size`: bytes of the deepest stack, or what one must exceed to be kept.
static MAX: Atomic<usize> = Atomic::new(0);

/// The deepest stack.
pub(crate) struct Stack {
    /// Return addresses, innermost first, each with the depth of the stack in bytes where it lies.
    rows: [(usize, usize); MOST],
    count: usize,
}

impl Stack {
    /// Return addresses, innermost first, each with the depth of the stack in bytes where it lies.
    pub(crate) fn rows(&self) -> &[(usize, usize)] {
        self.rows.get(..self.count).unwrap_or(&[])
    }
}

static DEEPEST: RawLock<(Stack, [usize; MOST])> = RawLock::new((
    Stack {
        rows: [(0, 0); MOST],
        count: 0,
    },
    [0; MOST],
));

/// The stack tracer does not look at this CPU's functions while it lives.
struct Disabled<'a>(PhantomData<&'a PreemptOff>);

impl<'a> Disabled<'a> {
    /// Keeps it away. Any context.
    fn new(_stay: &'a PreemptOff) -> Self {
        stack::add_unmeasured(1);
        Self(PhantomData)
    }

    /// Keeps it away, unless somebody does already. Any context.
    fn first(stay: &'a PreemptOff) -> Option<Self> {
        (stack::add_unmeasured(0) == 0).then(|| Self::new(stay))
    }
}

impl Drop for Disabled<'_> {
    fn drop(&mut self) {
        stack::add_unmeasured(-1);
    }
}

/// The callback.
struct Measure;

#[allow(unsafe_code, reason = "the thunk of the type")]
// SAFETY: it is the thunk of the type.
unsafe impl CallbackSymbol for Measure {
    const ENTRY: Entry = thunk::<Self>;
}

impl Callback for Measure {
    type Saved = Arguments;

    #[inline(always)]
    fn hit(&self, hit: &Hit<'_, Arguments>) {
        // Where the call to the trampoline has left its return address.
        let at = hit.stack_pointer().wrapping_sub(size_of::<usize>());
        if stack::depth_of(at) > MAX.load(Relaxed) {
            deeper(at, hit.ip.wrapping_add(Machine::SITE_SIZE));
        }
    }
}

/// The stack is deeper than ever, if it is a task's. `ip` is the return address at `at`.
#[cold]
#[inline(never)]
fn deeper(at: usize, ip: usize) {
    let stay = PreemptOff::new();
    let Some(_disabled) = Disabled::first(&stay) else {
        return;
    };
    if PreemptCount::read().in_nmi() || !stack::rcu_watches() {
        return;
    }
    Own::with(at, |own| {
        // Unwinding may come to code that wants to know from lockdep that interrupts are off.
        with_interrupts_off(|| {
            // Unwinding is traced; `_disabled` keeps this CPU's hits away.
            let mut deepest = DEEPEST.lock().around_traced();
            // Somebody else may have been faster.
            if own.depth(0) <= MAX.load(Relaxed) {
                return;
            }
            MAX.store(own.depth(0), Relaxed);
            let (stack, calls) = &mut *deepest;
            keep(own, ip, stack, calls);
            if own.is_overrun() {
                overrun(stack);
            }
        });
    });
}

/// Unwinds the stack into `calls` and keeps it from the function on that `ip` leads into.
fn keep(own: &Own, ip: usize, stack: &mut Stack, calls: &mut [usize; MOST]) {
    // The last place stays free, as in C.
    let found = stack::save(calls.get_mut(..MOST - 1).unwrap_or(&mut []));
    let calls = calls.get(..found).unwrap_or(&[]);
    let first = calls.iter().position(|call| *call == ip).unwrap_or(0);
    let mut from = 0;
    stack.count = 0;
    // One that is not on the stack, such as what a return hook stands for, is left out.
    for call in calls.get(first..).unwrap_or(&[]) {
        let Some(word) = own.find(from, *call) else {
            continue;
        };
        if let Some(row) = stack.rows.get_mut(stack.count) {
            *row = (*call, own.depth(word));
            stack.count += 1;
        }
        from = word + 1;
    }
}

/// Beyond the stack's end there is somebody else's memory.
#[cold]
fn overrun(stack: &Stack) -> ! {
    pr_emerg!("kernel stack overflow, {} functions deep:\n", stack.count);
    for (call, depth) in stack.rows() {
        pr_emerg!(
            "{:8} {}\n",
            depth,
            crate::kernel::kallsyms::SymbolOffset(*call)
        );
    }
    panic!("kernel stack overflow");
}

/// On or off, and the filter.
#[pin_data]
struct Switch {
    ops: Arc<Ops>,
    #[pin]
    on: Mutex<bool>,
}

static SWITCH: SetOnce<Arc<Switch>> = SetOnce::new();

fn switch() -> Result<&'static Switch> {
    SWITCH.as_ref().map(|switch| &**switch).ok_or(ENODEV)
}

/// Makes the tracer, with the comma-separated patterns of `filter`, switched on if `on`. Once, at
/// boot. `ENOMEM`; `EPERM` under lockdown.
pub(crate) fn init(filter: &[u8], on: bool) -> Result {
    check_lockdown()?;
    let ops = Ops::new(Arc::new(Measure, GFP_KERNEL)?, Flags(0))?;
    if !filter.is_empty() {
        let mut edit = ops.edit(FilterKind::Filter, false)?;
        for token in filter
            .split(|&c| c == b',')
            .filter(|token| !token.is_empty())
        {
            // A pattern that matches nothing leaves the others in force, as in C.
            let _ = edit.apply(token);
        }
        edit.commit()?;
    }
    SWITCH.populate(Arc::pin_init(
        pin_init!(Switch { ops, on <- new_mutex!(false) }),
        GFP_KERNEL,
    )?);
    set(on)
}

/// Switches it on or off. Task context, sleeps. `ENODEV` before [`init`] or when ftrace is
/// disarmed, `ENOMEM`.
pub(crate) fn set(on: bool) -> Result {
    let switch = switch()?;
    let mut is_on = switch.on.lock();
    if *is_on != on {
        match on {
            true => switch.ops.register()?,
            false => switch.ops.unregister()?,
        }
        *is_on = on;
    }
    Ok(())
}

/// Whether it is on. Task context.
pub(crate) fn is_on() -> bool {
    switch().is_ok_and(|switch| *switch.on.lock())
}

/// What `stack_trace_filter` edits. `ENODEV` before [`init`].
pub(crate) fn ops() -> Result<&'static Arc<Ops>> {
    switch().map(|switch| &switch.ops)
}

/// `stack_max_size`, in bytes. Any context.
pub(crate) fn max_size() -> usize {
    MAX.load(Relaxed)
}

/// Sets what a stack must exceed to be kept. Task context.
pub(crate) fn set_max_size(bytes: usize) {
    MAX.store(bytes, Relaxed);
}

/// A copy of the deepest stack's rows; see [`Stack::rows`]. Task context, may sleep. `ENOMEM`.
pub(crate) fn deepest() -> Result<KVec<(usize, usize)>> {
    let mut rows = KVec::with_capacity(MOST, GFP_KERNEL)?;
    let stay = PreemptOff::new();
    let _disabled = Disabled::new(&stay);
    for row in DEEPEST.lock().0.rows() {
        let _there_is_room = rows.push_within_capacity(*row);
    }
    Ok(rows)
}
