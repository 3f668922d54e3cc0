// SPDX-License-Identifier: GPL-2.0

//! What is wrong with a refused filter, in C's words and at C's places.

use super::NoMemory;
use crate::core::format::Out;
use core::fmt;

macro_rules! reasons {
    ($($name:ident $text:literal,)*) => {
        /// What is wrong with a filter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // Each one's text says it.
        pub enum Reason { $($name,)* }

        impl Reason {
            /// The words of `error_log` and of the `filter` file.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

reasons! {
    InvalidOperator "Invalid operator",
    TooManyOpen "Too many '('",
    TooManyClose "Too few '('",
    MissingQuote "Missing matching quote",
    MissingBraceOpen "Missing '{'",
    MissingBraceClose "Missing '}'",
    OperandTooLong "Operand too long",
    ExpectString "Expecting string field",
    ExpectDigit "Expecting numeric field",
    IllegalFieldOperator "Illegal operation for field type",
    FieldNotFound "Field not found",
    IllegalNumber "Illegal integer value",
    BadSystemFilter "Couldn't find or set field in one of a subsystem's events",
    TooManyPredicates "Too many terms in predicate expression",
    Meaningless "Meaningless filter expression",
    InvalidCpuList "Invalid cpulist",
    IpFieldOnly "Only 'ip' field is supported for function trace",
    InvalidValue "Invalid value (did you forget quotes)?",
    NoFunction "Function not found",
    Unsaid "Error",
    NoFilter "No filter found",
}

/// What the write of a refused filter returns. C gives away the codes of its parser's first pass
/// for some errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// `EINVAL`.
    Invalid,
    /// `EPERM`: more behind an expression's end, or a predicate without field.
    Permission,
    /// `ENOENT`: a parenthesis that is not closed.
    NotFound,
    /// `ESRCH`: a quote that is not closed.
    NoProcess,
    /// `ENOMEM`.
    NoMemory,
}

impl Errno {
    /// The positive errno value on Linux, the same on every architecture.
    pub const fn value(self) -> i32 {
        match self {
            Self::Permission => 1,
            Self::NotFound => 2,
            Self::NoProcess => 3,
            Self::NoMemory => 12,
            Self::Invalid => 22,
        }
    }
}

/// A refused filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong with it.
    pub reason: Reason,
    /// Where, in bytes from the filter's start, for [`error_log`](crate::core::format::error_log).
    pub position: usize,
    /// What the write returns.
    pub errno: Errno,
}

impl Refused {
    /// A refusal that is `EINVAL`.
    pub(super) const fn new(reason: Reason, position: usize) -> Self {
        Self {
            reason,
            position,
            errno: Errno::Invalid,
        }
    }

    pub(super) const fn with(reason: Reason, position: usize, errno: Errno) -> Self {
        Self {
            reason,
            position,
            errno,
        }
    }

    /// A refusal about which nothing more is said.
    pub(super) const fn unsaid(errno: Errno) -> Self {
        Self::with(Reason::Unsaid, 0, errno)
    }

    /// The refusal that each event of a system gets whose fields a filter of the system does not
    /// fit.
    pub const fn of_system(self) -> Self {
        Self {
            reason: Reason::BadSystemFilter,
            position: 0,
            ..self
        }
    }

    /// [`position`](Self::position), for a log that counts in 16 bits.
    pub fn column(&self) -> u16 {
        self.position.try_into().unwrap_or(u16::MAX)
    }

    /// Writes what the `filter` file shows from then on, without the last newline.
    ///
    /// # Errors
    ///
    /// Only `out`'s own.
    pub fn write(&self, out: &mut dyn Out, filter: &[u8]) -> fmt::Result {
        out.bytes(filter)?;
        if self.reason == Reason::Unsaid {
            return out.write_str("\nError: (0)\n");
        }
        // The caret stands behind the place, but for the first one.
        let position = self.position.min(filter.len());
        out.bytes(b"\n")?;
        out.right(b"^", position.saturating_add((position != 0).into()))?;
        writeln!(out, "\nparse_error: {}", self.reason.text())
    }
}

impl From<NoMemory> for Refused {
    fn from(_: NoMemory) -> Self {
        Self::unsaid(Errno::NoMemory)
    }
}
