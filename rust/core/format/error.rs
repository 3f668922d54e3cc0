// SPDX-License-Identifier: GPL-2.0

//! The errors that text from user space can cause.

/// Why a text was refused; each value is one errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not understood, or not allowed: `EINVAL`.
    Invalid,
    /// A number does not fit its type: `ERANGE`.
    Range,
    /// A mask has bits beyond the machine's: `EOVERFLOW`.
    Overflow,
    /// A process id is beyond what a list can hold: `EPERM`, as ftrace says.
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

/// A result whose error is a refused text.
pub type Result<T = ()> = core::result::Result<T, Error>;
