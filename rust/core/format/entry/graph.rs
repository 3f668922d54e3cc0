// SPDX-License-Identifier: GPL-2.0

//! Functions from entry to return: the entries of `function_graph`. [`crate::core::format::graph`]
//! prints them; a single one has no text of its own.

use super::{Entry, Show};

/// The entry of a function that is traced until its return. Its arguments follow if they are
/// recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "funcgraph_entry",
    tail(args: [usize]),
    print = r#""--> %ps (%lu)", (void *)REC->func, REC->depth"#
)]
#[repr(C)]
pub struct FuncgraphEntry {
    /// The address of the function.
    pub func: usize,
    /// The number of traced functions around it.
    pub depth: usize,
}

impl Show for FuncgraphEntry {}

/// A [`FuncgraphEntry`] with the return address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "fgraph_retaddr_entry",
    tail(args: [usize]),
    print = r#""--> %ps (%lu) <- %ps", (void *)REC->func, REC->depth, (void *)REC->retaddr"#
)]
#[repr(C)]
pub struct FuncgraphRetaddrEntry {
    /// The address of the function.
    pub func: usize,
    /// The number of traced functions around it.
    pub depth: usize,
    /// The return address.
    pub retaddr: usize,
}

impl Show for FuncgraphRetaddrEntry {}

/// The return of a traced function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "funcgraph_exit",
    print = r#""<-- %ps (%u) (start: %llx  end: %llx) over: %u retval: %lx", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth, REC->retval"#
)]
#[repr(C)]
pub struct FuncgraphExit {
    /// The address of the function.
    pub func: usize,
    /// The return value.
    pub retval: usize,
    /// The number of traced functions around it.
    pub depth: u32,
    /// The number of functions of the task that were not traced because the shadow stack was full.
    pub overrun: u32,
    /// The time of the entry.
    pub calltime: u64,
    /// The time of the return.
    pub rettime: u64,
}

impl Show for FuncgraphExit {}
