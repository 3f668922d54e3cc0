// SPDX-License-Identifier: GPL-2.0

//! Small files: a short text to read, a line to write.
//!
//! The text is made anew for each read, and every write is taken by itself whatever the file offset, as
//! such files of ftrace do.

use super::{Node, Place};
use crate::{
    kapi::pseudo_fs::{OpenFile, OpenFlags, Opening, ReadCall, WriteCall},
    rcore::text::{self, Out},
};
use core::fmt;
use kernel::{alloc::AllocError, prelude::*};

/// The longest line that any [`Control`] may ask for.
const LINE_MAX: usize = 128;

/// A file with a short text.
pub(crate) trait Control: Sync {
    /// Called at open; an error there is the open's.
    fn open(&self, _at: &Place, _how: &OpenFlags) -> Result {
        Ok(())
    }

    /// Writes what the file reads as. Task context, may sleep. The default is a file that cannot be read.
    fn show(&self, _at: &Place, _out: &mut Text) -> Result {
        Err(EINVAL)
    }

    /// Takes what was written in one call. Task context, may sleep. The default is a file that cannot be
    /// written.
    fn store(&self, _at: &Place, _line: &[u8]) -> Result {
        Err(EINVAL)
    }

    /// The longest line that [`Self::store`] wants to see; a longer one is `EINVAL`. At most 127.
    fn line_max(&self) -> usize {
        63
    }
}

impl<C: Control> Node for C {
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        Control::open(self, at, how)?;
        Opening::new(OpenControl { control: self, at: at.clone() })
    }
}

struct OpenControl {
    control: &'static dyn Control,
    at: Place,
}

impl OpenFile for OpenControl {
    fn read(&self, call: &mut ReadCall<'_>) -> Result<usize> {
        let mut text = Text::new();
        self.control.show(&self.at, &mut text)?;
        call.put_from(text.finish()?)
    }

    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        let mut line = [0; LINE_MAX];
        let room = self.control.line_max().saturating_add(1).min(LINE_MAX);
        let line = call.take_text(line.get_mut(..room).ok_or(EINVAL)?)?;
        self.control.store(&self.at, line)?;
        Ok(line.len())
    }
}

/// A text that grows as needed.
pub(crate) struct Text {
    bytes: KVVec<u8>,
    failed: bool,
}

impl Text {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self { bytes: KVVec::new(), failed: false }
    }

    /// The text. `ENOMEM` when a part of it found no memory.
    pub(crate) fn finish(&self) -> Result<&[u8]> {
        if self.failed {
            return Err(ENOMEM);
        }
        Ok(&self.bytes)
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
}

/// The errno for a text that was refused.
pub(crate) fn errno(error: text::Error) -> Error {
    Error::from_errno(-error.errno())
}
