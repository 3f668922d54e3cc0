// SPDX-License-Identifier: GPL-2.0

//! Patch sites: every place where a traced function can be made to call the tracer.
//!
//! A site is the 5-byte instruction at a function's entry that `__mcount_loc` lists. The index of
//! all sites is a list of sorted tables ([`table`]), one for the kernel's text, one for its init
//! text, up to two for each module; an entry takes 8 bytes, a 4-byte offset and a 4-byte state word
//! ([`word`]). This module answers questions about sites; which callbacks are called at which site
//! is in [`super::ops`], how bytes are changed is [`super::arch`], where sites come from and go is
//! [`super::modules`].
//!
//! Stands for the `ftrace_location()` family of `include/linux/ftrace.h`.

pub(crate) mod table;
pub(crate) mod word;

use crate::kernel::kallsyms;
use core::fmt;
use kernel::sync::rcu;
use table::Table;
use word::Word;

/// One patch site, as it was when it was looked up.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    addr: usize,
    index: usize,
    word: Word,
}

impl Site {
    /// Site `i` of a table.
    pub(crate) fn of(table: &Table, i: usize) -> Option<Site> {
        Some(Site {
            addr: table.addr(i)?,
            index: table.first().wrapping_add(i),
            word: table.word(i),
        })
    }

    /// Address of the 5-byte instruction.
    pub(crate) fn addr(&self) -> usize {
        self.addr
    }

    /// 0-based position in address order, vmlinux first: one less than the number a filter file
    /// takes.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Some callback is attached to it now: a line of `enabled_functions`.
    pub(crate) fn is_enabled(&self) -> bool {
        self.word.is_on()
    }

    /// Some callback was attached to it since boot: a line of `touched_functions`.
    pub(crate) fn is_touched(&self) -> bool {
        self.word.is_touched()
    }

    /// Was a callback that may change where the function goes ever attached to it?
    pub(crate) fn is_modified(&self) -> bool {
        self.word.is_modified()
    }

    /// What `f` gives, during which the site does not go; `None` if it has gone. `f` does not sleep. Any
    /// context in which RCU watches.
    pub(crate) fn while_there<T>(&self, f: impl FnOnce() -> T) -> Option<T> {
        let guard = rcu::read_lock();
        let is_there = table::under_rcu(&guard).any(|t| t.exact(self.addr).is_some());
        is_there.then(f)
    }

    /// Writes `function` or `function [module]`, as the filter files spell it; with `demangle`, a
    /// Rust function as its path.
    pub(crate) fn write_name(&self, demangle: bool, w: &mut dyn fmt::Write) -> fmt::Result {
        kallsyms::write_name(self.addr, demangle, w)
    }
}

/// The site numbered `index` (0-based); `None` past the end. Any context in which RCU watches.
///
/// A seq_file walks `0..` until `None`; a module that goes in between shifts later numbers, as in
/// C.
pub(crate) fn by_index(index: usize) -> Option<Site> {
    next_where(index, |_| true)
}

/// What `f` gives for the site numbered `index`, which does not go meanwhile; `None` past the end.
/// `f` does not sleep. Any context in which RCU watches.
pub(crate) fn with_index<T>(index: usize, f: impl FnOnce(&Site) -> T) -> Option<T> {
    let _guard = rcu::read_lock();
    by_index(index).map(|site| f(&site))
}

/// The first site numbered `index` or more for which `want` is true. Any context in which RCU
/// watches.
pub(crate) fn next_where(index: usize, want: impl Fn(&Site) -> bool) -> Option<Site> {
    let guard = rcu::read_lock();
    for table in table::under_rcu(&guard).filter(|t| t.first().wrapping_add(t.len()) > index) {
        let found = (index.saturating_sub(table.first())..table.len())
            .filter_map(|i| Site::of(table, i))
            .find(|site| want(site));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The first site whose bytes meet `start..=end`. Any context in which RCU watches.
pub(crate) fn in_range(start: usize, end: usize) -> Option<Site> {
    let guard = rcu::read_lock();
    table::under_rcu(&guard).find_map(|t| Site::of(t, t.find(start, end)?))
}

/// The site that `addr` is in, or that of the function that starts at `addr`. Any context in which
/// RCU watches.
pub(crate) fn lookup(addr: usize) -> Option<Site> {
    in_range(addr, addr).or_else(|| match kallsyms::size_offset(addr)? {
        (size, 0) => in_range(addr, addr.checked_add(size)?.checked_sub(1)?),
        _ => None,
    })
}

/// How many sites there are. Any context in which RCU watches.
pub(crate) fn count() -> usize {
    let guard = rcu::read_lock();
    table::under_rcu(&guard).fold(0, |sum: usize, table| sum.saturating_add(table.len()))
}
