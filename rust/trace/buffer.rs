// SPDX-License-Identifier: GPL-2.0

//! An instance's ring buffer: the core's per-CPU buffers joined to pages, locks, clocks and
//! sleepers.
//!
//! Each possible CPU has a [`Ring`](ring::Ring), reached by one per-CPU pointer, and a
//! [`Lane`](lane::Lane) with what writers seldom need. A CPU that was never up has a ring of the
//! least size; [`Buffer::prepare`] gives it its own when it comes up. Writers
//! ([`record`](self::record)) take no lock and may be in any context; a writer ends its entry on
//! the ring where it has begun it. Readers take the ring's reader lock ([`Part::lock_reader`]), a
//! raw spinlock with interrupts off, or try to.
//!
//! Words: *on* is `tracing_on`; *paused* counts the callers that pause it; *allowed* is the CPU's
//! bit in `tracing_cpumask`. A ring records while on, not paused and allowed ([`Buffer::settle`]).
//!
//! A ring is replaced ([`resize`]) or emptied ([`settle`]) under the resize mutex: recording off, a
//! grace period for writers, and the pointer changed, or the ring emptied, under the reader lock. Two
//! buffers exchange rings ([`swap`]) without any of this: writers and readers that are under way stay
//! with the ring they have.
//!
//! Lock order: the owner instance's state mutex, the lock of CPU hotplug, the resize mutex, the swap
//! lock, one ring's reader lock (innermost). [`Buffer::prepare`] is called with the second one held;
//! what resizes or empties takes it.

mod buffer_iter;
pub(crate) mod clock;
pub(crate) mod entry;
mod lane;
#[allow(unsafe_code, reason = "what C callers have")]
pub(crate) mod made;
#[allow(unsafe_code, reason = "pages that user space maps")]
mod mapped;
#[allow(unsafe_code, reason = "guards that keep what they guard")]
mod owned;
#[allow(unsafe_code, reason = "what C callers have")]
mod raw;
#[allow(unsafe_code, reason = "the reader side of a ring")]
pub(crate) mod read;
mod read_page;
#[allow(unsafe_code, reason = "the recording path")]
mod record;
#[allow(unsafe_code, reason = "memory that outlives the kernel")]
pub(crate) mod region;
#[allow(unsafe_code, reason = "rings change places")]
mod resize;
#[allow(unsafe_code, reason = "the memory of a ring")]
mod ring;
#[allow(unsafe_code, reason = "rings go after a grace period")]
mod settle;
pub(crate) mod sub_buffer_copy;
#[allow(unsafe_code, reason = "rings change places")]
mod swap;
#[cfg(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)]
mod validate;
mod wait;
#[allow(unsafe_code, reason = "the clock in line")]
mod writer_clock;

pub(crate) use buffer_iter::BufferIter;
pub(crate) use mapped::Mapped;
pub(crate) use owned::Owned;
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) use raw::HeldRing;
pub(crate) use read::Part;
pub(crate) use read_page::ReadPage;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) use record::Body;
pub(crate) use record::Target;
#[cfg(any(CONFIG_FUNCTION_TRACER, CONFIG_FTRACE_SYSCALLS, CONFIG_BRANCH_TRACER))]
pub(crate) use record::Unfinished;
pub(crate) use settle::Pause;
pub(crate) use swap::Rings;

use self::clock::{Clock, CLOCKS};
use crate::core::format::stats::Size;
use crate::core::ring_buffer::CpuBuffer;
use crate::kernel::clock::{sched_is_native, ForeignClock, OwnClock};
use crate::kernel::cpus::{self, CpuSet};
use crate::kernel::hotplug;
use crate::kernel::percpu::PerCpu;
use crate::kernel::rcu_slot;
use crate::kernel::wait_queue::WaitQueue;
use core::ptr::NonNull;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::{new_mutex, Arc, Mutex};
use lane::Lane;
use ring::{Ring, Shape};

