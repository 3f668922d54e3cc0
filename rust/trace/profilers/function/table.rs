// SPDX-License-Identifier: GPL-2.0

//! The CPUs' tables: functions by the address of their patch site, open hashing, no function ever
//! leaves.
//!
//! A table is at most three quarters full of the functions that there were when it was made; of
//! those that modules bring later, what finds no place is not counted. Only the CPU's own contexts
//! write, each word in one instruction, so that they may interrupt each other.

use crate::core::sys::{computed, word, Local};
use crate::kernel::context::PreemptOff;
use crate::kernel::function_profile::{place_here, HotWords};
use crate::kernel::percpu::PerCpu;
use crate::kernel::rcu_slot::wait_for_readers;
use crate::kernel::sort::sort_by;
use crate::trace::ftrace::sites;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// So many places [`find_near`] looks at.
const NEAR: usize = 4;

/// Bytes of a [`Record`].
const SIZE: usize = size_of::<Record>();

/// A function on a CPU; `site` 0 is a free place.
#[repr(C, align(32))]
pub(super) struct Record {
    site: Local,
    hits: Local,
    time: Local,
    squared: Local,
}

impl Record {
    /// The function's patch site.
    pub(super) fn site(&self) -> u64 {
        self.site.get()
    }

    fn free() -> Self {
        Self {
            site: Local::new(0),
            hits: Local::new(0),
            time: Local::new(0),
            squared: Local::new(0),
        }
    }

    /// One call.
    #[inline(always)]
    pub(super) fn hit(&self) {
        word!(self: Self, hits plus 1);
    }

    /// One return after so many nanoseconds.
    #[inline(always)]
    pub(super) fn took(&self, time: u64) {
        word!(self: Self, time add time);
        word!(self: Self, squared add time.wrapping_mul(time));
    }
}

/// A CPU's table, where hits find it.
///
/// # Invariants
///
/// `records` points to the elements of `all`, which are `mask + SIZE` bytes and [`NEAR`] elements
/// more, and as many as those of `order`; `mask` has the bits of a multiple of [`SIZE`] below a
/// power of two.
pub(super) struct Table {
    records: *const Record,
    mask: u64,
    /// How many functions there are.
    count: Local,
    /// By place, how many there were before the function in it.
    order: KVVec<Local>,
    all: KVVec<Record>,
}

// SAFETY: `records` points to what `all` owns, which goes along; all words are atomic.
unsafe impl Send for Table {}
// SAFETY: a hit changes the table of its own CPU with preemption off, and others read words that
// are atomic.
unsafe impl Sync for Table {}

static TABLES: SetOnce<PerCpu<Table>> = SetOnce::new();

impl Table {
    /// A table in which a search begins in one of so many places, a power of two.
    fn new(places: usize) -> Result<Self> {
        let all = places.checked_add(NEAR).ok_or(ENOMEM)?;
        let (mut records, mut order) = (
            KVVec::with_capacity(all, GFP_KERNEL)?,
            KVVec::with_capacity(all, GFP_KERNEL)?,
        );
        for _ in 0..all {
            records.push(Record::free(), GFP_KERNEL)?;
            order.push(Local::new(0), GFP_KERNEL)?;
        }
        let mask = (places.wrapping_sub(1) * SIZE) as u64;
        // INVARIANT: both vectors are filled, and stay where their elements are.
        Ok(Self {
            records: records.as_ptr(),
            mask,
            count: Local::new(0),
            order,
            all: records,
        })
    }

    /// Where the search for `site` begins, in bytes.
    fn start(&self, site: u64) -> u64 {
        hash(site) & self.mask
    }

    /// The records in the order of a search for `site`, with their places.
    fn search(&self, site: u64) -> impl Iterator<Item = (usize, &Record)> {
        let start = self.start(site) as usize / SIZE;
        let from = |place| self.all.iter().enumerate().skip(place);
        Iterator::chain(from(start), from(0).take(start))
    }

    /// The record of `site`, which is not 0, if there is one.
    pub(super) fn find(&self, site: u64) -> Option<&Record> {
        let (_, record) = self.search(site).find(
            |(_, record)| matches!(record.site.get(), found if found == 0 || found == site),
        )?;
        (site != 0 && record.site.get() == site).then_some(record)
    }

