// SPDX-License-Identifier: GPL-2.0

//! What printing a built-in entry needs besides its layout: the record with its time, and the names,
//! the texts and the options of the instance.

use super::line::Unit;
use super::symbol::{self, Style, Symbols, ARGUMENTS};
use super::Out;
use crate::core::parse::options::{Flag, Set};
use core::fmt;

/// Why a line was not completely written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The output is full.
    Full,
    /// The record is shorter than its type requires. Nothing was written.
    Truncated,
}

impl From<fmt::Error> for Error {
    fn from(_: fmt::Error) -> Self {
        Self::Full
    }
}

/// Prints the strings that `trace_printk()` entries point to.
pub trait Strings {
    /// Writes the format at address `format` with the arguments in `args`, which `vbin_printf()`
    /// has packed.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write_packed(&self, format: usize, args: &[u8], out: &mut dyn Out) -> fmt::Result;

    /// Writes the constant string at `addr`.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write_constant(&self, addr: usize, out: &mut dyn Out) -> fmt::Result;
}

/// Prints the names of tasks.
pub trait Tasks {
    /// Writes the name of the task `pid`, or the text for an unknown task.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write_name(&self, pid: i32, out: &mut dyn Out) -> fmt::Result;

    /// Writes the file that the thread group `tgid` has mapped at `addr`, and the offset in the
    /// mapping: `/usr/bin/cat[+0x1f2]`. Returns false and writes nothing if there is no such file.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write_mapped(
        &self,
        tgid: i32,
        addr: usize,
        out: &mut dyn Out,
    ) -> core::result::Result<bool, fmt::Error>;

    /// Writes the path of the cgroup with the given id. Returns false and writes nothing if cgroups
    /// are shown by their ids.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    #[cfg(any(CONFIG_BLK_DEV_IO_TRACE, not(CONFIG_RTRACE)))]
    fn write_cgroup(&self, id: u64, out: &mut dyn Out) -> core::result::Result<bool, fmt::Error>;
}

/// Everything that printing needs besides the record.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The options of the instance.
    pub set: Set,
    /// Names of kernel addresses.
    pub symbols: &'a dyn Symbols,
    /// Names of tasks.
    pub tasks: &'a dyn Tasks,
    /// Formats of `trace_printk()`. Without them its entries count as unknown.
    pub strings: Option<&'a dyn Strings>,
    /// The unit of the trace clock.
    pub unit: Unit,
}

/// A record, with everything that printing it needs.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The record, common fields included.
    pub record: &'a [u8],
    /// The time of the record.
    pub ts: u64,
    /// The environment.
    pub env: &'a Env<'a>,
}

impl Line<'_> {
    /// Writes an address in the style that the options ask for.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn symbol(&self, out: &mut dyn Out, addr: usize) -> fmt::Result {
        symbol::write(out, self.env.symbols, addr, Style::of(self.env.set))
    }

    /// Writes a call, with its arguments if they were recorded.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn call(
        &self,
        out: &mut dyn Out,
        ip: usize,
        args: Option<&[usize; ARGUMENTS]>,
        parent: usize,
    ) -> fmt::Result {
        self.symbol(out, ip)?;
        if let Some(args) = args {
            self.env.symbols.write_arguments(ip, args, out)?;
        }
        if parent == 0 || !self.env.set.has(Flag::PrintParent) {
            return Ok(());
        }
        out.bytes(b" <-")?;
        self.symbol(out, parent)
    }
}