/// The ring buffer of one instance.
///
/// # Invariants
///
/// Each pointer of `rings` came from `KBox::into_raw`, or is of a ring that lies in a region, and
/// is in one place of one buffer. It changes places with the swap lock held. It is replaced while
/// it is kept (`kept` of the buffer or of its lane), with the resize mutex and the ring's reader lock held, and what it
/// pointed to goes after a grace period.
#[pin_data(PinnedDrop)]
pub(crate) struct Buffer {
    rings: PerCpu<Atomic<*mut Ring>>,
    /// Is the clock `local`, and one that can be read in line?
    clock_in_line: Atomic<bool>,
    clock: Atomic<usize>,
    /// A C caller's clock, instead.
    own_clock: OwnClock,
    on: Atomic<bool>,
    paused: Atomic<u32>,
    /// How many empty or replace rings: nothing is recorded meanwhile, and that is no pause.
    quiet: Atomic<u32>,
    /// How many need all rings to stay; see [`Buffer::keep_rings`].
    kept: Atomic<u32>,
    /// May the rings be swapped as far as the owner is concerned? Changes with the swap lock held;
    /// while not, it counts in `kept`.
    offered: Atomic<bool>,
    overwrite: Atomic<bool>,
    /// Do all entries carry their full time?
    absolute: Atomic<bool>,
    started: Atomic<u64>,
    /// How often all sleepers were woken.
    wakes: Atomic<u32>,
    /// By CPU number; none for CPUs that are not possible.
    lanes: KVec<Option<Pin<KBox<Lane>>>>,
    /// The waiters for events of any CPU.
    all: Arc<WaitQueue>,
    #[pin]
    sizes: Mutex<Sizes>,
}

/// What is known of sizes; its mutex is the resize mutex. Who empties rings takes it, too: a resize
/// relies on what it has found in a ring while it has no reader lock.
struct Sizes {
    /// Bytes per CPU that CPUs get when they come up, and all on expansion.
    full: usize,
    /// A sub-buffer has 2^order pages.
    order: u32,
    expanded: bool,
}

impl Buffer {
    /// The highest order of a sub-buffer, which the core's words can count the bytes of.
    pub(crate) const MAX_ORDER: u32 =
        (*CpuBuffer::SUB_BUFFER_SIZES.end() / kernel::page::PAGE_SIZE as u32).ilog2();

    /// A buffer of `bytes` per CPU, of the least size for now unless `expanded`, switched on. Task
    /// context, sleeps. `ENOMEM`.
    pub(crate) fn new(bytes: usize, expanded: bool) -> impl PinInit<Self, Error> {
        Self::with_rings(least_rings, bytes, expanded)
    }

    /// [`Buffer::new`] with the rings that `rings` gives, which nobody else has.
    fn with_rings(
        rings: impl FnOnce() -> Result<PerCpu<Atomic<*mut Ring>>>,
        bytes: usize,
        expanded: bool,
    ) -> impl PinInit<Self, Error> {
        let buffer = try_pin_init!(Self {
            all: queue()?,
            lanes: new_lanes(all)?,
            // INVARIANT: as the callers make them.
            rings: rings()?,
            clock_in_line: Atomic::new(sched_is_native()),
            clock: Atomic::new(clock::LOCAL),
            own_clock: OwnClock::none(),
            on: Atomic::new(true),
            paused: Atomic::new(0),
            quiet: Atomic::new(0),
            kept: Atomic::new(0),
            offered: Atomic::new(true),
            overwrite: Atomic::new(true),
            absolute: Atomic::new(false),
            started: Atomic::new(0),
            wakes: Atomic::new(0),
            sizes <- new_mutex!(Sizes { full: bytes, order: 0, expanded }),
        }? Error);
        buffer.pin_chain(|buffer| {
            buffer.settle_all();
            Ok(())
        })
    }

    /// Is recording on, as `tracing_on` shows it? Any context.
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Lets the CPUs in `mask` record, and only them. Any context.
    pub(crate) fn set_mask(&self, mask: &CpuSet) {
        for lane in self.all_lanes() {
            lane.allowed.store(mask.contains(lane.cpu), Relaxed);
        }
        self.settle_all();
    }

    /// Whether `cpu` may record. Any context.
    #[cfg(CONFIG_HWLAT_TRACER)]
    pub(crate) fn is_allowed(&self, cpu: CpuId) -> bool {
        self.lane(cpu)
            .is_some_and(|lane| lane.allowed.load(Relaxed))
    }

    /// Does every entry carry its full time? Any context.
    pub(crate) fn is_absolute(&self) -> bool {
        self.absolute.load(Relaxed)
    }

