// SPDX-License-Identifier: GPL-2.0

//! The comment lines at the start of `trace`. `trace_pipe` has none.
//!
//! [`write_tracer`] writes the first lines for every tracer. A tracer without its own titles then
//! gets [`write_normal`] or, in the latency format, [`write_latency`]. An empty `snapshot` gets
//! [`write_snapshot_help`] instead.

use super::symbol::{self, Style, Symbols};
use super::Out;
use crate::core::parse::options::{Flag, Set};
use core::fmt;

/// Writes `# tracer: NAME` and a blank comment line.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_tracer(out: &mut dyn Out, name: &str) -> fmt::Result {
    writeln!(out, "# tracer: {name}\n#")
}

/// The lines that say that ftrace was disarmed, since a function did not begin with what it should.
pub const DISARMED: [&[u8]; 2] = [
    b"# WARNING: FUNCTION TRACING IS CORRUPTED\n",
    b"#          MAY BE MISSING FUNCTION EVENTS\n",
];

/// The numbers of entries in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// The number of entries that can be read now.
    pub entries: u64,
    /// The number of entries ever written, overwritten ones included.
    pub written: u64,
    /// The number of CPUs online.
    pub cpus: u32,
}

/// Writes the normal header: the counts and the column titles. Writes nothing if `context-info` is
/// off or `verbose` is on.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_normal(out: &mut dyn Out, set: Set, counts: Counts) -> fmt::Result {
    if !set.has(Flag::ContextInfo) || set.has(Flag::Verbose) {
        return Ok(());
    }
    let Counts {
        entries,
        written,
        cpus,
    } = counts;
    writeln!(
        out,
        "# entries-in-buffer/entries-written: {entries}/{written}   #P:{cpus}\n#"
    )?;
    let tgid = set.has(Flag::RecordTgid);
    if !set.has(Flag::IrqInfo) {
        let (title, rule) = if tgid {
            ("   TGID   ", "     |    ")
        } else {
            ("", "")
        };
        writeln!(
            out,
            "#           TASK-PID    {title} CPU#     TIMESTAMP  FUNCTION"
        )?;
        return writeln!(
            out,
            "#              | |      {rule}   |         |         |"
        );
    }
    let (gap, title, rule) = match tgid {
        true => ("            ", "     TGID   ", "       |    "),
        false => ("  ", "  ", "  "),
    };
    for arrow in [
        "  _-----=> irqs-off/BH-disabled",
        " / _----=> need-resched",
        "| / _---=> hardirq/softirq",
        "|| / _--=> preempt-depth",
        "||| / _-=> migrate-disable",
        "|||| /     delay",
    ] {
        writeln!(out, "#                            {gap}{arrow}")?;
    }
    writeln!(
        out,
        "#           TASK-PID  {title} CPU#  |||||  TIMESTAMP  FUNCTION"
    )?;
    writeln!(
        out,
        "#              | |    {rule}   |   |||||     |         |"
    )
}

/// Writes the column titles of the tracer `osnoise`, in a kernel with `PREEMPT_RT` or without; `tainted`
/// says that the figures cannot be trusted.
///
/// # Errors
///
/// Only the errors of `out`.
#[cfg(any(CONFIG_OSNOISE_TRACER, not(CONFIG_RTRACE)))]
pub fn write_osnoise(out: &mut dyn Out, rt: bool, tainted: bool) -> fmt::Result {
    if tainted {
        out.bytes(b"# osnoise is tainted!\n")?;
    }
    out.bytes(if rt { OSNOISE_RT } else { OSNOISE })
}

/// Writes the column titles of the tracer `timerlat`. As [`write_osnoise`], but it does not mention
/// taints.
///
/// # Errors
///
/// Only the errors of `out`.
#[cfg(any(CONFIG_TIMERLAT_TRACER, not(CONFIG_RTRACE)))]
pub fn write_timerlat(out: &mut dyn Out, rt: bool, _tainted: bool) -> fmt::Result {
    out.bytes(if rt { TIMERLAT_RT } else { TIMERLAT })
}

