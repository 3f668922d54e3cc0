// SPDX-License-Identifier: GPL-2.0

//! Kernel stack entries: the return addresses from some function on, the innermost first.

#[cfg(CONFIG_EVENT_TRACING)]
use crate::core::format::entry::UserStack;
use crate::core::format::entry::{store_words, KernelStack, TRAMPOLINE};
#[cfg(CONFIG_EVENT_TRACING)]
use crate::kernel::context::PreemptOff;
use crate::kernel::kallsyms::size_offset;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::kernel::percpu::PerCpu;
#[cfg(CONFIG_KPROBE_EVENTS)]
use crate::kernel::regs::Regs;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::kernel::stack::save_user;
#[cfg(CONFIG_SCHED_TRACER)]
use crate::kernel::stack::Caller;
use crate::kernel::stack::Stacks;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::kernel::tracepoint::TaskView;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::{Buffer, Target};
use kernel::prelude::*;
#[cfg(CONFIG_EVENT_TRACING)]
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::SetOnce;
#[cfg(CONFIG_EVENT_TRACING)]
use own::own_frames;

#[cfg(CONFIG_EVENT_TRACING)]
mod own;

/// The largest distance between a patch site and the return address of its trampoline call.
const SITE: usize = 16;

/// The trampolines that are made at run time. The room that makes them implements [`Has`] for this
/// type.
pub(crate) struct Trampolines;

/// Implemented by [`Trampolines`].
pub(crate) trait Has {
    /// Whether `addr` is in a trampoline. Any context.
    fn has(addr: usize) -> bool;
}

static STACKS: SetOnce<Stacks> = SetOnce::new();

/// Allocates the memory for unwinding. Once, at boot. `ENOMEM`.
pub(crate) fn init() -> Result {
    STACKS.populate(Stacks::new()?);
    #[cfg(CONFIG_EVENT_TRACING)]
    READING_USER.populate(PerCpu::new(|_| Atomic::new(false))?);
    Ok(())
}

/// Records the stack for an entry that was made in `context`, from the frame at `from`, a return address, on, without the first `skip` frames of
/// that. Frames below it belong to the tracer. If there is no such frame, records the stack without its
/// first `skip` frames. Any context.
pub(crate) fn record_skipping(buffer: &Buffer, context: Context, from: usize, skip: usize) {
    write(buffer, context, |calls| {
        frame_of(calls, from).saturating_add(skip)
    });
}

/// Records the stack for an entry that was made in `context`, from the caller of the function that
/// the return address `ip` points into. Any context.
#[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
pub(crate) fn record_after(buffer: &Buffer, context: Context, ip: usize) {
    write(buffer, context, |calls| {
        calls
            .iter()
            .position(|call| *call == ip)
            .map_or(0, |frame| frame + 1)
    });
}

/// Records the stack for an entry that was made in `context`, from `caller` on. Any context.
#[cfg(CONFIG_SCHED_TRACER)]
pub(crate) fn record_of(buffer: &Buffer, context: Context, caller: &Caller) {
    let Some(stacks) = STACKS.as_ref() else {
        return;
    };
    stacks.with_caller(caller, |calls| write_calls(buffer, context, calls));
}

/// Records the stack for an entry that was made in `context`, from the frame at `from` on: a patch site
/// that was just hit. Frames below it belong to the tracer. If there is no such frame, records the whole
/// stack. A trampoline that was made for an ops is recorded, too; its frame reads
/// `[FTRACE TRAMPOLINE]`. Any context.
///
/// It is inlined because each frame of the tracer must be unwound, too.
#[inline(always)]
pub(crate) fn record_in(buffer: &Buffer, context: Context, from: usize) {
    write(buffer, context, |calls| {
        let frame = frame_of(calls, from);
        let caller = frame.checked_sub(1).filter(|before| {
            calls
                .get(*before)
                .is_some_and(|call| Trampolines::has(*call))
        });
        caller.unwrap_or(frame)
    });
}

/// Records the stack for an entry that was made in `context`, from the frame of the function that
/// contains `ip`. If there is no such frame, records the whole stack. Any context.
pub(crate) fn record_caller(buffer: &Buffer, context: Context, ip: usize) {
    write(buffer, context, |calls| first_caller(calls, ip));
}

/// The index of the frame of the function that contains `ip` in `calls`. 0 if there is none.
#[inline(always)]
fn first_caller(calls: &[usize], ip: usize) -> usize {
    caller(calls, ip).unwrap_or(0)
}

/// The index of the frame of the function that contains `ip` in `calls`, if there is one.
#[inline(always)]
fn caller(calls: &[usize], ip: usize) -> Option<usize> {
    let bounds = size_offset(ip).map(|(size, offset)| (ip.wrapping_sub(offset), size));
    let is_caller =
        |call: &usize| bounds.is_some_and(|(start, size)| call.wrapping_sub(start) <= size);
    calls.iter().position(is_caller)
}

/// Records the stack for an entry that was made in `context`, from the frame of the function that
/// contains `ip`. If there is no such frame, records what is outside of the tracing core. Any
/// context.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) fn record_from(to: &impl Target, context: Context, ip: usize) {
    write(to, context, |calls| {
        caller(calls, ip).unwrap_or_else(|| own_frames(calls))
    });
}

