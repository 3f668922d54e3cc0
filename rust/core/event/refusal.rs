// SPDX-License-Identifier: GPL-2.0

//! The errors of refused commands: what the write returns, and the texts of `error_log`.

use crate::core::format;

/// Makes the enum `Reason` of a kind of commands, with the text of each reason in `error_log`.
macro_rules! reasons {
    ($($name:ident $text:literal,)*) => {
        /// Why a command is refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // Each one's text says it.
        pub enum Reason { $($name,)* }

        impl Reason {
            /// The text in `error_log`.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

pub(crate) use reasons;

/// The errno of the write of a refused command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    CONFIG_RTRACE,
    allow(dead_code, reason = "some are of commands that are not configured")
)]
pub enum Errno {
    /// `EPERM`.
    Permission,
    /// `ENOENT`.
    NotFound,
    /// `ESRCH`.
    NoProcess,
    /// `E2BIG`.
    TooLong,
    /// `ENOMEM`.
    NoMemory,
    /// `EEXIST`.
    Exists,
    /// `EINVAL`.
    Invalid,
    /// `EDOM`.
    Domain,
    /// `ERANGE`.
    Range,
    /// `EOPNOTSUPP`.
    NotSupported,
}

impl Errno {
    /// The positive errno on Linux. It is the same on every architecture.
    pub const fn value(self) -> i32 {
        match self {
            Self::Permission => 1,
            Self::NotFound => 2,
            Self::NoProcess => 3,
            Self::TooLong => 7,
            Self::NoMemory => 12,
            Self::Exists => 17,
            Self::Invalid => 22,
            Self::Domain => 33,
            Self::Range => 34,
            Self::NotSupported => 95,
        }
    }
}

impl From<format::Error> for Errno {
    fn from(error: format::Error) -> Self {
        match error {
            format::Error::Range => Self::Range,
            _ => Self::Invalid,
        }
    }
}
