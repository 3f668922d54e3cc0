// SPDX-License-Identifier: GPL-2.0

//! Functions from entry to return: the entries of `function_graph`. What shows them is
//! [`crate::core::format::graph`]; a single one has no form of its own.

use super::{Entry, Show};

/// A function was entered that is traced until it returns. Behind it the function's arguments,
/// while they are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "funcgraph_entry",
    tail(args: [usize]),
    print = r#""--> %ps (%lu)", (void *)REC->func, REC->depth"#
)]
#[repr(C)]
pub struct FuncgraphEntry {
    /// The function.
    pub func: usize,
    /// Traced functions around it.
    pub depth: usize,
}

impl Show for FuncgraphEntry {}

/// [`FuncgraphEntry`] with where the function returns to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "fgraph_retaddr_entry",
    tail(args: [usize]),
    print = r#""--> %ps (%lu) <- %ps", (void *)REC->func, REC->depth, (void *)REC->retaddr"#
)]
#[repr(C)]
pub struct FuncgraphRetaddrEntry {
    /// The function.
    pub func: usize,
    /// Traced functions around it.
    pub depth: usize,
    /// Where it returns to.
    pub retaddr: usize,
}

impl Show for FuncgraphRetaddrEntry {}

/// A traced function returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "funcgraph_exit",
    print = r#""<-- %ps (%u) (start: %llx  end: %llx) over: %u retval: %lx", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth, REC->retval"#
)]
#[repr(C)]
pub struct FuncgraphExit {
    /// The function.
    pub func: usize,
    /// What it returned.
    pub retval: usize,
    /// Traced functions around it.
    pub depth: u32,
    /// Functions of the task that were not traced for want of room.
    pub overrun: u32,
    /// When it was entered.
    pub calltime: u64,
    /// When it returned.
    pub rettime: u64,
}

impl Show for FuncgraphExit {}