/// Records the stack for an entry that was made in `context`, from where `regs` were the registers.
/// Any context.
#[cfg(CONFIG_KPROBE_EVENTS)]
pub(crate) fn record_regs(to: &impl Target, context: Context, regs: &Regs) {
    if let Some(stacks) = STACKS.as_ref() {
        stacks.with_regs(regs, |calls| write_calls(to, context, calls));
    }
}

/// Records the stack for an entry that was made in `context`, behind the frame of the function at `probe`.
/// If that is 0 or not on the stack, records what is outside of the tracing core. Any context.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) fn record_behind(to: &impl Target, context: Context, probe: usize) {
    write(to, context, |calls| first_behind(calls, probe));
}

/// Copies the stack to `into`, and 0 after it. `probe` as in [`record_behind`]. Any context.
#[cfg(CONFIG_HIST_TRIGGERS)]
pub(crate) fn copy_behind(into: &mut [u64], probe: usize) {
    let copied = STACKS.as_ref().and_then(|stacks| {
        stacks.with_current(|calls| {
            let calls = calls.get(first_behind(calls, probe)..).unwrap_or(&[]);
            let mut calls = calls.iter();
            into.fill_with(|| calls.next().map_or(0, |call| *call as u64));
        })
    });
    if copied.is_none() {
        into.fill(0);
    }
}

/// The index of the first of `calls` that is recorded, see [`record_behind`].
#[cfg(CONFIG_EVENT_TRACING)]
fn first_behind(calls: &[usize], probe: usize) -> usize {
    let frame = match probe {
        0 => None,
        probe => caller(calls, probe),
    };
    frame.map_or_else(|| own_frames(calls), |frame| frame.saturating_add(1))
}

/// Records the user stack of the current task, for an entry that was made in `context`. Any
/// context. Records nothing in an NMI, nor for an event that the reading of the user stack causes.
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) fn record_user(to: &impl Target, context: Context) {
    if context.level() == NMI {
        return;
    }
    let _stay = PreemptOff::new();
    let Some(reading) = READING_USER.as_ref().map(PerCpu::this) else {
        return;
    };
    if reading.load(Relaxed) {
        return;
    }
    reading.store(true, Relaxed);
    let mut caller = [0; 8];
    save_user(&mut caller);
    let entry = UserStack {
        tgid: TaskView::with_current(|task| task.tgid()) as u32,
        _pad: 0,
        caller,
    };
    // If there is no room, the ring buffer counts the loss.
    let _ = to.write_with(context, 0, |_, _| entry);
    reading.store(false, Relaxed);
}

/// The context level of NMIs, see [`Context::level`].
#[cfg(CONFIG_EVENT_TRACING)]
const NMI: u32 = 3;

/// Whether this CPU is reading a user stack.
#[cfg(CONFIG_EVENT_TRACING)]
static READING_USER: SetOnce<PerCpu<Atomic<bool>>> = SetOnce::new();

/// Gives `f` the stack from the frame of the function that contains `ip` on; all of it if there is no
/// such frame. Any context; `f` runs with preemption off.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) fn with_caller(ip: usize, f: impl FnOnce(&[usize])) {
    let Some(stacks) = STACKS.as_ref() else {
        return;
    };
    stacks.with_current(|calls| f(calls.get(first_caller(calls, ip)..).unwrap_or(&[])));
}

/// Records `calls`, which were saved before, for an entry that was made in `context`. Any context.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) fn record_saved(
    buffer: &Buffer,
    context: Context,
    calls: impl ExactSizeIterator<Item = usize>,
) {
    write_words(buffer, context, calls);
}

/// The index of the frame at `from` in `calls`. 0 if there is none.
fn frame_of(calls: &[usize], from: usize) -> usize {
    calls
        .iter()
        .position(|call| call.wrapping_sub(from) <= SITE)
        .unwrap_or(0)
}

/// Records the calls from the index that `first` returns.
#[inline(always)]
fn write(to: &impl Target, context: Context, first: impl Fn(&[usize]) -> usize) {
    let Some(stacks) = STACKS.as_ref() else {
        return;
    };
    stacks.with_current(|calls| write_calls(to, context, calls.get(first(calls)..).unwrap_or(&[])));
}

/// Records `calls`.
fn write_calls(to: &impl Target, context: Context, calls: &[usize]) {
    write_words(to, context, calls.iter().copied());
}

#[inline(always)]
fn write_words(to: &impl Target, context: Context, calls: impl ExactSizeIterator<Item = usize>) {
    let count = calls.len();
    // If there is no room, the ring buffer counts the loss.
    let _ = to.write_with(
        context,
        count.wrapping_mul(size_of::<usize>()),
        |_, tail| {
            store_words(
                tail,
                calls.map(|call| match Trampolines::has(call) {
                    true => TRAMPOLINE,
                    false => call,
                }),
            );
            KernelStack {
                // The number of calls is far below `i32::MAX`.
                size: count as i32,
                _pad: 0,
            }
        },
    );
}
