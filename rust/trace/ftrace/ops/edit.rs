// SPDX-License-Identifier: GPL-2.0

//! Changing the sets of an ops by the words of filter files, and reading them.

use super::owner::Ops;
use super::raw::{FilterKind, OpsRef};
use super::register::{change_set, Shared};
use super::{is_dead, Key, FTRACE};
use crate::core::parse::command::{ModuleRule, Rule};
use crate::core::parse::glob::{Kind, Pattern};
use crate::kernel::kallsyms::{self, Symbol};
use crate::kernel::module;
use crate::trace::ftrace::hash::{Pending, SiteSet};
use crate::trace::ftrace::sites::{self, table, Site};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

/// A set of an ops being changed; what a filter file is between open and close.
pub(crate) struct Edit {
    op: OpsRef,
    /// Keeps `op` alive, unless it is C code's, which lives through the call.
    _ops: Option<Arc<Ops>>,
    which: FilterKind,
    set: SiteSet,
    /// How many tables of sites had gone when it was opened.
    removals: usize,
}

/// Changes a set of C code's ops by `change`, alone among such calls for the same set. Errors as of
/// [`Edit::commit`], `ENOMEM`, and those of `change`.
pub(crate) fn edit_set(
    op: OpsRef,
    which: FilterKind,
    reset: bool,
    change: impl FnOnce(&mut Edit) -> Result,
) -> Result {
    op.init();
    let _alone = op.lock_sets();
    let mut edit = Edit::open(op, None, which, reset)?;
    change(&mut edit)?;
    edit.commit()
}

impl Edit {
    pub(super) fn open(
        op: OpsRef,
        ops: Option<Arc<Ops>>,
        which: FilterKind,
        reset: bool,
    ) -> Result<Edit> {
        if is_dead() {
            return Err(ENODEV);
        }
        let state = FTRACE.lock();
        let set = match op.set_of(which, &state.key) {
            Some(set) if !reset => set.try_clone()?,
            _ => SiteSet::new(),
        };
        Ok(Edit {
            op,
            _ops: ops,
            which,
            set,
            removals: state.removals(),
        })
    }

    /// Applies one token of a filter file without its command part: a name, a glob, a 1-based
    /// number, any of them after `!` to remove, any of them followed by `:mod:MODULE`.
    ///
    /// # Errors
    ///
    /// `EINVAL` when nothing traceable matches (a pattern for a module that is not loaded is
    /// remembered instead), and for a command. `ENOMEM`.
    pub(crate) fn apply(&mut self, token: &[u8]) -> Result {
        match Rule::parse(token).map_err(|_| EINVAL)? {
            Rule::Functions(pattern) => {
                let found = self.put_matching(pattern.negated, &Wanted::Functions(pattern))?;
                if found == 0 {
                    return Err(EINVAL);
                }
                Ok(())
            }
            Rule::Module(rule) => self.apply_module(&rule),
            Rule::Command(_) => Err(EINVAL),
        }
    }

    fn apply_module(&mut self, rule: &ModuleRule<'_>) -> Result {
        if self.put_matching(rule.functions.negated, &Wanted::Module(*rule))? != 0 {
            return Ok(());
        }
        if let Some(written) = rule.written.strip_prefix(b"!") {
            let gone = |p: &Pending| {
                p.module.as_slice() == rule.awaited()
                    && (written == b"*" || p.functions.as_slice() == written)
            };
            if !self.set.pending().iter().any(gone) {
                return Err(EINVAL);
            }
            self.set.retain_pending(|p| !gone(p));
            return Ok(());
        }
        if module::exists(rule.awaited()) {
            return Err(EINVAL);
        }
        self.set
            .push_pending(Pending::new(rule.written, rule.awaited())?)
    }

    fn put_matching(&mut self, remove: bool, wanted: &Wanted<'_>) -> Result<usize> {
        let set = &mut self.set;
        if !remove {
            return for_each_matching(wanted, |site| set.insert(site.addr()));
        }
        let mut gone = SiteSet::new();
        let found = for_each_matching(wanted, |site| gone.insert(site.addr()))?;
        set.retain(|addr| !gone.contains(addr))?;
        Ok(found)
    }

