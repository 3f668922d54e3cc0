// SPDX-License-Identifier: GPL-2.0

//! The one ops that stands for others.

use super::{Key, OpsRef};
use crate::trace::ftrace::arch::Hooking;
use core::fmt;

/// An ops that covers what its parts cover, which are in no list themselves. [`Parts`] says which
/// it is, and is implemented by the room that has it.
pub(crate) struct Manager;

/// What [`Manager`] is.
pub(crate) trait Parts {
    /// Whether it is `op`. Any context.
    fn is(op: OpsRef) -> bool;

    /// What does the same as its function where no registers are needed, if there is such a
    /// function. The ftrace lock is held.
    fn hooking() -> Option<Hooking>;

    /// Its parts. Any context; each is alive while a caller in a hit stays in it, or holds what
    /// keeps parts from going.
    fn parts() -> impl Iterator<Item = OpsRef>;

    /// Writes what `enabled_functions` says of the parts at the site at `addr`.
    fn write_at(addr: usize, key: &Key, w: &mut dyn fmt::Write) -> fmt::Result;
}
