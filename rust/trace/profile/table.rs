// SPDX-License-Identifier: GPL-2.0

//! The CPUs' tables: functions by the address of their patch site, open hashing, no function ever leaves.
//!
//! A table is at most three quarters full of the functions that there were when it was made; of those that modules bring later,
//! what finds no place is not counted. Only the CPU's own contexts write, each word in one instruction, so that they may
//! interrupt each other.

use crate::kapi::context::PreemptOff;
use crate::kapi::cpus;
use crate::kapi::percpu::PerCpu;
use crate::kapi::published::wait_for_readers;
use crate::kapi::sort::sort_by;
use crate::rcore::sys::Local;
use crate::trace::sites;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Acquire, Atomic, Release};
use kernel::sync::SetOnce;

/// So many places [`Table::find_near`] looks at.
const NEAR: u64 = 4;

/// A function on a CPU; `site` 0 is a free place.
#[repr(C, align(32))]
pub(super) struct Record {
    site: Local,
    hits: Local,
    time: Local,
    squared: Local,
}

impl Record {
    fn free() -> Self {
        Self { site: Local::new(0), hits: Local::new(0), time: Local::new(0), squared: Local::new(0) }
    }

    /// One call.
    #[inline(always)]
    pub(super) fn hit(&self) {
        self.hits.add(1);
    }

    /// One return after so many nanoseconds.
    #[inline(always)]
    pub(super) fn took(&self, time: u64) {
        self.time.add(time);
        self.squared.add(time.wrapping_mul(time));
    }
}

/// A CPU's table, where hits find it.
///
/// # Invariants
///
/// `records` has `mask + 1` elements, a power of two, that live as long as this; `order` has as many.
pub(super) struct Table {
    records: *mut Record,
    mask: u64,
    shift: u32,
    /// How many functions there are.
    count: Local,
    /// By place, how many there were before the function in it.
    order: KVVec<Local>,
    /// What `records` points into.
    _records: KVVec<Record>,
}

// SAFETY: its words are atomic.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// Each possible CPU's table.
type Tables = PerCpu<Option<Table>>;

static TABLES: SetOnce<Tables> = SetOnce::new();
/// Where hits look: the tables once they are there.
static HOT: Atomic<*mut Tables> = Atomic::new(core::ptr::null_mut());

impl Table {
    fn new(places: usize) -> Result<Self> {
        let (mut records, mut order) = (KVVec::with_capacity(places, GFP_KERNEL)?, KVVec::with_capacity(places, GFP_KERNEL)?);
        for _ in 0..places {
            records.push(Record::free(), GFP_KERNEL)?;
            order.push(Local::new(0), GFP_KERNEL)?;
        }
        let mask = places.wrapping_sub(1) as u64;
        let shift = u32::BITS - mask.count_ones();
        let raw = records.as_mut_ptr();
        // INVARIANT: `places` is a power of two by the caller's word, and both vectors are filled.
        Ok(Self { records: raw, mask, shift, count: Local::new(0), order, _records: records })
    }

    #[inline(always)]
    fn at(&self, place: u64) -> &Record {
        // SAFETY: by the type invariant an element.
        unsafe { &*self.records.wrapping_add((place & self.mask) as usize) }
    }

    /// Where the search for `site` begins: Fibonacci hashing.
    #[inline(always)]
    fn start(&self, site: u64) -> u64 {
        u64::from((site as u32).wrapping_mul(0x9e37_79b1).wrapping_shr(self.shift))
    }

    /// The record of `site`, if it is in one of the first places that are looked at, as nearly all are.
    #[inline(always)]
    pub(super) fn find_near(&self, site: u64) -> Option<&Record> {
        let start = self.start(site);
        (0..NEAR).map(|step| self.at(start.wrapping_add(step))).find(|record| record.site.get() == site)
    }

    /// The record of `site`, if there is one.
    pub(super) fn find(&self, site: u64) -> Option<&Record> {
        let start = self.start(site);
        for step in 0..=self.mask {
            let record = self.at(start.wrapping_add(step));
            match record.site.get() {
                0 => return None,
                found if found == site => return Some(record),
                _ => {}
            }
        }
        None
    }

    /// The record of `site`, new if need be; none if there is no place.
    #[cold]
    #[inline(never)]
    pub(super) fn add(&self, site: u64) -> Option<&Record> {
        let start = self.start(site);
        for step in 0..=self.mask {
            let place = start.wrapping_add(step) & self.mask;
            let record = self.at(place);
            if record.site.replace(0, site) {
                let before = self.count.get();
                self.count.add(1);
                if let Some(order) = self.order.get(place as usize) {
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
        for place in 0..=self.mask {
            let record = self.at(place);
            for word in [&record.site, &record.hits, &record.time, &record.squared] {
                word.set(0);
            }
        }
        self.count.set(0);
    }
}

/// This CPU's table; none before there are any. The caller has preemption off.
#[inline(always)]
pub(super) fn here(_stay: &PreemptOff) -> Option<&'static Table> {
    // SAFETY: null, or what `TABLES` holds for ever. Pairs with the release store in `prepare`.
    unsafe { HOT.load(Acquire).as_ref() }?.this().as_ref()
}

/// Makes the tables, or empties them; nobody counts. Task context, sleeps. `ENOMEM`.
pub(super) fn prepare() -> Result {
    if let Some(tables) = TABLES.as_ref() {
        // Those who were still counting when it was switched off.
        wait_for_readers();
        tables.iter().filter_map(|(_, table)| table.as_ref()).for_each(Table::clear);
        return Ok(());
    }
    let functions = sites::count();
    let places = functions.checked_add(functions / 3 + 1).ok_or(ENOMEM)?.next_power_of_two().max(64);
    let mut made = KVec::new();
    for _ in cpus::possible() {
        made.push(Table::new(places)?, GFP_KERNEL)?;
    }
    let tables = PerCpu::new(|_| made.pop())?;
    TABLES.populate(tables);
    if let Some(tables) = TABLES.as_ref() {
        HOT.store(core::ptr::from_ref(tables).cast_mut(), Release);
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
    let Some(table) = TABLES.as_ref().and_then(|tables| tables.get(cpu)?.as_ref()) else { return Ok(sorted) };
    for place in 0..=table.mask {
        let record = table.at(place);
        let site = record.site.get() as usize;
        if site != 0 {
            let order = table.order.get(place as usize).map_or(0, Local::get);
            let row = Row { site, hits: record.hits.get(), time: record.time.get(), squared: record.squared.get() };
            rows.push((order, row), GFP_KERNEL)?;
        }
    }
    sort_by(&mut rows, |a: &(u64, Row), b| (b.1.time, b.0).cmp(&(a.1.time, a.0)));
    for (_, row) in rows.iter() {
        sorted.push(*row, GFP_KERNEL)?;
    }
    Ok(sorted)
}