#[cfg(any(CONFIG_OSNOISE_TRACER, not(CONFIG_RTRACE)))]
const OSNOISE: &[u8] = b"\
#                                _-----=> irqs-off\n\
#                               / _----=> need-resched\n\
#                              | / _---=> hardirq/softirq\n\
#                              || / _--=> preempt-depth\n\
#                              ||| / _-=> migrate-disable                         MAX\n\
#                              |||| /     delay                                   SINGLE      Interference counters:\n\
#                              |||||               RUNTIME      NOISE  %% OF CPU  NOISE    +-----------------------------+\n\
#           TASK-PID      CPU# |||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD\n\
#              | |         |   |||||      |           |             |    |            |      |      |      |      |      |\n";

#[cfg(any(CONFIG_OSNOISE_TRACER, not(CONFIG_RTRACE)))]
const OSNOISE_RT: &[u8] = b"\
#                                _-------=> irqs-off\n\
#                               / _------=> need-resched\n\
#                              | / _-----=> need-resched-lazy\n\
#                              || / _----=> hardirq/softirq\n\
#                              ||| / _---=> preempt-depth\n\
#                              |||| / _--=> preempt-lazy-depth\n\
#                              ||||| / _-=> migrate-disable\n\
#                              |||||| /                                               MAX\n\
#                              ||||| /                                             SINGLE      Interference counters:\n\
#                              |||||||               RUNTIME      NOISE  %% OF CPU  NOISE    +-----------------------------+\n\
#           TASK-PID      CPU# |||||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD\n\
#              | |         |   |||||||      |           |             |    |            |      |      |      |      |      |\n";

#[cfg(any(CONFIG_TIMERLAT_TRACER, not(CONFIG_RTRACE)))]
const TIMERLAT: &[u8] = b"\
#                                _-----=> irqs-off\n\
#                               / _----=> need-resched\n\
#                              | / _---=> hardirq/softirq\n\
#                              || / _--=> preempt-depth\n\
#                              ||| / _-=> migrate-disable\n\
#                              |||| /     delay\n\
#                              |||||            ACTIVATION\n\
#           TASK-PID      CPU# |||||   TIMESTAMP   ID            CONTEXT                 LATENCY\n\
#              | |         |   |||||      |         |                  |                       |\n";

#[cfg(any(CONFIG_TIMERLAT_TRACER, not(CONFIG_RTRACE)))]
const TIMERLAT_RT: &[u8] = b"\
#                                _-------=> irqs-off\n\
#                               / _------=> need-resched\n\
#                              | / _-----=> need-resched-lazy\n\
#                              || / _----=> hardirq/softirq\n\
#                              ||| / _---=> preempt-depth\n\
#                              |||| / _--=> preempt-lazy-depth\n\
#                              ||||| / _-=> migrate-disable\n\
#                              |||||| /\n\
#                              |||||||             ACTIVATION\n\
#           TASK-PID      CPU# |||||||   TIMESTAMP    ID            CONTEXT                LATENCY\n\
#              | |         |   |||||||      |         |                  |                       |\n";

/// Writes the text of an empty `snapshot`: whether it is allocated, and what can be written to the
/// file, for one CPU or for all. The text is exactly C's, since scripts search for it.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_snapshot_help(out: &mut dyn Out, allocated: bool, one_cpu: bool) -> fmt::Result {
    let state = if allocated { "allocated" } else { "freed" };
    writeln!(out, "#\n# * Snapshot is {state} *\n#\n# Snapshot commands:")?;
    let (free, of_cpu, whose, or_free) = if one_cpu {
        (
            "Invalid for per_cpu snapshot file.",
            " for this cpu",
            "this cpu's ",
            "",
        )
    } else {
        ("Clears and frees snapshot buffer", "", "", " or free")
    };
    writeln!(out, "# echo 0 > snapshot : {free}")?;
    writeln!(
        out,
        "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated."
    )?;
    writeln!(
        out,
        "#                      Takes a snapshot of the main buffer{of_cpu}."
    )?;
    writeln!(
        out,
        "# echo 2 > snapshot : Clears {whose}snapshot buffer (but does not allocate{or_free})"
    )?;
    writeln!(
        out,
        "#                      (Doesn't have to be '2' works with any number that"
    )?;
    writeln!(out, "#                       is not a '0' or '1')")
}

