// SPDX-License-Identifier: GPL-2.0

//! The columns of the call graph: their titles, and what is in them up to the blanks of the depth.

use super::super::out::Piece;
use super::super::{line, Out};
use super::{Line, Start};
use crate::core::parse::options::graph::*;
use crate::core::parse::options::Flag;
use crate::core::parse::parser::until_nul;
use core::fmt;

/// The width of the column with the task's name and pid, which are centred in it.
const TASK_WIDTH: usize = 14;
/// The number of bytes of a task's name that are printed.
const TASK_NAME: usize = 7;

/// A column, with its title and the line below that.
struct Column {
    is: Is,
    title: &'static str,
    rule: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    AbsTime,
    RelTime,
    Cpu,
    Task,
    /// Interrupts, preemption, and so on, in the latency format.
    State,
    Duration,
    Calls,
}

/// The columns, from left to right.
const COLUMNS: &[Column] = &[
    Column {
        is: Is::AbsTime,
        title: "     TIME       ",
        rule: "      |         ",
    },
    Column {
        is: Is::RelTime,
        title: "   REL TIME     ",
        rule: "      |         ",
    },
    Column {
        is: Is::Cpu,
        title: " CPU",
        rule: " |  ",
    },
    Column {
        is: Is::Task,
        title: "  TASK/PID       ",
        rule: "   |    |        ",
    },
    Column {
        is: Is::State,
        title: "||||   ",
        rule: "||||   ",
    },
    // As in C, the rule is wider.
    Column {
        is: Is::Duration,
        title: "  DURATION   ",
        rule: "   |   |      ",
    },
    Column {
        is: Is::Calls,
        title: "               FUNCTION CALLS\n",
        rule: "               |   |   |   |\n",
    },
];

impl Column {
    /// Whether lines have it, by the graph options and the format.
    fn is_shown(&self, own: u32, latency: bool) -> bool {
        match self.is {
            Is::AbsTime => own & ABS_TIME.bit != 0,
            Is::RelTime => own & REL_TIME != 0,
            Is::Cpu => own & CPU.bit != 0,
            Is::Task => own & PROC.bit != 0,
            Is::State => latency,
            Is::Duration => own & DURATION.bit != 0,
            Is::Calls => true,
        }
    }
}

impl Line<'_> {
    /// Puts into `start` what comes before the duration, if that is the CPU alone; else writes it.
    #[inline]
    pub(super) fn start(&self, out: &mut dyn Out, start: &mut Start) -> fmt::Result {
        let others = ABS_TIME.bit | REL_TIME | PROC.bit;
        if self.own & others != 0 || self.set.has(Flag::LatencyFormat) {
            self.columns(out)?;
        } else if self.is(&CPU) && self.context() {
            self.put_cpu(start);
        }
        Ok(())
    }

    /// Writes the columns before the duration.
    pub(super) fn columns(&self, out: &mut dyn Out) -> fmt::Result {
        if !self.context() {
            return Ok(());
        }
        let latency = self.set.has(Flag::LatencyFormat);
        for column in COLUMNS
            .iter()
            .filter(|column| column.is_shown(self.own, latency))
        {
            self.column(out, column.is)?;
        }
        Ok(())
    }

    fn column(&self, out: &mut dyn Out, is: Is) -> fmt::Result {
        match is {
            Is::AbsTime => {
                let us = self.ts / 1000;
                let mut piece = Piece::<32>::new();
                piece.decimal(us / 1_000_000, 5, b' ');
                piece.byte(b'.');
                piece.digits::<6>((us % 1_000_000) as u32);
                piece.text(b" |  ");
                out.bytes(piece.as_bytes())
            }
            Is::RelTime => {
                write!(out, "{:9} us |  ", self.ts.wrapping_sub(self.start) / 1000)
            }
            Is::Cpu => self.cpu(out),
            Is::Task => {
                self.task(out, self.common.pid)?;
                out.bytes(b" | ")
            }
            Is::State => {
                out.bytes(b" ")?;
                out.bytes(&line::state(self.common.flags, self.common.preempt_count))?;
                out.bytes(b" | ")
            }
            // They begin with what is before them: `duration` and `no_duration`.
            Is::Duration | Is::Calls => Ok(()),
        }
    }

    #[inline]
    pub(super) fn cpu(&self, out: &mut dyn Out) -> fmt::Result {
        let mut piece = Piece::<32>::new();
        self.put_cpu(&mut piece);
        out.bytes(piece.as_bytes())
    }

    #[inline]
    fn put_cpu<const N: usize>(&self, piece: &mut Piece<N>) {
        piece.byte(b' ');
        piece.decimal(self.cpu.into(), self.cpu_width, b' ');
        piece.text(b") ");
    }

    pub(super) fn task(&self, out: &mut dyn Out, pid: i32) -> fmt::Result {
        let comm = (self.comm)(pid);
        let name = until_nul(&comm);
        let name = name.get(..TASK_NAME).unwrap_or(name);
        let mut task = Piece::<32>::new();
        task.text(name);
        task.byte(b'-');
        task.decimal_left(pid.into(), 0);
        let task = task.as_bytes();
        let blanks = TASK_WIDTH.saturating_sub(task.len());
        out.fill(b' ', blanks / 2)?;
        out.bytes(task)?;
        out.fill(b' ', blanks - blanks / 2)
    }

    /// Writes the `piece` before it, the empty column of durations, and the blanks of `depth`.
    #[inline]
    pub(super) fn no_duration(
        &self,
        out: &mut dyn Out,
        piece: &mut Start,
        depth: i64,
    ) -> fmt::Result {
        if self.is(&DURATION) && self.context() {
            piece.blanks(14);
            piece.text(b"|  ");
        }
        indented(out, piece, depth)
    }

    /// Writes the `piece` before it, the column of durations with `ns`, and the blanks of `depth`.
    pub(super) fn duration(
        &self,
        out: &mut dyn Out,
        piece: &mut Start,
        ns: u64,
        depth: i64,
    ) -> fmt::Result {
        if !self.is(&DURATION) || !self.context() {
            return indented(out, piece, depth);
        }
        let mark = if self.is(&OVERHEAD) {
            line::delay_mark(ns)
        } else {
            b' '
        };
        piece.byte(mark);
        piece.byte(b' ');
        put_duration(piece, ns);
        piece.text(b"|  ");
        indented(out, piece, depth)
    }
}

