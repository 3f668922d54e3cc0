// SPDX-License-Identifier: GPL-2.0

//! `stack_trace`, `stack_max_size` and `stack_trace_filter`.

use super::control::{errno, shown, Control, Limit, Text};
use super::ftrace::filter::{self, Owner};
use super::listing::{self, Lines};
use super::{Node, Place};
use crate::core::format::{stack_depth, Out};
use crate::core::parse::number;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::ftrace::ops::FilterKind;
use crate::trace::output::symbols::Kallsyms;
use crate::trace::profilers::stack_depth as stack_tracer;
use core::fmt::{self, Write};
use kernel::prelude::*;

/// `stack_trace`: the deepest stack at the time of the open.
pub(super) struct StackTrace;

impl Node for StackTrace {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let off = !stack_tracer::is_on() && stack_tracer::max_size() == 0;
        listing::open(Rows {
            symbols: Kallsyms::new(at.instance.options(), None),
            rows: stack_tracer::deepest()?,
            off,
        })
    }
}

struct Rows {
    symbols: Kallsyms,
    rows: KVec<(usize, usize)>,
    off: bool,
}

impl Lines for Rows {
    fn seek(&self, at: u64) -> Option<u64> {
        (at <= self.rows.len() as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        let Some(index) = usize::try_from(at).ok().and_then(|at| at.checked_sub(1)) else {
            return stack_depth::write_header(out, self.rows.len(), self.off);
        };
        let beyond = self.rows.get(index + 1).map_or(0, |row| row.1);
        match self.rows.get(index) {
            Some(row) => stack_depth::write_row(out, &self.symbols, index, *row, beyond),
            None => Ok(()),
        }
    }
}

/// `stack_max_size`, in bytes.
pub(super) struct StackMaxSize;

impl Control for StackMaxSize {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        // C prints it signed.
        shown(writeln!(out, "{}", stack_tracer::max_size() as isize))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        stack_tracer::set_max_size(number::unsigned(line, 10).map_err(errno)? as usize);
        Ok(())
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }

    fn advance(&self, _len: usize) -> usize {
        0
    }
}

/// `stack_trace_filter`: the functions at whose entry the stack depth is measured.
pub(super) struct StackTraceFilter;

impl Node for StackTraceFilter {
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        let ops = stack_tracer::ops()?;
        filter::open(ops, FilterKind::Filter, Owner::Nobody, &at.instance, how)
    }
}
