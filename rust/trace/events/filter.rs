// SPDX-License-Identifier: GPL-2.0

//! Filters: what rejects entries of an event.

use kernel::prelude::*;

/// Looks at an entry, common fields included. Any context, NMI included: no lock, no memory, no
/// sleep.
pub(crate) trait Check: Send + Sync {
    /// Is the entry to be recorded?
    fn passes(&self, entry: &[u8]) -> bool;
}

/// A filter and its text.
pub(crate) struct Filter {
    text: KVVec<u8>,
    check: KBox<dyn Check>,
}

impl Filter {
    /// The filter that was written as `text`.
    pub(crate) fn new(text: KVVec<u8>, check: KBox<dyn Check>) -> Self {
        Self { text, check }
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Is `entry`, common fields included, to be recorded? Any context.
    #[inline]
    pub(crate) fn passes(&self, entry: &[u8]) -> bool {
        self.check.passes(entry)
    }
}
