// SPDX-License-Identifier: GPL-2.0

//! The errors of a refused filter, with C's texts and positions.

pub use crate::core::event::refusal::Errno;

use super::NoMemory;
use crate::core::event::refusal::reasons;
use crate::core::format::Out;
use core::fmt;

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

/// A refused filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The error.
    pub reason: Reason,
    /// The position in bytes from the start of the filter, for
    /// [`error_log`](crate::core::format::error_log).
    pub position: usize,
    /// The errno of the write. For some errors C returns internal codes of its parser's first pass:
    /// `EPERM` for text after the end of the expression and for a predicate without a field, `ENOENT`
    /// for an unclosed parenthesis, `ESRCH` for an unclosed quote.
    pub errno: Errno,
}

impl Refused {
    /// A refusal with `EINVAL`.
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

    /// A refusal without a text.
    pub(super) const fn unsaid(errno: Errno) -> Self {
        Self::with(Reason::Unsaid, 0, errno)
    }

    /// The refusal for an event that lacks the fields of a filter for its system.
    pub const fn of_system(self) -> Self {
        Self {
            reason: Reason::BadSystemFilter,
            position: 0,
            ..self
        }
    }

    /// The [`position`](Self::position), for a log that counts in 16 bits.
    pub fn column(&self) -> u16 {
        self.position.try_into().unwrap_or(u16::MAX)
    }

    /// Writes the new text of the `filter` file, without the last newline.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out, filter: &[u8]) -> fmt::Result {
        out.bytes(filter)?;
        if self.reason == Reason::Unsaid {
            return out.write_str("\nError: (0)\n");
        }
        // The caret is one column after the position, except for position 0.
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