    /// The record of `site`, new if need be; none if there is no place.
    #[cold]
    #[inline(never)]
    pub(super) fn add(&self, site: u64) -> Option<&Record> {
        for (place, record) in self.search(site) {
            if record.site.replace(0, site) {
                let before = self.count.get();
                self.count.add(1);
                if let Some(order) = self.order.get(place) {
                    order.set(before);
                }
                return Some(record);
            }
            if record.site.get() == site {
                return Some(record);
            }
        }
        None
    }

    fn clear(&self) {
        for record in self.all.iter() {
            for word in [&record.site, &record.hits, &record.time, &record.squared] {
                word.set(0);
            }
        }
        self.count.set(0);
    }
}

/// Fibonacci hashing by 32 bits. Of these the mask leaves the highest if the table has 2^11 places;
/// of larger ones, the next above, too, which are as good.
#[inline(always)]
fn hash(site: u64) -> u64 {
    site.wrapping_mul(0x9e37_79b1_u32 as i32 as u64) >> 16
}

/// The record of `site` in this CPU's table, if it is in one of the first places that are looked at,
/// as nine of ten are when all functions are counted. The caller has preemption off.
///
/// # Safety
///
/// [`prepare`] has made the tables, which stay.
#[inline(always)]
pub(super) unsafe fn find_near(site: u64, stay: &PreemptOff) -> Option<&'static Record> {
    let mut at = place_here(hash(site), stay);
    for _ in 0..NEAR {
        // SAFETY: elements are at no address that is 0.
        unsafe { core::hint::assert_unchecked(at != 0) };
        // SAFETY: by the invariant of `Table` elements begin where a search does and `NEAR` places on.
        let record = unsafe { &*core::ptr::with_exposed_provenance::<Record>(at as usize) };
        if word!(record: Record, site holds site) {
            return Some(record);
        }
        // (As a number, so that the address is in one register throughout.)
        at = computed(at.wrapping_add(SIZE as u64));
    }
    None
}

/// This CPU's table, if there are any. The caller has preemption off.
pub(super) fn this(_stay: &PreemptOff) -> Option<&'static Table> {
    TABLES.as_ref().map(PerCpu::this)
}

/// Makes the tables, or empties them; nobody counts. Task context, sleeps. `ENOMEM`.
pub(super) fn prepare() -> Result {
    if let Some(tables) = TABLES.as_ref() {
        // Those who were still counting when it was switched off.
        wait_for_readers();
        tables.iter().for_each(|(_, table)| table.clear());
        return Ok(());
    }
    let functions = sites::count();
    let places = functions
        .checked_add(functions / 3 + 1)
        .ok_or(ENOMEM)?
        .next_power_of_two()
        .max(64);
    TABLES.populate(PerCpu::try_new(|_| Table::new(places))?);
    for (cpu, table) in TABLES.as_ref().into_iter().flat_map(PerCpu::iter) {
        // SAFETY: the table stays, and by its invariant the bits of `mask` are a place in it.
        unsafe { HotWords::of(cpu).set_table(table.records.expose_provenance(), table.mask) };
    }
    Ok(())
}

/// What was counted of a function.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// Its patch site.
    pub(crate) site: usize,
    /// Calls.
    pub(crate) hits: u64,
    /// Nanoseconds in all.
    pub(crate) time: u64,
    /// Their squares' sum.
    pub(crate) squared: u64,
}

/// The rows of `cpu`: most time first, of equal ones the one that came last.
pub(super) fn rows(cpu: CpuId) -> Result<KVVec<Row>> {
    let mut rows = KVVec::new();
    let mut sorted = KVVec::new();
    let Some(table) = TABLES.as_ref().and_then(|tables| tables.get(cpu)) else {
        return Ok(sorted);
    };
    for (record, order) in table.all.iter().zip(table.order.iter()) {
        let site = record.site.get() as usize;
        if site != 0 {
            let row = Row {
                site,
                hits: record.hits.get(),
                time: record.time.get(),
                squared: record.squared.get(),
            };
            rows.push((order.get(), row), GFP_KERNEL)?;
        }
    }
    sort_by(&mut rows, |a: &(u64, Row), b| {
        (b.1.time, b.0).cmp(&(a.1.time, a.0))
    });
    for (_, row) in rows.iter() {
        sorted.push(*row, GFP_KERNEL)?;
    }
    Ok(sorted)
}