    /// Adds or removes one site, by an address in it or the start of its function.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there is no site, `ENOENT` when the one to remove is not in the set, `ENOMEM`.
    pub(crate) fn set_ip(&mut self, addr: usize, remove: bool) -> Result {
        let site = sites::lookup(addr).ok_or(EINVAL)?;
        if !remove {
            return self.set.insert(site.addr());
        }
        if self.set.remove(site.addr()) {
            Ok(())
        } else {
            Err(ENOENT)
        }
    }

    /// Takes out the site at `addr`, whether it is still there or not.
    pub(crate) fn forget(&mut self, addr: usize) {
        self.set.remove(addr);
    }

    /// The changed set, for a file that shows it before it is current. `ENOMEM`.
    pub(crate) fn list(&self) -> Result<List> {
        let state = FTRACE.lock();
        List::of_set(Some(&self.set), &state.key)
    }

    /// Makes the set current and patches what differs, in one batch. Errors as of
    /// [`change_set`](super::register::change_set).
    pub(crate) fn commit(mut self) -> Result {
        let mut state = FTRACE.lock();
        if state.removals() != self.removals {
            // Another module's code may come to be where a site was that went meanwhile.
            let is_there = |addr| table::under_lock(&state.key).any(|t| t.exact(addr).is_some());
            self.set.lose(is_there)?;
        }
        change_set(&mut state, self.op, self.which, self.set, Shared::Ask)
    }
}

/// What sites are looked for.
enum Wanted<'a> {
    Functions(Pattern<'a>),
    Module(ModuleRule<'a>),
}

impl Wanted<'_> {
    fn pattern(&self) -> &Pattern<'_> {
        match self {
            Wanted::Functions(pattern) => pattern,
            Wanted::Module(rule) => &rule.functions,
        }
    }

    fn matches(&self, symbol: &Symbol<'_>) -> bool {
        match self {
            Wanted::Functions(pattern) => symbol.matches(pattern),
            Wanted::Module(rule) => {
                rule.matches(symbol.module(), |functions| symbol.matches(functions))
            }
        }
    }
}

/// Calls `f` for the sites that match; how many there were.
fn for_each_matching(wanted: &Wanted<'_>, mut f: impl FnMut(&Site) -> Result) -> Result<usize> {
    if is_dead() {
        return Err(ENODEV);
    }
    if wanted.pattern().kind == Kind::Index {
        let Some(site) = wanted.pattern().index().and_then(sites::by_index) else {
            return Ok(0);
        };
        return f(&site).map(|()| 1);
    }
    // A path may have the characters of a glob.
    if let Some(one) = match wanted {
        Wanted::Functions(pattern) => pattern.literal(),
        Wanted::Module(_) => None,
    } {
        let found = for_each_in_tables(&Wanted::Functions(one), &mut f)?;
        if found != 0 {
            return Ok(found);
        }
    }
    for_each_in_tables(wanted, &mut f)
}

fn for_each_in_tables(wanted: &Wanted<'_>, f: &mut impl FnMut(&Site) -> Result) -> Result<usize> {
    let state = FTRACE.lock();
    let mut found = 0usize;
    // A plain name is looked up where there are many; a module's few sites are asked one by one.
    let name = match wanted {
        Wanted::Functions(p) if p.kind == Kind::Full && !p.is_for_paths() => Some(p.text),
        _ => None,
    };
    if let Some(name) = name {
        found = match_kernel_name(&state.key, name, f)?;
    }
    for table in table::under_lock(&state.key).filter(|t| t.is_live()) {
        if name.is_none() || !table.module().is_kernel() {
            found = found.wrapping_add(match_table(&state.key, table, wanted, f)?);
        }
    }
    Ok(found)
}

fn match_kernel_name(key: &Key, name: &[u8], f: &mut impl FnMut(&Site) -> Result) -> Result<usize> {
    let mut found = 0usize;
    let mut result = Ok(());
    kallsyms::for_each_named(name, |addr| {
        let Some((size, _)) = kallsyms::size_offset(addr) else {
            return;
        };
        let end = addr.wrapping_add(size).wrapping_sub(1);
        let kernel = table::under_lock(key).filter(|t| t.is_live() && t.module().is_kernel());
        let site = kernel
            .filter_map(|t| Site::of(t, t.find(addr, end)?))
            .next();
        // A function is known by one of its names only.
        let Some(site) =
            site.filter(|s| Symbol::with(s.addr(), |symbol| symbol.name() == name) == Some(true))
        else {
            return;
        };
        found = found.wrapping_add(1);
        if result.is_ok() {
            result = f(&site);
        }
    });
    result.map(|()| found)
}

