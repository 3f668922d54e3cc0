// SPDX-License-Identifier: GPL-2.0

//! The functions that are called while a latency is measured: options `function-trace` and
//! `display-graph`.

use super::function::{self, Recorded as _};
use super::function_filter::FunctionFilter;
use super::function_pids::FunctionPids;
use crate::core::format::entry;
use crate::core::parse::options::Flag;
use crate::kernel::context::PreemptOff;
use crate::kernel::recursion::Guard;
use crate::kernel::trace_export::Export;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use crate::trace::fgraph::measured::{self, MeasuredGraph, Measurement};
use crate::trace::ftrace::ops::{thunk, Arguments, Callback, CallbackSymbol, Entry, Hit, Ops};
use crate::trace::instance::Instance;
use crate::trace::output::export;
use crate::trace::tasks::pids::PidFilter;
use kernel::prelude::*;
use kernel::sync::Arc;

/// A tracer that measures something for an instance.
pub(super) trait Measures: Measurement {
    /// The instance, whose buffer it records into.
    fn instance(&self) -> &Instance;
}

/// Traces functions while `T` measures, as long as this lives and `function-trace` is on: calls by
/// the instance's filter, or with `display-graph` all calls and returns.
pub(super) struct Functions<T: Measures> {
    ops: Arc<Ops>,
    /// Kept here, too: the ops forgets it between two uses.
    calls: Arc<Calls<T>>,
    /// Which of the two is wanted.
    graph: bool,
    recording: Option<Recording<T>>,
}

/// What is being recorded.
enum Recording<T: Measures> {
    Calls,
    Graph { _until_dropped: MeasuredGraph<T> },
}

impl<T: Measures> Functions<T> {
    /// Traces as the options say now. Task context, may sleep. `ENOMEM`, `ENODEV` when ftrace is
    /// disarmed, `ENOSPC` when there are too many users of call graphs.
    pub(super) fn start(what: Arc<T>) -> Result<Self> {
        let ops = FunctionFilter::of(what.instance())?.clone();
        let options = what.instance().options();
        let pids = FunctionPids::of(what.instance())?.clone();
        let calls = Arc::new(Calls { what, pids }, GFP_KERNEL)?;
        let mut functions = Self {
            ops,
            calls,
            graph: options.has(Flag::DisplayGraph),
            recording: None,
        };
        functions.set(options.has(Flag::FunctionTrace))?;
        Ok(functions)
    }

    /// What measures.
    pub(super) fn what(&self) -> &Arc<T> {
        &self.calls.what
    }

    /// As [`Running::option`](crate::trace::instance::tracer::Running::option). Errors as
    /// [`Functions::start`]; `EINVAL` for `overwrite`, which such a tracer needs.
    pub(super) fn option(&mut self, flag: Flag, on: bool) -> Result {
        match flag {
            Flag::FunctionTrace => self.set(on),
            Flag::DisplayGraph => self.set_graph(on),
            Flag::Overwrite => Err(EINVAL),
            _ => Ok(()),
        }
    }

    /// Starts over, and records as a call graph or as calls.
    fn set_graph(&mut self, graph: bool) -> Result {
        let on = self.recording.is_some();
        self.set(false)?;
        self.graph = graph;
        self.set(on).inspect_err(|_| {
            self.graph = !graph;
            // Where that fails, too, nothing is recorded.
            let _ = self.set(on);
        })?;
        self.what().set_graph(graph);
        // What was recorded up to now is of the other kind.
        let instance = self.what().instance();
        instance.buffer().reset();
        instance.snapshot().clear(None);
        instance.latency()?.set_longest(0);
        Ok(())
    }

    fn set(&mut self, on: bool) -> Result {
        match (on, self.recording.take()) {
            (true, None) => self.recording = Some(self.begin()?),
            (false, Some(Recording::Calls)) => {
                self.ops.unregister()?;
                // The callback holds the instance, which holds the ops.
                self.ops.clear_callback()?;
            }
            (false, Some(Recording::Graph { .. }) | None) => {}
            (true, as_it_is) => self.recording = as_it_is,
        }
        Ok(())
    }

    fn begin(&self) -> Result<Recording<T>> {
        if self.graph {
            return Ok(Recording::Graph {
                _until_dropped: MeasuredGraph::start(self.what().clone())?,
            });
        }
        self.ops.set_callback(self.calls.clone())?;
        self.ops.register().inspect_err(|_| {
            // Not registered, it can be forgotten.
            let _ = self.ops.clear_callback();
        })?;
        Ok(Recording::Calls)
    }
}

impl<T: Measures> Drop for Functions<T> {
    fn drop(&mut self) {
        // It fails only when tracing was disarmed for good, and then nothing is called any more.
        let _ = self.set(false);
    }
}

/// Records a place that a tracer marks, as `call` or with `graph` as a function that returns at once.
/// Any context.
pub(super) fn record_mark(buffer: &Buffer, context: Context, graph: bool, call: entry::Function) {
    if graph {
        return measured::mark(buffer, context, call.ip);
    }
    buffer.record_in(context, call);
    if export::wanted(Export::FUNCTION) && buffer.is_on() {
        function::export(context, call);
    }
}

/// Records the calls of the tasks that the instance traces.
struct Calls<T> {
    what: Arc<T>,
    pids: Arc<PidFilter>,
}

#[allow(unsafe_code, reason = "the thunk of the type")]
// SAFETY: it is the thunk of the type.
unsafe impl<T: Measures> CallbackSymbol for Calls<T> {
    const ENTRY: Entry = thunk::<Self>;
}

impl<T: Measures> Calls<T> {
    /// Not inline, so that a hit of no interest saves no registers.
    #[inline(never)]
    fn record(&self, hit: &Hit<'_, Arguments>) {
        let context = Context::capture_all();
        let _stay = PreemptOff::new();
        if self.what.is_measuring() && self.pids.traces_here() {
            // The arguments, too, wanted or not, as ftrace does for these tracers.
            Arguments::record(self.what.buffer(), context, hit);
            if export::wanted(Export::FUNCTION) {
                self.export(context, hit);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn export(&self, context: Context, hit: &Hit<'_, Arguments>) {
        // What the export calls may be traced: those hits are recorded, and not exported.
        let Some(_guard) = Guard::enter(hit.ip, hit.parent_ip) else {
            return;
        };
        if self.what.buffer().is_on() {
            Arguments::export(context, hit);
        }
    }
}

impl<T: Measures> Callback for Calls<T> {
    type Saved = Arguments;

    const GATED: bool = T::GATED;

    fn hit(&self, hit: &Hit<'_, Arguments>) {
        if self.what.may_measure() {
            self.record(hit);
        }
    }
}
