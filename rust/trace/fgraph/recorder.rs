// SPDX-License-Identifier: GPL-2.0

//! The recorder of `function_graph`: what an instance has of the tracer, from its first use to its
//! end.
//!
//! As the only user and with default options it is traced by [`plain`](super::plain). As one user
//! of several, or with options (part of the graph, some tasks, no interrupts, no sleep), its
//! functions are here.

use super::filter::{self, Var, Verdict};
use super::graph_user::{EntryRegs, GraphCallback, GraphSymbols, GraphUser};
use super::plain::{call, exit_any, exit_of, Target, TargetRef};
use super::EntryPath;
use crate::core::format::entry::{store_words, Entry, FuncgraphRetaddrEntry};
use crate::core::parse::options::graph::{ARGS, IRQS, RETADDR, SLEEP_TIME};
use crate::kernel::clock;
use crate::kernel::context::PreemptCount;
use crate::kernel::ftrace::ftrace_graph_ret;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use crate::trace::fgraph::ret_stack::Current;
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::ftrace::ops::OpsRef;
use crate::trace::tasks::pids::PidFilter;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// Where a [`GraphRecorder`] records, and for which tasks.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// Takes the entries.
    pub(crate) buffer: &'a Buffer,
    /// Says which tasks are traced.
    pub(crate) pids: &'a PidFilter,
    /// Has the sets of functions.
    pub(crate) ops: OpsRef,
    /// Where it is not 0, only returns of functions that took at least so many nanoseconds are
    /// recorded, and no calls.
    pub(crate) threshold: u64,
}

/// An owner of a [`GraphRecorder`], and what that records into.
///
/// # Safety
///
/// [`Records::recorder`] is dropped before what [`Records::destination`] refers to is, and always
/// gives the same.
pub(crate) unsafe trait Records {
    /// The recorder.
    fn recorder(&self) -> &GraphRecorder;

    /// What it records into. `ENOMEM` without an ops.
    fn destination(&self) -> Result<Destination<'_>>;
}

/// A [`Recorder`] and its registration.
pub(crate) struct GraphRecorder(Pin<KBox<GraphUser<Recorder>>>);

impl GraphRecorder {
    /// Not in use yet. `ENOMEM`.
    pub(crate) fn new() -> Result<Self>
    where
        Recorder: GraphSymbols,
    {
        let user = KBox::new(GraphUser::new(Recorder::new()), GFP_KERNEL)?;
        Ok(Self(user.into()))
    }

    /// Has the recorder of `owner` record. Task context, sleeps. Errors as of
    /// [`GraphUser::register`] and [`Records::destination`].
    pub(crate) fn start(owner: &impl Records, flags: u32) -> Result {
        let (user, to) = (owner.recorder().0.as_ref(), owner.destination()?);
        let this = user.callback();
        this.note(to.pids, flags, to.threshold);
        // INVARIANT: what they refer to stays as long as the owner's recorder, say `Records`.
        this.buffer
            .store(core::ptr::from_ref(to.buffer).cast_mut(), Relaxed);
        this.pid_filter
            .store(core::ptr::from_ref(to.pids).cast_mut(), Relaxed);
        // SAFETY: the buffer stays as long as the recorder, whose end waits for hits.
        user.register(
            Some(to.ops),
            this.entry_path(to.pids, flags),
            &|number| unsafe { this.target.open(to.buffer, number) },
        )
        .inspect_err(|_| this.target.close())
    }

    /// The options, the threshold, or another input of the entry path has changed. Task context,
    /// sleeps.
    pub(crate) fn changed(&self, flags: u32, threshold: u64) {
        let this = self.0.callback();
        if let Some(pids) = this.pid_filter() {
            this.note(pids, flags, threshold);
            self.0.set_entry_path(this.entry_path(pids, flags));
        }
    }

    /// Stops. Task context, sleeps.
    pub(crate) fn stop(&self) {
        self.0.unregister();
        self.0.callback().target.close();
    }
}

/// Records calls and returns.
///
/// # Invariants
///
/// `buffer` and `pid_filter` are null before the first start; after that they are those of the
/// [`Destination`], which stay as long as this does.
pub(crate) struct Recorder {
    target: Target,
    buffer: Atomic<*mut Buffer>,
    pid_filter: Atomic<*mut PidFilter>,
    /// The tracer's options.
    flags: Atomic<u32>,
    /// Whether there are pids to look at.
    pids: Atomic<bool>,
    /// See [`Destination::threshold`].
    threshold: Atomic<u64>,
}

impl Recorder {
    const fn new() -> Self {
        // INVARIANT: null.
        Self {
            target: Target::new(),
            buffer: Atomic::new(core::ptr::null_mut()),
            pid_filter: Atomic::new(core::ptr::null_mut()),
            flags: Atomic::new(0),
            pids: Atomic::new(false),
            threshold: Atomic::new(0),
        }
    }

