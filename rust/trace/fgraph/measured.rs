// SPDX-License-Identifier: GPL-2.0

//! Functions as a call graph while something is measured: for the tracers of latencies, option
//! `display-graph`.
//!
//! As in C all functions are looked at, whatever `set_ftrace_filter` says; `set_graph_function` and
//! its like hold.

use super::filter::{Var, Verdict};
use super::graph_user::{EntryRegs, GraphCallback, GraphSymbols, GraphUser};
use super::plain::{call, exit_any, exit_of};
use super::{graph_user, user, EntryPath};
use crate::core::format::entry::FuncgraphExit;
use crate::kernel::clock;
use crate::kernel::ftrace::ftrace_graph_ret;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use crate::trace::fgraph::ret_stack::Current;
use kernel::prelude::*;
use kernel::sync::atomic::Relaxed;
use kernel::sync::Arc;

/// A measurement.
pub(crate) trait Measurement: Send + Sync + 'static {
    /// Does it close the gate of the instance's ops while nothing is being measured on any CPU?
    const GATED: bool = false;

    /// False if nothing is being measured on this CPU, where that takes no more than a load to find
    /// out; else [`Measurement::is_measuring`] says. Any context, preemption may be on.
    #[inline(always)]
    fn may_measure(&self) -> bool {
        true
    }

    /// Is something being measured on this CPU? Any context, preemption is off.
    fn is_measuring(&self) -> bool;

    /// Where it is recorded.
    fn buffer(&self) -> &Buffer;

    /// From now on it is recorded as a call graph, or not. What is being measured just now is not
    /// reported. Task context.
    fn set_graph(&self, graph: bool);
}

/// Records calls and returns of functions while `T` measures, until it is dropped.
pub(crate) struct MeasuredGraph<T: Measurement>(
    #[expect(dead_code, reason = "registered until it is dropped")]
    Pin<KBox<GraphUser<Measured<T>>>>,
);

impl<T: Measurement> MeasuredGraph<T> {
    /// Begins. Task context, sleeps. Errors as of [`GraphUser::register`], and `ENOMEM`.
    pub(crate) fn start(what: Arc<T>) -> Result<Self> {
        let user = KBox::new(GraphUser::new(Measured(what)), GFP_KERNEL)?;
        let user: Pin<_> = user.into();
        user.as_ref().register(None, EntryPath::Shared, &|_| ())?;
        Ok(Self(user))
    }
}

/// The callback.
struct Measured<T>(Arc<T>);

#[allow(unsafe_code, reason = "the functions of the type")]
// SAFETY: they are those of the type.
unsafe impl<T: Measurement> GraphSymbols for Measured<T> {
    const ENTRY: user::Entry = graph_user::entry::<Self>;
    const RETURN: user::Return = graph_user::returned::<Self>;
}

impl<T: Measurement> GraphCallback for Measured<T> {
    #[inline(always)]
    fn enter(&self, place: usize, func: usize, depth: i32, _: EntryRegs<'_>) -> Option<()> {
        let current = Current::get();
        match Var::of(&current, place)?.enter(func, depth) {
            Verdict::Ignore => return None,
            Verdict::Return => return Some(()),
            Verdict::Record => {}
        }
        if !self.0.is_measuring() {
            return None;
        }
        current
            .reserve(place, 8)?
            .first()?
            .store(clock::sched(), Relaxed);
        self.0.buffer().write(call(func, depth), [])
    }

    #[inline(always)]
    fn leave(&self, place: usize, ret: &ftrace_graph_ret) -> Option<()> {
        let current = Current::get();
        if !Var::of(&current, place)?.leave(ret.depth) || !self.0.is_measuring() {
            return None;
        }
        let now = clock::sched();
        let calltime = current.reserved(place, 0)?.first()?.load(Relaxed);
        let exit = exit_of(ret, calltime, now);
        exit_any(self.0.buffer(), Context::capture_all(), exit);
        Some(())
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
