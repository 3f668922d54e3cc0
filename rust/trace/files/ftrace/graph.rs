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
use crate::trace::fgraph::filter::{self, Edit, GraphFilterKind};
use crate::trace::files::control::{errno, shown, Control, Limit, Text};
use crate::trace::files::listing::Lines;
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::sites::Site;
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
        let list = if how.read {
            Some(filter::list(self.0)?)
        } else {
            None
        };
        token_file::open(
            GraphSet {
                which: self.0,
                list,
                demangle: at.instance.options().has(Flag::RustPaths),
            },
            edit,
        )
    }
}

/// The hash of an open file.
struct GraphSet {
    which: GraphFilterKind,
    /// The hash at the time of the open. `None` if the file is not open for reading.
    list: Option<KVVec<Site>>,
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
}

impl Lines for GraphSet {
    fn seek(&self, at: u64) -> Option<u64> {
        let list = self.list.as_ref()?;
        (at < list.len().max(1) as u64).then_some(at)
    }

    fn show(&self, at: u64, mut out: &mut dyn Out) -> fmt::Result {
        match self
            .list
            .as_ref()
            .and_then(|list| list.get(usize::try_from(at).ok()?))
        {
            Some(site) => {
                site.write_name(self.demangle, &mut out)?;
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