    /// The entry path with the tracer's options `flags`.
    fn entry_path(&self, pids: &PidFilter, flags: u32) -> EntryPath {
        let has_options = flags & (IRQS.bit | SLEEP_TIME.bit) != IRQS.bit | SLEEP_TIME.bit
            || flags & (RETADDR.bit | ARGS.bit) != 0
            || filter::is_active()
            || pids.is_active()
            || self.threshold.load(Relaxed) != 0;
        if has_options {
            return EntryPath::Shared;
        }
        // SAFETY: `goes` forgets it before hits are waited for.
        EntryPath::Plain(unsafe { TargetRef::new(&self.target) })
    }

    /// Takes down for hits what only task context may ask.
    fn note(&self, pids: &PidFilter, flags: u32, threshold: u64) {
        self.threshold.store(threshold, Relaxed);
        self.flags.store(flags, Relaxed);
        self.pids.store(pids.is_active(), Relaxed);
    }

    fn buffer(&self) -> Option<&Buffer> {
        // SAFETY: by the type invariant null, or a buffer that lives as long as this.
        unsafe { self.buffer.load(Relaxed).as_ref() }
    }

    fn pid_filter(&self) -> Option<&PidFilter> {
        // SAFETY: by the type invariant null, or one that lives as long as this.
        unsafe { self.pid_filter.load(Relaxed).as_ref() }
    }
}

/// Records a call, made in `context`, with its return address or its arguments, as `flags` say.
#[inline(never)]
fn write_more(
    buffer: &Buffer,
    context: Context,
    flags: u32,
    ip: usize,
    depth: i32,
    regs: EntryRegs<'_>,
) -> Option<()> {
    if flags & RETADDR.bit == 0 {
        return write_call(buffer, context, flags, regs, call(ip, depth));
    }
    let ret = Current::get().innermost_return(Machine::return_hook());
    let entry = FuncgraphRetaddrEntry {
        func: ip,
        depth: depth as usize,
        retaddr: ret.unwrap_or(0),
    };
    write_call(buffer, context, flags, regs, entry)
}

/// Records `entry`, with the arguments if `flags` say so.
fn write_call(
    buffer: &Buffer,
    context: Context,
    flags: u32,
    regs: EntryRegs<'_>,
    entry: impl Entry,
) -> Option<()> {
    if flags & ARGS.bit == 0 {
        return buffer.write_in(context, entry, []);
    }
    let arguments = regs.arguments();
    buffer.write_with(context, size_of_val(&arguments), |_, tail| {
        store_words(tail, arguments);
        entry
    })
}

impl GraphCallback for Recorder {
    #[inline(always)]
    fn enter(&self, place: usize, ip: usize, depth: i32, regs: EntryRegs<'_>) -> Option<()> {
        let buffer = self.buffer()?;
        let flags = self.flags.load(Relaxed);
        if self.pids.load(Relaxed) && !self.pid_filter()?.traces_current() {
            return None;
        }
        let current = Current::get();
        let var = Var::of(&current, place)?;
        match var.enter(ip, depth) {
            Verdict::Ignore => return None,
            Verdict::Return => return Some(()),
            Verdict::Record => {}
        }
        if flags & IRQS.bit == 0 && PreemptCount::read().in_hardirq() && !var.wants_irqs() {
            return None;
        }
        let sleepless = flags & SLEEP_TIME.bit == 0;
        let times = current.reserve(place, if sleepless { 16 } else { 8 })?;
        times.first()?.store(clock::sched(), Relaxed);
        if let Some(sleep) = times.get(1) {
            sleep.store(current.sleep_time(), Relaxed);
        }
        if self.threshold.load(Relaxed) != 0 {
            return Some(());
        }
        let context = Context::capture_all();
        if flags & (RETADDR.bit | ARGS.bit) != 0 {
            return write_more(buffer, context, flags, ip, depth, regs);
        }
        buffer.write_in(context, call(ip, depth), [])
    }

    #[inline(always)]
    fn leave(&self, place: usize, ret: &ftrace_graph_ret) -> Option<()> {
        let now = clock::sched();
        let current = Current::get();
        if !Var::of(&current, place)?.leave(ret.depth) {
            return None;
        }
        let times = current.reserved(place, 0)?;
        let mut calltime = times.first()?.load(Relaxed);
        if self.flags.load(Relaxed) & SLEEP_TIME.bit == 0 {
            let slept = times.get(1).map_or(0, |then| {
                current.sleep_time().wrapping_sub(then.load(Relaxed))
            });
            calltime = calltime.wrapping_add(slept);
        }
        if now.wrapping_sub(calltime) < self.threshold.load(Relaxed) {
            return None;
        }
        let exit = exit_of(ret, calltime, now);
        exit_any(self.buffer()?, Context::capture_all(), exit);
        Some(())
    }

    fn goes(&self) {
        self.target.forget();
    }
}
