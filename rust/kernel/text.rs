// SPDX-License-Identifier: GPL-2.0

//! A text that grows as it is written.

use crate::core::format::Out;
use core::fmt;
use kernel::prelude::*;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
use kernel::str::CString;

/// The text.
pub(crate) struct Text(KVec<u8>);

impl Text {
    /// What `write` writes. Task context, may sleep. `ENOMEM`.
    pub(crate) fn of(write: impl FnOnce(&mut Self) -> fmt::Result) -> Result<KVec<u8>> {
        // What is written piece by piece then seldom has to move.
        let mut text = Self(KVec::with_capacity(64, GFP_KERNEL)?);
        write(&mut text).map_err(|fmt::Error| ENOMEM)?;
        Ok(text.0)
    }

    /// The same as a string. `EINVAL` for one with a NUL.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) fn string(write: impl FnOnce(&mut Self) -> fmt::Result) -> Result<CString> {
        let mut text = Self::of(write)?;
        text.push(0, GFP_KERNEL)?;
        let string = CStr::from_bytes_with_nul(&text).map_err(|_| EINVAL)?;
        Ok(CString::try_from(string)?)
    }

    /// A copy of `bytes`. `ENOMEM`.
    pub(crate) fn copy(bytes: &[u8]) -> Result<KVec<u8>> {
        let mut copy = KVec::with_capacity(bytes.len(), GFP_KERNEL)?;
        copy.extend_from_slice(bytes, GFP_KERNEL)?;
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
        let grown = self.0.extend_from_slice(bytes, GFP_KERNEL);
        grown.map_err(|_| fmt::Error)
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        let length = write(&mut []);
        let mut piece =
            KVec::from_elem(0, length.saturating_add(1), GFP_KERNEL).map_err(|_| fmt::Error)?;
        let wrote = write(&mut piece);
        self.bytes(piece.get(..wrote).unwrap_or(&piece))
    }
}
