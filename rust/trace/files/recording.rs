// SPDX-License-Identifier: GPL-2.0

//! Control of recording: `tracing_on`, `current_tracer`, `available_tracers`, `trace_clock`,
//! `timestamp_mode`, `tracing_cpumask` and `free_buffer`.

use super::control::{errno, shown, Control, Limit, Text};
use super::{Node, Place};
use crate::core::format::Out;
use crate::core::parse::parser::trim;
use crate::core::parse::{cpumask, number};
use crate::kernel::cpus::CpuSet;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::trace::buffer::clock::CLOCKS;
use crate::trace::instance::{tracer, Instance};
use core::fmt::Write;
use kernel::{
    cpu::{nr_cpu_ids, CpuId},
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc,
    },
};

/// `tracing_on`: whether the instance records. Any number but 0 turns it on.
pub(super) struct TracingOn;

impl Control for TracingOn {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", u8::from(at.instance.tracing_on())))
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        let on = number::nonzero(line).map_err(errno)?;
        at.instance.set_tracing_on(on);
        Ok(())
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }

    fn advance(&self, _len: usize) -> usize {
        1
    }
}

/// The file `current_tracer`.
pub(super) struct CurrentTracer;

impl Control for CurrentTracer {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", at.instance.tracer().name()))
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        at.instance.set_tracer(trim(line))
    }

    fn limit(&self) -> Limit {
        // Longer than the name of any tracer.
        Limit::Cut(100)
    }

    fn is_read_only_in_copies(&self) -> bool {
        true
    }
}

/// The file `available_tracers`.
pub(super) struct AvailableTracers;

impl Control for AvailableTracers {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        let mut gap = "";
        tracer::each(|tracer| {
            if !at.instance.takes(tracer) {
                return Ok(());
            }
            let gap = core::mem::replace(&mut gap, " ");
            shown(write!(out, "{gap}{}", tracer.name()))
        })?;
        shown(out.bytes(b"\n"))
    }

    fn is_listing(&self) -> bool {
        true
    }
}

/// `trace_clock`: all clocks, the current one in brackets.
pub(super) struct TraceClock;

impl Control for TraceClock {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        let current = at.instance.clock().name;
        for (n, clock) in CLOCKS.iter().enumerate() {
            let gap = if n == 0 { "" } else { " " };
            let (open, close) = if clock.name == current {
                ("[", "]")
            } else {
                ("", "")
            };
            shown(write!(out, "{gap}{open}{}{close}", clock.name))?;
        }
        shown(out.bytes(b"\n"))
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        at.instance.set_clock(trim(line))
    }

    fn is_read_only_in_copies(&self) -> bool {
        true
    }

    fn is_listing(&self) -> bool {
        true
    }
}

/// `timestamp_mode`: whether events carry the time since the event before, or an absolute time.
pub(super) struct TimestampMode;

impl Control for TimestampMode {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(out.bytes(match at.instance.buffer().is_absolute() {
            false => b"[delta] absolute\n",
            true => b"delta [absolute]\n",
        }))
    }

    fn is_listing(&self) -> bool {
        true
    }
}

/// `tracing_cpumask`: the CPUs that record.
pub(super) struct CpuMask;

impl Control for CpuMask {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        let mask = at.instance.cpumask();
        let mut words = mask_words()?;
        words
            .iter_mut()
            .zip(mask.words())
            .for_each(|(to, from)| *to = *from as u64);
        shown(cpumask::write(out, &words, nr_cpu_ids() as usize))?;
        shown(out.bytes(b"\n"))
    }

    fn is_read_whole(&self) -> bool {
        true
    }

    /// `EINVAL` for a text that is not a mask, also for an empty one.
    fn store(&self, at: &Place, line: &[u8]) -> Result {
        if line.is_empty() {
            return Err(EINVAL);
        }
        at.instance.set_cpumask(parse_mask(line)?);
        Ok(())
    }

    fn limit(&self) -> Limit {
        // The most that C allocates for it.
        Limit::Refuse(4 << 20)
    }

    fn is_read_only_in_copies(&self) -> bool {
        true
    }

    fn advance(&self, _len: usize) -> usize {
        0
    }
}

/// Parses a CPU mask of hexadecimal digits. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` or `EOVERFLOW` for a text that is not a mask; `ENOMEM`.
pub(in crate::trace) fn parse_mask(text: &[u8]) -> Result<CpuSet> {
    let mut words = mask_words()?;
    cpumask::parse(text, &mut words, nr_cpu_ids() as usize).map_err(errno)?;
    let listed = |cpu: &CpuId| {
        let id = cpu.as_u32();
        words
            .get((id / u64::BITS) as usize)
            .is_some_and(|word| word >> (id % u64::BITS) & 1 != 0)
    };
    let mut mask = CpuSet::EMPTY;
    let cpus = (0..nr_cpu_ids()).filter_map(CpuId::from_u32);
    cpus.filter(listed).for_each(|cpu| mask.insert(cpu));
    Ok(mask)
}

fn mask_words() -> Result<KVec<u64>> {
    Ok(KVec::from_elem(
        0,
        nr_cpu_ids().div_ceil(u64::BITS) as usize,
        GFP_KERNEL,
    )?)
}

/// `free_buffer`: its close shrinks the buffer to the least size. So the memory is freed even if
/// the process is killed.
pub(super) struct FreeBuffer;

impl Node for FreeBuffer {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::new(OpenFreeBuffer {
            instance: at.instance.clone(),
            is_open: Atomic::new(false),
        })
    }
}

struct OpenFreeBuffer {
    instance: Arc<Instance>,
    /// Whether the `open(2)` has succeeded.
    is_open: Atomic<bool>,
}

impl OpenFile for OpenFreeBuffer {
    fn opened(&self) {
        self.is_open.store(true, Relaxed);
    }

    /// Any write succeeds and does nothing.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        *call.pos = call.pos.wrapping_add(call.len() as i64);
        Ok(call.len())
    }
}

impl Drop for OpenFreeBuffer {
    fn drop(&mut self) {
        if self.is_open.load(Relaxed) {
            // A close cannot report an error.
            let _ = self.instance.free_buffer();
        }
    }
}
