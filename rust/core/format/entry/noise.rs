// SPDX-License-Identifier: GPL-2.0

//! Noise of hardware and operating system: the entries of the tracers `hwlat`, `osnoise` and
//! `timerlat`.

use super::{Entry, Show};
use crate::core::format::environment::{Error, Line};
use crate::core::format::Out;

/// The hardware has kept the CPU for longer than `tracing_thresh` while it was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "hwlat",
    print = r#""cnt:%u\tts:%010llu.%010lu\tinner:%llu\touter:%llu\tcount:%d\tnmi-ts:%llu\tnmi-count:%u\n", REC->seqnum, REC->tv_sec, REC->tv_nsec, REC->duration, REC->outer_duration, REC->count, REC->nmi_total_ts, REC->nmi_count"#
)]
#[repr(C)]
pub struct Hwlat {
    /// The longest time between the two readings of the clock in a loop, in microseconds.
    #[c("u64")]
    pub duration: u64,
    /// The longest time between the loops, in microseconds.
    #[c("u64")]
    pub outer_duration: u64,
    /// The time in NMIs, in microseconds.
    #[c("u64")]
    pub nmi_total_ts: u64,
    /// The wall time at which the first latency was seen: seconds.
    #[c("s64")]
    pub tv_sec: i64,
    /// And nanoseconds.
    #[c("long")]
    pub tv_nsec: i64,
    /// The number of NMIs.
    pub nmi_count: u32,
    /// The number of this sample since the tracer was set.
    pub seqnum: u32,
    /// The number of loops in which the threshold was exceeded.
    pub count: u32,
    /// C's structure has it.
    pub _pad: u32,
}

impl Show for Hwlat {
    fn normal(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let Self {
            duration,
            outer_duration,
            nmi_total_ts,
            tv_sec,
            tv_nsec,
            nmi_count,
            seqnum,
            count,
            ..
        } = *self;
        write!(
            out,
            "#{seqnum:<5} inner/outer(us): {duration:4}/{outer_duration:<5}"
        )?;
        write!(out, " ts:{tv_sec}.{tv_nsec:09} count:{}", count as i32)?;
        if nmi_count != 0 {
            write!(out, " nmi-total:{nmi_total_ts} nmi-count:{nmi_count}")?;
        }
        Ok(out.bytes(b"\n")?)
    }

    fn raw(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let Self {
            duration,
            outer_duration,
            tv_sec,
            tv_nsec,
            seqnum,
            ..
        } = *self;
        // C prints the second time as signed.
        let outer = outer_duration as i64;
        Ok(writeln!(
            out,
            "{duration} {outer} {tv_sec} {tv_nsec:09} {seqnum}"
        )?)
    }
}

/// What has disturbed a CPU in one period of `osnoise`. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "osnoise",
    print = r#""noise:%llu\tmax_sample:%llu\thw:%u\tnmi:%u\tirq:%u\tsoftirq:%u\tthread:%u\n", REC->noise, REC->max_sample, REC->hw_count, REC->nmi_count, REC->irq_count, REC->softirq_count, REC->thread_count"#
)]
#[repr(C)]
pub struct Osnoise {
    /// All noise together.
    #[c("u64")]
    pub noise: u64,
    /// How long it was looked for.
    #[c("u64")]
    pub runtime: u64,
    /// The longest single noise.
    #[c("u64")]
    pub max_sample: u64,
    /// The number of noises during which nothing of the system was seen.
    pub hw_count: u32,
    /// The number of NMIs.
    pub nmi_count: u32,
    /// The number of interrupts.
    pub irq_count: u32,
    /// The number of softirqs.
    pub softirq_count: u32,
    /// The number of other tasks that ran.
    pub thread_count: u32,
    /// C's structure has it.
    pub _pad: u32,
}

impl Show for Osnoise {
    fn normal(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let Self {
            noise,
            runtime,
            max_sample,
            ..
        } = *self;
        // The share of the CPU that was left, in percent with five decimals.
        let share = runtime.wrapping_sub(noise).wrapping_mul(10_000_000);
        let share = share.checked_div(runtime).unwrap_or(0);
        let (percent, decimals) = (share / 100_000, share % 100_000);
        write!(
            out,
            "{runtime} {noise:10} {percent:3}.{decimals:05} {max_sample:7}"
        )?;
        for count in self.counts() {
            write!(out, " {count:6}")?;
        }
        Ok(out.bytes(b"\n")?)
    }

    fn raw(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        // C prints the first time as signed.
        write!(out, "{}", self.runtime as i64)?;
        write!(out, " {} {}", self.noise, self.max_sample)?;
        for count in self.counts() {
            write!(out, " {count}")?;
        }
        Ok(out.bytes(b"\n")?)
    }
}

impl Osnoise {
    /// The counts, in the order of the columns.
    fn counts(&self) -> [u32; 5] {
        [
            self.hw_count,
            self.nmi_count,
            self.irq_count,
            self.softirq_count,
            self.thread_count,
        ]
    }
}

/// How late a timer of `timerlat`, or the task that it wakes, was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "timerlat",
    print = r#""seq:%u\tcontext:%d\ttimer_latency:%llu\n", REC->seqnum, REC->context, REC->timer_latency"#
)]
#[repr(C)]
pub struct Timerlat {
    /// The number of the activation.
    pub seqnum: u32,
    /// Where it was measured: [`IRQ`](Self::IRQ), [`THREAD`](Self::THREAD) or
    /// [`USER_RETURN`](Self::USER_RETURN).
    pub context: i32,
    /// The latency in nanoseconds.
    #[c("u64")]
    pub timer_latency: u64,
}

impl Timerlat {
    /// In the timer's interrupt.
    pub const IRQ: i32 = 0;
    /// In the task that was woken.
    pub const THREAD: i32 = 1;
    /// When the task in user space has come back.
    pub const USER_RETURN: i32 = 2;

    fn context_name(&self) -> &'static str {
        match self.context {
            Self::IRQ => "irq",
            Self::THREAD => "thread",
            Self::USER_RETURN => "user-ret",
            _ => "?",
        }
    }
}

impl Show for Timerlat {
    fn normal(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let Self {
            seqnum,
            timer_latency,
            ..
        } = *self;
        Ok(writeln!(
            out,
            "#{seqnum:<5} context {:>6} timer_latency {timer_latency:9} ns",
            self.context_name()
        )?)
    }

    fn raw(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let Self {
            seqnum,
            context,
            timer_latency,
        } = *self;
        Ok(writeln!(out, "{seqnum} {context} {timer_latency}")?)
    }
}
