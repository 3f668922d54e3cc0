// SPDX-License-Identifier: GPL-2.0

//! `blk`: an entry for each step of a request of a block device, and for notes.
//!
//! The probes in the block layer, `/sys/block/DISK/trace/` and the interface of the program blktrace
//! are C: `kernel/trace/blktrace.c`. While the tracer is current, it gives its entries to [`record`];
//! otherwise to the program. The text is [`Blk`]'s.

use crate::core::format::entry::{Blk, Entry};
use crate::core::format::environment::Line;
use crate::core::format::Out;
use crate::core::parse::options::{blk, Flag, TracerOption};
use crate::kernel::tracepoint::TaskView;
use crate::trace::buffer::entry::Context;
use crate::trace::instance::feature::Feature;
use crate::trace::instance::tracer::{Running, Tracer};
use crate::trace::instance::Instance;
use crate::trace::output::source::BufferIter;
use crate::trace::output::tracer::TracerOutput;
use crate::trace::output::{line, Neighbours, Printed, Record, Style};
use crate::trace::tasks::{cmdlines, stack};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// Whether the tracer is current and `tracing_on` was not cleared since.
static ON: Atomic<bool> = Atomic::new(false);
/// Option `blk_cgroup`.
static RECORDS_CGROUPS: Atomic<bool> = Atomic::new(false);

/// Whether [`record`] gets the entries. Any context.
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Whether entries have the id of the request's cgroup. Any context.
pub(crate) fn records_cgroups() -> bool {
    RECORDS_CGROUPS.load(Relaxed)
}

/// Records an entry and what follows it; the function around `ip` asks for it. Any context but NMI.
pub(crate) fn record(ip: usize, entry: Blk, tail: [&[u8]; 2]) {
    let Ok(top) = Instance::top() else {
        return;
    };
    let context = Context::capture_all();
    // If there is no room, the ring buffer counts the loss.
    let recorded = top.record_message(context, ip, entry, tail);
    if recorded.is_some() && !entry.is_note() {
        TaskView::with_current(cmdlines::remember);
    }
    if recorded.is_some() && top.options().has(Flag::UserStackTrace) {
        stack::record_user(top.buffer(), context);
    }
}

/// The tracer.
pub(super) struct Requests;

impl Tracer for Requests {
    fn name(&self) -> &'static str {
        "blk"
    }

    fn start(&self, _instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        let tracing = KBox::new(Tracing, GFP_KERNEL)?;
        ON.store(true, Relaxed);
        Ok(tracing)
    }

    fn options(&self) -> &'static [TracerOption] {
        blk::OPTIONS
    }

    fn in_instances(&self) -> bool {
        false
    }
}

/// The tracer at work.
struct Tracing;

impl Running for Tracing {
    fn switched(&mut self, on: bool) {
        ON.store(on, Relaxed);
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        ON.store(false, Relaxed);
    }
}

/// The effects of the tracer's options, which they have while another tracer is current, too.
pub(crate) struct Options;

impl Feature for Options {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self, GFP_KERNEL)?)
    }

    fn tracer_option(&self, instance: &Instance, option: &TracerOption, on: bool) -> Result {
        if *option == blk::CLASSIC {
            // These lines have the task and the time themselves.
            instance.set_option_bit(Flag::ContextInfo, !on);
        }
        #[cfg(CONFIG_BLK_CGROUP)]
        if *option == blk::CGROUP {
            RECORDS_CGROUPS.store(on, Relaxed);
        }
        #[cfg(CONFIG_BLK_CGROUP)]
        if *option == blk::CGROUP_PATH {
            line::CGROUP_PATHS.store(on, Relaxed);
        }
        Ok(())
    }
}

/// How it prints.
pub(super) fn output() -> Result<KBox<dyn TracerOutput>> {
    Ok(KBox::new(Classic, GFP_KERNEL)?)
}

/// Lines as those of blkparse, with option `blk_classic`. There are no other column titles.
struct Classic;

const TITLES: &[u8] = b"\
# DEV   CPU TIMESTAMP     PID ACT FLG
#  |     |     |           |   |   |
";

impl TracerOutput for Classic {
    fn header(
        &mut self,
        _instance: &Instance,
        _iter: &mut BufferIter,
        style: &Style,
        _empty: bool,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        if style.own & blk::CLASSIC.bit != 0 {
            out.bytes(TITLES)?;
        }
        Ok(Printed::Done)
    }

    fn line(
        &mut self,
        record: &Record<'_>,
        style: &Style,
        _neighbours: &mut dyn Neighbours,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        if record.id() != Blk::ID || style.own & blk::CLASSIC.bit == 0 {
            return Ok(Printed::Unhandled);
        }
        let Ok(entry) = Blk::parse(record.data) else {
            return Ok(Printed::Unhandled);
        };
        let line = Line {
            record: record.data,
            ts: record.ts,
            env: &line::env(style),
        };
        entry.write_classic(&line, record.cpu.as_u32(), out)?;
        Ok(Printed::Done)
    }
}
