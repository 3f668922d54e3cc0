// SPDX-License-Identifier: GPL-2.0

//! `set_graph_function`, `set_graph_notrace` and `max_graph_depth`: which part of the call graph is
//! recorded.
//!
//! An open file for writing holds a private copy of the hash. Closing the file makes the copy
//! current.

use super::token_file::{self, TokenSet};
use crate::core::format::Out;
use crate::core::parse::number;
use crate::core::parse::options::Flag;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::kernel::kallsyms;
use crate::trace::fgraph::filter::{self, Edit, GraphFilterKind};
use crate::trace::files::control::{errno, shown, Control, Limit, Text};
use crate::trace::files::{Node, Place};
use crate::trace::instance::list;
use core::fmt::{self, Write};
use kernel::prelude::*;

/// The file of one of the two hashes.
pub(super) struct GraphFile(pub(super) GraphFilterKind);

impl Node for GraphFile {
    /// `O_TRUNC` starts with an empty hash.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        let edit = match how.write {
            true => Some(Edit::open(self.0, how.trunc)?),
            false => None,
        };
        token_file::open(
            GraphSet {
                which: self.0,
                demangle: at.instance.options().has(Flag::RustPaths),
            },
            edit,
            how,
        )
    }
}

/// The hash of an open file.
struct GraphSet {
    which: GraphFilterKind,
    /// Rust functions are shown as paths.
    demangle: bool,
}

impl TokenSet for GraphSet {
    type Edit = Edit;

    fn apply(&self, edit: &mut Edit, token: &[u8]) -> Result {
        edit.apply(token)
    }

    fn commit(&self, edit: Edit) -> Result {
        edit.commit()?;
        tell_tracers()
    }

    type Shown<'a> = KVVec<usize>;

    /// Each read shows the hash that is current then, and not the private copy.
    fn shown(&self, _edit: Option<&Edit>) -> Result<KVVec<usize>> {
        filter::list(self.which)
    }

    fn count(&self, shown: &KVVec<usize>) -> usize {
        shown.len().max(1)
    }

    fn show(&self, shown: &KVVec<usize>, line: usize, mut out: &mut dyn Out) -> fmt::Result {
        match shown.get(line) {
            Some(addr) => {
                kallsyms::write_name(*addr, self.demangle, &mut out)?;
                out.bytes(b"\n")
            }
            None if self.which == GraphFilterKind::Only => {
                out.bytes(b"#### all functions enabled ####\n")
            }
            None => out.bytes(b"#### no functions disabled ####\n"),
        }
    }
}

/// Makes the running tracers choose their callbacks again, since graph filters exclude the fast
/// path. `ENOMEM`.
fn tell_tracers() -> Result {
    list::all().try_for_each(|instance| instance.refresh_tracer())
}

/// The file `max_graph_depth`.
pub(super) struct MaxDepth;

impl Control for MaxDepth {
    fn show(&self, _at: &Place, out: &mut Text) -> Result {
        // C also keeps 32 bits and prints them signed.
        shown(writeln!(out, "{}", filter::max_depth() as i32))
    }

    fn store(&self, _at: &Place, line: &[u8]) -> Result {
        filter::set_max_depth(number::unsigned(line, 10).map_err(errno)? as u32);
        tell_tracers()
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}
