// SPDX-License-Identifier: GPL-2.0

//! Texts and other messages of kernel code, recorded in an instance.

use super::Instance;
use crate::core::format::entry::{Entry, Print};
use crate::core::parse::options::Flag;
use crate::trace::buffer::entry::Context;
use crate::trace::tasks::stack;

/// A function whose address the entries of texts carry. A line of `trace` begins with its name. The
/// ABI layer knows the C names, so it implements this trait for marker types.
pub(crate) trait EntryFunction {
    /// The address of the function.
    fn address() -> usize;
}

impl Instance {
    /// Records `text` in `context` as a text of the code at `ip`. Adds a newline if it lacks one.
    /// Any context. `None` if it was not recorded.
    pub(crate) fn record_text(&self, context: Context, ip: usize, text: &[u8]) -> Option<()> {
        self.record_text_from(context, ip, ip, text)
    }

    /// As [`Instance::record_text`]; but a stack that follows begins with the function around `from`.
    pub(crate) fn record_text_from(
        &self,
        context: Context,
        ip: usize,
        from: usize,
        text: &[u8],
    ) -> Option<()> {
        let end: &[u8] = if text.last() == Some(&b'\n') {
            b"\0"
        } else {
            b"\n\0"
        };
        self.record_message(context, from, Print { ip }, [text, end])
    }

    /// Records an entry made at `ip` in `context`, with the parts of its tail. If option
    /// `stacktrace` is on, the stack from the function around `ip` on follows. This may interrupt
    /// an unfinished event of the same context. Any context. `None` if it was not recorded.
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
