// SPDX-License-Identifier: GPL-2.0

//! Files that take one token per write: the function filters and the graph filters. Each token
//! changes a private copy of the hash.

use crate::core::parse::parser::Parser;
use crate::kernel::fs::pseudo_fs::WriteCall;
use crate::kernel::kallsyms::SYMBOL_TOKEN;
use crate::trace::files::control::errno;
use kernel::{page::PAGE_SIZE, prelude::*};

/// Room for one token: a symbol with offset and module as C prints it, and some spare bytes.
const ROOM: usize = SYMBOL_TOKEN;

/// The state of such a file while it is open for writing: the private copy, and the start of an
/// unfinished token.
pub(super) struct TokenFile<E> {
    edit: E,
    parser: KBox<Parser<ROOM>>,
}

/// Copies the written bytes from user memory, at most a page. Task context, sleeps. `EFAULT`,
/// `ENOMEM`.
pub(super) fn read(call: &mut WriteCall<'_>) -> Result<KVec<u8>> {
    let mut text = KVec::from_elem(0, call.len().min(PAGE_SIZE), GFP_KERNEL)?;
    call.reader().read_slice(&mut text)?;
    Ok(text)
}

impl<E> TokenFile<E> {
    /// A file that changes `edit`. Task context, may sleep. `ENOMEM`.
    pub(super) fn new(edit: E) -> Result<Self> {
        // The parser is too large for the stack, so it is made in its final place.
        Ok(Self {
            edit,
            parser: KBox::write(KBox::new_uninit(GFP_KERNEL)?, Parser::new()),
        })
    }

    /// Takes at most one token of `text`, which [`read`] has copied from `call`. Calls `apply` with
    /// a complete token. Returns how many bytes it took.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a token that is too long, and the errors of `apply`.
    pub(super) fn take(
        &mut self,
        call: &mut WriteCall<'_>,
        text: &[u8],
        apply: impl FnOnce(&mut E, &[u8]) -> Result,
    ) -> Result<usize> {
        if *call.pos == 0 {
            self.parser.clear();
        }
        let used = self.parser.feed(text).map_err(errno)?;
        *call.pos = call.pos.wrapping_add(used as i64);
        if let Some(word) = self.parser.take() {
            apply(&mut self.edit, word)?;
        }
        Ok(used)
    }

    /// Ends the writing: calls `apply` with an unfinished token and returns the private copy.
    pub(super) fn end(self, apply: impl FnOnce(&mut E, &[u8]) -> Result) -> E {
        let Self {
            mut edit,
            mut parser,
        } = self;
        parser.finish();
        if let Some(word) = parser.take() {
            // A close cannot report an error.
            let _ = apply(&mut edit, word);
        }
        edit
    }
}
