// SPDX-License-Identifier: GPL-2.0

//! The files of `osnoise/`, which belong to the tracers `osnoise` and `timerlat`.

use super::control::{errno, shown, Control, Limit, Text};
use super::node::{row, Row, Scope};
#[cfg(CONFIG_TIMERLAT_TRACER)]
use super::Node;
use super::Place;
use crate::core::format::Out;
use crate::core::parse::parser::trim;
use crate::core::parse::{cpulist, number};
use crate::kernel::cpus::CpuSet;
#[cfg(CONFIG_TIMERLAT_TRACER)]
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall};
use crate::trace::tracers::osnoise::settings::{Setting, OPTIONS};
#[cfg(CONFIG_TIMERLAT_TRACER)]
use crate::trace::tracers::osnoise::timerlat::UserThread;
use crate::trace::tracers::osnoise::workload;
use core::fmt::Write;
use kernel::cpu::{nr_cpu_ids, CpuId};
use kernel::prelude::*;

/// The rows.
#[rustfmt::skip]
pub(super) static FILES: &[Row] = &[
    row(c"cpus", 0o640, Scope::Top, &Cpus,
        "the CPUs that tracers osnoise and timerlat look at, as a list"),
    row(c"options", 0o640, Scope::Top, &Options,
        "how: a word sets, the word after \"NO_\" clears, DEFAULTS does all"),
    row(c"period_us", 0o640, Scope::Top, &Number(Setting::Period),
        "after how many us osnoise looks for noise again"),
    #[cfg(all(CONFIG_TIMERLAT_TRACER, CONFIG_STACKTRACE))]
    row(c"print_stack", 0o640, Scope::Top, &Number(Setting::PrintStack),
        "where not 0, a latency of so many us has timerlat record the stack that the timer's interrupt came upon"),
    row(c"runtime_us", 0o640, Scope::Top, &Number(Setting::Runtime),
        "for how many us osnoise looks for noise"),
    row(c"stop_tracing_total_us", 0o640, Scope::Top, &Number(Setting::StopTracingTotal),
        "where not 0, more us of noise in a period, or so many of a thread's latency, stop the trace"),
    row(c"stop_tracing_us", 0o640, Scope::Top, &Number(Setting::StopTracing),
        "where not 0, a single noise of more us, or a timer's latency of so many, stops the trace"),
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    row(c"timerlat_align_us", 0o640, Scope::Top, &Number(Setting::TimerlatAlign),
        "by how many us the CPUs' timers are apart, with option TIMERLAT_ALIGN"),
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    row(c"timerlat_fd", 0o440, Scope::PerCpu, &TimerlatFd,
        "a program that is pinned to the CPU and reads this waits for the timer in the place of a thread"),
    #[cfg(CONFIG_TIMERLAT_TRACER)]
    row(c"timerlat_period_us", 0o640, Scope::Top, &Number(Setting::TimerlatPeriod),
        "after how many us a timer of timerlat expires again"),
];

struct Number(Setting);

impl Control for Number {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", self.0.get()))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        self.0.set(number::unsigned(line, 10).map_err(errno)?)
    }

    fn advance(&self, _len: usize) -> usize {
        0
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}

/// The file `cpus`.
struct Cpus;

impl Cpus {
    /// The longest list that is taken.
    const LONGEST: usize = 4 << 20;

    fn words() -> Result<KVec<u64>> {
        let words = nr_cpu_ids().div_ceil(u64::BITS) as usize;
        Ok(KVec::from_elem(0, words, GFP_KERNEL)?)
    }
}

impl Control for Cpus {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        let cpus = workload::cpus()?;
        shown(cpulist::write(out, cpus.words(), nr_cpu_ids() as usize))?;
        shown(out.bytes(b"\n"))
    }

    fn is_read_whole(&self) -> bool {
        true
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        if line.is_empty() {
            return Ok(());
        }
        let mut words = Self::words()?;
        cpulist::parse(line, &mut words, nr_cpu_ids() as usize).map_err(errno)?;
        let mut cpus = CpuSet::EMPTY;
        let has = |cpu: &CpuId| {
            let (word, bit) = (cpu.as_u32() / u64::BITS, cpu.as_u32() % u64::BITS);
            words
                .get(word as usize)
                .is_some_and(|word| word >> bit & 1 != 0)
        };
        let all = (0..nr_cpu_ids()).filter_map(CpuId::from_u32);
        all.filter(has).for_each(|cpu| cpus.insert(cpu));
        workload::set_cpus(cpus)
    }

    fn advance(&self, _len: usize) -> usize {
        0
    }

    fn limit(&self) -> Limit {
        Limit::Refuse(Self::LONGEST)
    }
}

/// The file `options`.
struct Options;

impl Control for Options {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        for (name, option) in OPTIONS {
            let no = if option.is_on() { "" } else { "NO_" };
            shown(write!(out, "{no}{name} "))?;
        }
        shown(out.bytes(b"\n"))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        let (name, on) = match line.strip_prefix(b"NO_") {
            Some(name) => (name, false),
            None => (line, true),
        };
        let name = trim(name);
        let found = OPTIONS.iter().find(|(known, _)| known.as_bytes() == name);
        workload::set_option(found.ok_or(EINVAL)?.1, on)
    }

    fn advance(&self, _len: usize) -> usize {
        0
    }

    fn is_listing(&self) -> bool {
        true
    }

    fn limit(&self) -> Limit {
        Limit::Refuse(255)
    }
}

/// The files `per_cpu/cpuN/timerlat_fd`.
#[cfg(CONFIG_TIMERLAT_TRACER)]
struct TimerlatFd;

#[cfg(CONFIG_TIMERLAT_TRACER)]
impl Node for TimerlatFd {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::new(OpenTimerlat(UserThread::open(at.cpu.ok_or(EINVAL)?)?))
    }
}

#[cfg(CONFIG_TIMERLAT_TRACER)]
struct OpenTimerlat(UserThread);

#[cfg(CONFIG_TIMERLAT_TRACER)]
impl OpenFile for OpenTimerlat {
    /// Returns at the next activation, with nothing.
    fn read(&self, _call: &mut ReadCall<'_>) -> Result<usize> {
        self.0.wait()?;
        Ok(0)
    }
}
