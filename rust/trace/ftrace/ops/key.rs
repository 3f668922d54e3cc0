// SPDX-License-Identifier: GPL-2.0

//! The proof that the ftrace lock is held.

use crate::kernel::rcu_list::LockKey;

/// A reference to it proves that the ftrace lock is held: the only one is in what that protects.
pub(crate) struct Key(());

impl Key {
    /// For [`super::FTRACE`] alone.
    pub(super) const THE_ONE: Self = Self(());
}

// SAFETY: the one value is inside the mutex `FTRACE`, so that only its holder has a reference.
unsafe impl LockKey for Key {}
