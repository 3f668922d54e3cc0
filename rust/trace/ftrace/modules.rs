// SPDX-License-Identifier: GPL-2.0

//! Where sites come from and go to: the kernel at boot, its init text after boot, modules.
//!
//! The build lists sites in `__mcount_loc` and leaves NOPs there. Entries that are 0 (weak
//! functions that lost) or twice are skipped; so is, with a report, what holds neither a NOP nor
//! the compiler's call. Calls become NOPs here, and are counted: a build whose `recordmcount` made
//! NOPs has none.

pub(crate) mod freed;

use super::arch::{Arch, Found, IdleSites, Machine};
use super::ops::{self, flag, update, FilterKind, OpsRef, Shared, State, FTRACE};
use super::sites::table::{self, Table};
use crate::kernel::kallsyms::SymbolOffset;
use crate::kernel::module::{Module, ModuleId};
use crate::kernel::{clock, memory};
use core::fmt;
use kernel::{
    prelude::*,
    str::BStr,
    sync::{
        atomic::{Atomic, Relaxed},
        rcu,
    },
};

/// Time that boot and module loads took to prepare sites, in ns.
static BOOT_NS: Atomic<u64> = Atomic::new(0);
static MODULES_NS: Atomic<u64> = Atomic::new(0);

/// What became of a list of addresses.
#[derive(Default)]
struct Count {
    /// Usable sites.
    sites: usize,
    /// Of them, those whose call was turned into a NOP.
    patched: usize,
    /// Zeros, duplicates, and what is not in text.
    skipped: usize,
}

/// Says whether the build has sorted the list.
#[cfg(CONFIG_FTRACE_SORT_STARTUP_TEST)]
fn check_order(list: &IdleSites<'_>) {
    let sites = list.first(list.len()).unwrap_or(&[]);
    let pair = sites.windows(2).find(|pair| !pair.is_sorted());
    match (pair, sites.first()) {
        (Some([first, second]), _) => {
            pr_warn!(
                "{} at {:x} is not sorted with {} at {:x}\n",
                SymbolOffset(*first),
                first,
                SymbolOffset(*second),
                second
            );
            kernel::warn_on!(true);
        }
        (_, Some(first)) => {
            let at = core::ptr::from_ref(first) as usize;
            pr_info!("ftrace section at {:x} sorted properly\n", at);
        }
        _ => {}
    }
}

/// Makes the list strictly ascending and usable: sites to the front, each of them a NOP afterwards.
fn prepare(list: &mut IdleSites<'_>, in_text: impl Fn(usize) -> bool) -> Count {
    list.sort();
    let mut count = Count::default();
    let mut last = 0;
    for i in 0..list.len() {
        let Some(site) = list.get(i) else { break };
        if site.addr() == last || !in_text(site.addr()) {
            count.skipped = count.skipped.wrapping_add(1);
            continue;
        }
        match Machine::prepare(&site) {
            Found::Nop => {}
            Found::Compiled => count.patched = count.patched.wrapping_add(1),
            other => {
                pr_warn!(
                    "ftrace: {} is listed as a patch site but holds {:x?}\n",
                    SymbolOffset(site.addr()),
                    other
                );
                count.skipped = count.skipped.wrapping_add(1);
                continue;
            }
        }
        last = site.addr();
        list.put(count.sites, &site);
        count.sites = count.sites.wrapping_add(1);
    }
    count
}

/// Indexes the kernel's own sites, init text apart. At boot, before there are other CPUs.
///
/// # Errors
///
/// `ENOENT` when there are none, `ENOMEM`.
pub(crate) fn init_kernel(mut list: IdleSites<'_>, init_text: core::ops::Range<usize>) -> Result {
    #[cfg(CONFIG_FTRACE_SORT_STARTUP_TEST)]
    check_order(&list);
    let start = clock::perf();
    let count = prepare(&mut list, memory::is_kernel_text);
    BOOT_NS.store(clock::perf().wrapping_sub(start), Relaxed);
    let sites = list.first(count.sites).ok_or(EINVAL)?;
    if sites.is_empty() {
        return Err(ENOENT);
    }
    let state = FTRACE.lock();
    let in_init = |addr: &usize| init_text.contains(addr);
    let mut bytes = 0usize;
    let mut groups = 0usize;
    for part in sites.chunk_by(|a, b| in_init(a) == in_init(b)) {
        let table = Table::new(ModuleId::KERNEL, part)?;
        table.go_live();
        bytes = bytes.wrapping_add(table.bytes());
        groups = groups.wrapping_add(1);
        table::append(&state.key, table);
    }
    pr_info!(
        "ftrace: {} sites in {} tables ({} KiB), {} patched at boot, {} skipped\n",
        count.sites,
        groups,
        bytes.div_ceil(1024),
        count.patched,
        count.skipped
    );
    Ok(())
}

