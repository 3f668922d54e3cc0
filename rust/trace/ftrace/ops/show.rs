// SPDX-License-Identifier: GPL-2.0

//! What `enabled_functions` says of a site.

use super::raw::{flag, OpsRef};
use super::update::Wanted;
use super::{Manager, Parts, FTRACE};
use crate::kernel::ftrace::stub;
use crate::kernel::kallsyms::SymbolOffset;
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::ftrace::sites::Site;
use core::fmt;

/// Writes what follows the name: how many ops there are, what they want, and what the site calls.
///
/// Task context, may sleep.
pub(crate) fn write_state(site: &Site, w: &mut dyn fmt::Write) -> fmt::Result {
    let state = FTRACE.lock();
    let wanted = Wanted::at(&state.key, site.addr());
    let mark = |on: bool, mark: &'static str| if on { mark } else { "  " };
    write!(
        w,
        " ({}){}{}{}  {}",
        wanted.count,
        mark(wanted.regs, " R"),
        mark(wanted.ipmodify, " I"),
        mark(wanted.direct.is_some(), " D"),
        if site.is_modified() { " M " } else { "   " },
    )?;
    match (wanted.count, wanted.op) {
        // The address of `ftrace_stub()`, which C's trampolines call when there is no callback.
        (0, _) => write!(w, " ->{}", SymbolOffset(stub()))?,
        (1, Some(op)) if op.has(flag::DIRECT) => write_own(Machine::list_caller(true), op, w)?,
        (1, Some(op)) if op.trampoline() != 0 => {
            write_own(op.trampoline(), op, w)?;
            write_calls(op.trampoline(), op.wants_regs(), w)?;
            if Manager::is(op) {
                Manager::write_at(site.addr(), w)?;
            }
        }
        _ => write_calls(Machine::list_caller(wanted.regs), wanted.regs, w)?,
    }
    if let Some(op) = wanted.direct {
        let target = op.direct_at(site.addr());
        let how = if target.is_jump() { "(jmp)" } else { "" };
        write!(w, "\n\tdirect{how}-->{}", SymbolOffset(target.addr()))?;
    }
    Ok(())
}

fn write_own(trampoline: usize, op: OpsRef, w: &mut dyn fmt::Write) -> fmt::Result {
    write!(
        w,
        "\ttramp: {} ({})",
        SymbolOffset(trampoline),
        SymbolOffset(op.func_addr())
    )
}

fn write_calls(trampoline: usize, regs: bool, w: &mut dyn fmt::Write) -> fmt::Result {
    match Machine::trampoline_calls(trampoline, regs) {
        Some(func) => write!(w, " ->{}", SymbolOffset(func)),
        None => Ok(()),
    }
}
