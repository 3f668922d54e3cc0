// SPDX-License-Identifier: GPL-2.0

//! The comment block that a read of `trace` begins with. `trace_pipe` has none.
//!
//! Every tracer's file begins with [`write_tracer`]; tracers without titles of their own then show
//! [`write_normal`] or, where the reader began with the latency format, [`write_latency`]. An empty
//! `snapshot` shows [`write_snapshot_help`] instead.

use super::symbol::{self, Style, Symbols};
use super::Out;
use crate::core::parse::options::{Flag, Set};
use core::fmt;

/// Writes `# tracer: NAME` and a blank comment line.
///
/// # Errors
///
/// Only `out`'s own.
pub fn write_tracer(out: &mut dyn Out, name: &str) -> fmt::Result {
    writeln!(out, "# tracer: {name}\n#")
}

/// How full the buffer is.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Entries that can be read now.
    pub entries: u64,
    /// Entries that were ever written, those that were lost to newer ones included.
    pub written: u64,
    /// CPUs online.
    pub cpus: u32,
}

/// Writes the normal header: the counts and the column titles. Nothing while `context-info` is off
/// or `verbose` is on.
///
/// # Errors
///
/// Only `out`'s own.
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

/// Writes what an empty `snapshot` says: whether it is allocated, and what can be written to the
/// file, of one CPU or of all. The text is C's to the letter, since scripts look for it.
///
/// # Errors
///
/// Only `out`'s own.
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

/// What the latency header tells of the recorded maximum.
#[derive(Clone, Copy, Debug)]
pub struct Latency<'a> {
    /// The tracer.
    pub tracer: &'a str,
    /// The kernel's release, as `uname -r` shows it.
    pub release: &'a [u8],
    /// The latency in microseconds, rounded down.
    pub microseconds: u64,
    /// See [`Counts`].
    pub counts: Counts,
    /// The CPU that it was measured on.
    pub cpu: u32,
    /// The preemption model's word: `server`, `desktop`, `preempt`, `PREEMPT`, `PREEMPT_RT`, …
    pub model: &'a str,
    /// The task's name; 16 bytes of it are shown.
    pub comm: &'a [u8],
    /// The task.
    pub pid: i32,
    /// Its user, in the reader's name space.
    pub uid: u32,
    /// Its nice value.
    pub nice: i64,
    /// Its scheduling policy.
    pub policy: u64,
    /// Its real-time priority.
    pub rt_priority: u64,
    /// Where the critical section began and ended, if the tracer knows.
    pub section: Option<(usize, usize)>,
}

/// Writes the latency header and, unless `verbose`, its column titles. Nothing while `context-info`
/// is off or, `data` being `None`, while the buffers are empty. `style` is the top level's.
///
/// # Errors
///
/// Only `out`'s own.
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

/// Writes the latency header without column titles, for those that have other columns.
///
/// # Errors
///
/// Only `out`'s own.
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

/// Column titles of the latency format.
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