/// The users that keep addresses of sites. [`Forget`] is implemented by the room that knows them all.
pub(crate) struct Users;

/// What [`Users`] do.
pub(crate) trait Forget {
    /// The sites in `text` are gone, and their text goes. Task context, sleeps; without locks.
    fn text_goes(text: core::ops::Range<usize>);
}

/// Indexes the sites of a module whose text is not final yet; they cannot be used before
/// [`enable`].
///
/// # Errors
///
/// `ENOMEM`: its functions are then not traceable.
pub(crate) fn init(module: &Module<'_>, mut list: IdleSites<'_>) -> Result {
    if list.len() == 0 || ops::is_dead() {
        return Ok(());
    }
    let (text, init_text) = (module.text(), module.init_text());
    let start = clock::perf();
    let count = prepare(&mut list, |a| text.contains(&a) || init_text.contains(&a));
    MODULES_NS.store(
        MODULES_NS
            .load(Relaxed)
            .wrapping_add(clock::perf().wrapping_sub(start)),
        Relaxed,
    );
    let sites = list.first(count.sites).ok_or(EINVAL)?;
    let state = FTRACE.lock();
    for part in sites.chunk_by(|a, b| init_text.contains(a) == init_text.contains(b)) {
        table::append(&state.key, Table::new(module.id(), part)?);
    }
    Ok(())
}

/// The text of a module is final: its sites can be used, and those are patched that registered ops
/// cover.
pub(crate) fn enable(module: &Module<'_>) {
    let mut state = FTRACE.lock();
    if ops::is_dead() {
        return;
    }
    if let Err(e) = keep_out_stale(&mut state, module) {
        pr_warn!(
            "ftrace: the functions of a module cannot be traced: {:?}\n",
            e
        );
        return;
    }
    let mut tables: [Option<*const Table>; 2] = [None; 2];
    let mine = table::under_lock(&state.key).filter(|t| t.module() == module.id());
    for (table, place) in mine.zip(tables.iter_mut()) {
        table.go_live();
        *place = Some(table);
    }
    apply_pending(&mut state, module);
    let (key, targets) = state.sites();
    for table in tables.into_iter().flatten() {
        update::sync(key, targets, update::Scope::Table(table));
    }
}

/// A direct caller, or an ops that changes where functions go, is made for certain functions. If it
/// still names one that went with its module, it does not get what comes to the same address with
/// `module`: its filter forgets that.
///
/// # Errors
///
/// `ENOMEM`: sites of `module` may not be used.
fn keep_out_stale(state: &mut State, module: &Module<'_>) -> Result {
    let (text, init_text) = (module.text(), module.init_text());
    let is_new = |addr: usize| text.contains(&addr) || init_text.contains(&addr);
    loop {
        let mut stale = None;
        ops::for_each_registered(&state.key, |op| {
            let named = op.set_of(FilterKind::Filter, &state.key);
            if op.has(flag::DIRECT | flag::IPMODIFY) {
                let named = named.filter(|set| set.iter().any(|(addr, _)| is_new(addr)));
                stale = named.map(|set| (op, set)).or(stale);
            }
        });
        let Some((op, set)) = stale else {
            return Ok(());
        };
        kernel::pr_warn_once!(
            "ftrace: a direct caller or IPMODIFY ops of a function that has gone is left out of module {}\n",
            BStr::from_bytes(module.name())
        );
        let mut new = set.try_clone()?;
        new.lose(|addr| !is_new(addr))?;
        ops::change_set(state, op, FilterKind::Filter, new, Shared::Shrinks)?;
    }
}

