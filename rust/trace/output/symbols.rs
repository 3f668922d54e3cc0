// SPDX-License-Identifier: GPL-2.0

//! Names of addresses.

#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
use crate::core::format::arguments;
use crate::core::format::symbol::Symbols;
#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
use crate::core::format::symbol::ARGUMENTS;
use crate::core::format::Out;
use crate::core::parse::options::{Flag, Set};
#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
use crate::kernel::btf::KnownPrototype;
#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
use crate::kernel::context::{irqs_off, PreemptCount};
use crate::kernel::kallsyms::{ShownOffset, Symbol};
use crate::trace::instance::persistent::PreviousBoot;
use core::fmt;

/// Prints addresses as symbols of this kernel. For an instance that may hold events of the last
/// boot, it first translates their addresses to those of this boot.
#[derive(Clone, Copy)]
pub(crate) struct Kallsyms {
    previous: Option<&'static PreviousBoot>,
    /// Names of Rust functions are shown as paths.
    demangle: bool,
}

impl Kallsyms {
    /// In the style that the options ask for; `previous` is the boot that the events may be of. For a
    /// reading that begins now.
    pub(crate) fn new(set: Set, previous: Option<&'static PreviousBoot>) -> Self {
        Self {
            previous: previous.filter(|previous| !previous.is_cleared()),
            demangle: set.has(Flag::RustDemangle),
        }
    }

    /// The same with the options of now.
    pub(crate) fn refreshed(self, set: Set) -> Self {
        Self::new(set, self.previous)
    }

    /// Whether the events may be of the last boot.
    pub(crate) fn is_of_previous_boot(&self) -> bool {
        self.previous.is_some()
    }
}

impl Symbols for Kallsyms {
    fn current_addr(&self, addr: usize) -> usize {
        self.previous.map_or(addr, |last| last.current_addr(addr))
    }

    fn write_symbol(
        &self,
        addr: usize,
        offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error> {
        let demangle = self.demangle;
        if offset {
            // `ShownOffset` prints a number if there is no symbol.
            return write!(out, "{}", ShownOffset { addr, demangle }).map(|()| true);
        }
        Symbol::with_shown(addr, demangle, |symbol| out.bytes(symbol.name()))
            .map_or(Ok(false), |written| written.map(|()| true))
    }

    fn write_name(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
        let addr = self.current_addr(addr);
        let written = Symbol::with_shown(addr, self.demangle, |symbol| {
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

    #[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
    fn write_arguments(
        &self,
        addr: usize,
        values: &[usize; ARGUMENTS],
        out: &mut dyn Out,
    ) -> fmt::Result {
        // The look-up may sleep, which a dump must not.
        if PreemptCount::read().is_atomic() || irqs_off() {
            return out.bytes(b"()");
        }
        let addr = self.current_addr(addr);
        match Symbol::with(addr, |symbol| KnownPrototype::of(symbol.name())).flatten() {
            Some(prototype) => arguments::write(out, &prototype, values),
            None => out.bytes(b"()"),
        }
    }
}
