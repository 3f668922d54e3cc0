// SPDX-License-Identifier: GPL-2.0

//! Small control files: a read returns a short text, a write takes one line.
//!
//! The text is made anew for each read, or for each one at the start. Each write is parsed alone,
//! whatever the file offset is, as C does for such files.

use super::listing::through_memory;
use super::{Node, Place};
use crate::core::format;
use crate::core::format::Out;
use crate::core::parse::parser::Parser;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows, SeqOut};
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use crate::kernel::fs::watched::Watched;
use core::{fmt, ops::Deref};
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use kernel::sync::Arc;
use kernel::{alloc::AllocError, page::PAGE_SIZE, prelude::*};

/// A file with a short text.
pub(crate) trait Control: Send + Sync {
    /// Called at open. Its error becomes the error of `open(2)`. Task context, may sleep.
    fn open(&self, _at: &Place, _how: &OpenFlags) -> Result {
        Ok(())
    }

    /// Writes the text of the file. Task context, may sleep. By default the file cannot be read.
    fn show(&self, _at: &Place, _out: &mut Text) -> Result {
        Err(EINVAL)
    }

    /// Handles the bytes of one `write(2)`. Task context, may sleep. By default the file cannot be
    /// written.
    fn store(&self, _at: &Place, _line: &[u8]) -> Result {
        Err(EINVAL)
    }

    /// If true, a read fails with `EINVAL` when the reader's memory cannot hold the whole text.
    fn is_read_whole(&self) -> bool {
        false
    }

    /// If true, the text is made anew only for a read at the start, and the file cannot be written at
    /// an offset.
    fn is_listing(&self) -> bool {
        false
    }

    /// How far a write of `len` bytes moves the file offset.
    fn advance(&self, len: usize) -> usize {
        len
    }

    /// Stores `line`, of a write of `len` bytes. Returns how far that moves the file offset. Errors
    /// of [`store`](Self::store).
    fn store_written(&self, at: &Place, line: &[u8], len: usize) -> Result<usize> {
        self.store(at, line)?;
        Ok(self.advance(len))
    }

    /// How long a line may be.
    fn limit(&self) -> Limit {
        Limit::Refuse(63)
    }

    /// See [`Node::is_read_only_in_copies`].
    fn is_read_only_in_copies(&self) -> bool {
        false
    }

    /// See [`Node::watched`].
    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    fn watched(&self, _at: &Place) -> Option<Arc<Watched>> {
        None
    }
}

/// What happens to a write that is too long.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// A write of more bytes than this fails with `EINVAL`.
    Refuse(usize),
    /// The bytes after this many are ignored.
    Cut(usize),
}

impl Limit {
    /// The limit for numbers: 64 binary digits, a sign and a newline.
    pub(crate) const NUMBER: Self = Self::Cut(66);
}

impl<C: Control> Node for C {
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        open::<&dyn Control>(self, at, how)
    }

    fn is_read_only_in_copies(&self) -> bool {
        Control::is_read_only_in_copies(self)
    }

    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    fn watched(&self, at: &Place) -> Option<Arc<Watched>> {
        Control::watched(self, at)
    }
}

/// Opens a control file that is not a row of the table of files. Task context, may sleep. `ENOMEM`,
/// and the errors of [`Control::open`].
#[inline(never)]
pub(crate) fn open<C>(control: C, at: &Place, how: &OpenFlags) -> Result<Opening>
where
    C: Deref<Target = dyn Control> + Send + Sync + 'static,
{
    control.open(at, how)?;
    Opening::new(OpenControl {
        control,
        at: at.clone(),
    })
}

struct OpenControl<C> {
    control: C,
    at: Place,
}

impl<C: Deref<Target = dyn Control> + Send + Sync> Rows for OpenControl<C> {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        whole(at, |text| self.control.show(&self.at, text))
    }
}

/// Implements [`Rows::start`] for a file whose text, which `show` writes, is one row.
pub(super) fn whole<'a>(
    at: u64,
    show: impl Fn(&mut Text) -> Result + 'a,
) -> Result<Option<KBox<dyn Cursor + 'a>>> {
    if at != 0 {
        return Ok(None);
    }
    Ok(Some(KBox::new(Whole(show), GFP_KERNEL)?))
}

struct Whole<F>(F);

