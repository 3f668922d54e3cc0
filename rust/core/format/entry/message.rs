// SPDX-License-Identifier: GPL-2.0

//! Messages: markers from user space, and `trace_printk()` and `trace_puts()` in the kernel.

use super::{Entry, Show};
use crate::core::format::environment::{Error, Line, Strings};
use crate::core::format::Out;
use crate::core::parse::parser::until_nul;
use core::fmt;

/// A text of `trace_marker` or of `trace_printk()`. The text and a NUL follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "print",
    tail(buf: [u8] as "char"),
    print = r#""%ps: %s", (void *)REC->ip, REC->buf"#
)]
#[repr(C)]
pub struct Print {
    /// The address of the writer.
    pub ip: usize,
}

impl Show for Print {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        normal(self, self.ip, line, out)
    }

    fn raw(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        write!(out, "# {:x} ", self.ip)?;
        self.message(line, out)?;
        Ok(())
    }

    fn message(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        out.bytes(until_nul(Self::tail(line.record)))?;
        Ok(true)
    }
}

/// A `trace_printk()` with a constant format. The arguments follow, packed as by `vbin_printf()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "bprint",
    tail(buf: [u32] as "u32"),
    print = r#""%ps: %s", (void *)REC->ip, REC->fmt"#
)]
#[repr(C)]
pub struct Bprint {
    /// The address of the writer.
    pub ip: usize,
    /// The address of the format, which `printk_formats` lists.
    #[c("const char *")]
    pub fmt: usize,
}

impl Show for Bprint {
    const NEEDS_STRINGS: bool = true;

    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        normal(self, self.ip, line, out)
    }

    fn raw(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        raw(self, self.ip, line, out)
    }

    fn message(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        let args = Self::tail(line.record);
        said(line, |strings| strings.write_packed(self.fmt, args, out))
    }
}

/// A `trace_puts()` of a constant string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(name = "bputs", print = r#""%ps: %s", (void *)REC->ip, REC->str"#)]
#[repr(C)]
pub struct Bputs {
    /// The address of the writer.
    pub ip: usize,
    /// The address of the string, which `printk_formats` lists.
    #[c("const char *")]
    pub str: usize,
}

impl Show for Bputs {
    const NEEDS_STRINGS: bool = true;

    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        normal(self, self.ip, line, out)
    }

    fn raw(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        raw(self, self.ip, line, out)
    }

    fn message(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        said(line, |strings| strings.write_constant(self.str, out))
    }
}

/// [`Show::normal`] of a message of the writer at `ip`.
fn normal(of: &impl Show, ip: usize, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
    line.symbol(out, ip)?;
    out.bytes(b": ")?;
    of.message(line, out)?;
    Ok(())
}

/// [`Show::raw`] of a message of the kernel's.
fn raw(of: &impl Show, ip: usize, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
    write!(out, ": {ip:x} : ")?;
    of.message(line, out)?;
    Ok(())
}

/// Writes the strings that entries point to. Returns false if they are missing.
fn said(
    line: &Line<'_>,
    write: impl FnOnce(&dyn Strings) -> fmt::Result,
) -> Result<bool, fmt::Error> {
    match line.env.strings {
        Some(strings) => write(strings).map(|()| true),
        None => Ok(false),
    }
}

/// Bytes of `trace_marker_raw`, which follow the entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "raw_data",
    tail(buf: [u8] as "char"),
    print = r#""id:%04x %08x", REC->id, (int)REC->buf[0]"#
)]
#[repr(C)]
pub struct RawData {
    /// The id that the writer has chosen.
    pub id: u32,
}

impl Show for RawData {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        write!(out, "# {:x} buf:", self.id)?;
        Self::tail(line.record)
            .iter()
            .try_for_each(|byte| write!(out, " {byte:02x}"))?;
        Ok(out.bytes(b"\n")?)
    }

    fn raw(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        self.normal(line, out)
    }
}
