// SPDX-License-Identifier: GPL-2.0

//! The words of a definition, and what `error_log` says of them.

use super::arguments::ArgumentError;
use crate::core::event::probe::error::{Reason, Refused};
#[cfg(any(CONFIG_EPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
use crate::core::event::probe::meta::Origin;
use crate::core::format::Out;
use crate::kernel::text::Text;
use crate::trace::instance::Instance;
use kernel::prelude::*;

/// The words.
pub(super) struct Words {
    words: KVec<KVec<u8>>,
    /// What `error_log` calls the kind.
    kind: &'static str,
}

impl Words {
    /// `ENOMEM`.
    pub(super) fn of<'a>(kind: &'static str, text: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        let mut words = KVec::new();
        for word in text {
            words.push(Text::copy(word)?, GFP_KERNEL)?;
        }
        Ok(Self { words, kind })
    }

    /// Has another text for the word of this number.
    #[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_FPROBE_EVENTS))]
    pub(super) fn set(&mut self, at: usize, text: KVec<u8>) {
        if let Some(word) = self.words.get_mut(at) {
            *word = text;
        }
    }

    /// The third and those that follow, which stand for themselves.
    #[cfg(any(CONFIG_EPROBE_EVENTS, CONFIG_UPROBE_EVENTS))]
    pub(super) fn numbered(&self) -> impl Iterator<Item = (&[u8], Origin)> {
        let all = self.iter().enumerate().skip(2);
        all.map(|(at, word)| (word, Origin::of(at)))
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
            let tell = |refused: &Refused| {
                let column = refused.column(self.iter());
                let message = refused.reason.text();
                top.errors()
                    .push(self.kind.as_bytes(), &command, column, message);
            };
            if let Some((reason, offset)) = refused.cause {
                tell(&Refused::new(reason, offset).in_word(refused.word));
            }
            tell(refused);
        }
        Err(refused.errno.into())
    }

    /// What arguments were compiled to; or `error_log` gets what is wrong with one of them.
    pub(super) fn logged<T>(&self, compiled: Result<T, ArgumentError>) -> Result<T> {
        match compiled {
            Ok(compiled) => Ok(compiled),
            Err(ArgumentError::Errno(error)) => Err(error),
            Err(ArgumentError::Refused(refused)) => self.refused(&refused),
        }
    }

    /// [`Words::refused`] at the start of a word, with an errno of its own.
    pub(super) fn refuse<T>(&self, reason: Reason, word: usize, error: Error) -> Result<T> {
        let _: Result = self.refused(&Refused::new(reason, 0).in_word(word));
        Err(error)
    }
}
