// SPDX-License-Identifier: GPL-2.0

//! `set_graph_function`, `set_graph_notrace` and `max_graph_depth`: which part of the call graph is
//! recorded.
//!
//! An open file for writing holds a private copy of the hash. Closing the file makes the copy
//! current.

use super::token_file::{self, TokenFile};
use crate::core::format::Out;
use crate::core::parse::number;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::trace::fgraph::filter::{self, Edit, GraphFilterKind};
use crate::trace::files::control::{errno, shown, Control, Limit, Text};
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::sites::Site;
use crate::trace::instance::list;
use core::fmt::{self, Write};
use kernel::{new_mutex, prelude::*, sync::Mutex};

/// The file of one of the two hashes.
pub(super) struct GraphFile(pub(super) GraphFilterKind);

impl Node for GraphFile {
    /// `O_TRUNC` starts with an empty hash.
    fn open(&'static self, _at: &Place, how: &OpenFlags) -> Result<Opening> {
        let writing = match how.write {
            true => Some(TokenFile::new(Edit::open(self.0, how.trunc)?)?),
            false => None,
        };
        let list = if how.read {
            Some(filter::list(self.0)?)
        } else {
            None
        };
        Opening::pin_init(
            try_pin_init!(OpenGraph { which: self.0, list, writing <- new_mutex!(writing) }? Error),
        )
    }
}

#[pin_data(PinnedDrop)]
struct OpenGraph {
    which: GraphFilterKind,
    /// The hash at the time of the open. `None` if the file is not open for reading.
    list: Option<KVVec<Site>>,
    #[pin]
    writing: Mutex<Option<TokenFile<Edit>>>,
}

impl OpenFile for OpenGraph {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let text = token_file::read(call)?;
        let mut writing = self.writing.lock();
        let Some(writing) = &mut *writing else {
            return Err(EINVAL);
        };
        writing.take(call, &text, |edit, word| edit.apply(word))
    }

    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

#[allow(unsafe_code, reason = "what the macro makes of it")]
#[pinned_drop]
impl PinnedDrop for OpenGraph {
    fn drop(self: Pin<&mut Self>) {
        let Some(writing) = self.writing.lock().take() else {
            return;
        };
        let edit = writing.end(|edit, word| edit.apply(word));
        let _ = edit.commit().and_then(|()| tell_tracers());
    }
}

impl Rows for OpenGraph {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        listing::rows(self, at)
    }
}

impl Lines for OpenGraph {
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
                site.write_name(&mut out)?;
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
