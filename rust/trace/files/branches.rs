// SPDX-License-Identifier: GPL-2.0

//! The profile of annotated branches: `trace_stat/branch_annotated`.
//!
//! Nothing resets the counters. The rows are those of the open, so that they are in the order of what they show.

use super::listing::{self, Lines};
use crate::{
    kapi::{
        branch_profile::{self, Annotated},
        pseudo_fs::{FileType, OpenFlags, Opening},
        sort::sort_by,
        tracefs::Dir,
    },
    rcore::text::{
        branch::{Counts, Place, ANNOTATED_TITLES},
        Out,
    },
};
use core::fmt;
use kernel::prelude::*;

/// Makes the file in `trace_stat/`. Task context, may sleep; errors as [`Dir::create_file`].
pub(super) fn create(stat: &Dir) -> Result {
    // Nobody can write to it, whatever the mode says: it is that of C.
    stat.create_file(c"branch_annotated", 0o640, KBox::new(AnnotatedFile, GFP_KERNEL)?)
}

/// Number of the row at place `at` of a listing that begins with titles; none for those.
fn row(at: u64) -> Option<usize> {
    usize::try_from(at).ok()?.checked_sub(1)
}

/// `branch_annotated`.
struct AnnotatedFile;

/// One of its rows.
#[derive(Clone, Copy)]
struct Row {
    site: Annotated,
    counts: Counts,
    constant: u64,
}

impl FileType for AnnotatedFile {
    fn open(&self, _how: &OpenFlags) -> Result<Opening> {
        let sites = branch_profile::annotated();
        let mut rows = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
        for site in sites {
            let [correct, incorrect] = site.counts();
            rows.push(Row { site, counts: Counts { correct, incorrect }, constant: site.constant() }, GFP_KERNEL)?;
        }
        // Of equal ones the last comes first.
        sort_by(&mut rows, |a: &Row, b| a.counts.worst_first(b.counts).then(b.site.address().cmp(&a.site.address())));
        listing::open(AnnotatedRows(rows))
    }
}

struct AnnotatedRows(KVVec<Row>);

impl Lines for AnnotatedRows {
    fn seek(&self, at: u64) -> Option<u64> {
        (at <= self.0.len() as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        match row(at) {
            Some(row) => self.0.get(row).map_or(Ok(()), |row| {
                let Row { site, counts, constant } = row;
                Place { function: site.function(), file: site.file(), line: site.line() }.write_row(out, *counts, *constant)
            }),
            None => out.bytes(ANNOTATED_TITLES),
        }
    }
}