    /// The clock that stamps entries, of a buffer that has none of a C caller's. Any context.
    pub(crate) fn clock(&self) -> &'static Clock {
        CLOCKS
            .get(self.clock.load(Relaxed))
            .unwrap_or(&CLOCKS[clock::LOCAL])
    }

    /// Changes the clock (a row of [`CLOCKS`]) and empties the buffer. Task context, sleeps.
    pub(crate) fn set_clock(&self, row: usize) {
        let _no_change = hotplug::Hold::new();
        let sizes = self.sizes.lock();
        let _rings = self.keep_rings();
        let _quiet = self.keep_quiet();
        wait_for_writers();
        self.clock.store(row, Relaxed);
        self.clock_in_line
            .store(row == clock::LOCAL && sched_is_native(), Relaxed);
        self.settle_all();
        self.empty(&sizes, None);
    }

    /// Goes on with a clock that the buffer's content was recorded by. Task context, before anybody
    /// records.
    pub(super) fn continue_clock(&self, row: usize) {
        self.clock.store(row, Relaxed);
        self.clock_in_line
            .store(row == clock::LOCAL && sched_is_native(), Relaxed);
        self.settle_all();
    }

    /// The clock, as a row of [`CLOCKS`]. Any context.
    pub(super) fn clock_row(&self) -> usize {
        self.clock.load(Relaxed)
    }

    /// Has entries stamped by a C caller's clock from now on, or by the clock `local`. What the
    /// buffer holds stays, with the times it has. Any context.
    pub(crate) fn set_own_clock(&self, clock: Option<ForeignClock>) {
        self.clock.store(clock::LOCAL, Relaxed);
        self.own_clock.set(clock);
        self.clock_in_line
            .store(clock.is_none() && sched_is_native(), Relaxed);
        self.settle_all();
    }

    /// Reads the clock that stamps entries. Any context.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.own_clock.read().unwrap_or_else(|| self.clock().now())
    }

    /// The parts of the CPUs that were ever up, by CPU. Any context.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = Part<'_>> {
        self.lanes().map(|lane| Part { buffer: self, lane })
    }

    /// The part of `cpu`; none when that CPU was never up. Any context.
    pub(crate) fn cpu(&self, cpu: CpuId) -> Option<Part<'_>> {
        self.lane(cpu).map(|lane| Part { buffer: self, lane })
    }

    /// The clock's reading when the buffer was last emptied as a whole, 0 if it never was. What is
    /// older came in by a swap since, and is not shown. Any context.
    pub(crate) fn time_start(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// Sets what [`Buffer::time_start`] says, in the clock's units. Any context.
    pub(crate) fn set_time_start(&self, time: u64) {
        self.started.store(time, Relaxed);
    }

    /// Bytes of the ring of each possible CPU; of one that was never up, those that it will get.
    fn bytes_of<'a>(&'a self, sizes: &Sizes) -> impl Fn(&Lane) -> u64 + 'a {
        let usual = self.usual(sizes).map_or(0, |shape| shape.bytes());
        move |lane| {
            let present = lane.present.load(Relaxed);
            let bytes = || self.with_ring(lane, |ring| ring.shape().bytes());
            (if present { bytes() } else { usual }) as u64
        }
    }

    /// What the size files show, for `cpu` or for all. Task context.
    pub(crate) fn size(&self, cpu: Option<CpuId>) -> Size {
        let sizes = self.sizes.lock();
        let bytes = self.bytes_of(&sizes);
        // One CPU's file shows nothing but its own.
        let expanded = (!sizes.expanded && cpu.is_none()).then_some(sizes.full as u64);
        Size::of(
            self.all_lanes()
                .filter(|lane| cpu.is_none_or(|cpu| cpu == lane.cpu))
                .map(bytes),
            expanded,
        )
    }

    /// What `buffer_total_size_kb` shows: the KiB of each CPU added up, and of what they will
    /// expand to. Task context.
    pub(crate) fn total_size(&self) -> Size {
        let sizes = self.sizes.lock();
        let kb = |bytes: u64| bytes >> 10;
        let now = self.all_lanes().map(self.bytes_of(&sizes)).map(kb).sum();
        match sizes.expanded {
            true => Size::Kb(now),
            false => {
                // More than there is memory for may have been asked for at boot.
                let cpus = self.all_lanes().count() as u64;
                Size::Unexpanded(now, kb(sizes.full as u64).saturating_mul(cpus))
            }
        }
    }

    /// A sub-buffer has 2^this pages, on the first CPU if they differ for a moment. Any context.
    #[inline]
    pub(crate) fn order(&self) -> u32 {
        self.lanes()
            .next()
            .map_or(0, |lane| self.with_ring(lane, |ring| ring.shape().order))
    }

    /// Does `cpu` record, as far as the switches say? Any context.
    pub(crate) fn records_on(&self, cpu: CpuId) -> bool {
        self.lane(cpu).is_some_and(|lane| self.wants(lane))
    }

    /// Size of a sub-buffer in bytes, its header included. Task context.
    #[inline]
    pub(crate) fn sub_buffer_size(&self) -> usize {
        kernel::page::PAGE_SIZE << self.sizes.lock().order
    }

    /// The longest that an entry can be on every CPU, in bytes, its common header included. Any
    /// context.
    pub(crate) fn max_entry(&self) -> usize {
        let longest = self
            .lanes()
            .map(|lane| self.with_ring(lane, |ring| ring.core.max_payload()))
            .min();
        longest.unwrap_or(0)
    }

    /// Whether there is nothing to read on `cpu`, or on any. Any context.
    pub(crate) fn is_empty(&self, cpu: Option<CpuId>) -> bool {
        self.lanes()
            .filter(|lane| cpu.is_none_or(|cpu| cpu == lane.cpu))
            .all(|lane| self.with_ring(lane, |ring| ring.core.entries() == 0))
    }

    /// Whether there is nothing on any CPU, those included that were never up, which cannot be read.
    /// Any context.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.all_lanes()
            .all(|lane| self.with_ring(lane, |ring| ring.core.entries() == 0))
    }

    /// Empties the part of `cpu`, while the others go on. Task context, sleeps.
    pub(crate) fn reset_cpu(&self, cpu: CpuId) {
        if let Some(part) = self.cpu(cpu) {
            part.reset();
        }
    }

    /// Empties the parts of the CPUs that are up. Task context, sleeps.
    pub(crate) fn reset_online(&self) {
        let _no_change = hotplug::Hold::new();
        let sizes = self.sizes.lock();
        let _rings = self.keep_rings();
        let _quiet = self.keep_quiet();
        wait_for_writers();
        self.cpus()
            .filter(|part| cpus::is_online(part.cpu()))
            .for_each(|part| self.empty(&sizes, Some(part.cpu())));
    }
}

