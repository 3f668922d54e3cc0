// SPDX-License-Identifier: GPL-2.0

//! Texts and other messages that code of the kernel has recorded in an instance.

use super::Instance;
use crate::core::format::entry::Entry;
use crate::core::parse::options::Flag;
use crate::trace::buffer::entry::Context;
use crate::trace::tasks::stack;

impl Instance {
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
        self.buffer.nested(|| {
            self.buffer.write_in(context, message, tail)?;
            if self.options().has(Flag::StackTrace) {
                stack::record_caller(&self.buffer, context, ip);
            }
            Some(())
        })
    }
}
