// SPDX-License-Identifier: GPL-2.0

//! Kernel addresses as text, in the style that the options ask for.

use super::Out;
use crate::core::parse::options::{Flag, Set};
use core::fmt;

/// The number of arguments that a recorded call has.
pub const ARGUMENTS: usize = 6;

/// Prints kernel addresses as symbols.
pub trait Symbols {
    /// The current address of the code that was at `addr` when it was recorded. It differs if
    /// another kernel has recorded it.
    fn current_addr(&self, addr: usize) -> usize {
        addr
    }

    /// Writes the symbol that contains `addr`: `name` or, with `offset`, the form of `%pS`
    /// (`name+0x4/0x190`, with ` [module]` after it). The name of a kretprobe trampoline is
    /// `[unknown/kretprobe'd]`.
    ///
    /// Returns `false` and writes nothing if there is no symbol.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write_symbol(
        &self,
        addr: usize,
        offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error>;

    /// Writes the name of the symbol that contains `addr`, after [`current_addr`](Self::current_addr), in the
    /// form of `%ps`: `name`, `name [module]`, or `0x1004`.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write_name(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
        let addr = self.current_addr(addr);
        match self.write_symbol(addr, false, out)? {
            true => Ok(()),
            false => write!(out, "0x{addr:x}"),
        }
    }

    /// Writes the recorded `arguments` of the function at `addr` by its parameters, which are looked
    /// up after [`current_addr`](Self::current_addr); `()` if they are unknown.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn write_arguments(
        &self,
        _addr: usize,
        _arguments: &[usize; ARGUMENTS],
        out: &mut dyn Out,
    ) -> fmt::Result {
        out.bytes(b"()")
    }
}

/// The style of printed addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether offset and size follow the name.
    pub offset: bool,
    /// Whether the address follows the name.
    pub addr: bool,
}

impl Style {
    /// The style that `sym-offset` and `sym-addr` ask for.
    pub const fn of(set: Set) -> Self {
        Self {
            offset: set.has(Flag::SymOffset),
            addr: set.has(Flag::SymAddr),
        }
    }
}

/// Writes `addr` as a symbol, or as a number if there is no symbol; `0` for 0. With `style.addr`, `
/// <ffffffff81000000>` follows.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write(out: &mut dyn Out, symbols: &dyn Symbols, addr: usize, style: Style) -> fmt::Result {
    if addr == 0 {
        return out.bytes(b"0");
    }
    let addr = symbols.current_addr(addr);
    if !symbols.write_symbol(addr, style.offset, out)? {
        match style.offset {
            true => write!(out, "0x{addr:x}")?,
            false => write!(out, "0x{addr:08x}")?,
        }
    }
    match style.addr {
        true => write_addr(out, addr),
        false => Ok(()),
    }
}

/// Writes ` <address>` with all its digits.
pub(super) fn write_addr(out: &mut dyn Out, addr: usize) -> fmt::Result {
    write!(out, " <{addr:0width$x}>", width = size_of::<usize>() * 2)
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
pub(in crate::core) mod tests {
    use super::super::LineBuf;
    use super::*;
    use std::string::String;

    /// Names for addresses 0x1000, 0x2000, …
    pub(in crate::core) struct Names;

    impl Symbols for Names {
        fn write_symbol(
            &self,
            addr: usize,
            offset: bool,
            out: &mut dyn Out,
        ) -> Result<bool, fmt::Error> {
            let name = match addr >> 12 {
                1 => "vfs_read",
                2 => "ksys_read",
                3 => "tracing_mark_write",
                _ => return Ok(false),
            };
            out.write_str(name)?;
            if offset {
                write!(out, "+0x{:x}/0x190", addr & 0xfff)?;
            }
            Ok(true)
        }
    }

    /// Runs `f` on an empty [`LineBuf`] and returns the text.
    pub(in crate::core) fn text(f: impl FnOnce(&mut dyn Out) -> fmt::Result) -> String {
        let mut mem = [0; 4096];
        let mut out = LineBuf::new(&mut mem);
        f(&mut out).unwrap();
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn styles() {
        let show = |addr, offset, show_addr| {
            text(|out| {
                write(
                    out,
                    &Names,
                    addr,
                    Style {
                        offset,
                        addr: show_addr,
                    },
                )
            })
        };
        assert_eq!(show(0x1004, false, false), "vfs_read");
        assert_eq!(show(0x1004, true, false), "vfs_read+0x4/0x190");
        assert_eq!(
            show(0x1004, true, true),
            "vfs_read+0x4/0x190 <0000000000001004>"
        );
        assert_eq!(show(0, true, true), "0");
        assert_eq!(show(0xffff, false, true), "0x0000ffff <000000000000ffff>");
        assert_eq!(show(0xffff, true, false), "0xffff");
    }
}
