// SPDX-License-Identifier: GPL-2.0

//! Errors of texts from user space.

/// Why a text was refused. Each value is one errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A syntax error, or a value that is not allowed: `EINVAL`.
    Invalid,
    /// A number does not fit its type: `ERANGE`.
    Range,
    /// A mask has bits above the largest CPU: `EOVERFLOW`.
    Overflow,
    /// A pid is too large for a pid list: `EPERM`, as in C.
    Pid,
}

impl Error {
    /// The positive errno value on Linux (the generic numbering, which every Rust architecture uses
    /// for these four except `EOVERFLOW` on MIPS).
    pub const fn errno(self) -> i32 {
        match self {
            Self::Pid => 1,
            Self::Invalid => 22,
            Self::Range => 34,
            Self::Overflow => 75,
        }
    }
}

/// A result whose error says why a text was refused.
pub type Result<T = ()> = core::result::Result<T, Error>;
