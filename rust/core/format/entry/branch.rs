// SPDX-License-Identifier: GPL-2.0

//! Conditions that are marked as likely or unlikely: the branch tracer's entries.

#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
use super::Words;
use super::{Entry, Show};
use crate::core::format::print::{Error, Line};
use crate::core::format::Out;
use crate::core::parse::parser::until_nul;

/// Such a condition was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "branch",
    print = r#""%u:%s:%s (%u)%s", REC->line, REC->func, REC->file, REC->correct, REC->constant ? " CONSTANT" : """#
)]
#[repr(C)]
pub struct Branch {
    /// The line.
    pub line: u32,
    /// The function's name, up to a NUL.
    #[c("char")]
    pub func: [u8; 31],
    /// The file's name without its path, up to a NUL.
    #[c("char")]
    pub file: [u8; 21],
    /// 1 if it was as marked.
    #[c("char")]
    pub correct: u8,
    /// Not 0 if the compiler knew the condition.
    #[c("char")]
    pub constant: u8,
    /// Fills the last word.
    pub _pad: [u8; 2],
}

/// 64-bit words of a [`Branch`] entry between its header and `correct`: what its site says.
#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
const SITE: usize = 7;

/// The words of a site's [`Branch`] entries that are the same in all of them, made ahead.
#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
#[derive(Clone, Copy, Debug)]
pub struct BranchSite([u64; SITE]);

#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
impl BranchSite {
    /// Those of an entry, whichever way it goes.
    pub fn of(entry: Branch) -> Self {
        let ([_, words @ ..], _) = entry.words(0);
        Self(words)
    }

    /// The words of an entry of this site with that header.
    #[inline(always)]
    pub fn words(&self, header: u64, correct: bool, constant: u64) -> <Branch as Entry>::Words {
        let looked_at = Branch {
            correct: correct.into(),
            // The low byte counts, as in C.
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
        // It is as long as an entry.
        Branch::parse(&record).unwrap_or(Branch::EMPTY)
    }
}

#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
impl Branch {
    /// Nothing said.
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
        // C takes the line for a signed number.
        Ok(writeln!(out, ":{}", self.line as i32)?)
    }
}
