// SPDX-License-Identifier: GPL-2.0

//! What is wrong with an input file, and where.

use std::fmt;

/// The reason why a file was left as it was.
///
/// Printed as `SECTION+0xOFFSET: message`; the caller puts the file's name before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The section's name, or `<header>` where the fault is in no section.
    pub section: String,
    /// Bytes from the start of the section, or of the file for `<header>`.
    pub offset: u64,
    /// What was found, and what was expected.
    pub message: String,
}

/// The result of reading or rewriting a file.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A fault at `offset` bytes into the section called `section`.
    pub fn new(section: impl Into<String>, offset: u64, message: impl Into<String>) -> Self {
        Error {
            section: section.into(),
            offset,
            message: message.into(),
        }
    }

    /// A fault at `offset` bytes into the file, outside any section.
    pub fn header(offset: u64, message: impl Into<String>) -> Self {
        Error::new("<header>", offset, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}: {}", self.section, self.offset, self.message)
    }
}

impl std::error::Error for Error {}
