// SPDX-License-Identifier: GPL-2.0

//! Prints one event as text: the message about lost events, the prefix, and the event by its type.
//!
//! [`format::print`](crate::core::format::print) prints the built-in types; its table lists them. A
//! [`Printer`] prints types with higher ids, which are registered at run time. No code here sleeps
//! or allocates, so a dump can print in any context.

use super::tracer::TracerOutput;
use super::{Neighbours, Printed, Record, Style};
use crate::core::format::environment::{Env, Error, Strings, Tasks};
use crate::core::format::line::{write_lost, write_started, Latency, Prefix};
use crate::core::format::print;
use crate::core::format::Out;
use crate::core::parse::options::Flag;
use crate::core::parse::parser::until_nul;
#[cfg(all(CONFIG_BLK_DEV_IO_TRACE, CONFIG_BLK_CGROUP))]
use crate::kernel::cgroup;
use crate::kernel::context::{irqs_off, PreemptCount};
use crate::kernel::mapped;
use crate::trace::output::printk;
use crate::trace::tasks::cmdlines;
use core::fmt;
#[cfg(all(CONFIG_BLK_DEV_IO_TRACE, CONFIG_BLK_CGROUP))]
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::SetOnce;

/// Prints types that are registered at run time.
pub(crate) trait Printer: Send + Sync {
    /// Prints the event with its newline, in the form that `style.set` asks for. Returns false and
    /// prints nothing if the type is unknown. Any context. Errors only when `out` is full.
    fn print(
        &self,
        record: &Record<'_>,
        style: &Style,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error>;

    /// Whether the event holds pointers to text that may have been freed. Its print format must not
    /// be used then, and a complaint is printed. Any context. Errors only when `out` is full.
    fn refuses(&self, record: &[u8], out: &mut dyn Out) -> Result<bool, fmt::Error>;
}

/// The printer of types that are not built in. Set when the first such type exists.
pub(crate) static EVENT_PRINTER: SetOnce<&'static dyn Printer> = SetOnce::new();

/// Whether cgroups are shown by their paths, and not by their ids.
#[cfg(all(CONFIG_BLK_DEV_IO_TRACE, CONFIG_BLK_CGROUP))]
pub(crate) static CGROUP_PATHS: Atomic<bool> = Atomic::new(false);

/// The saved names of tasks.
struct SavedNames;

impl Tasks for SavedNames {
    fn write_name(&self, pid: i32, out: &mut dyn Out) -> fmt::Result {
        out.bytes(until_nul(&cmdlines::find(pid)))
    }

    fn write_mapped(&self, tgid: i32, addr: usize, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        // The look-up may sleep, which a dump must not.
        if PreemptCount::read().is_atomic() || irqs_off() {
            return Ok(false);
        }
        mapped::with_file(tgid, addr, |path, offset| {
            for (index, part) in path.split(|&c| c == b'\n').enumerate() {
                out.bytes(if index == 0 { b"" } else { b"\\012" })?;
                out.bytes(part)?;
            }
            write!(out, "[+{offset:#x}]")
        })
        .map_or(Ok(false), |written| written.map(|()| true))
    }

    #[cfg(all(CONFIG_BLK_DEV_IO_TRACE, CONFIG_BLK_CGROUP))]
    fn write_cgroup(&self, id: u64, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        // The look-up takes locks, which a dump must not.
        if !CGROUP_PATHS.load(Relaxed) || PreemptCount::read().is_atomic() || irqs_off() {
            return Ok(false);
        }
        cgroup::with_path(id, |path| out.bytes(path)).map(|()| true)
    }

