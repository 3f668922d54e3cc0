// SPDX-License-Identifier: GPL-2.0

//! Texts and other messages that code of the kernel has recorded in an instance.

use super::Instance;
use crate::core::parse::options::Flag;
use crate::trace::buffer::entry::Context;
use crate::trace::tasks::stack;
use core::iter::once;

impl Instance {
    /// Records an entry of type `kind` made in `context` at `ip`, of `ip` and `parts`; where option
    /// `stacktrace` is on, the stack from the function around `ip` on follows. It may be made while
    /// an entry of this context is unfinished. Any context. None when it was not recorded.
    pub(crate) fn record_message(
        &self,
        context: Context,
        kind: u16,
        ip: usize,
        parts: &[&[u8]],
    ) -> Option<()> {
        self.buffer.nested(|| {
            let ip_bytes = ip.to_ne_bytes();
            self.buffer.write_parts(
                context,
                kind,
                Iterator::chain(once(&ip_bytes[..]), parts.iter().copied()),
            )?;
            if self.options().has(Flag::StackTrace) {
                stack::record_caller(&self.buffer, context, ip);
            }
            Some(())
        })
    }
}
