// SPDX-License-Identifier: GPL-2.0

//! Prints events as a call graph, for `function_graph` and for tracers with the option
//! `display-graph`.
//!
//! If the return of a call is the next event of that CPU, both are printed as one line, and the
//! return is consumed with the call.

pub(super) mod lines;

use super::source::BufferIter;
use super::tracer::TracerOutput;
use super::{header, line, Neighbours, Printed, Record, Style};
use crate::core::format::entry::{
    Entry, FuncgraphEntry, FuncgraphExit, FuncgraphRetaddrEntry, Function, KernelStack,
};
use crate::core::format::graph::{write_titles, CpuState};
use crate::core::format::Out;
use crate::core::parse::options::Flag;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use lines::{new_line, write_record};

/// The state of the lines of each CPU.
pub(crate) struct GraphOutput {
    cpus: KVec<CpuState>,
    /// The width of the CPU column: the digits of the largest CPU number.
    cpu_width: usize,
    /// The graph options of a tracer that prints call graphs only with the option `display-graph`.
    on_demand: Option<u32>,
}

impl GraphOutput {
    /// The state of a new reading. Task context. `ENOMEM`.
    pub(crate) fn new() -> Result<KBox<dyn TracerOutput>> {
        Self::with(None)
    }

    /// The state for a tracer that prints call graphs only with the option `display-graph`. `own`
    /// are the graph options. Task context. `ENOMEM`.
    #[cfg(CONFIG_TRACER_MAX_TRACE)]
    pub(crate) fn on_demand(own: u32) -> Result<KBox<dyn TracerOutput>> {
        Self::with(Some(own))
    }

    fn with(on_demand: Option<u32>) -> Result<KBox<dyn TracerOutput>> {
        let count = kernel::cpu::nr_cpu_ids();
        let cpus = KVec::from_elem(CpuState::new(), count as usize, GFP_KERNEL)?;
        let last = count.saturating_sub(1);
        Ok(KBox::new(
            Self {
                cpus,
                cpu_width: last.checked_ilog10().unwrap_or(0) as usize + 1,
                on_demand,
            },
            GFP_KERNEL,
        )?)
    }
}

/// Writes the column titles that the graph options `own` ask for. Errors only when `out` is full.
fn titles(
    instance: &Instance,
    iter: &mut BufferIter,
    style: &Style,
    own: u32,
    empty: bool,
    out: &mut dyn Out,
) -> fmt::Result {
    if !style.set.has(Flag::ContextInfo) {
        return Ok(());
    }
    let latency = style.set.has(Flag::LatencyFormat);
    if latency {
        if empty {
            return Ok(());
        }
        header::latency_record(out, instance, iter, style)?;
    }
    write_titles(out, own, latency)
}

impl TracerOutput for GraphOutput {
    fn header(
        &mut self,
        instance: &Instance,
        iter: &mut BufferIter,
        style: &Style,
        empty: bool,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        let Some(own) = self.own(style) else {
            return Ok(Printed::Unhandled);
        };
        self.cpus.fill(CpuState::new());
        titles(instance, iter, style, own, empty, out).map(|()| Printed::Done)
    }

    fn line(
        &mut self,
        record: &Record<'_>,
        style: &Style,
        neighbours: &mut dyn Neighbours,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        match self.own(style) {
            Some(own) => self.write(record, style, own, neighbours, out),
            None => Ok(Printed::Unhandled),
        }
    }
}

impl GraphOutput {
    /// The graph options. `None` if no graph is printed.
    fn own(&self, style: &Style) -> Option<u32> {
        match self.on_demand {
            Some(own) => style.set.has(Flag::DisplayGraph).then_some(own),
            None => Some(style.own),
        }
    }

    /// [`TracerOutput::line`] with the graph options `own`.
    fn write(
        &mut self,
        record: &Record<'_>,
        style: &Style,
        own: u32,
        neighbours: &mut dyn Neighbours,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        let cpu_width = self.cpu_width;
        let Some(state) = self.cpus.get_mut(record.cpu.as_u32() as usize) else {
            return Ok(Printed::Unhandled);
        };
        let line = new_line(record, style, own, cpu_width);
        match write_record(&line, state, record, neighbours, out)? {
            Printed::Done => return Ok(Printed::Done),
            Printed::Unhandled => {}
        }
        match record.id() {
            FuncgraphEntry::ID
            | FuncgraphRetaddrEntry::ID
            | FuncgraphExit::ID
            | KernelStack::ID
            | Function::ID => Ok(Printed::Unhandled),
            _ => line
                .comment(out, state, &|out| line::text(out, record, style))
                .map(|()| Printed::Done),
        }
    }
}
