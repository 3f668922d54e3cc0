// SPDX-License-Identifier: GPL-2.0

//! The header of `trace`: the tracer, the number of entries, the column titles.

use super::source::BufferIter;
use super::tracer::TracerOutput;
use super::{Printed, Style};
use crate::core::format::header::{self, Counts, Latency};
use crate::core::format::{symbol, Out};
use crate::core::parse::options::Set;
use crate::core::parse::parser::until_nul;
use crate::kernel::tracepoint::user_here;
use crate::kernel::{cpus, uts};
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::ftrace::ops::is_dead;
use crate::trace::instance::latency::Worst;
use crate::trace::instance::{Instance, Side};
use core::fmt;

/// Prints the first lines: the name of the tracer, and whether ftrace was disarmed.
pub(crate) fn write_tracer(out: &mut dyn Out, name: &str) -> fmt::Result {
    header::write_tracer(out, name)?;
    disarmed().iter().try_for_each(|line| out.bytes(line))
}

/// The lines that say so if ftrace was disarmed; none else. Any context.
pub(super) fn disarmed() -> &'static [&'static [u8]] {
    #[cfg(CONFIG_FUNCTION_TRACER)]
    if is_dead() {
        return &header::DISARMED;
    }
    &[]
}

/// Prints the header for the buffer that `iter` reads. `empty` is true if there is no event to
/// read.
///
/// Task context. Errors only when `out` is full.
pub(crate) fn write(
    out: &mut dyn Out,
    instance: &Instance,
    iter: &mut BufferIter,
    style: &Style,
    tracer: Option<&mut (dyn TracerOutput + 'static)>,
    empty: bool,
) -> fmt::Result {
    let current = instance.tracer();
    write_tracer(out, current.name())?;
    if let Some(tracer) = tracer {
        if tracer.header(instance, iter, style, empty, out)? == Printed::Done {
            return Ok(());
        }
    }
    if style.latency {
        let worst = worst(instance, iter);
        let data = measured(iter, current.name(), &worst);
        let shown = (!empty).then_some(&data);
        header::write_latency(out, style.set, shown, &style.symbols, address_style())
    } else {
        header::write_normal(out, style.set, counts(iter))
    }
}

/// Prints the latency header for the buffer that `iter` reads, without the column titles.
pub(super) fn latency_record(
    out: &mut dyn Out,
    instance: &Instance,
    iter: &mut BufferIter,
    style: &Style,
) -> fmt::Result {
    let worst = worst(instance, iter);
    let current = instance.tracer();
    header::write_record(
        out,
        &measured(iter, current.name(), &worst),
        &style.symbols,
        address_style(),
    )
}

/// How the latency header prints addresses: as the top instance's options say, in any instance, as
/// in C.
fn address_style() -> symbol::Style {
    let top = Instance::top().map(|top| top.options());
    symbol::Style::of(top.unwrap_or(Set::DEFAULT))
}

/// The number of entries, all CPUs together.
fn counts(iter: &mut BufferIter) -> Counts {
    let (entries, written) = iter.counts();
    Counts {
        entries,
        written,
        cpus: cpus::online().count() as u32,
    }
}

/// The longest latency, if `iter` reads the snapshot. All fields but the CPU are zero otherwise.
fn worst(instance: &Instance, iter: &BufferIter) -> Worst {
    let Ok(latency) = instance.latency() else {
        return Worst::NONE;
    };
    match iter.side() {
        Side::Live => latency.unmeasured(),
        Side::Snapshot => latency.worst(),
    }
}

/// The values of the latency header of `tracer`, from `worst` and from the buffer that `iter` reads.
fn measured<'a>(iter: &mut BufferIter, tracer: &'a str, worst: &'a Worst) -> Latency<'a> {
    Latency {
        tracer,
        release: uts::release(),
        microseconds: worst.latency / 1000,
        counts: counts(iter),
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
