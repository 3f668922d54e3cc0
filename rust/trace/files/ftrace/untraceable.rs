// SPDX-License-Identifier: GPL-2.0

//! `untraceable_functions`: functions without a patch site, each with the reason.
//!
//! The text is made at open, as no table of these functions is kept.

use crate::core::format::Out;
use crate::core::parse::options::Flag;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::untraceable;
use core::fmt;
use kernel::prelude::*;

/// The file.
pub(super) struct Untraceable;

impl Node for Untraceable {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let mut text = Text(KVVec::new());
        let demangle = at.instance.options().has(Flag::RustPaths);
        untraceable::write_all(demangle, &mut text).map_err(|fmt::Error| ENOMEM)?;
        listing::open(text)
    }
}

/// The lines, one after the other. The position of a line is that of its first byte.
struct Text(KVVec<u8>);

impl Text {
    /// The bytes from a position on.
    fn from(&self, at: u64) -> Option<&[u8]> {
        self.0.get(usize::try_from(at).ok()?..)
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let added = self.0.extend_from_slice(part.as_bytes(), GFP_KERNEL);
        added.map_err(|_| fmt::Error)
    }
}

impl Lines for Text {
    fn seek(&self, at: u64) -> Option<u64> {
        let start = match at.checked_sub(1) {
            None => 0,
            Some(before) => {
                let left = self.from(before)?.iter().position(|byte| *byte == b'\n')?;
                at.checked_add(left as u64)?
            }
        };
        self.from(start)
            .is_some_and(|line| !line.is_empty())
            .then_some(start)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        let line = self.from(at).unwrap_or(&[]);
        let line = line.split_inclusive(|byte| *byte == b'\n').next();
        out.bytes(line.unwrap_or(&[]))
    }
}
