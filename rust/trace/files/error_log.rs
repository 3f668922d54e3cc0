// SPDX-License-Identifier: GPL-2.0

//! `error_log`: why the last commands were refused. `O_TRUNC` clears the log. Written bytes are
//! ignored.

use super::control::Text;
use super::{Node, Place};
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, Seek, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows, SeqOut};
use kernel::prelude::*;

/// The row of the file.
pub(crate) struct ErrorLog;

impl Node for ErrorLog {
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening> {
        if how.write && how.trunc {
            at.instance.errors().clear();
        }
        Opening::new(Listing {
            at: at.clone(),
            read: how.read,
        })
    }
}

struct Listing {
    at: Place,
    read: bool,
}

impl OpenFile for Listing {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        Ok(call.len())
    }

    fn rows(&self) -> Option<&dyn Rows> {
        self.read.then_some(self)
    }

    fn seek(&self) -> Seek {
        if self.read {
            Seek::Any
        } else {
            Seek::Rewind
        }
    }
}

impl Rows for Listing {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        let Some(row) = Row::new(&self.at, usize::try_from(at)?)? else {
            return Ok(None);
        };
        Ok(Some(KBox::new(row, GFP_KERNEL)?))
    }
}

/// One record of the log with its text.
struct Row<'a> {
    at: &'a Place,
    index: usize,
    text: Text,
}

impl<'a> Row<'a> {
    fn new(at: &'a Place, index: usize) -> Result<Option<Self>> {
        let mut text = Text::new();
        match at.instance.errors().show(index, &mut text) {
            Ok(true) => Ok(Some(Self { at, index, text })),
            Ok(false) => Ok(None),
            Err(_) => Err(ENOMEM),
        }
    }
}

impl Cursor for Row<'_> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        out.bytes(self.text.finish()?);
        Ok(())
    }

    fn next(&mut self) -> bool {
        let next = Self::new(self.at, self.index.wrapping_add(1));
        match next {
            Ok(Some(row)) => {
                *self = row;
                true
            }
            _ => false,
        }
    }
}
