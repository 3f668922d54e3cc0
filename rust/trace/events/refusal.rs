// SPDX-License-Identifier: GPL-2.0

//! The errors of refused commands, as the kernel's.

use crate::core::event::refusal::Errno;
use kernel::prelude::*;

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self::from_errno(errno.value().wrapping_neg())
    }
}
