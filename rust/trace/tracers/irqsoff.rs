// SPDX-License-Identifier: GPL-2.0

//! `irqsoff`, `preemptoff`, `preemptirqsoff`: the longest time with interrupts off, with preemption
//! off, with either.
//!
//! The measuring is [`critical_timings`](crate::trace::tracers::critical_timings)'s; what is here starts and ends
//! it, and records the functions that are called meanwhile (option `function-trace`).

use super::functions::Functions;
use crate::core::parse::options::graph::{CPU, DURATION, PROC, REL_TIME};
use crate::core::parse::options::{Flag, Set};
use crate::kernel::rcu_slot::Claim;
use crate::trace::instance::tracer::{Running, Tracer};
use crate::trace::instance::Instance;
use crate::trace::output::graph::GraphOutput;
use crate::trace::output::tracer::TracerOutput;
use crate::trace::tracers::critical_timings::{CriticalTimings, Kinds};
use kernel::prelude::*;
use kernel::sync::Arc;

/// A tracer of sections with interrupts off, preemption off, or either.
pub(super) struct Off<const IRQS: bool, const PREEMPTION: bool>;

impl<const IRQS: bool, const PREEMPTION: bool> Tracer for Off<IRQS, PREEMPTION> {
    fn name(&self) -> &'static str {
        match (IRQS, PREEMPTION) {
            (true, false) => "irqsoff",
            (false, _) => "preemptoff",
            (true, true) => "preemptirqsoff",
        }
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        let kinds = Kinds {
            irqs: IRQS,
            preemption: PREEMPTION,
        };
        let critical = CriticalTimings::new(instance.clone(), kinds)?;
        let latency = instance.latency()?;
        let before = latency.longest();
        latency.set_longest(0);
        let measuring = critical
            .begin()
            .inspect_err(|_| latency.set_longest(before))?;
        let functions = Functions::start(critical)?;
        Ok(KBox::new(
            Tracing {
                functions,
                _measuring: measuring,
            },
            GFP_KERNEL,
        )?)
    }

    /// A buffer that is full must go on taking entries, or the worst would have no end; and a
    /// reader must not have the trace replaced while it reads.
    fn forces(&self) -> Set {
        Set::NONE
            .with(Flag::Overwrite, true)
            .with(Flag::LatencyFormat, true)
            .with(Flag::PauseOnTrace, true)
    }

    fn uses_snapshot(&self) -> bool {
        true
    }
}

/// How they print.
pub(super) fn output() -> Result<KBox<dyn TracerOutput>> {
    GraphOutput::on_demand(CPU.bit | PROC.bit | REL_TIME | DURATION.bit)
}

/// The tracer at work. Fields are dropped from the top: first no function is traced any more.
struct Tracing {
    functions: Functions<CriticalTimings>,
    _measuring: Claim<CriticalTimings>,
}

impl Running for Tracing {
    fn changed(&mut self, _flags: u32) -> Result {
        self.functions.what().choose_anew();
        Ok(())
    }

    fn option(&mut self, flag: Flag, on: bool) -> Result {
        self.functions.option(flag, on)
    }
}
