// SPDX-License-Identifier: GPL-2.0

//! `function_graph`: an entry when a function is called and one when it returns, shown as a call
//! graph with durations.
//!
//! The recording is [`graph`](crate::trace::fgraph)'s, the text
//! [`output::graph`](crate::trace::output::graph)'s.

use super::{Running, Tracer};
use crate::core::parse::options::graph::{DEFAULT, OPTIONS, SLEEP_TIME};
use crate::core::parse::options::TracerOption;
use crate::trace::fgraph::recorder::{Destination, GraphRecorder, Records};
use crate::trace::fgraph::Sleepless;
use crate::trace::instance::Instance;
use crate::trace::output::graph::GraphOutput;
use crate::trace::output::TracerOutput;
use crate::trace::tasks::cmdlines::{self, Saving};
use kernel::prelude::*;
use kernel::sync::Arc;

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
        GraphRecorder::start(&**instance, flags)?;
        Ok(running)
    }

    fn options(&self) -> &'static [TracerOption] {
        OPTIONS
    }

    fn default_flags(&self) -> u32 {
        DEFAULT
    }

    fn output(&self, _instance: &Instance) -> Result<Option<KBox<dyn TracerOutput>>> {
        GraphOutput::new().map(Some)
    }
}

/// Sleep is counted, if the options `flags` do not want it as part of durations.
fn sleepless(flags: u32) -> Result<Option<Sleepless>> {
    if flags & SLEEP_TIME.bit != 0 {
        return Ok(None);
    }
    Sleepless::new().map(Some)
}

// SAFETY: all of it are fields of the instance, which go together: the recorder first, as it
// stands first there.
unsafe impl Records for Instance {
    fn recorder(&self) -> &GraphRecorder {
        self.graph()
    }

    fn destination(&self) -> Result<Destination<'_>> {
        Ok(Destination {
            buffer: self.buffer(),
            pids: self.pids(),
            ops: self.ops().ok_or(ENOMEM)?.raw(),
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
        self.instance.graph().changed(flags);
        Ok(())
    }
}

impl Drop for Graphing {
    fn drop(&mut self) {
        self.instance.graph().stop();
    }
}
