// SPDX-License-Identifier: GPL-2.0

//! Branch profiles: `trace_stat/branch_annotated` and `branch_all`.
//!
//! Nothing resets the counters. `branch_annotated` copies and sorts the counters when it is opened,
//! so that the order fits the values shown. `branch_all` lists the rows in the order of the section
//! and reads the counters of a row when the row is read.

use super::listing::{self, Lines};
#[cfg(CONFIG_PROFILE_ALL_BRANCHES)]
use crate::core::format::branch::ALL_TITLES;
use crate::core::format::branch::{Counts, Place, ANNOTATED_TITLES};
use crate::core::format::Out;
use crate::kernel::branch_sites;
use crate::kernel::branch_sites::{Annotated, Site};
use crate::kernel::fs::pseudo_fs::{FileType, OpenFlags, Opening};
use crate::kernel::fs::tracefs::Dir;
use crate::kernel::sort::sort_by;
use core::fmt;
use kernel::prelude::*;

/// Creates the files in `trace_stat/`. Task context, may sleep. Errors as [`Dir::create_file`].
pub(super) fn create(stat: &Dir) -> Result {
    // C has this mode, too. No write method exists, so nobody can write to the files.
    stat.create_file(
        c"branch_annotated",
        0o640,
        KBox::new(AnnotatedFile, GFP_KERNEL)?,
    )?;
    #[cfg(CONFIG_PROFILE_ALL_BRANCHES)]
    stat.create_file(c"branch_all", 0o640, KBox::new(AllFile, GFP_KERNEL)?)?;
    Ok(())
}

fn counts(site: Site) -> Counts {
    let [correct, incorrect] = site.counts();
    Counts { correct, incorrect }
}

fn write_row(out: &mut dyn Out, site: Site, counts: Counts, constant: u64) -> fmt::Result {
    Place {
        function: site.function(),
        file: site.file(),
        line: site.line(),
    }
    .write_row(out, counts, constant)
}

/// The index of the row at position `at` of a listing that begins with titles. `None` for the
/// titles.
fn row(at: u64) -> Option<usize> {
    usize::try_from(at).ok()?.checked_sub(1)
}

/// The file `branch_annotated`.
struct AnnotatedFile;

/// One row of `branch_annotated`.
#[derive(Clone, Copy)]
struct Row {
    site: Annotated,
    counts: Counts,
    constant: u64,
}

impl FileType for AnnotatedFile {
    fn open(&self, _how: &OpenFlags) -> Result<Opening> {
        let sites = branch_sites::annotated();
        let mut rows = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
        for site in sites.iter() {
            rows.push(
                Row {
                    site,
                    counts: counts(site.site()),
                    constant: site.constant(),
                },
                GFP_KERNEL,
            )?;
        }
        // Of equal rows the last comes first.
        sort_by(&mut rows, |a: &Row, b| {
            a.counts
                .worst_first(b.counts)
                .then(b.site.address().cmp(&a.site.address()))
        });
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
                write_row(out, row.site.site(), row.counts, row.constant)
            }),
            None => out.bytes(ANNOTATED_TITLES),
        }
    }
}

/// The file `branch_all`.
#[cfg(CONFIG_PROFILE_ALL_BRANCHES)]
struct AllFile;

#[cfg(CONFIG_PROFILE_ALL_BRANCHES)]
impl FileType for AllFile {
    fn open(&self, _how: &OpenFlags) -> Result<Opening> {
        listing::open(AllRows)
    }
}

#[cfg(CONFIG_PROFILE_ALL_BRANCHES)]
struct AllRows;

#[cfg(CONFIG_PROFILE_ALL_BRANCHES)]
impl Lines for AllRows {
    fn seek(&self, at: u64) -> Option<u64> {
        (at <= branch_sites::all().len() as u64).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        match row(at) {
            Some(row) => branch_sites::all()
                .get(row)
                .map_or(Ok(()), |site| write_row(out, site, counts(site), 0)),
            None => out.bytes(ALL_TITLES),
        }
    }
}