/// The data of the latency header.
#[derive(Clone, Copy, Debug)]
pub struct Latency<'a> {
    /// The name of the tracer.
    pub tracer: &'a str,
    /// The release of the kernel, as `uname -r` prints it.
    pub release: &'a [u8],
    /// The latency in microseconds, rounded down.
    pub microseconds: u64,
    /// See [`Counts`].
    pub counts: Counts,
    /// The CPU that the latency was measured on.
    pub cpu: u32,
    /// The preemption model: `server`, `desktop`, `preempt`, `PREEMPT`, `PREEMPT_RT`, …
    pub model: &'a str,
    /// The name of the task. At most 16 bytes are printed.
    pub comm: &'a [u8],
    /// The pid of the task.
    pub pid: i32,
    /// The user of the task, in the reader's user namespace.
    pub uid: u32,
    /// The nice value of the task.
    pub nice: i64,
    /// The scheduling policy of the task.
    pub policy: u64,
    /// The real-time priority of the task.
    pub rt_priority: u64,
    /// The addresses where the critical section began and ended, if the tracer knows them.
    pub section: Option<(usize, usize)>,
}

/// Writes the latency header and, unless `verbose`, its column titles. Writes nothing if
/// `context-info` is off, or if the buffers are empty (`data` is `None`). `style` is that of the
/// top instance.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_latency(
    out: &mut dyn Out,
    set: Set,
    data: Option<&Latency<'_>>,
    symbols: &dyn Symbols,
    style: Style,
) -> fmt::Result {
    let Some(data) = data.filter(|_| set.has(Flag::ContextInfo)) else {
        return Ok(());
    };
    write_record(out, data, symbols, style)?;
    match set.has(Flag::Verbose) {
        true => Ok(()),
        false => out.bytes(LATENCY_TITLES),
    }
}

/// Writes the latency header without column titles, for tracers with other columns.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_record(
    out: &mut dyn Out,
    data: &Latency<'_>,
    symbols: &dyn Symbols,
    style: Style,
) -> fmt::Result {
    let Latency {
        tracer,
        microseconds,
        cpu,
        model,
        pid,
        uid,
        nice,
        policy,
        rt_priority,
        ..
    } = *data;
    let Counts {
        entries,
        written,
        cpus,
    } = data.counts;
    write!(out, "# {tracer} latency trace v1.1.5 on ")?;
    out.bytes(data.release)?;
    out.bytes(b"\n# --------------------------------------------------------------------\n")?;
    write!(
        out,
        "# latency: {microseconds} us, #{entries}/{written}, CPU#{cpu} |"
    )?;
    writeln!(out, " (M:{model} VP:0, KP:0, SP:0 HP:0 #P:{cpus})")?;
    out.bytes(b"#    -----------------\n#    | task: ")?;
    out.bytes(data.comm.get(..16).unwrap_or(data.comm))?;
    writeln!(
        out,
        "-{pid} (uid:{uid} nice:{nice} policy:{policy} rt_prio:{rt_priority})"
    )?;
    out.bytes(b"#    -----------------\n")?;
    if let Some((start, end)) = data.section {
        out.bytes(b"#  => started at: ")?;
        symbol::write(out, symbols, start, style)?;
        out.bytes(b"\n#  => ended at:   ")?;
        symbol::write(out, symbols, end, style)?;
        out.bytes(b"\n#\n")?;
    }
    out.bytes(b"#\n")
}

