// SPDX-License-Identifier: GPL-2.0

//! Files that take one token per write: the function filters and the graph filters. Each token
//! changes a private copy of the hash, which the close makes current. If a token could not be taken
//! because there was no memory, the hash stays as it was.

use crate::core::format::Out;
use crate::core::parse::parser::Parser;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, Seek, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows, SeqOut};
use crate::kernel::kallsyms::SYMBOL_TOKEN;
use crate::trace::files::control::feed_token;
use core::fmt;
use kernel::{new_mutex, prelude::*, sync::Mutex};

/// Room for one token: a symbol with offset and module as C prints it, and some spare bytes.
const ROOM: usize = SYMBOL_TOKEN;

/// A hash that a file shows and changes.
pub(super) trait TokenSet: Send + Sync + 'static {
    /// The private copy.
    type Edit: Send + Unpin + 'static;

    /// What one `read(2)` shows.
    type Shown<'a>
    where
        Self: 'a;

    /// What a read shows; `edit` is the private copy of a file that is open for writing, too. Task
    /// context, may sleep. `ENOMEM`.
    fn shown(&self, edit: Option<&Self::Edit>) -> Result<Self::Shown<'_>>;

    /// The number of lines.
    fn count(&self, shown: &Self::Shown<'_>) -> usize;

    /// Prints the line with this number, counted from 0.
    fn show(&self, shown: &Self::Shown<'_>, line: usize, out: &mut dyn Out) -> fmt::Result;

    /// Changes the copy by one token. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// Any; the writer gets it.
    fn apply(&self, edit: &mut Self::Edit, token: &[u8]) -> Result;

    /// Makes the copy current. Task context, sleeps. The file is being closed, so nobody gets the
    /// error.
    fn commit(&self, edit: Self::Edit) -> Result;
}

/// An open file of `set`. `edit` is the private copy if the file is open for writing. Task context,
/// may sleep. `ENOMEM`.
pub(super) fn open<S: TokenSet>(set: S, edit: Option<S::Edit>, how: &OpenFlags) -> Result<Opening> {
    let writing = edit.map(TokenFile::new).transpose()?;
    let read = how.read;
    Opening::pin_init(try_pin_init!(OpenSet { set, read, writing <- new_mutex!(writing) }? Error))
}

#[pin_data(PinnedDrop)]
struct OpenSet<S: TokenSet> {
    set: S,
    read: bool,
    #[pin]
    writing: Mutex<Option<TokenFile<S::Edit>>>,
}

impl<S: TokenSet> OpenFile for OpenSet<S> {
    fn opened(&self) {
        if let Some(writing) = &mut *self.writing.lock() {
            writing.takes_effect = true;
        }
    }

    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let mut writing = self.writing.lock();
        let Some(writing) = &mut *writing else {
            return Err(EINVAL);
        };
        let used = writing.take(call, |edit, token| self.set.apply(edit, token));
        writing.takes_effect &= used != Err(ENOMEM);
        used
    }

    fn rows(&self) -> Option<&dyn Rows> {
        self.read.then_some(self)
    }

    fn seek(&self) -> Seek {
        match self.read {
            true => Seek::Any,
            false => Seek::Rewind,
        }
    }
}

impl<S: TokenSet> Rows for OpenSet<S> {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        let writing = self.writing.lock();
        let shown = self.set.shown(writing.as_ref().map(|file| &file.edit))?;
        let line = usize::try_from(at).map_err(|_| EINVAL)?;
        if line >= self.set.count(&shown) {
            return Ok(None);
        }
        let set = &self.set;
        Ok(Some(KBox::new(Line { set, shown, line }, GFP_KERNEL)?))
    }
}

struct Line<'a, S: TokenSet> {
    set: &'a S,
    shown: S::Shown<'a>,
    line: usize,
}

impl<S: TokenSet> Cursor for Line<'_, S> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        let shown = self.set.show(&self.shown, self.line, out);
        shown.map_err(|fmt::Error| EIO)
    }

    fn next(&mut self) -> bool {
        self.line = self.line.saturating_add(1);
        self.line < self.set.count(&self.shown)
    }
}

#[allow(unsafe_code, reason = "what the macro makes of it")]
#[pinned_drop]
impl<S: TokenSet> PinnedDrop for OpenSet<S> {
    fn drop(self: Pin<&mut Self>) {
        let Some(writing) = self.writing.lock().take() else {
            return;
        };
        if let Some(edit) = writing.end(|edit, token| self.set.apply(edit, token)) {
            let _ = self.set.commit(edit);
        }
    }
}

/// The state of such a file while it is open for writing: the private copy, and the start of an
/// unfinished token.
struct TokenFile<E> {
    edit: E,
    parser: KBox<Parser<ROOM>>,
    /// Whether the close makes the copy current.
    takes_effect: bool,
}

impl<E> TokenFile<E> {
    /// A file that changes `edit`. Task context, may sleep. `ENOMEM`.
    fn new(edit: E) -> Result<Self> {
        // The parser is too large for the stack, so it is made in its final place.
        Ok(Self {
            edit,
            parser: KBox::write(KBox::new_uninit(GFP_KERNEL)?, Parser::new()),
            takes_effect: false,
        })
    }

    /// Takes at most one token of `call`. Calls `apply` with a complete token. Returns how many bytes
    /// it took.
    ///
    /// # Errors
    ///
    /// Those of [`feed_token`], and those of `apply`.
    fn take(
        &mut self,
        call: &mut WriteCall<'_>,
        apply: impl FnOnce(&mut E, &[u8]) -> Result,
    ) -> Result<usize> {
        if *call.pos == 0 {
            self.parser.clear();
        }
        let used = feed_token(&mut self.parser, call)?;
        *call.pos = call.pos.wrapping_add(used as i64);
        if let Some(word) = self.parser.take() {
            apply(&mut self.edit, word)?;
        }
        Ok(used)
    }

    /// Ends the writing: calls `apply` with an unfinished token and returns the private copy, if it is
    /// to become current.
    fn end(self, apply: impl FnOnce(&mut E, &[u8]) -> Result) -> Option<E> {
        let Self {
            mut edit,
            mut parser,
            takes_effect,
        } = self;
        if !takes_effect {
            return None;
        }
        parser.finish();
        let last = parser.take().map(|word| apply(&mut edit, word));
        // A close cannot report an error.
        (last != Some(Err(ENOMEM))).then_some(edit)
    }
}
