// SPDX-License-Identifier: GPL-2.0

//! Memory for a copy of one sub-buffer, out of which an iterator reads.

use kernel::alloc::Flags;
use kernel::prelude::*;

/// The memory; none at all at first, if it is the default.
#[derive(Default)]
pub(crate) struct SubBufferCopy(KVVec<u8>);

impl SubBufferCopy {
    /// Memory for `size` bytes. `ENOMEM`. Any context that `flags` allow.
    pub(crate) fn new(size: usize, flags: Flags) -> Result<Self> {
        Ok(Self(KVVec::from_elem(0, size, flags)?))
    }
}

impl AsRef<[u8]> for SubBufferCopy {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for SubBufferCopy {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