/// A new wait queue.
fn queue() -> Result<Arc<WaitQueue>> {
    Arc::pin_init(
        WaitQueue::new(c"trace_readers", kernel::static_lock_class!()),
        GFP_KERNEL,
    )
}

fn new_lanes(all: &Arc<WaitQueue>) -> Result<KVec<Option<Pin<KBox<Lane>>>>> {
    let mut lanes = KVec::new();
    for id in 0..kernel::cpu::nr_cpu_ids() {
        let lane = match CpuId::from_u32(id).filter(|&cpu| cpus::is_possible(cpu)) {
            Some(cpu) => Some(Lane::new(cpu, all.clone())?),
            None => None,
        };
        lanes.push(lane, GFP_KERNEL)?;
    }
    Ok(lanes)
}

/// A ring of the least size for each possible CPU.
#[allow(unsafe_code, reason = "gives up what it has made")]
fn least_rings() -> Result<PerCpu<Atomic<*mut Ring>>> {
    let rings = PerCpu::new(|_| Atomic::new(core::ptr::null_mut()))?;
    for (cpu, place) in rings.iter() {
        match Ring::new(cpu, Shape::with_room(1, 0)?) {
            Ok(ring) => place.store(KBox::into_raw(ring), Relaxed),
            Err(error) => {
                // SAFETY: boxes that were made above, or null; nobody else has seen them.
                unsafe { free(&rings) };
                return Err(error);
            }
        }
    }
    Ok(rings)
}

/// Ends the rings.
///
/// # Safety
///
/// Each is null, or as [`Ring::end`] asks.
#[allow(unsafe_code, reason = "owns the rings")]
unsafe fn free(rings: &PerCpu<Atomic<*mut Ring>>) {
    for (_, place) in rings.iter() {
        if let Some(ring) = NonNull::new(place.xchg(core::ptr::null_mut(), ordering::Full)) {
            // SAFETY: by the function's precondition; it is taken out once.
            unsafe { Ring::end(ring) };
        }
    }
}

#[allow(unsafe_code, reason = "what the macro makes of it")]
#[pinned_drop]
impl PinnedDrop for Buffer {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: by the invariant of `Buffer`; it is borrowed by nobody.
        unsafe { free(&self.rings) };
    }
}

/// Waits until no writer is left that began before this. Where recording is paused events are lost
/// meanwhile, so it is as short as possible. Task context, sleeps.
fn wait_for_writers() {
    rcu_slot::wait_expedited();
}
