// SPDX-License-Identifier: GPL-2.0

//! `error_log`: why the last commands were refused. `O_TRUNC` clears the log. Written bytes are
//! ignored.

use super::{Node, Place};
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, Seek, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows, SeqOut};
use crate::trace::instance::error_log::Records;
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
        let records = self.at.instance.errors().records();
        let index = usize::try_from(at)?;
        if !records.has(index) {
            return Ok(None);
        }
        Ok(Some(KBox::new(Row { records, index }, GFP_KERNEL)?))
    }
}

/// One record of the log. None is added while the lines of a read are made.
struct Row<'a> {
    records: Records<'a>,
    index: usize,
}

impl Cursor for Row<'_> {
    fn show(&mut self, out: &mut SeqOut<'_>) -> Result {
        // A `SeqOut` never fails.
        let _ = self.records.show(self.index, out);
        Ok(())
    }

    fn next(&mut self) -> bool {
        let next = self.index.wrapping_add(1);
        let is_there = self.records.has(next);
        if is_there {
            self.index = next;
        }
        is_there
    }
}
