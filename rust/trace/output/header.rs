// SPDX-License-Identifier: GPL-2.0

//! What stands above the records in `trace`: the tracer, how full the buffer is, the column titles.

use super::source::Look;
use super::tracer::TracerOutput;
use super::{Printed, Style};
use crate::core::format::header::{self, Counts, Latency};
use crate::core::format::{symbol, Out};
use crate::core::parse::parser::until_nul;
use crate::kernel::tracepoint::user_here;
use crate::kernel::{cpus, uts};
use crate::trace::instance::latency::Worst;
use crate::trace::instance::{Instance, Side};
use core::fmt;

pub(crate) use crate::core::format::header::write_tracer;

/// Prints the header of what `look` reads. `empty` says whether there is nothing to read.
///
/// Task context. Errors when `out` is full.
pub(crate) fn write(
    out: &mut dyn Out,
    instance: &Instance,
    look: &mut Look,
    style: &Style,
    tracer: Option<&mut (dyn TracerOutput + 'static)>,
    empty: bool,
) -> fmt::Result {
    let name = instance.tracer().name();
    write_tracer(out, name)?;
    if let Some(tracer) = tracer {
        if tracer.header(instance, look, style, empty, out)? == Printed::Done {
            return Ok(());
        }
    }
    if style.latency {
        let worst = worst(instance, look);
        let data = measured(instance, look, &worst);
        let shown = (!empty).then_some(&data);
        header::write_latency(
            out,
            style.set,
            shown,
            &style.symbols,
            symbol::Style::of(style.set),
        )
    } else {
        header::write_normal(out, style.set, counts(look))
    }
}

/// The latency header of what `look` reads, without the titles of columns.
pub(super) fn latency_record(
    out: &mut dyn Out,
    instance: &Instance,
    look: &mut Look,
    style: &Style,
) -> fmt::Result {
    let worst = worst(instance, look);
    header::write_record(
        out,
        &measured(instance, look, &worst),
        &style.symbols,
        symbol::Style::of(style.set),
    )
}

/// How full the buffer is, all CPUs together.
fn counts(look: &mut Look) -> Counts {
    let (entries, written) = look.counts();
    Counts {
        entries,
        written,
        cpus: cpus::online().count() as u32,
    }
}

/// The longest latency, if `look` reads its snapshot; all zeroes elsewhere.
fn worst(instance: &Instance, look: &Look) -> Worst {
    match look.side() {
        Side::Live => Worst::NONE,
        Side::Snapshot => instance
            .latency()
            .map_or(Worst::NONE, |latency| latency.worst()),
    }
}

/// What the latency header says of `worst` and of what `look` reads.
fn measured<'a>(instance: &Instance, look: &mut Look, worst: &'a Worst) -> Latency<'a> {
    Latency {
        tracer: instance.tracer().name(),
        release: uts::release(),
        microseconds: worst.latency / 1000,
        counts: counts(look),
        cpu: worst.cpu,
        model: uts::preempt_model(),
        comm: until_nul(&worst.comm),
        pid: worst.pid,
        uid: user_here(worst.uid),
        nice: worst.nice,
        policy: worst.policy,
        rt_priority: worst.rt_priority,
        section: worst.section,
    }
}
