// SPDX-License-Identifier: GPL-2.0

//! `function_graph`: an entry when a function is called and one when it returns, shown as a call
//! graph with durations.
//!
//! The recording is [`graph`](crate::trace::fgraph)'s, the text
//! [`output::graph`](crate::trace::output::graph)'s.

use super::function_filter::FunctionFilter;
use super::function_pids::FunctionPids;
use crate::core::parse::options::graph::{DEFAULT, OPTIONS, SLEEP_TIME};
use crate::core::parse::options::TracerOption;
use crate::trace::fgraph::recorder::{Destination, GraphRecorder, Records};
use crate::trace::fgraph::Sleepless;
use crate::trace::ftrace::ops::Ops;
use crate::trace::instance::feature::Feature;
use crate::trace::instance::tracer::{BootStep, Running, Tracer};
use crate::trace::instance::{latency, Instance};
use crate::trace::output::graph::GraphOutput;
use crate::trace::output::tracer::TracerOutput;
use crate::trace::tasks::cmdlines::{self, Saving};
use crate::trace::tasks::pids::PidFilter;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// The tracer.
pub(super) struct FunctionGraph;

impl Tracer for FunctionGraph {
    fn name(&self) -> &'static str {
        "function_graph"
    }

    fn start(&self, instance: &Arc<Instance>, flags: u32) -> Result<KBox<dyn Running>> {
        let sleepless = sleepless(flags)?;
        let saving = cmdlines::start()?;
        let running = KBox::new(
            Graphing {
                instance: instance.clone(),
                sleepless,
                _saving: saving,
            },
            GFP_KERNEL,
        )?;
        let owner = Owner {
            instance,
            graph: instance.feature()?,
        };
        GraphRecorder::start(&owner, flags)?;
        Ok(running)
    }

    fn boot_step(&self) -> BootStep {
        BootStep::Early
    }

    fn options(&self) -> &'static [TracerOption] {
        OPTIONS
    }

    fn default_flags(&self) -> u32 {
        DEFAULT
    }
}

/// How it prints.
pub(super) fn output() -> Result<KBox<dyn TracerOutput>> {
    GraphOutput::new()
}

/// The feature: what records for the tracer in an instance.
pub(crate) struct Graph {
    /// First, to be dropped first: it waits for hits that look at the pids and the sets.
    recorder: GraphRecorder,
    /// Set when the instance is made.
    pids: SetOnce<Arc<PidFilter>>,
    /// As `pids`. The instance's feature may go before this one.
    sets: SetOnce<Arc<Ops>>,
}

impl Feature for Graph {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        let new = Self {
            recorder: GraphRecorder::new()?,
            pids: SetOnce::new(),
            sets: SetOnce::new(),
        };
        Ok(Arc::new(new, GFP_KERNEL)?)
    }

    fn created(&self, instance: &Arc<Instance>) -> Result {
        self.pids.populate(FunctionPids::of(instance)?.clone());
        self.sets.populate(FunctionFilter::of(instance)?.clone());
        Ok(())
    }
}

/// Sleep is counted, if the options `flags` do not want it as part of durations.
fn sleepless(flags: u32) -> Result<Option<Sleepless>> {
    if flags & SLEEP_TIME.bit != 0 {
        return Ok(None);
    }
    Sleepless::new().map(Some)
}

/// That of `instance`. Any context. Errors as [`Instance::feature`].
#[inline]
fn recorder(instance: &Instance) -> Result<&GraphRecorder> {
    Ok(&instance.feature::<Graph>()?.recorder)
}

/// An instance and what its feature has.
struct Owner<'a> {
    instance: &'a Instance,
    graph: &'a Graph,
}

// SAFETY: an instance drops its features before its buffer, and [`Graph`] drops the recorder before
// the pids and the ops, which are set once.
#[allow(unsafe_code, reason = "the order in which fields are dropped")]
unsafe impl Records for Owner<'_> {
    fn recorder(&self) -> &GraphRecorder {
        &self.graph.recorder
    }

    fn destination(&self) -> Result<Destination<'_>> {
        Ok(Destination {
            buffer: self.instance.buffer(),
            pids: self.graph.pids.as_ref().ok_or(ENODEV)?,
            ops: self.graph.sets.as_ref().ok_or(ENODEV)?.raw(),
            threshold: latency::threshold(),
        })
    }
}

/// The tracer at work.
struct Graphing {
    instance: Arc<Instance>,
    sleepless: Option<Sleepless>,
    _saving: Saving,
}

impl Running for Graphing {
    fn changed(&mut self, flags: u32) -> Result {
        if self.sleepless.is_some() != (flags & SLEEP_TIME.bit == 0) {
            self.sleepless = sleepless(flags)?;
        }
        recorder(&self.instance)?.changed(flags, latency::threshold());
        Ok(())
    }
}

impl Drop for Graphing {
    fn drop(&mut self) {
        if let Ok(recorder) = recorder(&self.instance) {
            recorder.stop();
        }
    }
}
