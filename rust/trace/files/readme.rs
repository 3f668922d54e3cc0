// SPDX-License-Identifier: GPL-2.0

//! `README`: what the files are for. The text of each file is in its row of the table, so `README`
//! names exactly the files that exist. Selftests read it to learn which features exist.

use super::control::{shown, Control, Text};
use super::{rows, Place, Row, Scope, FOLDERS};
use crate::core::format::Out;
use crate::kernel::cpus;
use crate::trace::instance::list;
use core::fmt::{self, Write};
use kernel::prelude::*;

const INTRODUCTION: &str = "\
tracing: record what the kernel does, read it as text

To see which functions of one task run:

  # echo function > current_tracer
  # echo $$ > set_ftrace_pid
  # cat trace
  # echo nop > current_tracer

Mounting

  # mount -t tracefs [-o [gid=<gid>][,uid=<uid>][,mode=<octal>]] nodev /sys/kernel/tracing

  gid and uid give all files that owner, with a later remount, too; mode is the root directory's alone.

Files

";

const DIRECTORIES: &str = "
Directories

  options/
\tone file for each option of trace_options and of the tracers; 1 sets, 0 clears
  per_cpu/cpuN/
\tthe files of one CPU:
";

const PERSISTENT: &str = "
  instances/ whose buffer outlives the kernel, and their per_cpu/cpuN/
\thave besides:
";

/// The file `README`.
pub(super) struct Readme;

impl Control for Readme {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(write(at, out))
    }
}

/// Writes the files that exist at `top`, then the files that only instances with a persistent
/// buffer have, if there is such an instance.
fn write(top: &Place, out: &mut Text) -> fmt::Result {
    let of_cpu = |place: &Place| Place {
        cpu: cpus::possible().next(),
        ..place.clone()
    };
    out.write_str(INTRODUCTION)?;
    for row in rows(top) {
        write_row(out, "  ", row, "\n\t")?;
    }
    out.write_str(DIRECTORIES)?;
    for row in rows(&of_cpu(top)) {
        write_row(out, "\t", row, ": ")?;
    }
    for (name, folder) in FOLDERS {
        out.write_str("\n  ")?;
        out.bytes(name.to_bytes())?;
        out.write_str("/\n")?;
        for row in *folder {
            out.write_str("\t")?;
            if row.scope == Scope::PerCpu {
                out.write_str("per_cpu/cpuN/")?;
            }
            write_row(out, "", row, ": ")?;
        }
    }
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    for piece in super::dynamic::SYNTAX {
        out.write_str(piece)?;
    }
    #[cfg(CONFIG_SYNTH_EVENTS)]
    out.write_str(super::dynamic::SYNTHETIC_SYNTAX)?;
    #[cfg(CONFIG_HIST_TRIGGERS)]
    out.write_str(super::events::HIST_SYNTAX)?;
    let Some(instance) = list::all().find(|instance| instance.previous_boot().is_some()) else {
        return Ok(());
    };
    let place = Place {
        instance,
        cpu: None,
    };
    out.write_str(PERSISTENT)?;
    for (place, top) in [(place.clone(), top.clone()), (of_cpu(&place), of_cpu(top))] {
        for row in rows(&place).filter(|row| !row.scope.includes(&top)) {
            write_row(out, "\t", row, ": ")?;
        }
    }
    Ok(())
}

fn write_row(out: &mut Text, indent: &str, row: &Row, gap: &str) -> fmt::Result {
    out.write_str(indent)?;
    out.bytes(row.name.to_bytes())?;
    writeln!(out, "{gap}{}", row.help)
}
