// SPDX-License-Identifier: GPL-2.0

//! The function profiler: `function_profile_enabled`, and one table per CPU in `trace_stat/`. An
//! open makes the table.

use crate::core::format::graph::write_duration;
use crate::core::format::Out;
use crate::core::parse::glob::is_path;
use crate::core::parse::number;
use crate::core::parse::options::{self, Flag, Set, TracerOption};
use crate::kernel::cpus;
use crate::kernel::fs::pseudo_fs::{FileType, OpenFlags, Opening};
use crate::kernel::fs::tracefs::Dir;
use crate::kernel::kallsyms::{self, Symbol};
use crate::trace::files::control::{errno, shown, Control, Limit, Text};
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::Place;
use crate::trace::instance::feature::{Feature, OptionEffect};
use crate::trace::instance::{latency, Instance};
use crate::trace::profilers::function as profile;
use crate::trace::profilers::function::Row;
use core::fmt::{self, Write};
use kernel::{cpu::CpuId, prelude::*, str::CString, sync::Arc};

/// The file `function_profile_enabled`.
pub(super) struct ProfileEnabled;

impl Control for ProfileEnabled {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", u8::from(profile::is_on())))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        profile::switch(number::nonzero(line).map_err(errno)?)
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}

/// The feature that handles the options for the measured time of a function.
pub(crate) struct TimeOptions;

impl Feature for TimeOptions {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self, GFP_KERNEL)?)
    }

    fn options(&self) -> &'static [OptionEffect] {
        &[(Flag::GraphTime, |_, on| {
            profile::set_graph_time(on);
            Ok(())
        })]
    }

    /// The profiler follows `sleep-time` of the top instance, even when `function_graph` is not the
    /// current tracer.
    fn tracer_option(&self, instance: &Instance, option: &TracerOption, on: bool) -> Result {
        match *option {
            options::graph::SLEEP_TIME if instance.is_top() => profile::set_sleep_time(on),
            _ => Ok(()),
        }
    }
}

/// Creates the files in `trace_stat/`. Task context, may sleep. Errors as [`Dir::create_file`].
pub(in crate::trace::files) fn create(stat: &Dir) -> Result {
    for cpu in cpus::possible() {
        let name = CString::try_from_fmt(fmt!("function{}", cpu.as_u32()))?;
        // C has this mode, too. No write method exists, so nobody can write to the file.
        stat.create_file(&name, 0o640, KBox::new(CpuProfile(cpu), GFP_KERNEL)?)?;
    }
    Ok(())
}

/// The table of one CPU.
struct CpuProfile(CpuId);

impl FileType for CpuProfile {
    fn open(&self, _how: &OpenFlags) -> Result<Opening> {
        let mut rows = profile::rows(self.0)?;
        let threshold = latency::threshold();
        rows.retain(|row| row.time.checked_div(row.hits).unwrap_or(0) >= threshold);
        listing::open(Listing(rows))
    }
}

/// The rows at the time of the open. With `tracing_thresh`, only functions whose average time is at
/// least the threshold.
struct Listing(KVVec<Row>);

impl Lines for Listing {
    fn seek(&self, at: u64) -> Option<u64> {
        (at <= self.0.len() as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        match usize::try_from(at).ok().and_then(|at| at.checked_sub(1)) {
            Some(row) => self.0.get(row).map_or(Ok(()), |row| write_row(row, out)),
            None => out.bytes(
                b"  Function                               Hit    Time            Avg             s^2\n  \
                  --------                               ---    ----            ---             ---\n",
            ),
        }
    }
}

/// The width of the name column.
const NAME: usize = 30;

fn write_row(row: &Row, out: &mut dyn Out) -> fmt::Result {
    let set = Instance::top().map_or(Set::NONE, |top| top.options());
    let mut name = Text::new();
    let mut width = NAME;
    match set
        .has(Flag::ProfTextOffset)
        .then(|| kallsyms::TextOffset::of(row.site))
        .flatten()
    {
        Some(place) => write!(name, "  {place}")?,
        None => Symbol::with_shown(row.site, set.has(Flag::RustDemangle), |symbol| {
            // The end of a path says most: it is never cut.
            if is_path(symbol.name()) {
                width = symbol.name().len().max(NAME);
            }
            name.bytes(symbol.name())
        })
        .unwrap_or(Ok(()))?,
    }
    let name = name.finish().unwrap_or(&[]);
    let name = name.get(..width).unwrap_or(name);
    out.bytes(b"  ")?;
    out.bytes(name)?;
    (name.len()..NAME).try_for_each(|_| out.bytes(b" "))?;
    write!(out, "  {:10}    ", row.hits)?;
    write_duration(out, row.time)?;
    out.bytes(b"    ")?;
    write_duration(out, row.time.checked_div(row.hits).unwrap_or(0))?;
    out.bytes(b"    ")?;
    write_duration(out, variance(row))?;
    out.bytes(b"\n")
}

/// The variance in 1/1000 µs², which is how durations are printed. It wraps as in C.
fn variance(row: &Row) -> u64 {
    let n = row.hits;
    let denominator = n.wrapping_mul(n.wrapping_sub(1)).wrapping_mul(1000);
    let numerator = n
        .wrapping_mul(row.squared)
        .wrapping_sub(row.time.wrapping_mul(row.time));
    numerator.checked_div(denominator).unwrap_or(0)
}
