// SPDX-License-Identifier: GPL-2.0

//! Arguments in place of the words of a definition that stand for others.

use super::arguments::ArgumentError;
use super::types::Known;
use super::words::Words;
use crate::core::event::probe::command::Dentry;
use crate::core::event::probe::meta::{self, Origin};
use crate::core::format::{LineBuf, Out};
use crate::kernel::regs::{DENTRY_NAME, FILE_DENTRY};
use crate::kernel::text::Text;
use kernel::prelude::*;

/// Bytes that the arguments of types `%pd` and `%pD` may become.
const DENTRY_ROOM: usize = 256;

/// A word that is an argument, or what stands for it.
pub(super) struct Argument {
    text: KVec<u8>,
    origin: Origin,
}

impl Argument {
    /// Its text, and where the definition has it.
    pub(super) fn parts(&self) -> (&[u8], Origin) {
        (&self.text, self.origin)
    }
}

/// The arguments, which begin with the third word: with the names that `$arg1` and `$arg*` stand for
/// and with what `%pd` and `%pD` stand for. `ENOMEM`, also where the latter is too long.
pub(super) fn expand(
    words: &mut Words,
    known: &mut Known,
) -> Result<KVec<Argument>, ArgumentError> {
    known.asked = meta::asks(words.iter().skip(2));
    let mut all = KVec::new();
    let has_other_names = meta::expand(words.iter().skip(2), known.function(), |word| {
        let text = Text::of(|out| {
            out.bytes(word.name)?;
            out.bytes(word.rest)
        })?;
        let origin = word.origin;
        Ok::<_, ArgumentError>(all.push(Argument { text, origin }, GFP_KERNEL)?)
    })?;
    let dentry = Dentry {
        name: DENTRY_NAME,
        of_file: FILE_DENTRY,
    };
    let mut room = DENTRY_ROOM;
    for (at, argument) in all.iter_mut().enumerate() {
        let mut memory = [0; DENTRY_ROOM];
        let mut line = LineBuf::new(memory.get_mut(..room).unwrap_or(&mut []));
        let is_expanded = dentry.expand(&argument.text, &mut line);
        if !is_expanded.map_err(|_| ENOMEM)? {
            continue;
        }
        argument.text = Text::copy(line.as_bytes())?;
        room = room.checked_sub(argument.text.len() + 1).ok_or(ENOMEM)?;
        match has_other_names {
            true => argument.origin = argument.origin.whole(),
            // As in C, `error_log` has what the word stands for.
            false => words.set(at + 2, Text::copy(line.as_bytes())?),
        }
    }
    Ok(all)
}
