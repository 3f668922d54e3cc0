// SPDX-License-Identifier: GPL-2.0

//! The recorder of `function_graph`: what an instance has of the tracer, from its first use to its
//! end.
//!
//! Alone and without any wish it is traced by [`plain`](super::plain). As one user of several, or
//! with wishes (part of the graph, some tasks, no interrupts, no sleep), its functions are here.

use super::filter::{self, Var, Verdict};
use super::plain::{call, exit_any, Target, TargetRef};
use super::{register, set_entry_path, unregister, user, EntryPath, UserRef};
use crate::core::format::entry::{FuncgraphExit, FuncgraphRetaddrEntry};
use crate::core::parse::options::graph::{IRQS, RETADDR, SLEEP_TIME};
use crate::kernel::clock;
use crate::kernel::context::PreemptCount;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use crate::trace::fgraph::ret_stack::Current;
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::ftrace::ops::OpsRef;
use crate::trace::tasks::pids::PidFilter;
use kernel::bindings::{fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_regs};
use kernel::ffi::c_int;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::types::Opaque;

/// Where a [`GraphRecorder`] records, and for which tasks.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// Takes the entries.
    pub(crate) buffer: &'a Buffer,
    /// Says which tasks are traced.
    pub(crate) pids: &'a PidFilter,
    /// Has the sets of functions.
    pub(crate) ops: OpsRef,
}

/// Who has a [`GraphRecorder`], and what that records into.
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

/// Records calls and returns.
///
/// # Invariants
///
/// `buffer` and `pids` are null before the first start; after that they are those of the
/// [`Destination`], which stay as long as this does.
pub(crate) struct GraphRecorder {
    user: Opaque<fgraph_ops>,
    target: Target,
    buffer: Atomic<*mut Buffer>,
    pid_filter: Atomic<*mut PidFilter>,
    /// The tracer's options.
    flags: Atomic<u32>,
    /// Are there pids to look at?
    pids: Atomic<bool>,
}

// SAFETY: the words are atomic; `user` is used by the rules of `UserRef`, and written to under the
// instance's lock.
unsafe impl Send for GraphRecorder {}
// SAFETY: as above.
unsafe impl Sync for GraphRecorder {}

impl GraphRecorder {
    /// Not in use yet.
    pub(crate) fn new() -> Self {
        Self {
            user: Opaque::zeroed(),
            target: Target::new(),
            buffer: Atomic::new(core::ptr::null_mut()),
            pid_filter: Atomic::new(core::ptr::null_mut()),
            flags: Atomic::new(0),
            pids: Atomic::new(false),
        }
    }

    /// The way with the tracer's options `flags`.
    fn way(&self, pids: &PidFilter, flags: u32) -> EntryPath {
        let wishes = flags & (IRQS.bit | SLEEP_TIME.bit) != IRQS.bit | SLEEP_TIME.bit
            || flags & RETADDR.bit != 0
            || filter::is_active()
            || pids.is_active();
        if wishes {
            return EntryPath::Shared;
        }
        // SAFETY: `drop` forgets it and waits.
        EntryPath::Plain(unsafe { TargetRef::new(&self.target) })
    }

    /// Takes down for hits what only task context may ask.
    fn note(&self, pids: &PidFilter, flags: u32) {
        self.flags.store(flags, Relaxed);
        self.pids.store(pids.is_active(), Relaxed);
    }

    fn user(&self) -> Option<UserRef> {
        // SAFETY: it lives as long as this, whose drop waits for hits; the functions are set once,
        // before it is registered.
        unsafe { UserRef::from_raw(self.user.get()) }
    }

    /// Has the recorder of `owner` record. Task context, sleeps. Errors as of [`register`], and
    /// [`Records::destination`].
    pub(crate) fn start(owner: &impl Records, flags: u32) -> Result {
        owner.recorder().begin(&owner.destination()?, flags)
    }

