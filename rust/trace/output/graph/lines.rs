// SPDX-License-Identifier: GPL-2.0

//! Calls and returns as lines.

use crate::core::format::entry::{Entry, FuncgraphEntry, FuncgraphExit, FuncgraphRetaddrEntry};
use crate::core::format::graph::{Call, CpuState, Line};
use crate::core::format::Out;
use crate::core::parse::options::graph::{CPU, DEFAULT};
use crate::core::parse::options::Flag;
use crate::kernel::memory;
use crate::trace::output::{Neighbours, Printed, Record, Style};
use crate::trace::tasks::cmdlines;
use core::fmt;

/// Prints a call or a return after the usual prefix, when no tracer's output prints it: in a dump,
/// or after a change of the tracer. Returns `Unhandled` for other events, and for forms such as
/// `hex` that calls and returns do not have. Any context. Errors only when `out` is full.
pub(in crate::trace::output) fn event(
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

pub(super) fn new_line<'a>(
    record: &Record<'_>,
    style: &'a Style,
    own: u32,
    cpu_width: usize,
) -> Line<'a> {
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
pub(super) fn write_record(
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
/// is consumed then. Behind lost events it is the return of another call, and the loss would not be
/// told.
fn leaf(
    record: &Record<'_>,
    func: usize,
    neighbours: &mut dyn Neighbours,
) -> Option<FuncgraphExit> {
    let next = neighbours
        .next_on_cpu()
        .filter(|next| next.lost.is_none())
        .filter(|next| next.id() == FuncgraphExit::ID && next.pid() == record.pid())?;
    let ret = FuncgraphExit::parse(next.data)
        .ok()
        .filter(|ret| ret.func == func)?;
    neighbours.skip_next_on_cpu();
    Some(ret)
}
