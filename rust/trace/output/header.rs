// SPDX-License-Identifier: GPL-2.0

//! What stands above the records in `trace`: the tracer, how full the buffer is, the column titles.

use super::{Printed, Style, TracerOutput};
use crate::{
    kapi::{cpus, uts},
    rcore::text::{
        header::{self, Counts, Latency},
        symbol, Out,
    },
    trace::{buffer::Buffer, instance::Instance, output::line::Kallsyms},
};
use core::fmt;

pub(crate) use crate::rcore::text::header::write_tracer;

/// Prints the header of what `buffer` holds. `empty` says whether there is nothing to read.
///
/// Task context. Errors when `out` is full.
pub(crate) fn write(
    out: &mut dyn Out,
    instance: &Instance,
    buffer: &Buffer,
    style: &Style,
    tracer: Option<&mut (dyn TracerOutput + 'static)>,
    empty: bool,
) -> fmt::Result {
    let name = instance.tracer().name();
    write_tracer(out, name)?;
    if let Some(tracer) = tracer {
        if tracer.header(instance, style, empty, out)? == Printed::Done {
            return Ok(());
        }
    }
    if style.latency {
        latency(out, instance, buffer, style, empty)
    } else {
        header::write_normal(out, style.set, counts(buffer))
    }
}

/// How full the buffer is, all CPUs together.
fn counts(buffer: &Buffer) -> Counts {
    let (mut entries, mut overrun) = (0u64, 0u64);
    for part in buffer.cpus() {
        let stats = part.stats();
        entries = entries.wrapping_add(stats.entries);
        overrun = overrun.wrapping_add(stats.overrun);
    }
    Counts { entries, written: entries.wrapping_add(overrun), cpus: cpus::online().count() as u32 }
}

/// The latency header without a measured latency, which only latency tracers have.
fn latency(out: &mut dyn Out, instance: &Instance, buffer: &Buffer, style: &Style, empty: bool) -> fmt::Result {
    let data = unmeasured(instance, buffer);
    let shown = (!empty).then_some(&data);
    header::write_latency(out, style.set, shown, &Kallsyms, symbol::Style::of(style.set))
}

/// The same without the titles of columns.
pub(super) fn latency_record(out: &mut dyn Out, instance: &Instance, style: &Style) -> fmt::Result {
    let data = unmeasured(instance, instance.side(style.side));
    header::write_record(out, &data, &Kallsyms, symbol::Style::of(style.set))
}

/// What the header says where no latency was measured.
fn unmeasured(instance: &Instance, buffer: &Buffer) -> Latency<'static> {
    Latency {
        tracer: instance.tracer().name(),
        release: uts::release(),
        microseconds: 0,
        counts: counts(buffer),
        cpu: 0,
        model: uts::preempt_model(),
        comm: b"",
        pid: 0,
        uid: 0,
        nice: 0,
        policy: 0,
        rt_priority: 0,
        critical: None,
    }
}
