// SPDX-License-Identifier: GPL-2.0

//! Prints events as a call graph, for `function_graph` and for tracers with the option
//! `display-graph`.
//!
//! If the return of a call is the next event of that CPU, both are printed as one line, and the
//! return is consumed with the call.

use super::source::BufferIter;
use super::tracer::TracerOutput;
use super::{header, line, Neighbours, Printed, Record, Style};
use crate::core::format::entry::{
    Entry, FuncgraphEntry, FuncgraphExit, FuncgraphRetaddrEntry, Function, KernelStack,
};
use crate::core::format::graph::{write_titles, Call, CpuState, Line};
use crate::core::format::Out;
use crate::core::parse::options::graph::{CPU, DEFAULT};
use crate::core::parse::options::Flag;
use crate::kernel::memory;
use crate::trace::instance::Instance;
use crate::trace::tasks::cmdlines;
use core::fmt;
use kernel::prelude::*;

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

/// Prints a call or a return after the usual prefix, when no tracer's output prints it: in a dump,
/// or after a change of the tracer. Returns `Unhandled` for other events, and for forms such as
/// `hex` that calls and returns do not have. Any context. Errors only when `out` is full.
pub(super) fn event(
    out: &mut dyn Out,
    record: &Record<'_>,
    style: &Style,
    neighbours: &mut dyn Neighbours,
) -> Result<Printed, fmt::Error> {
    let is_graph = matches!(
        record.id(),
        FuncgraphEntry::ID | FuncgraphRetaddrEntry::ID | FuncgraphExit::ID
    );
    let forms = [Flag::Bin, Flag::Hex, Flag::Raw, Flag::Fields];
    if !is_graph || forms.iter().any(|&form| style.set.has(form)) {
        return Ok(Printed::Unhandled);
    }
    // The prefix has the CPU already.
    let line = new_line(record, style, DEFAULT & !CPU.bit, 1);
    write_record(&line, &mut CpuState::new(), record, neighbours, out)
}

fn new_line<'a>(record: &Record<'_>, style: &'a Style, own: u32, cpu_width: usize) -> Line<'a> {
    Line {
        cpu: record.cpu.as_u32(),
        cpu_width,
        ts: record.ts,
        start: style.start,
        common: record.common(),
        own,
        set: style.set,
        symbols: &style.symbols,
        comm: &cmdlines::find,
        irqs: memory::irq_entry_text(),
    }
}

/// Prints a call or a return. Returns `Unhandled` for other events.
fn write_record(
    line: &Line<'_>,
    state: &mut CpuState,
    record: &Record<'_>,
    neighbours: &mut dyn Neighbours,
    out: &mut dyn Out,
) -> Result<Printed, fmt::Error> {
    match record.id() {
        id @ (FuncgraphEntry::ID | FuncgraphRetaddrEntry::ID) => {
            let call = match id {
                FuncgraphEntry::ID => Call::of(record.data),
                _ => Call::with_retaddr(record.data),
            };
            let Ok(call) = call else {
                return Ok(Printed::Unhandled);
            };
            if !line.hides_entry(state, &call) {
                let leaf = leaf(record, call.func, neighbours);
                line.entry(out, state, &call, leaf.as_ref())?;
            }
        }
        FuncgraphExit::ID => {
            let Ok(ret) = FuncgraphExit::parse(record.data) else {
                return Ok(Printed::Unhandled);
            };
            if !line.hides_return(state, i64::from(ret.depth as i32)) {
                line.ret(out, state, &ret)?;
            }
        }
        _ => return Ok(Printed::Unhandled),
    }
    Ok(Printed::Done)
}

/// The return of `func`, if it is the next event of the CPU after the call in `record`. The return
/// is consumed then.
fn leaf(
    record: &Record<'_>,
    func: usize,
    neighbours: &mut dyn Neighbours,
) -> Option<FuncgraphExit> {
    let next = neighbours
        .next_on_cpu()
        .filter(|next| next.id() == FuncgraphExit::ID && next.pid() == record.pid())?;
    let ret = FuncgraphExit::parse(next.data)
        .ok()
        .filter(|ret| ret.func == func)?;
    neighbours.skip_next_on_cpu();
    Some(ret)
}
