// SPDX-License-Identifier: GPL-2.0

//! Names of addresses.

use crate::core::format::symbol::Symbols;
use crate::core::format::Out;
use crate::kernel::kallsyms::{Symbol, SymbolOffset};
use crate::trace::instance::persistent::PreviousBoot;
use core::fmt;

/// Prints addresses as symbols of this kernel. For an instance that may hold events of the last
/// boot, it first translates their addresses to those of this boot.
#[derive(Clone, Copy)]
pub(crate) struct Kallsyms(pub(crate) Option<&'static PreviousBoot>);

impl Symbols for Kallsyms {
    fn current_addr(&self, addr: usize) -> usize {
        self.0.map_or(addr, |last| last.current_addr(addr))
    }

    fn write_symbol(
        &self,
        addr: usize,
        offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error> {
        if offset {
            // `SymbolOffset` prints a number if there is no symbol.
            return write!(out, "{}", SymbolOffset(addr)).map(|()| true);
        }
        Symbol::with(addr, |symbol| out.bytes(symbol.name()))
            .map_or(Ok(false), |written| written.map(|()| true))
    }

    fn write_name(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
        let addr = self.current_addr(addr);
        let written = Symbol::with(addr, |symbol| {
            out.bytes(symbol.name())?;
            let Some(module) = symbol.module() else {
                return Ok(());
            };
            out.bytes(b" [")?;
            out.bytes(module)?;
            out.bytes(b"]")
        });
        written.unwrap_or_else(|| write!(out, "0x{addr:x}"))
    }
}
