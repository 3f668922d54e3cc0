// SPDX-License-Identifier: GPL-2.0

//! Why functions cannot be traced: the functions that have a symbol and no site.
//!
//! Nothing is kept for this. Symbols are asked for their site, and those without are told apart by
//! where they are and what they are called.

use super::arch::{Arch, Machine};
use super::sites::{self, Site};
use crate::core::format::{rust_crate, rust_name};
use crate::kernel::kallsyms::{self, Symbol};
use crate::kernel::memory::{self, SitelessText};
use core::fmt;

/// Why there is no line for a symbol in `available_filter_functions`.
#[derive(Clone, Copy)]
pub(crate) enum Reason {
    /// It is another name of a function that can be traced.
    Alias(Site),
    /// Where the linker says that a part of the text begins or ends: no function.
    Mark,
    /// The bytes before a function, which the compiler names: no function.
    Padding,
    /// It was in init text, which is gone.
    Init,
    /// It is in `.noinstr.text`.
    NoInstr,
    /// It is in the text of entries to the kernel.
    Entry,
    /// It is the jump of a static call.
    StaticCall,
    /// It is the tracing core's.
    Own,
    /// It was compiled without a site.
    NoTrace,
}

/// The crates of the tracing core; `scripts/inlined` leaves their functions out.
const OWN_CRATES: [&[u8]; 2] = [b"rtrace", b"rustc_demangle"];

impl Reason {
    /// That of the symbol `name` at `addr`; `None` if it can be traced by this name, or is not in
    /// text. Task context.
    pub(crate) fn of(name: &[u8], addr: usize) -> Option<Self> {
        let in_kernel = memory::is_kernel_text(addr);
        let in_init = SitelessText::of(addr) == Some(SitelessText::Init);
        if !in_kernel && !in_init && !memory::is_module_text(addr) {
            return None;
        }
        if let Some(site) = sites::lookup(addr) {
            let is_shown = Symbol::with(site.addr(), |shown| shown.name() == name);
            if is_shown == Some(true) {
                return None;
            }
            return Some(match is_mark(name) {
                true => Self::Mark,
                false => Self::Alias(site),
            });
        }
        Some(match SitelessText::of(addr) {
            _ if is_mark(name) => Self::Mark,
            _ if is_padding(name) => Self::Padding,
            Some(SitelessText::Init) => Self::Init,
            Some(SitelessText::NoInstr) => Self::NoInstr,
            Some(SitelessText::Entry) => Self::Entry,
            Some(SitelessText::StaticCall) => Self::StaticCall,
            None if is_own(name, addr) => Self::Own,
            None => Self::NoTrace,
        })
    }

    /// Writes it in a word or three.
    fn write(self, demangle: bool, w: &mut dyn fmt::Write) -> fmt::Result {
        w.write_str(match self {
            Self::Alias(site) => {
                w.write_str("alias of ")?;
                return site.write_name(demangle, w);
            }
            Self::Mark => "mark",
            Self::Padding => "padding",
            Self::Init => "init",
            Self::NoInstr => "noinstr",
            Self::Entry => "entry",
            Self::StaticCall => "static call",
            Self::Own => "own",
            Self::NoTrace => "notrace",
        })
    }
}

/// Writes a line of `untraceable_functions` for each symbol that has a reason to be there, in the
/// order of addresses, with the modules' at the end; then those of inlined functions, if the image has
/// their names. Task context, may sleep. Ends at the first
/// error of `w`.
pub(crate) fn write_all(demangle: bool, w: &mut dyn fmt::Write) -> fmt::Result {
    let mut written = Ok(());
    kallsyms::for_each_symbol(|name, addr| {
        if let Some(reason) = Reason::of(name, addr) {
            written = write_line(name, addr, reason, demangle, w);
        }
        written.is_err()
    });
    #[cfg(CONFIG_RTRACE_INLINED_FUNCTIONS)]
    for name in kallsyms::inlined() {
        written?;
        written = write_inlined(name, demangle, w);
    }
    written
}

/// Writes the line of a function that has no symbol.
#[cfg(CONFIG_RTRACE_INLINED_FUNCTIONS)]
fn write_inlined(name: &[u8], demangle: bool, w: &mut dyn fmt::Write) -> fmt::Result {
    kallsyms::write_shown(name, demangle, w)?;
    w.write_str(" inlined\n")
}

fn write_line(
    name: &[u8],
    addr: usize,
    reason: Reason,
    demangle: bool,
    w: &mut dyn fmt::Write,
) -> fmt::Result {
    kallsyms::write_alias(name, addr, demangle, w)?;
    w.write_str(" ")?;
    reason.write(demangle, w)?;
    w.write_str("\n")
}

/// Names that linker scripts give to the edges of text.
fn is_mark(name: &[u8]) -> bool {
    const EDGES: [&[u8]; 5] = [
        b"_text",
        b"__pi__text",
        b"_stext",
        b"__init_begin",
        b"_sinittext",
    ];
    let of_part =
        name.starts_with(b"__") && (name.ends_with(b"_text_start") || name.ends_with(b"_text_end"));
    of_part || EDGES.contains(&name)
}

/// Names that objtool and the compiler give to what is before a function.
fn is_padding(name: &[u8]) -> bool {
    name.starts_with(b"__pfx_") || name.starts_with(b"__cfi_")
}

/// Whether a function is the core's: one in the part of the text that is all its own, or one in Rust
/// that was compiled for it.
fn is_own(name: &[u8], addr: usize) -> bool {
    let has = |of: &[u8]| rust_crate::names_crate(name, of);
    Machine::own_text().contains(&addr)
        || rust_name::is_mangled(name) && OWN_CRATES.into_iter().any(has)
}
