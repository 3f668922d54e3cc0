// SPDX-License-Identifier: GPL-2.0

//! The instances that record: all get the same entries and texts, and are stopped together.

use super::settings::Choice;
use crate::core::format::entry::Entry;
use crate::core::format::LineBuf;
use crate::core::parse::options::Flag;
use crate::kernel::osnoise;
use crate::kernel::rcu_slot::RcuSlot;
use crate::trace::buffer::entry::Context;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use crate::trace::buffer::Buffer;
use crate::trace::instance::latency::Latency;
use crate::trace::instance::Instance;
use core::fmt::Write;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// An instance that records.
#[derive(Clone)]
pub(super) struct Recorder {
    instance: Arc<Instance>,
    latency: Arc<Latency>,
}

impl Recorder {
    /// Task context. Errors as [`Instance::latency`].
    pub(super) fn new(instance: &Arc<Instance>) -> Result<Self> {
        Ok(Self {
            instance: instance.clone(),
            latency: instance.latency()?.clone(),
        })
    }

    fn is(&self, other: &Recorder) -> bool {
        Arc::ptr_eq(&self.instance, &other.instance)
    }
}

/// Those that record now. The mutex of the workload is held where they change.
static RECORDERS: RcuSlot<KVec<Recorder>> = RcuSlot::new();

/// Whether there is none. Any context, by one load.
pub(super) fn is_empty() -> bool {
    RECORDERS.is_empty()
}

/// Whether `recorder` is one. Task context, the mutex of the workload is held.
pub(super) fn contains(recorder: &Recorder) -> bool {
    RECORDERS.with(|all| all.is_some_and(|all| all.iter().any(|other| other.is(recorder))))
}

/// Adds `recorder`. Task context, the mutex of the workload is held; sleeps. `ENOMEM`.
pub(super) fn add(recorder: &Recorder) -> Result {
    let mut all = others(recorder)?;
    all.push(recorder.clone(), GFP_KERNEL)?;
    RECORDERS.replace(Some(Arc::new(all, GFP_KERNEL)?));
    Ok(())
}

/// Takes `recorder` out; nothing is recorded there any more. Task context, the mutex of the workload
/// is held; sleeps.
pub(super) fn remove(recorder: &Recorder) {
    let rest = others(recorder).and_then(|rest| match rest.is_empty() {
        true => Ok(None),
        false => Ok(Some(Arc::new(rest, GFP_KERNEL)?)),
    });
    // Without memory for the rest nobody records: better than one whose instance goes.
    RECORDERS.replace(rest.unwrap_or(None));
}

/// All but `recorder`. May sleep.
fn others(recorder: &Recorder) -> Result<KVec<Recorder>> {
    let mut rest = KVec::new();
    if let Some(all) = RECORDERS.share() {
        for other in all.iter().filter(|other| !other.is(recorder)) {
            rest.push(other.clone(), GFP_KERNEL)?;
        }
    }
    Ok(rest)
}

fn each(f: impl FnMut(&Recorder)) {
    RECORDERS.with(|all| all.into_iter().flatten().for_each(f));
}

/// Records `entry` in all. Any context.
pub(super) fn record<E: Entry>(entry: E) {
    let context = Context::capture_all();
    // If there is no room, the ring buffer counts the loss.
    each(|recorder| {
        let _ = recorder.instance.buffer().write_in(context, entry, []);
    });
}

/// Calls `f` with the buffers of all, and the context for their entries. Any context.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(super) fn with_buffers(f: impl Fn(&Buffer, Context)) {
    let context = Context::capture_all();
    each(|recorder| f(recorder.instance.buffer(), context));
}

/// Whether any of them has `tracing_on` set. Any context.
pub(super) fn is_any_on() -> bool {
    let mut on = false;
    each(|recorder| on |= recorder.instance.tracing_on());
    on
}

/// A latency of `nanoseconds` was found. Any context.
pub(super) fn raise_latency(nanoseconds: u64) {
    each(|recorder| {
        if recorder.instance.tracing_on() {
            recorder.latency.raise(nanoseconds);
        }
    });
}

/// Whether the figures of the tracers cannot be trusted any more.
static TAINTED: Atomic<bool> = Atomic::new(false);

/// See [`taint`]. Any context.
pub(super) fn is_tainted() -> bool {
    TAINTED.load(Relaxed)
}

/// Something happened in the function at `ip` that must not: `text` says what, in all traces, and the
/// titles of `trace` say so from now on. Any context.
pub(super) fn taint(ip: usize, text: &str) {
    let context = Context::capture_all();
    let from = taint as fn(usize, &str) as usize;
    each(|recorder| {
        let instance = &recorder.instance;
        let _ = instance.record_text_from(context, ip, from, text.as_bytes());
    });
    TAINTED.store(true, Relaxed);
}

/// Turns recording off in all: a condition to stop was met on this CPU in the function at `ip`, or
/// `exception` has happened. With option `PANIC_ON_STOP` it ends the kernel. Any context.
pub(super) fn stop_tracing(ip: usize, exception: Option<&CStr>) {
    let context = Context::capture_all();
    let from = stop_tracing as fn(usize, Option<&CStr>) as usize;
    let cpu = CpuId::current().as_u32();
    let mut memory = [0; 128];
    let mut text = LineBuf::new(&mut memory);
    let _ = write!(text, "stop tracing hit on cpu {cpu}");
    if let Some(exception) = exception {
        let exception = exception.to_str().unwrap_or("?");
        let _ = write!(text, " due to exception: {exception}");
    }
    each(|recorder| {
        let instance = &recorder.instance;
        // The top instance has texts of its own users alone.
        if !instance.is_top() && instance.options().has(Flag::Printk) {
            let _ = instance.record_text_from(context, ip, from, text.as_bytes());
        }
        if Choice::PanicOnStop.is_on() {
            osnoise::panic(cpu, exception);
        }
        instance.buffer().set_on(false);
    });
}
