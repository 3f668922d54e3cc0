// SPDX-License-Identifier: GPL-2.0

//! A text that grows as it is written.

use crate::core::format::Out;
use core::fmt;
use core::ops::Deref;
use kernel::alloc::Flags;
use kernel::prelude::*;

/// The text.
pub(crate) struct Text {
    bytes: KVec<u8>,
    flags: Flags,
}

/// A text that ends with NUL.
///
/// # Invariants
///
/// The last byte is the only NUL.
pub(crate) struct NulText(KVec<u8>);

impl NulText {
    /// A copy of `text`. Task context, may sleep. `EINVAL` for one with a NUL, `ENOMEM`.
    pub(crate) fn new(text: &[u8]) -> Result<Self> {
        Text::nul_text(|copy| copy.bytes(text))
    }
}

impl Deref for NulText {
    type Target = CStr;

    fn deref(&self) -> &CStr {
        // SAFETY: by the type invariant.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.0) }
    }
}

impl TryFrom<&CStr> for NulText {
    type Error = Error;

    fn try_from(text: &CStr) -> Result<Self> {
        // INVARIANT: as that of `text`.
        Ok(Self(Text::copy(text.to_bytes_with_nul())?))
    }
}

impl Text {
    /// What `write` writes. Task context, may sleep. `ENOMEM`.
    pub(crate) fn of(write: impl FnOnce(&mut Self) -> fmt::Result) -> Result<KVec<u8>> {
        Self::with(GFP_KERNEL, write)
    }

    /// [`Text::of`] in memory with `flags`, which let it sleep.
    pub(crate) fn with(
        flags: Flags,
        write: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> Result<KVec<u8>> {
        // What is written piece by piece then seldom has to move.
        let bytes = KVec::with_capacity(64, flags)?;
        let mut text = Self { bytes, flags };
        write(&mut text).map_err(|fmt::Error| ENOMEM)?;
        Ok(text.bytes)
    }

    /// [`Text::of`] with NUL at its end. `EINVAL` for one with another NUL.
    pub(crate) fn nul_text(write: impl FnOnce(&mut Self) -> fmt::Result) -> Result<NulText> {
        Self::nul_text_with(GFP_KERNEL, write)
    }

    /// [`Text::with`] with NUL at its end. `EINVAL` for one with another NUL.
    pub(crate) fn nul_text_with(
        flags: Flags,
        write: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> Result<NulText> {
        let text = Self::with(flags, write)?;
        let mut exact = KVec::with_capacity(text.len().saturating_add(1), flags)?;
        exact.extend_from_slice(&text, flags)?;
        exact.push(0, flags)?;
        CStr::from_bytes_with_nul(&exact).map_err(|_| EINVAL)?;
        // INVARIANT: it was just looked at.
        Ok(NulText(exact))
    }

    /// A copy of `bytes`. `ENOMEM`.
    pub(crate) fn copy(bytes: &[u8]) -> Result<KVec<u8>> {
        Self::copy_with(GFP_KERNEL, bytes)
    }

    /// [`Text::copy`] in memory with `flags`.
    pub(crate) fn copy_with(flags: Flags, bytes: &[u8]) -> Result<KVec<u8>> {
        let mut copy = KVec::with_capacity(bytes.len(), flags)?;
        copy.extend_from_slice(bytes, flags)?;
        Ok(copy)
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for Text {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let grown = self.bytes.extend_from_slice(bytes, self.flags);
        grown.map_err(|_| fmt::Error)
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        let length = write(&mut []);
        let piece = KVec::from_elem(0, length.saturating_add(1), self.flags);
        let mut piece = piece.map_err(|_| fmt::Error)?;
        let wrote = write(&mut piece);
        self.bytes(piece.get(..wrote).unwrap_or(&piece))
    }
}