    /// [`GraphRecorder::start`]; `to` stays as long as this does.
    fn begin(&self, to: &Destination<'_>, flags: u32) -> Result {
        let user = self.user().ok_or(EINVAL)?;
        self.note(to.pids, flags);
        // INVARIANT: what they refer to stays, says the safety section of `Records`.
        self.buffer
            .store(core::ptr::from_ref(to.buffer).cast_mut(), Relaxed);
        self.pid_filter
            .store(core::ptr::from_ref(to.pids).cast_mut(), Relaxed);
        let raw = self.user.get();
        // SAFETY: it is not registered, and the instance's lock is held: nobody else looks at
        // these.
        unsafe {
            (*raw).entryfunc = Some(trace_graph_entry);
            (*raw).retfunc = Some(trace_graph_return);
            (*raw).private = core::ptr::from_ref(self).cast_mut().cast();
        }
        user.ops().init();
        user.ops().share_sets(to.ops);
        // SAFETY: the buffer stays as long as this, whose drop waits for hits.
        register(user, self.way(to.pids, flags), |number| unsafe {
            self.target.open(to.buffer, number)
        })
        .inspect_err(|_| self.target.close())
    }

    /// The options, or what else decides the way, have changed. Task context, sleeps.
    pub(crate) fn changed(&self, flags: u32) {
        let (Some(pids), Some(user)) = (self.pid_filter(), self.user()) else {
            return;
        };
        self.note(pids, flags);
        set_entry_path(user, self.way(pids, flags));
    }

    /// Stops. Task context, sleeps.
    pub(crate) fn stop(&self) {
        if let Some(user) = self.user() {
            unregister(user);
        }
        self.target.close();
    }

    fn buffer(&self) -> Option<&Buffer> {
        // SAFETY: by the type invariant null, or a buffer that lives as long as this.
        unsafe { self.buffer.load(Relaxed).as_ref() }
    }

    fn pid_filter(&self) -> Option<&PidFilter> {
        // SAFETY: by the type invariant null, or one that lives as long as this.
        unsafe { self.pid_filter.load(Relaxed).as_ref() }
    }

    /// Is the function at `ip` to be traced until it returns?
    fn enter(&self, place: usize, ip: usize, depth: i32) -> Option<()> {
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
        let context = Context::capture_all();
        if flags & RETADDR.bit != 0 {
            let ret = current
                .innermost_return(Machine::return_hook())
                .unwrap_or(0);
            let entry = FuncgraphRetaddrEntry {
                func: ip,
                depth: depth as usize,
                retaddr: ret,
            };
            return buffer.write_in(context, entry, []);
        }
        buffer.write_in(context, call(ip, depth), [])
    }

    /// A function for which [`GraphRecorder::enter`] said yes returns.
    fn leave(
        &self,
        place: usize,
        func: usize,
        retval: usize,
        depth: i32,
        overrun: u32,
    ) -> Option<()> {
        let now = clock::sched();
        let current = Current::get();
        if !Var::of(&current, place)?.leave(depth) {
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
        let exit = FuncgraphExit {
            func,
            retval,
            depth: depth as u32,
            overrun,
            calltime,
            rettime: now,
        };
        exit_any(self.buffer()?, Context::capture_all(), exit);
        Some(())
    }
}

impl Drop for GraphRecorder {
    fn drop(&mut self) {
        if !self.buffer.load(Relaxed).is_null() {
            self.target.forget();
            super::wait();
        }
    }
}

/// # Safety
///
/// `user` is that of a [`GraphRecorder`] and was registered.
unsafe fn recorder<'a>(user: *mut fgraph_ops) -> &'a GraphRecorder {
    // SAFETY: by the precondition `begin` has put it there, and it waits for hits before it goes.
    unsafe { &*(*user).private.cast::<GraphRecorder>() }
}

/// The tracer's entry function.
///
/// # Safety
///
/// For [`super::shared`].
#[no_mangle]
unsafe extern "C" fn trace_graph_entry(
    trace: *mut ftrace_graph_ent,
    user: *mut fgraph_ops,
    _: *mut ftrace_regs,
) -> c_int {
    // SAFETY: by the precondition.
    let (recorder, func, depth, place) = unsafe {
        (
            recorder(user),
            (*trace).func,
            (*trace).depth,
            user::place_of(user),
        )
    };
    c_int::from(recorder.enter(place, func, depth as i32).is_some())
}

/// The tracer's return function.
///
/// # Safety
///
/// For [`super::shared`].
#[no_mangle]
unsafe extern "C" fn trace_graph_return(
    trace: *mut ftrace_graph_ret,
    user: *mut fgraph_ops,
    _: *mut ftrace_regs,
) {
    // SAFETY: by the precondition.
    let (recorder, trace, place) = unsafe { (recorder(user), &*trace, user::place_of(user)) };
    let _ = recorder.leave(place, trace.func, trace.retval, trace.depth, trace.overrun);
}
