// SPDX-License-Identifier: GPL-2.0

//! Functions as a call graph while something is measured: for the tracers of latencies, option
//! `display-graph`.
//!
//! As in C all functions are looked at, whatever `set_ftrace_filter` says; `set_graph_function` and
//! its like hold.

use super::filter::{Var, Verdict};
use super::plain::{call, exit_any};
use super::{register, unregister, user, EntryPath, UserRef};
use crate::core::format::entry::FuncgraphExit;
use crate::kernel::clock;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use crate::trace::fgraph::ret_stack::Current;
use core::marker::PhantomPinned;
use kernel::bindings::{fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_regs};
use kernel::ffi::c_int;
use kernel::prelude::*;
use kernel::sync::Arc;
use kernel::types::Opaque;

/// What is measured.
pub(crate) trait Measurement: Send + Sync + 'static {
    /// Is something being measured on this CPU, so that its functions are of interest? Any context,
    /// preemption is off.
    fn is_measuring(&self) -> bool;

    /// Where it is recorded.
    fn buffer(&self) -> &Buffer;

    /// From now on it is recorded as a call graph, or not. What is being measured just now is not
    /// reported. Task context.
    fn set_graph(&self, graph: bool);
}

/// Records calls and returns of functions where `T` is at it, from its making to its end.
pub(crate) struct MeasuredGraph<T: Measurement>(Pin<KBox<Registered<T>>>);

/// # Invariants
///
/// It stays where it is while `user` is registered and until hits are out after that; `user` has
/// its address.
struct Registered<T: Measurement> {
    user: Opaque<fgraph_ops>,
    what: Arc<T>,
    _stays: PhantomPinned,
}

// SAFETY: `user` is used by the rules of `UserRef`; `T` may be used from any context.
unsafe impl<T: Measurement> Send for Registered<T> {}
// SAFETY: as above.
unsafe impl<T: Measurement> Sync for Registered<T> {}

impl<T: Measurement> MeasuredGraph<T> {
    /// Begins. Task context, sleeps. Errors as of [`register`].
    pub(crate) fn start(what: Arc<T>) -> Result<Self> {
        let new = KBox::pin(
            Registered {
                user: Opaque::zeroed(),
                what,
                _stays: PhantomPinned,
            },
            GFP_KERNEL,
        )?;
        let raw = new.user.get();
        // SAFETY: nobody else knows it yet.
        unsafe {
            (*raw).entryfunc = Some(entry::<T>);
            (*raw).retfunc = Some(returned::<T>);
            (*raw).private = core::ptr::from_ref(&*new).cast_mut().cast();
        }
        let user = new.user().ok_or(EINVAL)?;
        user.ops().init();
        register(user, EntryPath::Shared, |_| ())?;
        Ok(Self(new))
    }
}

impl<T: Measurement> Registered<T> {
    fn user(&self) -> Option<UserRef> {
        // SAFETY: it lives as long as this, whose owner waits for hits; the functions were set
        // before it was registered.
        unsafe { UserRef::from_raw(self.user.get()) }
    }

    fn enter(&self, place: usize, func: usize, depth: i32) -> Option<()> {
        let current = Current::get();
        match Var::of(&current, place)?.enter(func, depth) {
            Verdict::Ignore => return None,
            Verdict::Return => return Some(()),
            Verdict::Record => {}
        }
        if !self.what.is_measuring() {
            return None;
        }
        current
            .reserve(place, 8)?
            .first()?
            .store(clock::sched(), kernel::sync::atomic::Relaxed);
        self.what.buffer().write(call(func, depth), [])
    }

    fn leave(&self, place: usize, ret: &ftrace_graph_ret) -> Option<()> {
        let current = Current::get();
        if !Var::of(&current, place)?.leave(ret.depth) || !self.what.is_measuring() {
            return None;
        }
        let now = clock::sched();
        let calltime = current
            .reserved(place, 0)?
            .first()?
            .load(kernel::sync::atomic::Relaxed);
        let exit = FuncgraphExit {
            func: ret.func as usize,
            retval: ret.retval as usize,
            depth: ret.depth as u32,
            overrun: ret.overrun,
            calltime,
            rettime: now,
        };
        exit_any(self.what.buffer(), Context::capture_all(), exit);
        Some(())
    }
}

impl<T: Measurement> Drop for MeasuredGraph<T> {
    fn drop(&mut self) {
        if let Some(user) = self.0.user() {
            unregister(user);
        }
        super::wait();
    }
}

/// Records the function `ip` as one that returns at once: how a tracer that shows call graphs marks
/// a place.
pub(crate) fn mark(buffer: &Buffer, context: Context, ip: usize) {
    let time = clock::sched();
    let _ = buffer.write_in(context, call(ip, 0), []);
    let exit = FuncgraphExit {
        func: ip,
        calltime: time,
        rettime: time,
        ..FuncgraphExit::default()
    };
    exit_any(buffer, context, exit);
}

/// # Safety
///
/// `user` is that of a [`Registered`] and was registered.
unsafe fn registered<'a, T: Measurement>(user: *mut fgraph_ops) -> &'a Registered<T> {
    // SAFETY: by the precondition `start` has put it there, and it waits for hits before it goes.
    unsafe { &*(*user).private.cast::<Registered<T>>() }
}

/// # Safety
///
/// For [`super::shared`].
unsafe extern "C" fn entry<T: Measurement>(
    trace: *mut ftrace_graph_ent,
    user: *mut fgraph_ops,
    _: *mut ftrace_regs,
) -> c_int {
    // SAFETY: by the precondition.
    let (this, func, depth, place) = unsafe {
        (
            registered::<T>(user),
            (*trace).func,
            (*trace).depth,
            user::place_of(user),
        )
    };
    c_int::from(this.enter(place, func, depth as i32).is_some())
}

/// # Safety
///
/// For [`super::shared`].
unsafe extern "C" fn returned<T: Measurement>(
    trace: *mut ftrace_graph_ret,
    user: *mut fgraph_ops,
    _: *mut ftrace_regs,
) {
    // SAFETY: by the precondition.
    let (this, trace, place) = unsafe { (registered::<T>(user), &*trace, user::place_of(user)) };
    let _ = this.leave(place, trace);
}