    #[cfg(all(CONFIG_BLK_DEV_IO_TRACE, not(CONFIG_BLK_CGROUP)))]
    fn write_cgroup(&self, _id: u64, _out: &mut dyn Out) -> Result<bool, fmt::Error> {
        Ok(false)
    }
}

/// Prints `record` whole. `started` is of a reading that tells where the part of a CPU begins: whether that was told of this CPU, or
/// need not be. It is told before the first event that neither the tracer nor option `printk-msg-only` prints, but for the first of all.
///
/// # Errors
///
/// When `out` is full.
pub(crate) fn write(
    out: &mut dyn Out,
    record: &Record<'_>,
    style: &Style,
    tracer: Option<&mut (dyn TracerOutput + 'static)>,
    neighbours: &mut dyn Neighbours,
    started: Option<&mut bool>,
) -> fmt::Result {
    let cpu = record.cpu.as_u32();
    if let Some(lost) = record.lost {
        write_lost(out, cpu, lost.get())?;
    }
    if let Some(tracer) = tracer {
        if tracer.line(record, style, neighbours, out)? == Printed::Done {
            return Ok(());
        }
    }
    if style.set.has(Flag::Printk) && style.set.has(Flag::PrintkMsgOnly) {
        match print::write_message(out, record.data, &env(style)) {
            Ok(true) => return Ok(()),
            Err(Error::Full) => return Err(fmt::Error),
            Ok(false) | Err(Error::Truncated) => {}
        }
    }
    let plain = ![Flag::Bin, Flag::Hex, Flag::Raw]
        .iter()
        .any(|&form| style.set.has(form));
    if plain && style.set.has(Flag::Annotate) {
        let was_told = started.is_none_or(|started| core::mem::replace(started, true));
        if !was_told && record.index > 1 {
            write_started(out, cpu)?;
        }
    }
    prefix(out, record, style, neighbours)?;
    #[cfg(CONFIG_FUNCTION_TRACER)]
    if super::graph::lines::event(out, record, style, neighbours)? == Printed::Done {
        return Ok(());
    }
    event(out, record, style)
}

/// Prints the prefix of an event.
pub(crate) fn prefix(
    out: &mut dyn Out,
    record: &Record<'_>,
    style: &Style,
    neighbours: &mut dyn Neighbours,
) -> fmt::Result {
    let pid = record.pid();
    let saved = cmdlines::find(pid);
    let prefix = Prefix {
        comm: until_nul(&saved),
        pid,
        tgid: if style.set.has(Flag::RecordTgid) {
            cmdlines::find_tgid(pid).unwrap_or(0)
        } else {
            0
        },
        cpu: record.cpu.as_u32(),
        flags: record.flags(),
        preempt_count: record.preempt_count(),
        ts: record.ts,
        unit: style.unit,
    };
    let latency = style.latency.then(|| Latency {
        start: style.start,
        next: neighbours.next_ts().unwrap_or(record.ts),
        index: record.index,
    });
    prefix.write(out, style.set, latency)
}

/// What printing needs besides the record.
pub(crate) fn env(style: &Style) -> Env<'_> {
    // Addresses from another kernel's boot must not be dereferenced. Such buffers hold whole texts
    // instead.
    let strings: Option<&dyn Strings> = if !style.symbols.is_of_previous_boot() {
        Some(&printk::Texts)
    } else {
        None
    };
    Env {
        set: style.set,
        symbols: &style.symbols,
        strings,
        unit: style.unit,
        tasks: &SavedNames,
    }
}

/// Whether the event's own print format must not be used; prints a complaint then. Any context.
/// Errors only when `out` is full.
pub(crate) fn refuses(record: &[u8], out: &mut dyn Out) -> Result<bool, fmt::Error> {
    if let Some(further) = EVENT_PRINTER.as_ref() {
        return further.refuses(record, out);
    }
    let id = record.first_chunk().map_or(0, |id| u16::from_ne_bytes(*id));
    writeln!(out, "EVENT ID {id} NOT FOUND?").map(|()| true)
}

/// Prints the message of an event in its normal form, whatever form the options ask for. For texts
/// this is only the text.
///
/// # Errors
///
/// When `out` is full.
pub(crate) fn text(out: &mut dyn Out, record: &Record<'_>, style: &Style) -> fmt::Result {
    match print::write_message(out, record.data, &env(style)) {
        Ok(true) => return Ok(()),
        Err(Error::Full) => return Err(fmt::Error),
        Ok(false) | Err(Error::Truncated) => {}
    }
    let forms = [Flag::Bin, Flag::Hex, Flag::Raw, Flag::Fields];
    let set = forms
        .iter()
        .fold(style.set, |set, &form| set.with(form, false));
    event(out, record, &Style { set, ..*style })
}

/// Prints the event by its type.
pub(crate) fn event(out: &mut dyn Out, record: &Record<'_>, style: &Style) -> fmt::Result {
    let known = match print::write(out, record.data, record.ts, &env(style)) {
        Ok(known) => known,
        Err(Error::Full) => return Err(fmt::Error),
        // The type of a truncated event is unknown.
        Err(Error::Truncated) => false,
    };
    let known = known
        || match EVENT_PRINTER.as_ref() {
            Some(further) => further.print(record, style, out)?,
            None => false,
        };
    if !known {
        print::write_unknown(out, record.id(), style.set)?;
    }
    print::write_end(out, style.set)
}
