// SPDX-License-Identifier: GPL-2.0

//! `function_graph` as one user of several, or with wishes: part of the graph, some tasks, no
//! interrupts, no sleep.
//!
//! [`Tracing`] is what an instance has of it, from its first use to its end.

use super::filter::{self, Var, Verdict};
use super::plain::{exit_any, fill, Return, Target, TargetRef};
use super::{register, set_entry_path, unregister, user, EntryPath, UserRef};
use crate::core::parse::options::graph::{IRQS, RETADDR, SLEEP_TIME};
use crate::kernel::clock;
use crate::kernel::context::PreemptCount;
use crate::trace::buffer::entry::{kind, Context};
use crate::trace::fgraph::ret_stack::Current;
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::instance::Instance;
use kernel::bindings::{fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_regs};
use kernel::ffi::c_int;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;
use kernel::types::Opaque;

/// What an instance has of the tracer.
///
/// # Invariants
///
/// While `user` is registered, and until hits are out after that, `instance` is the instance that
/// this is a part of.
pub(crate) struct Tracing {
    user: Opaque<fgraph_ops>,
    target: Target,
    instance: Atomic<*mut Instance>,
    /// The tracer's options.
    flags: Atomic<u32>,
    /// Are there pids to look at?
    pids: Atomic<bool>,
}

// SAFETY: the words are atomic; `user` is used by the rules of `UserRef`, and written to under the
// instance's lock.
unsafe impl Send for Tracing {}
// SAFETY: as above.
unsafe impl Sync for Tracing {}

impl Tracing {
    /// Not in use yet.
    pub(crate) fn new() -> Self {
        Self {
            user: Opaque::zeroed(),
            target: Target::new(),
            instance: Atomic::new(core::ptr::null_mut()),
            flags: Atomic::new(0),
            pids: Atomic::new(false),
        }
    }

    /// The way for an instance with the tracer's options `flags`.
    fn way(&self, instance: &Instance, flags: u32) -> EntryPath {
        let wishes = flags & (IRQS.bit | SLEEP_TIME.bit) != IRQS.bit | SLEEP_TIME.bit
            || flags & RETADDR.bit != 0
            || filter::is_active()
            || instance.pids().is_active();
        if wishes {
            return EntryPath::Shared;
        }
        // SAFETY: `drop` forgets it and waits.
        EntryPath::Plain(unsafe { TargetRef::new(&self.target) })
    }

    /// Takes down for hits what only task context may ask.
    fn note(&self, instance: &Instance, flags: u32) {
        self.flags.store(flags, Relaxed);
        self.pids.store(instance.pids().is_active(), Relaxed);
    }

    fn user(&self) -> Option<UserRef> {
        // SAFETY: it lives as long as this, whose drop waits for hits; the functions are set once,
        // before it is registered.
        unsafe { UserRef::from_raw(self.user.get()) }
    }

    /// Starts to record into `instance`, which has this. Task context, sleeps. Errors as of
    /// [`register`].
    pub(crate) fn start(&self, instance: &Arc<Instance>, flags: u32) -> Result {
        let user = self.user().ok_or(EINVAL)?;
        let ops = instance.ops().ok_or(ENOMEM)?;
        self.note(instance, flags);
        // INVARIANT: the caller's word.
        self.instance
            .store(Arc::as_ptr(instance).cast_mut(), Relaxed);
        let raw = self.user.get();
        // SAFETY: it is not registered, and the instance's lock is held: nobody else looks at
        // these.
        unsafe {
            (*raw).entryfunc = Some(trace_graph_entry);
            (*raw).retfunc = Some(trace_graph_return);
            (*raw).private = core::ptr::from_ref(self).cast_mut().cast();
        }
        user.ops().init();
        user.ops().share_sets(ops.raw());
        // SAFETY: the buffer is the instance's, as this is, whose drop waits for hits.
        register(user, self.way(instance, flags), |number| unsafe {
            self.target.open(instance.buffer(), number)
        })
        .inspect_err(|_| self.target.close())
    }

    /// The options, or what else decides the way, have changed. Task context, sleeps.
    pub(crate) fn changed(&self, instance: &Instance, flags: u32) {
        self.note(instance, flags);
        if let Some(user) = self.user() {
            set_entry_path(user, self.way(instance, flags));
        }
    }

    /// Stops. Task context, sleeps.
    pub(crate) fn stop(&self) {
        if let Some(user) = self.user() {
            unregister(user);
        }
        self.target.close();
    }

    fn instance(&self) -> Option<&Instance> {
        // SAFETY: by the type invariant null or the instance, which lives as long as this.
        unsafe { self.instance.load(Relaxed).as_ref() }
    }

    /// Is the function at `ip` to be traced until it returns?
    fn enter(&self, place: usize, ip: usize, depth: i32) -> Option<()> {
        let instance = self.instance()?;
        let flags = self.flags.load(Relaxed);
        if self.pids.load(Relaxed) && !instance.pids().traces_current() {
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
        let buffer = instance.buffer();
        if flags & RETADDR.bit != 0 {
            let ret = current
                .innermost_return(Machine::return_hook())
                .unwrap_or(0);
            let words = [ip as u64, depth as u64, ret as u64];
            return buffer.write_with(context, kind::GRAPH_RETADDR_ENTRY, 24, |_, bytes| {
                fill(bytes, &words)
            });
        }
        buffer.write_with(context, kind::GRAPH_ENTRY, 16, |_, bytes| {
            fill(bytes, &[ip as u64, depth as u64])
        })
    }

    /// A function for which [`Tracing::enter`] said yes returns.
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
        let of = Return {
            func,
            retval,
            depth,
            overrun,
            calltime,
        };
        exit_any(self.instance()?.buffer(), Context::capture_all(), of, now);
        Some(())
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        if !self.instance.load(Relaxed).is_null() {
            self.target.forget();
            super::wait();
        }
    }
}

/// # Safety
///
/// `user` is that of a [`Tracing`] and was registered.
unsafe fn tracing<'a>(user: *mut fgraph_ops) -> &'a Tracing {
    // SAFETY: by the precondition `start` has put it there, and it waits for hits before it goes.
    unsafe { &*(*user).private.cast::<Tracing>() }
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
    let (tracing, func, depth, place) = unsafe {
        (
            tracing(user),
            (*trace).func,
            (*trace).depth,
            user::place_of(user),
        )
    };
    c_int::from(tracing.enter(place, func, depth as i32).is_some())
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
    let (tracing, trace, place) = unsafe { (tracing(user), &*trace, user::place_of(user)) };
    let _ = tracing.leave(place, trace.func, trace.retval, trace.depth, trace.overrun);
}
