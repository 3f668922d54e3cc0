// SPDX-License-Identifier: GPL-2.0

//! Which probes are at a site: what a hit looks up.
//!
//! A table is made for each change of the registrations and does not change, but for probes that
//! leave it. Rows are sorted by bucket, so that a bucket is a range of them.

use super::probe::ProbeSlot;
use super::{Probe, Registered};
use crate::kernel::recursion::InHit;
use crate::kernel::sort::sort_by;
use core::cmp::Reverse;
use kernel::prelude::*;

/// A probe in a table.
pub(super) struct Entry {
    /// The number of its registration.
    pub(super) id: u64,
    /// Words of its data.
    pub(super) words: usize,
    /// Null once it is unregistered.
    probe: ProbeSlot,
}

impl Entry {
    pub(super) fn new(registered: &Registered) -> Self {
        Self {
            id: registered.id,
            words: registered.words,
            probe: ProbeSlot::new(registered),
        }
    }

    /// The probe, if it is still registered and not disabled. It is for the hit alone.
    #[inline]
    pub(super) fn active(&self, hit: InHit<'_>) -> Option<Probe> {
        self.probe.get(hit).filter(|probe| !probe.is_disabled())
    }
}

/// A probe's site.
#[derive(Clone, Copy)]
struct Row {
    site: usize,
    /// Its place in `probes`.
    probe: u32,
    /// Words of the shadow stack that it and the rows of its site behind it want: a header and the
    /// data of each.
    wanted: u32,
}

/// See the module.
///
/// # Invariants
///
/// `starts` has one element more than there are buckets; those of bucket `i` are the rows from
/// `starts[i]` to before `starts[i + 1]`. `probes` are sorted by their numbers.
pub(super) struct Table {
    buckets: Buckets,
    starts: KVVec<u32>,
    rows: KVVec<Row>,
    probes: KVVec<Entry>,
}

impl Table {
    /// A table of these probes, which are in the order of their numbers, each with its sites.
    /// `ENOMEM`.
    pub(super) fn new<'a>(all: impl Iterator<Item = (Entry, &'a [usize])>) -> Result<Self> {
        let (mut rows, mut probes) = (KVVec::new(), KVVec::new());
        for (entry, sites) in all {
            let probe = u32::try_from(probes.len()).map_err(|_| ENOMEM)?;
            probes.push(entry, GFP_KERNEL)?;
            for &site in sites {
                let row = Row {
                    site,
                    probe,
                    wanted: 0,
                };
                rows.push(row, GFP_KERNEL)?;
            }
        }
        let count = u32::try_from(rows.len()).map_err(|_| ENOMEM)?;
        let buckets = Buckets::for_rows(rows.len());
        // The newest probe of a site comes first, as in C.
        let key = |row: &Row| (buckets.of(row.site), row.site, Reverse(row.probe));
        sort_by(&mut rows, |a, b| key(a).cmp(&key(b)));
        let mut behind = (0, 0);
        for row in rows.iter_mut().rev() {
            let words = probes
                .get(row.probe as usize)
                .map_or(0, |probe: &Entry| probe.words);
            let rest = if behind.0 == row.site { behind.1 } else { 0 };
            row.wanted = (words as u32).saturating_add(1).saturating_add(rest);
            behind = (row.site, row.wanted);
        }
        let mut starts = KVVec::with_capacity(buckets.count() + 1, GFP_KERNEL)?;
        let mut at = 0;
        for i in 0..buckets.count() {
            starts.push(at, GFP_KERNEL)?;
            while at < count
                && rows
                    .get(at as usize)
                    .is_some_and(|row| buckets.of(row.site) == i)
            {
                at += 1;
            }
        }
        starts.push(at, GFP_KERNEL)?;
        // INVARIANT: just so.
        Ok(Self {
            buckets,
            starts,
            rows,
            probes,
        })
    }

    #[inline]
    fn rows_at(&self, site: usize) -> impl Iterator<Item = &Row> {
        let range = self.starts.get(self.buckets.of(site)..);
        let [start, end] = *range.and_then(<[u32]>::first_chunk).unwrap_or(&[0; 2]);
        let rows = self.rows.get(start as usize..end as usize).unwrap_or(&[]);
        rows.iter().filter(move |row| row.site == site)
    }

    /// The probes at `site`, the newest first. Any context.
    #[inline]
    pub(super) fn at(&self, site: usize) -> impl Iterator<Item = &Entry> {
        self.rows_at(site)
            .filter_map(|row| self.probes.get(row.probe as usize))
    }

    /// How many words of the shadow stack those of [`Table::at`] want, and they. Any context.
    #[inline]
    pub(super) fn wanting_at(&self, site: usize) -> (usize, impl Iterator<Item = &Entry>) {
        let mut rows = self.rows_at(site).peekable();
        let wanted = rows.peek().map_or(0, |row| row.wanted as usize);
        (
            wanted,
            rows.filter_map(|row| self.probes.get(row.probe as usize)),
        )
    }

    /// The probe of registration `id`. Any context.
    #[inline]
    pub(super) fn registered(&self, id: u64) -> Option<&Entry> {
        let place = self
            .probes
            .binary_search_by_key(&id, |entry| entry.id)
            .ok()?;
        self.probes.get(place)
    }

    /// Takes registration `id` out: lookups from now on do not find it.
    pub(super) fn forget(&self, id: u64) {
        if let Some(entry) = self.registered(id) {
            entry.probe.clear();
        }
    }
}

/// How sites are distributed to buckets, whose number is a power of two: Fibonacci hashing, upper bits.
#[derive(Clone, Copy)]
struct Buckets {
    /// By how many bits a mixed site of 32 bits is shifted.
    shift: u32,
}

impl Buckets {
    /// As many as there are rows, or more.
    fn for_rows(rows: usize) -> Self {
        let bits = rows.next_power_of_two().trailing_zeros();
        Self {
            shift: 32_u32.saturating_sub(bits),
        }
    }

    fn count(self) -> usize {
        1 << 32_u32.saturating_sub(self.shift)
    }

    /// The bucket of `site`.
    #[inline]
    fn of(self, site: usize) -> usize {
        let mixed = u64::from((site as u32).wrapping_mul(0x9e37_79b1));
        mixed.wrapping_shr(self.shift) as usize
    }
}
