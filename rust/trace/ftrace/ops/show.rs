// SPDX-License-Identifier: GPL-2.0

//! A line of `enabled_functions`.

use super::raw::{flag, OpsRef};
use super::update::Wanted;
use super::{Manager, Parts, FTRACE};
use crate::kernel::ftrace::stub;
use crate::kernel::kallsyms::ShownOffset;
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::ftrace::sites::{self, Site};
use core::fmt;

/// Writes the line of the site numbered `index`: its name, how many ops there are, what they want,
/// and what the site calls. Nothing, if it is none that `wants` is true of, as may have come about
/// since the caller looked.
///
/// Task context, may sleep.
pub(crate) fn write_line(
    index: usize,
    wants: impl Fn(&Site) -> bool,
    demangle: bool,
    w: &mut dyn fmt::Write,
) -> fmt::Result {
    // With the lock, sites stay what and where they are.
    let state = FTRACE.lock();
    let Some(site) = sites::by_index(index).filter(wants) else {
        return Ok(());
    };
    site.write_name(demangle, w)?;
    let wanted = Wanted::at(&state.key, site.addr());
    let named = |addr| ShownOffset { addr, demangle };
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
        (0, _) => write!(w, " ->{}", named(stub()))?,
        (1, Some(op)) if op.has(flag::DIRECT) => {
            write_own(Machine::list_caller(true), op, &named, w)?
        }
        (1, Some(op)) if op.trampoline() != 0 => {
            write_own(op.trampoline(), op, &named, w)?;
            write_calls(op.trampoline(), op.wants_regs(), &named, w)?;
            if Manager::is(op) {
                Manager::write_at(site.addr(), &state.key, w)?;
            }
        }
        _ => write_calls(Machine::list_caller(wanted.regs), wanted.regs, &named, w)?,
    }
    if let Some(op) = wanted.direct {
        let target = op.direct_at(site.addr(), (&state.key).into());
        let how = if target.is_jump() { "(jmp)" } else { "" };
        write!(w, "\n\tdirect{how}-->{}", named(target.addr()))?;
    }
    w.write_char('\n')
}

type Named<'a> = &'a dyn Fn(usize) -> ShownOffset;

fn write_own(
    trampoline: usize,
    op: OpsRef,
    named: Named<'_>,
    w: &mut dyn fmt::Write,
) -> fmt::Result {
    write!(
        w,
        "\ttramp: {} ({})",
        named(trampoline),
        named(op.func_addr())
    )
}

fn write_calls(
    trampoline: usize,
    regs: bool,
    named: Named<'_>,
    w: &mut dyn fmt::Write,
) -> fmt::Result {
    match Machine::trampoline_calls(trampoline, regs) {
        Some(func) => write!(w, " ->{}", named(func)),
        None => Ok(()),
    }
}