/// The column titles of the latency format.
const LATENCY_TITLES: &[u8] = b"\
#                    _------=> CPU#            \n\
#                   / _-----=> irqs-off/BH-disabled\n\
#                  | / _----=> need-resched    \n\
#                  || / _---=> hardirq/softirq \n\
#                  ||| / _--=> preempt-depth   \n\
#                  |||| / _-=> migrate-disable \n\
#                  ||||| /     delay           \n\
#  cmd     pid     |||||| time  |   caller     \n\
#     \\   /        ||||||  \\    |    /       \n";

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::{text, Names};
    use super::*;

    const COUNTS: Counts = Counts {
        entries: 3,
        written: 5,
        cpus: 2,
    };

    #[test]
    fn normal() {
        let show = |set| text(|out| write_normal(out, set, COUNTS));
        assert_eq!(text(|out| write_tracer(out, "nop")), "# tracer: nop\n#\n");
        assert!(DISARMED
            .iter()
            .all(|line| line.starts_with(b"#") && line.ends_with(b"\n")));
        assert_eq!(
            show(Set::DEFAULT),
            "\
# entries-in-buffer/entries-written: 3/5   #P:2
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
"
        );
        assert_eq!(
            show(Set::DEFAULT.with(Flag::RecordTgid, true)),
            "\
# entries-in-buffer/entries-written: 3/5   #P:2
#
#                                          _-----=> irqs-off/BH-disabled
#                                         / _----=> need-resched
#                                        | / _---=> hardirq/softirq
#                                        || / _--=> preempt-depth
#                                        ||| / _-=> migrate-disable
#                                        |||| /     delay
#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION
#              | |           |       |   |||||     |         |
"
        );
        let plain = Set::DEFAULT.with(Flag::IrqInfo, false);
        assert_eq!(
            show(plain),
            "\
# entries-in-buffer/entries-written: 3/5   #P:2
#
#           TASK-PID     CPU#     TIMESTAMP  FUNCTION
#              | |         |         |         |
"
        );
        assert_eq!(
            show(plain.with(Flag::RecordTgid, true)),
            "\
# entries-in-buffer/entries-written: 3/5   #P:2
#
#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION
#              | |           |       |         |         |
"
        );
        assert_eq!(show(plain.with(Flag::ContextInfo, false)), "");
        assert_eq!(show(plain.with(Flag::Verbose, true)), "");
    }

    #[test]
    fn latency() {
        let data = Latency {
            tracer: "irqsoff",
            release: b"7.3.4",
            microseconds: 1730,
            counts: Counts {
                entries: 31,
                written: 38,
                cpus: 3,
            },
            cpu: 1,
            model: "lazy",
            comm: b"kworker/1:2",
            pid: 77,
            uid: 0,
            nice: -5,
            policy: 0,
            rt_priority: 0,
            section: Some((0x1000, 0x2000)),
        };
        let style = Style {
            offset: false,
            addr: false,
        };
        let show = |set, data| text(|out| write_latency(out, set, data, &Names, style));
        let long = show(Set::DEFAULT.with(Flag::Verbose, true), Some(&data));
        assert_eq!(
            long,
            "\
# irqsoff latency trace v1.1.5 on 7.3.4
# --------------------------------------------------------------------
# latency: 1730 us, #31/38, CPU#1 | (M:lazy VP:0, KP:0, SP:0 HP:0 #P:3)
#    -----------------
#    | task: kworker/1:2-77 (uid:0 nice:-5 policy:0 rt_prio:0)
#    -----------------
#  => started at: vfs_read
#  => ended at:   ksys_read
#
#
"
        );
        let full = show(Set::DEFAULT, Some(&data));
        assert!(full.starts_with(&long));
        assert!(full.ends_with(
            "#                  ||||| /     delay           \n\
             #  cmd     pid     |||||| time  |   caller     \n\
             #     \\   /        ||||||  \\    |    /       \n"
        ));
        assert_eq!(show(Set::DEFAULT, None), "");
    }
}
