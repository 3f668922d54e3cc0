// SPDX-License-Identifier: GPL-2.0

//! `recursed_functions`: functions in which a callback was entered again.

use crate::core::format::symbol::{self, Style};
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, Seek, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::trace::files::listing::{self, Lines};
use crate::trace::files::{Node, Place};
use crate::trace::ftrace::recursed;
use crate::trace::output::symbols::Kallsyms;
use core::fmt;
use kernel::prelude::*;

/// The file.
pub(super) struct RecursedFunctions;

impl Node for RecursedFunctions {
    /// `O_TRUNC` forgets the functions.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            recursed::clear();
        }
        Opening::new(Open {
            symbols: Kallsyms::new(at.instance.options(), None),
            read: how.read,
        })
    }
}

struct Open {
    /// How addresses are printed.
    symbols: Kallsyms,
    read: bool,
}

impl OpenFile for Open {
    /// What is written has no meaning; only the opening has.
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        Ok(call.len())
    }

    fn rows(&self) -> Option<&dyn Rows> {
        self.read.then_some(self)
    }

    fn seek(&self) -> Seek {
        match self.read {
            true => Seek::Any,
            false => Seek::Rewind,
        }
    }
}

impl Rows for Open {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        listing::rows(self, at)
    }
}

impl Lines for Open {
    fn seek(&self, at: u64) -> Option<u64> {
        let mut at = usize::try_from(at).ok()?;
        while let (0, _) = recursed::get(at)? {
            at = at.checked_add(1)?;
        }
        Some(at as u64)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        let record = usize::try_from(at).ok().and_then(recursed::get);
        let (function, parent) = record.unwrap_or((0, 0));
        let style = Style {
            offset: true,
            addr: false,
        };
        symbol::write(out, &self.symbols, parent, style)?;
        out.bytes(b":\t")?;
        symbol::write(out, &self.symbols, function, style)?;
        out.bytes(b"\n")
    }
}
