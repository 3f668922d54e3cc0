// SPDX-License-Identifier: GPL-2.0

//! Guards of a buffer together with what the buffer belongs to.

use super::mapped::Mapped;
use super::read::Hold;
use super::{Buffer, Pause};
use crate::kernel::fs::page_file::Area;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::Arc;

/// A guard `G` of a buffer that belongs to an `O`, which lives as long.
///
/// # Invariants
///
/// What `guard` borrows belongs to what `owner` points to. (It is dropped first.)
pub(crate) struct Owned<G, O> {
    _guard: G,
    _owner: Arc<O>,
}

/// The buffer with a lifetime that the caller picks.
///
/// # Safety
///
/// What becomes of the result is dropped before `owner` is, and is shown to nobody.
unsafe fn extend<'a, O>(owner: &Arc<O>, buffer: impl FnOnce(&O) -> &Buffer) -> &'a Buffer {
    let buffer = core::ptr::from_ref(buffer(owner));
    // SAFETY: it is borrowed from what `owner` points to, and so lives as long as that.
    unsafe { &*buffer }
}

impl<O> Owned<Hold<'static>, O> {
    /// [`Buffer::hold`] of the `buffer` of `owner`. Task context.
    pub(crate) fn hold(
        owner: Arc<O>,
        buffer: impl FnOnce(&O) -> &Buffer,
        cpu: Option<CpuId>,
    ) -> Self {
        // SAFETY: the guard goes into the value, whose invariant says that.
        let _guard = unsafe { extend(&owner, buffer) }.hold(cpu);
        // INVARIANT: by `extend`.
        Self {
            _guard,
            _owner: owner,
        }
    }
}

impl<O> Owned<Pause<'static>, O> {
    /// [`Buffer::pause`] of the `buffer` of `owner`. Any context.
    pub(crate) fn pause(owner: Arc<O>, buffer: impl FnOnce(&O) -> &Buffer) -> Self {
        // SAFETY: the guard goes into the value, whose invariant says that.
        let _guard = unsafe { extend(&owner, buffer) }.pause();
        // INVARIANT: by `extend`.
        Self {
            _guard,
            _owner: owner,
        }
    }
}

impl<O> Owned<Mapped<'static>, O> {
    /// [`Buffer::map`] of the `buffer` of `owner`. Task context, sleeps. Errors as there.
    pub(crate) fn map(
        owner: Arc<O>,
        buffer: impl FnOnce(&O) -> &Buffer,
        cpu: CpuId,
        area: &Area<'_>,
    ) -> Result<Self> {
        // SAFETY: the guard goes into the value, whose invariant says that.
        let _guard = unsafe { extend(&owner, buffer) }.map(cpu, area)?;
        // INVARIANT: by `extend`.
        Ok(Self {
            _guard,
            _owner: owner,
        })
    }
}
