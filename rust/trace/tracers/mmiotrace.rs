// SPDX-License-Identifier: GPL-2.0

//! `mmiotrace`: an entry for each access of a driver to the memory of its device, and for each
//! mapping of such memory.
//!
//! x86 catches the accesses (`arch/x86/mm/mmio-mod.c`), on one CPU: the others are offline meanwhile.
//! The lines have a format of their own ([`mmio`]). In `trace_pipe` the devices of the machine come
//! before the entries.

use crate::core::format::entry::{mmio, Entry};
use crate::core::format::Out;
use crate::core::parse::options::Flag;
use crate::kernel::mmiotrace::Enabled;
use crate::kernel::pci::{Device, Devices};
use crate::trace::buffer::entry::Context;
use crate::trace::instance::tracer::{Running, Tracer};
use crate::trace::instance::{Instance, Side};
use crate::trace::output::printk;
use crate::trace::output::tracer::TracerOutput;
use crate::trace::output::{Neighbours, Printed, Record, Style};
use crate::trace::tasks::stack;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// Whether the tracer is current.
static ON: Atomic<bool> = Atomic::new(false);
/// Entries that were not recorded since a reader was told of such.
static DROPPED: Atomic<u64> = Atomic::new(0);
/// Entries that were overwritten, as far as a reader was told.
static OVERRUN: Atomic<u64> = Atomic::new(0);
/// Whether the kernel log tells of lost entries already.
static WARNED: Atomic<bool> = Atomic::new(false);

/// Records an access or a mapping, if the tracer is current; the function around `ip` asks for it.
/// Any context but NMI.
pub(crate) fn record(ip: usize, entry: impl Entry) {
    let Some(top) = Instance::top().ok().filter(|_| ON.load(Relaxed)) else {
        return;
    };
    let context = Context::capture_all();
    if top.record_message(context, ip, entry, []).is_none() {
        DROPPED.fetch_add(1, Relaxed);
    } else if top.options().has(Flag::UserStackTrace) {
        stack::record_user(top.buffer(), context);
    }
}

/// Empties the buffer; nothing is lost.
fn begin_anew(instance: &Instance) {
    WARNED.store(false, Relaxed);
    OVERRUN.store(0, Relaxed);
    DROPPED.store(0, Relaxed);
    instance.buffer().reset();
}

/// How many entries were lost that no reader was told of.
fn take_lost(instance: &Instance) -> u64 {
    let overrun = instance
        .side(Side::Live)
        .cpus()
        .fold(0u64, |sum, part| sum.wrapping_add(part.stats().overrun));
    let before = OVERRUN.xchg(overrun, Relaxed);
    DROPPED
        .xchg(0, Relaxed)
        .wrapping_add(overrun.saturating_sub(before))
}

/// The tracer.
pub(super) struct Accesses;

impl Tracer for Accesses {
    fn name(&self) -> &'static str {
        "mmiotrace"
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        // The marks of drivers are formatted there.
        printk::alloc_scratch()?;
        let mut tracing = KBox::new(
            Tracing {
                instance: instance.clone(),
                enabled: None,
            },
            GFP_KERNEL,
        )?;
        begin_anew(instance);
        ON.store(true, Relaxed);
        tracing.enabled = Some(Enabled::new());
        Ok(tracing)
    }

    fn in_instances(&self) -> bool {
        false
    }

    fn at_boot(&self) -> bool {
        false
    }
}

/// The tracer at work.
struct Tracing {
    instance: Arc<Instance>,
    enabled: Option<Enabled>,
}

impl Running for Tracing {
    fn switched(&mut self, on: bool) {
        if on {
            begin_anew(&self.instance);
        }
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.enabled = None;
        begin_anew(&self.instance);
        ON.store(false, Relaxed);
    }
}

/// How it prints.
pub(super) fn output() -> Result<KBox<dyn TracerOutput>> {
    let output = Output {
        devices: Devices::new(),
    };
    Ok(KBox::new(output, GFP_KERNEL)?)
}

/// The lines, and the devices that a reader of `trace_pipe` did not get yet.
struct Output {
    devices: Devices,
}

impl TracerOutput for Output {
    fn line(
        &mut self,
        record: &Record<'_>,
        _style: &Style,
        _neighbours: &mut dyn Neighbours,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        mmio::write(record.data, record.ts, out)?;
        Ok(Printed::Done)
    }

    fn pipe_opened(&mut self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(mmio::VERSION)
    }

    fn pipe_read(&mut self, instance: &Instance, out: &mut dyn Out) -> fmt::Result {
        let lost = take_lost(instance);
        if lost != 0 {
            if !WARNED.xchg(true, Relaxed) {
                pr_warn!("mmiotrace has lost events\n");
            }
            return mmio::write_lost(out, lost);
        }
        let written = self.devices.next(|device| write_device(device, out));
        written.unwrap_or(Ok(()))
    }
}

fn write_device(device: Device<'_>, out: &mut dyn Out) -> fmt::Result {
    let (vendor, model) = device.ids();
    let (bus, devfn) = device.place();
    let mut regions = [mmio::Region::default(); 7];
    for (region, (start, end, flags)) in regions.iter_mut().zip(device.regions()) {
        *region = mmio::Region { start, end, flags };
    }
    device.with_driver(|driver| {
        let device = mmio::PciDevice {
            bus,
            devfn,
            vendor,
            device: model,
            irq: device.irq(),
            regions,
            driver,
        };
        device.write(out)
    })
}
