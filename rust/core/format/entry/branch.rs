// SPDX-License-Identifier: GPL-2.0

//! Annotated conditions (`likely()`, `unlikely()`): the entries of the branch tracer.

#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
use super::Words;
use super::{Entry, Show};
use crate::core::format::environment::{Error, Line};
use crate::core::format::Out;
use crate::core::parse::parser::until_nul;

/// An annotated condition was evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "branch",
    print = r#""%u:%s:%s (%u)%s", REC->line, REC->func, REC->file, REC->correct, REC->constant ? " CONSTANT" : """#
)]
#[repr(C)]
pub struct Branch {
    /// The line in the source.
    pub line: u32,
    /// The name of the function, up to a NUL.
    #[c("char")]
    pub func: [u8; 31],
    /// The name of the file without its path, up to a NUL.
    #[c("char")]
    pub file: [u8; 21],
    /// 1 if the annotation was right.
    #[c("char")]
    pub correct: u8,
    /// Not 0 if the compiler knew the condition.
    #[c("char")]
    pub constant: u8,
    /// Fills the last word.
    pub _pad: [u8; 2],
}

/// The number of 64-bit words between the common fields and `correct` in a [`Branch`] entry. They
/// describe the site.
#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
const SITE: usize = 7;

/// The words that are the same in all [`Branch`] entries of a site, computed in advance.
#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
#[derive(Clone, Copy, Debug)]
pub struct BranchSite([u64; SITE]);

#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
impl BranchSite {
    /// The words of `entry`, whatever its result is.
    pub fn of(entry: Branch) -> Self {
        let ([_, words @ ..], _) = entry.words(0);
        Self(words)
    }

    /// The words of an entry of this site with the common fields `header`.
    #[inline(always)]
    pub fn words(&self, header: u64, correct: bool, constant: u64) -> <Branch as Entry>::Words {
        let looked_at = Branch {
            correct: correct.into(),
            // Only the low byte is stored, as in C.
            constant: constant as u8,
            ..Branch::EMPTY
        };
        let ([header, ..], end) = looked_at.words(header);
        let [a, b, c, d, e, f, g] = self.0;
        ([header, a, b, c, d, e, f, g], end)
    }

    /// An entry of this site.
    pub fn entry(&self, correct: bool, constant: u64) -> Branch {
        let mut record = [0; Branch::SIZE];
        self.words(0, correct, constant).store(&mut record);
        // The record has the length of an entry, so this does not fail.
        Branch::parse(&record).unwrap_or(Branch::EMPTY)
    }
}

#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
impl Branch {
    /// An entry of zeros.
    const EMPTY: Self = Self {
        line: 0,
        func: [0; 31],
        file: [0; 21],
        correct: 0,
        constant: 0,
        _pad: [0; 2],
    };
}

impl Show for Branch {
    fn normal(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        out.bytes(if self.correct != 0 {
            b"[  ok  ] "
        } else {
            b"[ MISS ] "
        })?;
        out.bytes(until_nul(&self.func))?;
        out.bytes(b":")?;
        out.bytes(until_nul(&self.file))?;
        // C prints the line as a signed number.
        Ok(writeln!(out, ":{}", self.line as i32)?)
    }
}