/// Turns waiting patterns for `module` into sites, in all sets.
fn apply_pending(state: &mut State, module: &Module<'_>) {
    for_each_owned_set(state, |state, op, which| {
        let Some(set) = op.set_of(which, &state.key) else {
            return Ok(());
        };
        let mine = |t: &Table| t.module() == module.id();
        let new = ops::apply_pending(&state.key, set, module.name(), mine)?;
        match new {
            Some(new) => ops::change_set(state, op, which, new, Shared::Ask),
            None => Ok(()),
        }
    });
}

/// Calls `f` for both sets of every [`ops::Ops`]; an error is reported, and the set stays as it
/// was.
fn for_each_owned_set(state: &mut State, f: impl Fn(&mut State, OpsRef, FilterKind) -> Result) {
    let mut i = 0usize;
    while let Some(op) = state.owner(i) {
        for which in [FilterKind::Filter, FilterKind::NoTrace] {
            if let Err(e) = f(state, op, which) {
                pr_warn!("ftrace: a filter could not follow a module: {:?}\n", e);
            }
        }
        i = i.wrapping_add(1);
    }
}

/// A module goes: so do its sites, and filters forget them.
pub(crate) fn release(module: ModuleId) {
    take_out(|t| t.module() == module, false);
    freed::forget(&mut FTRACE.lock().key, module);
}

/// Text from `start` to before `end` is about to be freed: the kernel's init text or a module's.
pub(crate) fn free_range(start: usize, end: usize) {
    take_out(|t| t.within(start, end), true);
}

/// Takes out the tables for which `which` is true. `init`: their module, if they have one, stays.
fn take_out(which: impl Fn(&Table) -> bool, init: bool) {
    loop {
        let mut state = FTRACE.lock();
        let Some(removed) = table::take_out(&mut state.key, &which) else {
            return;
        };
        let table = &*removed;
        if init
            && !table.module().is_kernel()
            && ops::any_registered()
            && freed::remember(&state.key, table).is_err()
        {
            pr_warn!("ftrace: no memory for the names of init functions\n");
        }
        for i in 0..table.len() {
            state.targets.put(table.word(i).slot());
        }
        let text = text_of(table);
        state.note_removal();
        forget_sites(&mut state, &text);
        drop(state);
        Users::text_goes(text);
        // Waits for readers.
        drop(removed);
    }
}

/// From the first site of a table to the last.
fn text_of(table: &Table) -> core::ops::Range<usize> {
    let last = table.len().checked_sub(1).and_then(|i| table.addr(i));
    table
        .addr(0)
        .zip(last)
        .map_or(0..0, |(start, last)| start..last.wrapping_add(1))
}

/// Takes the sites of `text`, whose table is gone, out of the sets that name them.
fn forget_sites(state: &mut State, text: &core::ops::Range<usize>) {
    for_each_owned_set(state, |state, op, which| {
        let Some(set) = op.set_of(which, &state.key) else {
            return Ok(());
        };
        if !set.iter().any(|(addr, _)| text.contains(&addr)) {
            return Ok(());
        }
        let mut new = set.try_clone()?;
        new.lose(|addr| !text.contains(&addr))?;
        ops::change_set(state, op, which, new, Shared::Shrinks)
    });
}

/// Writes `dyn_ftrace_total_info`: the sites, the pages and tables of their index, and what turning
/// the compiler's calls into NOPs took at boot and at module loads.
pub(crate) fn write_total_info(w: &mut dyn fmt::Write) -> fmt::Result {
    let (mut sites, mut pages, mut groups) = (0usize, 0usize, 0usize);
    {
        let guard = rcu::read_lock();
        for t in table::under_rcu(&guard) {
            sites = sites.wrapping_add(t.len());
            pages = pages.wrapping_add(t.bytes().div_ceil(kernel::page::PAGE_SIZE));
            groups = groups.wrapping_add(1);
        }
    }
    let (boot, modules) = (BOOT_NS.load(Relaxed), MODULES_NS.load(Relaxed));
    writeln!(w, "{sites} pages:{pages} groups: {groups}")?;
    writeln!(w, "ftrace boot update time = {boot} (ns)")?;
    writeln!(w, "ftrace module total update time = {modules} (ns)")
}