impl<F: Fn(&mut Text) -> Result> Cursor for Whole<F> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        let mut text = Text::new();
        let result = (self.0)(&mut text);
        out.bytes(text.written_with(result)?);
        Ok(())
    }

    fn next(&mut self) -> bool {
        false
    }
}

impl<C: Deref<Target = dyn Control> + Send + Sync> OpenFile for OpenControl<C> {
    fn rows(&self) -> Option<&dyn Rows> {
        let is_listing = self.control.is_listing();
        is_listing.then_some(self as &dyn Rows)
    }

    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut text = Text::new();
        let result = self.control.show(&self.at, &mut text);
        let text = text.written_with(result)?;
        if self.control.is_read_whole() && call.len() <= text.len() {
            return Err(EINVAL);
        }
        call.put_from(text)
    }

    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let len = call.len();
        let take = match self.control.limit() {
            Limit::Refuse(max) if len > max => return Err(EINVAL),
            Limit::Refuse(_) => len,
            Limit::Cut(max) => len.min(max),
        };
        let mut line = KVec::from_elem(0, take, GFP_KERNEL)?;
        call.reader().read_slice(&mut line)?;
        let moved = self.control.store_written(&self.at, &line, len)?;
        *call.pos = call.pos.wrapping_add(moved as i64);
        Ok(len)
    }
}

/// A text that grows as needed.
pub(crate) struct Text {
    bytes: KVVec<u8>,
    failed: bool,
}

impl Text {
    /// An empty text.
    pub(crate) fn new() -> Self {
        Self {
            bytes: KVVec::new(),
            failed: false,
        }
    }

    /// The text. `ENOMEM` if a part of it could not be stored.
    pub(crate) fn finish(&self) -> Result<&[u8]> {
        if self.failed {
            return Err(ENOMEM);
        }
        Ok(&self.bytes)
    }

    /// The text that was written with this result. `ENOMEM` if a part of it could not be stored,
    /// whatever error the writer has made of that.
    pub(crate) fn written_with(&self, result: Result) -> Result<&[u8]> {
        let text = self.finish()?;
        result.map(|()| text)
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for Text {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let grown = self.bytes.extend_from_slice(bytes, GFP_KERNEL);
        grown.map_err(|AllocError| {
            self.failed = true;
            fmt::Error
        })
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        through_memory(self, write)
    }
}

/// The errno for an error of a parser.
pub(crate) fn errno(error: format::Error) -> Error {
    Error::from_errno(-error.errno())
}

/// The errno for a formatting function that fails only when `out` has no memory: `ENOMEM`.
pub(crate) fn shown(result: fmt::Result) -> Result {
    result.map_err(|fmt::Error| ENOMEM)
}

/// Feeds `parser` the bytes of a write up to the end of the next token, a page at a time: a page's end
/// ends no token. Returns how many bytes it took. Task context, may sleep.
///
/// # Errors
///
/// `EINVAL` for a token that is too long, `EFAULT`, `ENOMEM`.
pub(super) fn feed_token<const ROOM: usize>(
    parser: &mut Parser<ROOM>,
    call: &mut WriteCall<'_>,
) -> Result<usize> {
    let mut used = 0usize;
    loop {
        let mut text = KVec::from_elem(0, call.len().min(PAGE_SIZE), GFP_KERNEL)?;
        call.reader().read_slice(&mut text)?;
        let taken = parser.feed(&text).map_err(errno)?;
        used = used.wrapping_add(taken);
        // A token goes on, or comes, in the next page. A NUL ends even an empty one.
        let goes_on = taken == text.len() && !text.ends_with(b"\0");
        if call.len() == 0 || !goes_on || parser.is_ready() {
            return Ok(used);
        }
    }
}

/// Bytes of a list of numbers that are taken at once.
const NUMBERS: usize = 1 << 20;

/// What a write of numbers says; of a long one as much as ends behind a number, and the caller
/// writes the rest again. May sleep. `EFAULT`, `ENOMEM`.
pub(super) fn read_numbers(call: &mut WriteCall<'_>) -> Result<KVVec<u8>> {
    let len = call.len().min(NUMBERS);
    let mut text = KVVec::from_elem(0, len, GFP_KERNEL)?;
    call.reader().read_slice(&mut text)?;
    if len < call.len() {
        let last = text.iter().rposition(u8::is_ascii_whitespace);
        text.truncate(last.map_or(len, |last| last.wrapping_add(1)));
    }
    Ok(text)
}
