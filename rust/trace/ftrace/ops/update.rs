// SPDX-License-Identifier: GPL-2.0

//! Patching sites to match the registered ops.

use super::raw::{flag, OpsRef};
use super::{list, Key};
use crate::kernel::kallsyms::SymbolOffset;
use crate::trace::ftrace::arch::{Arch, Found, Machine, Patcher, Target};
use crate::trace::ftrace::hash::SiteSet;
use crate::trace::ftrace::sites::table::{self, Table};
use crate::trace::ftrace::sites::word::{Slot, Targets};
use core::ops::ControlFlow::{self, Break, Continue};
use kernel::prelude::*;

/// The sites that a change may concern.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// All.
    All,
    /// Those in one of the sets.
    Sets(&'a [&'a SiteSet]),
    /// Those of one table, to be compared by address.
    Table(*const Table),
}

/// What a site should do, by the ops that cover it.
pub(super) struct Wanted {
    /// How many there are.
    pub(super) count: usize,
    /// One of them; the only one if `count` is 1.
    pub(super) op: Option<OpsRef>,
    /// One of them wants all registers.
    pub(super) regs: bool,
    /// One of them may change where the function goes.
    pub(super) ipmodify: bool,
    /// The direct caller among them.
    pub(super) direct: Option<OpsRef>,
}

impl Wanted {
    /// What the registered ops want of the site at `addr`.
    pub(super) fn at(key: &Key, addr: usize) -> Self {
        let mut wanted = Wanted {
            count: 0,
            op: None,
            regs: false,
            ipmodify: false,
            direct: None,
        };
        list::for_each(key, |op| {
            if op.covers(addr, key.into()) {
                wanted.count = wanted.count.wrapping_add(1);
                wanted.op = Some(op);
                wanted.regs |= op.wants_regs();
                wanted.ipmodify |= op.has(flag::IPMODIFY);
                if op.has(flag::DIRECT) {
                    wanted.direct = Some(op);
                }
            }
        });
        wanted
    }

    /// Where the site should lead.
    pub(super) fn target(&self, key: &Key, addr: usize) -> Target {
        match (self.count, self.op) {
            (0, _) | (_, None) => Target::OFF,
            (1, Some(op)) if op.has(flag::DIRECT) => op.direct_at(addr, key.into()),
            (1, Some(op)) if op.trampoline() != 0 => Target(op.entry()),
            _ => Target(Machine::list_caller(self.regs)),
        }
    }
}

/// Patches the sites in `scope` that do not do what the registered ops want, in one batch.
///
/// First all of them are verified; when one holds something else than it should, none is changed,
/// and ftrace is disarmed with a report. Takes `text_mutex`, may sleep.
pub(crate) fn sync(key: &Key, targets: &mut Targets, scope: Scope<'_>) {
    if super::is_dead() {
        return;
    }
    let mut patcher = Machine::patcher();
    let wrong = visit(key, scope, |table, i, addr| {
        let old = targets.target(table.word(i).slot());
        if Wanted::at(key, addr).target(key, addr) != old {
            if let Err(found) = patcher.verify(addr, old) {
                return Break((addr, old, found));
            }
        }
        Continue(())
    });
    if let Some((addr, old, found)) = wrong {
        drop(patcher);
        disarm(addr, old, found);
        return;
    }
    let _: Option<()> = visit(key, scope, |table, i, addr| {
        let word = table.word(i);
        let wanted = Wanted::at(key, addr);
        let target = wanted.target(key, addr);
        if target == targets.target(word.slot()) {
            return Continue(());
        }
        let reachable = Some(target).filter(|&t| patcher.reaches(addr, t));
        let slot = reachable
            .and_then(|t| targets.take(t))
            .unwrap_or(Slot::list(wanted.regs));
        // SAFETY: the table's sites are those of loaded text, and by the lock it stays; the site
        // was verified above under the same `text_mutex`; the kernel's own trampolines can be
        // reached from anywhere. An ops's trampoline is freed only after no site leads to it, a
        // direct caller by the rules of `register_ftrace_direct()`.
        unsafe { patcher.write(addr, targets.target(slot)) };
        let word_now = if wanted.ipmodify || wanted.direct.is_some() {
            word.with_modified()
        } else {
            word
        };
        table.set_word(i, word_now.with_slot(slot));
        targets.put(word.slot());
        Continue(())
    });
}

/// A set with no more sites than this is looked up site by site; else all sites are looked up in
/// it, in order.
const FEW: usize = 32;

/// Calls `f` with the sites in `scope` that may be patched, until it breaks. A site can come up
/// twice.
fn visit<T>(
    key: &Key,
    scope: Scope<'_>,
    mut f: impl FnMut(&Table, usize, usize) -> ControlFlow<T>,
) -> Option<T> {
    if let Scope::Sets(sets) = scope {
        if sets.iter().all(|set| set.len() <= FEW) {
            return sets
                .iter()
                .flat_map(|set| set.iter())
                .find_map(|(addr, _)| {
                    let (table, i) =
                        table::under_lock(key).find_map(|t| Some((t, t.exact(addr)?)))?;
                    if table.is_live() {
                        f(table, i, addr).break_value()
                    } else {
                        None
                    }
                });
        }
    }
    for table in table::under_lock(key).filter(|t| t.is_live()) {
        if matches!(scope, Scope::Table(t) if !core::ptr::eq(t, table)) {
            continue;
        }
        for i in 0..table.len() {
            let Some(addr) = table.addr(i) else { break };
            if matches!(scope, Scope::Sets(sets) if !sets.iter().any(|set| set.contains(addr))) {
                continue;
            }
            if let Break(value) = f(table, i, addr) {
                return Some(value);
            }
        }
    }
    None
}

/// Disarms ftrace: a site does not hold the expected bytes, so nothing known about text can be
/// relied on.
fn disarm(addr: usize, expected: Target, found: Found) {
    super::kill();
    pr_err!(
        "ftrace: the site at {} is not as it was left, nothing is patched any more\n",
        SymbolOffset(addr)
    );
    pr_err!(
        "ftrace: found {:x?}, expected what leads to 0x{:x}\n",
        found,
        expected.addr()
    );
    kernel::warn_on!(true);
}
