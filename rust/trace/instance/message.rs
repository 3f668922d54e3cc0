// SPDX-License-Identifier: GPL-2.0

//! Texts and other messages that code of the kernel has recorded in an instance.

use super::Instance;
use crate::core::format::entry::{Entry, Print};
use crate::core::parse::options::Flag;
use crate::trace::buffer::entry::Context;
use crate::trace::tasks::stack;

/// A function that texts are recorded in the name of: entries carry its address, and lines of
/// `trace` begin with its name. The ABI layer, which has the names, implements it for types that
/// stand for such functions.
pub(crate) trait Speaker {
    /// Where it is.
    fn address() -> usize;
}

impl Instance {
    /// Records `text` as what the code at `ip` said, in `context`, with a newline added if it lacks
    /// one. Any context. None when it was not recorded.
    pub(crate) fn record_text(&self, context: Context, ip: usize, text: &[u8]) -> Option<()> {
        let end: &[u8] = if text.last() == Some(&b'\n') {
            b"\0"
        } else {
            b"\n\0"
        };
        self.record_message(context, ip, Print { ip }, [text, end])
    }

    /// Records a message, an entry made in `context` at `ip` with the parts of its tail; where
    /// option `stacktrace` is on, the stack from the function around `ip` on follows. It may be made
    /// while an entry of this context is unfinished. Any context. None when it was not recorded.
    pub(crate) fn record_message<E: Entry, const N: usize>(
        &self,
        context: Context,
        ip: usize,
        message: E,
        tail: [&[u8]; N],
    ) -> Option<()> {
        self.buffer.with_nesting(|| {
            self.buffer.write_in(context, message, tail)?;
            if self.options().has(Flag::StackTrace) {
                stack::record_caller(&self.buffer, context, ip);
            }
            Some(())
        })
    }
}