/// Writes `piece`, and two blanks for each level of `depth`: those that it has room for with it.
#[inline]
fn indented<const N: usize>(out: &mut dyn Out, piece: &mut Piece<N>, depth: i64) -> fmt::Result {
    let blanks = usize::try_from(depth).unwrap_or(0).saturating_mul(2);
    let room = N.saturating_sub(piece.len());
    piece.blanks(blanks);
    out.bytes(piece.as_bytes())?;
    match blanks.checked_sub(room) {
        None | Some(0) => Ok(()),
        Some(more) => out.fill(b' ', more),
    }
}

/// Writes nanoseconds as microseconds in at most seven digits and a dot. ` us ` and blanks follow,
/// up to a fixed width.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_duration(out: &mut dyn Out, ns: u64) -> fmt::Result {
    let mut piece = Piece::<40>::new();
    put_duration(&mut piece, ns);
    out.bytes(piece.as_bytes())
}

fn put_duration<const N: usize>(piece: &mut Piece<N>, ns: u64) {
    let before = piece.len();
    let (us, rest) = (ns / 1000, (ns % 1000) as u32);
    piece.decimal(us, 0, b' ');
    // Seven digits, of which three at most are behind the dot.
    match piece.len().wrapping_sub(before) {
        ..=4 => {
            piece.byte(b'.');
            piece.digits::<3>(rest);
        }
        5 => {
            piece.byte(b'.');
            piece.digits::<2>(rest / 10);
        }
        6 => {
            piece.byte(b'.');
            piece.digits::<1>(rest / 100);
        }
        _ => {}
    }
    let len = piece.len().wrapping_sub(before);
    piece.text(b" us ");
    piece.blanks(8usize.saturating_sub(len));
}

/// Writes the column titles. `latency` selects those of the latency format.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_titles(out: &mut dyn Out, own: u32, latency: bool) -> fmt::Result {
    let columns = || {
        COLUMNS
            .iter()
            .filter(|column| column.is_shown(own, latency))
    };
    if latency {
        let before = columns().take_while(|column| column.is != Is::State);
        let width = before.map(|column| column.title.len()).sum();
        for title in [
            "  _-----=> irqs-off        ",
            " / _----=> need-resched    ",
            "| / _---=> hardirq/softirq ",
            "|| / _--=> preempt-depth   ",
            "||| /                      ",
        ] {
            out.bytes(b"#")?;
            out.fill(b' ', width)?;
            writeln!(out, "{title}")?;
        }
    }
    out.bytes(b"#")?;
    for column in columns() {
        out.bytes(column.title.as_bytes())?;
    }
    out.bytes(b"#")?;
    for column in columns() {
        out.bytes(column.rule.as_bytes())?;
    }
    Ok(())
}
