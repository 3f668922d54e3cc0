// SPDX-License-Identifier: GPL-2.0

//! Files that take one word a write, each of which changes a private copy of a set: filters and the
//! parts of the call graph.

use crate::core::parse::parser::Parser;
use crate::kernel::fs::pseudo_fs::WriteCall;
use crate::kernel::kallsyms::SYMBOL_TOKEN;
use crate::trace::files::control::errno;
use kernel::{page::PAGE_SIZE, prelude::*};

/// A word's room: a symbol with offset and module as C prints it, and a little more.
const ROOM: usize = SYMBOL_TOKEN;

/// What such a file holds while it is open for writing: the copy, and a word that has not ended
/// yet.
pub(super) struct TokenFile<E> {
    edit: E,
    parser: KBox<Parser<ROOM>>,
}

/// What was written, in the kernel's memory. Task context, sleeps. `EFAULT`, `ENOMEM`.
pub(super) fn read(call: &mut WriteCall<'_>) -> Result<KVec<u8>> {
    let mut text = KVec::from_elem(0, call.len().min(PAGE_SIZE), GFP_KERNEL)?;
    call.reader().read_slice(&mut text)?;
    Ok(text)
}

impl<E> TokenFile<E> {
    /// For changes of `edit`. Task context, may sleep. `ENOMEM`.
    pub(super) fn new(edit: E) -> Result<Self> {
        // Written in place: too large for the stack.
        Ok(Self {
            edit,
            parser: KBox::write(KBox::new_uninit(GFP_KERNEL)?, Parser::new()),
        })
    }

    /// Takes up to one word of `text`, which was [`read`] from `call`, and says how much that was;
    /// a word that ends there goes to `apply`. `EINVAL` for one that is too long, and what `apply`
    /// says.
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

    /// The file is closed: the word that is still held goes to `apply`. The copy is the caller's.
    pub(super) fn end(self, apply: impl FnOnce(&mut E, &[u8]) -> Result) -> E {
        let Self {
            mut edit,
            mut parser,
        } = self;
        parser.finish();
        if let Some(word) = parser.take() {
            // Too late to tell anybody: the write had said yes.
            let _ = apply(&mut edit, word);
        }
        edit
    }
}
