// SPDX-License-Identifier: GPL-2.0

//! `README`: what the files are for. The text of each is in its row of the table, so that it names
//! what there is and nothing else: selftests look here to learn which features exist.

use super::control::{shown, Control, Text};
use super::{Place, Row, Scope, FILES};
use crate::core::format::Out;
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

/// The file.
pub(super) struct Readme;

impl Control for Readme {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        shown(write(out))
    }
}

fn write(out: &mut Text) -> fmt::Result {
    out.write_str(INTRODUCTION)?;
    for row in FILES.iter().filter(|row| row.scope != Scope::PerCpu) {
        write_row(out, "  ", row, "\n\t")?;
    }
    out.write_str(DIRECTORIES)?;
    for row in FILES.iter().filter(|row| row.scope == Scope::PerCpu) {
        write_row(out, "\t", row, ": ")?;
    }
    Ok(())
}

fn write_row(out: &mut Text, indent: &str, row: &Row, gap: &str) -> fmt::Result {
    out.write_str(indent)?;
    out.bytes(row.name.to_bytes())?;
    writeln!(out, "{gap}{}", row.help)
}