fn match_table(
    _key: &Key,
    table: &table::Table,
    wanted: &Wanted<'_>,
    f: &mut impl FnMut(&Site) -> Result,
) -> Result<usize> {
    let mut found = 0usize;
    for i in 0..table.len() {
        let Some(site) = Site::of(table, i) else {
            break;
        };
        if Symbol::with_once(site.addr(), |symbol| wanted.matches(symbol)) == Some(true) {
            f(&site)?;
            found = found.wrapping_add(1);
        }
    }
    Ok(found)
}

/// A module has come whose sites are in live tables: the patterns that wait for it become sites. For
/// holders of the ftrace lock.
pub(crate) fn apply_pending(
    key: &Key,
    set: &SiteSet,
    module: &[u8],
    mine: impl Fn(&table::Table) -> bool,
) -> Result<Option<SiteSet>> {
    let due = |p: &Pending| p.module.as_slice() == module;
    if !set.pending().iter().any(due) {
        return Ok(None);
    }
    let mut new = set.try_clone()?;
    for p in set.pending().iter().filter(|p| due(p)) {
        let rule = ModuleRule {
            functions: Pattern::parse(&p.functions),
            written: &p.functions,
            module: &p.module,
        };
        for table in table::under_lock(key).filter(|t| mine(t)) {
            match_table(key, table, &Wanted::Module(rule), &mut |site: &Site| {
                new.insert(site.addr())
            })?;
        }
    }
    new.retain_pending(|p| !due(p));
    Ok(Some(new))
}

/// Sites that `token` (without its command) matches, for function commands. `EINVAL` when none,
/// `ENOMEM`.
///
/// The caller keeps its own data per site and puts the sites into an ops of its own by
/// [`Edit::set_ip`].
pub(crate) fn matching_sites(pattern: &Pattern<'_>) -> Result<KVVec<Site>> {
    let mut sites = KVVec::new();
    let found = for_each_matching(&Wanted::Functions(*pattern), |site| {
        Ok(sites.push(*site, GFP_KERNEL)?)
    })?;
    if found == 0 {
        return Err(EINVAL);
    }
    Ok(sites)
}

/// A set as it was when listed.
pub(crate) struct List {
    sites: KVVec<Site>,
    patterns: SiteSet,
    everything: bool,
    has_lost: bool,
}

impl List {
    pub(super) fn of(op: OpsRef, which: FilterKind) -> Result<List> {
        let state = FTRACE.lock();
        List::of_set(op.set_of(which, &state.key), &state.key)
    }

    fn of_set(set: Option<&SiteSet>, key: &Key) -> Result<List> {
        let mut list = List {
            sites: KVVec::new(),
            patterns: SiteSet::new(),
            everything: true,
            has_lost: false,
        };
        let Some(set) = set else {
            return Ok(list);
        };
        list.everything = set.is_empty();
        list.has_lost = set.has_lost();
        for table in table::under_lock(key) {
            for site in (0..table.len()).filter_map(|i| Site::of(table, i)) {
                if set.contains(site.addr()) {
                    list.sites.push(site, GFP_KERNEL)?;
                }
            }
        }
        // The newest comes first, as in C.
        for p in set.pending().iter().rev() {
            list.patterns
                .push_pending(Pending::new(&p.functions, &p.module)?)?;
        }
        Ok(list)
    }

    /// No rule at all: everything (filter) or nothing (notrace).
    pub(crate) fn is_default(&self) -> bool {
        self.everything
    }

    /// Whether sites went with their module.
    pub(crate) fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// The sites, in the order of their numbers.
    pub(crate) fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The number of remembered module patterns.
    pub(crate) fn patterns(&self) -> usize {
        self.patterns.pending().len()
    }

    /// Writes pattern `n` as `pattern:mod:MODULE`.
    pub(crate) fn write_pattern(&self, n: usize, w: &mut dyn fmt::Write) -> fmt::Result {
        let Some(p) = self.patterns.pending().get(n) else {
            return Ok(());
        };
        let text = |bytes| core::str::from_utf8(bytes).unwrap_or("?");
        write!(w, "{}:mod:{}", text(&p.functions), text(&p.module))
    }
}
