// SPDX-License-Identifier: GPL-2.0

//! The words of a definition, and what `error_log` says of them.

use crate::core::event::probe::command::Dentry;
use crate::core::event::probe::error::{Reason, Refused};
use crate::core::format::{LineBuf, Out};
use crate::kernel::regs::{DENTRY_NAME, FILE_DENTRY};
use crate::kernel::text::Text;
use crate::trace::instance::Instance;
use kernel::prelude::*;

/// Bytes that the arguments of types `%pd` and `%pD` may become.
const DENTRY_ROOM: usize = 256;

/// The words, with what `%pd` and `%pD` stand for.
pub(super) struct Words {
    words: KVec<KVec<u8>>,
    /// What `error_log` calls the kind.
    kind: &'static str,
}

impl Words {
    /// `ENOMEM`, also where what `%pd` and `%pD` stand for is too long.
    pub(super) fn of<'a>(kind: &'static str, text: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        Self::copy(kind, text, true)
    }

    /// The words as they are. `ENOMEM`.
    #[cfg(any(CONFIG_EPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
    pub(super) fn plain<'a>(
        kind: &'static str,
        text: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Self> {
        Self::copy(kind, text, false)
    }

    fn copy<'a>(
        kind: &'static str,
        text: impl Iterator<Item = &'a [u8]>,
        expands: bool,
    ) -> Result<Self> {
        let dentry = Dentry {
            name: DENTRY_NAME,
            of_file: FILE_DENTRY,
        };
        let mut words = KVec::new();
        let mut room = DENTRY_ROOM;
        for (at, word) in text.enumerate() {
            let mut memory = [0; DENTRY_ROOM];
            let mut line = LineBuf::new(memory.get_mut(..room).unwrap_or(&mut []));
            let expanded =
                expands && at >= 2 && dentry.expand(word, &mut line).map_err(|_| ENOMEM)?;
            let word = match expanded {
                true => Text::copy(line.as_bytes())?,
                false => Text::copy(word)?,
            };
            if expanded {
                room = room.checked_sub(word.len() + 1).ok_or(ENOMEM)?;
            }
            words.push(word, GFP_KERNEL)?;
        }
        Ok(Self { words, kind })
    }

    /// Each of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.words.iter().map(|word| word.as_slice())
    }

    /// Says in `error_log` what is wrong, and returns it as an error.
    pub(super) fn refused<T>(&self, refused: &Refused) -> Result<T> {
        let command = Text::of(|out| {
            for (at, word) in self.iter().enumerate() {
                if at != 0 {
                    out.bytes(b" ")?;
                }
                out.bytes(word)?;
            }
            Ok(())
        });
        if let (Ok(command), Ok(top)) = (command, Instance::top()) {
            let column = refused.column(self.iter());
            let message = refused.reason.text();
            top.errors()
                .push(self.kind.as_bytes(), &command, column, message);
        }
        Err(refused.errno.into())
    }

    /// [`Words::refused`] at the start of a word, with an errno of its own.
    pub(super) fn refuse<T>(&self, reason: Reason, word: usize, error: Error) -> Result<T> {
        let _: Result = self.refused(&Refused::new(reason, 0).in_word(word));
        Err(error)
    }
}
