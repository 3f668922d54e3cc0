// SPDX-License-Identifier: GPL-2.0

//! Patch sites: every place where a traced function can be made to call the tracer.
//!
//! A site is the 5-byte instruction at a function's entry that `__mcount_loc` lists. The index of all
//! sites is a list of sorted tables, one for the kernel's text, one for its init text, two for each module;
//! an entry takes 8 bytes, a 4-byte offset and a 4-byte state word. This module answers questions about
//! sites; who calls what from where is [`super::ops`], how bytes are changed is [`super::arch`].
//!
//! Stands for the `ftrace_location()` family of `include/linux/ftrace.h`.

use core::fmt;
use kernel::prelude::*;

/// One patch site, as it was when it was looked up.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    addr: usize,
    index: usize,
    flags: u32,
}

impl Site {
    /// Address of the 5-byte instruction.
    pub(crate) fn addr(&self) -> usize {
        self.addr
    }

    /// 0-based position in address order, vmlinux first: one less than the number a filter file takes.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Some callback is attached to it now: a line of `enabled_functions`.
    pub(crate) fn is_enabled(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Some callback was attached to it since boot: a line of `touched_functions`.
    pub(crate) fn is_touched(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Writes `function` or `function [module]`, as the filter files spell it.
    pub(crate) fn write_name(&self, _w: &mut dyn fmt::Write) -> fmt::Result {
        Err(fmt::Error)
    }

    /// Writes what follows the name in `enabled_functions` and `touched_functions`, from ` (1)` on, no newline.
    pub(crate) fn write_state(&self, _w: &mut dyn fmt::Write) -> fmt::Result {
        Err(fmt::Error)
    }
}

/// The site numbered `index` (0-based); `None` past the end. Takes the ftrace lock: task context, may sleep.
///
/// A seq_file walks `0..` until `None`; a module that goes in between shifts later numbers, as in C.
pub(crate) fn by_index(_index: usize) -> Option<Site> {
    None
}

/// Like [`by_index`], but skips ahead from `index` to the first site for which `want` is true.
pub(crate) fn next_where(_index: usize, _want: impl Fn(&Site) -> bool) -> Option<Site> {
    None
}

/// The site at exactly `addr`, or at the entry of the function that starts at `addr`. Any context but NMI.
pub(crate) fn lookup(_addr: usize) -> Option<Site> {
    None
}

/// Number of sites known now.
pub(crate) fn count() -> usize {
    0
}

/// Writes the line of `dyn_ftrace_total_info`.
pub(crate) fn write_total_info(_w: &mut dyn fmt::Write) -> fmt::Result {
    Err(fmt::Error)
}
