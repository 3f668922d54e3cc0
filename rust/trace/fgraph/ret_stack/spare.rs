// SPDX-License-Identifier: GPL-2.0

//! Stacks that no task has yet, for tasks that run their first traced function.

use super::layout::Words;
use super::Current;
use crate::kernel::clock;
use crate::kernel::irq_work::{IrqWork, Run};
use crate::kernel::slab::Cache;
use core::ptr;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::SetOnce;

/// Spare stacks for each CPU.
const SPARES: usize = 4;

impl Current {
    /// Takes a spare stack for a task that has none; tracing of it is paused.
    pub(super) fn take_spare(&self) {
        let Some(stack) = SPARE.as_ref().and_then(|spare| spare.take()) else {
            return;
        };
        let stack = KBox::into_raw(stack).cast();
        let taken = self
            .0
            .stack()
            .cmpxchg(ptr::null_mut(), stack, ordering::Full);
        if taken.is_ok() {
            // INVARIANT: it has a stack now.
            self.0.used().store(0, Relaxed);
        } else {
            // An interrupt was traced meanwhile, and has taken another.
            // SAFETY: it came from `KBox::into_raw` just now, and nobody else has it.
            let stack = unsafe { KBox::from_raw(stack.cast::<Words>()) };
            if let Some(spare) = SPARE.as_ref() {
                spare.give(stack);
            }
        }
    }
}

/// Stacks that no task has yet.
struct Spare {
    /// One place more for each CPU than are filled, at the end, for those that are given back.
    stacks: KVec<Atomic<*mut Words>>,
    /// How many of them are filled; for a moment it may say more, never less. While there are none,
    /// tasks without a stack do not look at each place at each function.
    filled: Atomic<i32>,
    /// The tick at which there was no memory for more.
    failed: Atomic<u64>,
    refill: Pin<KBox<IrqWork<Refill>>>,
    /// Where they are allocated. It is not destroyed: made last.
    cache: Cache<Words>,
}

static SPARE: SetOnce<Spare> = SetOnce::new();

/// Puts new stacks where some were taken.
struct Refill;

impl Run for Refill {
    fn run(&self) {
        // Without memory the functions of some task are counted as overrun until the next attempt, at
        // the next tick. So the reserves for atomic contexts may be used: it is a stack for a task at
        // most.
        if let Some(spare) = SPARE.as_ref() {
            let filled = spare.fill(false);
            if filled.is_err() {
                spare.failed.store(clock::ticks(), Relaxed);
            }
        }
    }
}

impl Spare {
    fn new() -> Result<Self> {
        let mut stacks = KVec::new();
        for _ in 0..(SPARES + 1) * kernel::cpu::nr_cpu_ids() as usize {
            stacks.push(Atomic::new(ptr::null_mut()), GFP_KERNEL)?;
        }
        Ok(Spare {
            stacks,
            filled: Atomic::new(0),
            failed: Atomic::new(0),
            refill: KBox::pin_init(IrqWork::new(Refill), GFP_KERNEL)?,
            cache: Cache::new(c"fgraph_stack")?,
        })
    }

    /// Any context.
    fn take(&self) -> Option<KBox<Words>> {
        let stack = match self.filled.load(Relaxed) {
            0 => None,
            _ => self.find(),
        };
        if self.failed.load(Relaxed) != clock::ticks() {
            self.refill.queue();
        }
        stack
    }

    fn find(&self) -> Option<KBox<Words>> {
        // Each CPU begins at its own places, so that many do not try the same one.
        let first = SPARES.wrapping_mul(kernel::cpu::CpuId::current().as_u32() as usize);
        let (others, own) = self.stacks.split_at_checked(first).unwrap_or_default();
        let stack = [own, others]
            .into_iter()
            .flatten()
            .filter(|place| !place.load(Relaxed).is_null())
            .map(|place| place.xchg(ptr::null_mut(), ordering::Full))
            .find(|p| !p.is_null())?;
        self.filled.fetch_sub(1, Relaxed);
        // SAFETY: what is in a place came from `KBox::into_raw`, and the exchange has made it ours
        // alone.
        Some(unsafe { KBox::from_raw(stack) })
    }

    /// Puts a stack in a place, unless that has one.
    fn put(&self, place: &Atomic<*mut Words>, stack: *mut Words) -> bool {
        // Before it can be taken.
        self.filled.fetch_add(1, Relaxed);
        // Fully ordered: who takes the stack has counted it.
        let put = place
            .cmpxchg(ptr::null_mut(), stack, ordering::Full)
            .is_ok();
        if !put {
            self.filled.fetch_sub(1, Relaxed);
        }
        put
    }

    /// Any context. Frees nothing, which would not do there: `fill` leaves places at the end empty.
    fn give(&self, stack: KBox<Words>) {
        let stack = KBox::into_raw(stack);
        let _ = self
            .stacks
            .iter()
            .filter(|place| place.load(Relaxed).is_null())
            .find(|place| self.put(place, stack));
    }

    /// Fills all places but those at the end, which are for [`Spare::give`]. Others may fill at the
    /// same time. With `waits`, in task context, and may sleep; else not in an NMI. `ENOMEM`.
    fn fill(&self, waits: bool) -> Result {
        let count = SPARES * kernel::cpu::nr_cpu_ids() as usize;
        let places = self.stacks.iter().take(count);
        for place in places.filter(|place| place.load(Relaxed).is_null()) {
            let stack = KBox::into_raw(self.cache.zeroed(waits)?);
            if !self.put(place, stack) {
                // SAFETY: it came from `KBox::into_raw` just now, and nobody else has it.
                drop(unsafe { KBox::from_raw(stack) });
            }
        }
        Ok(())
    }
}

kernel::sync::global_lock! {
    /// Serialises [`prepare`].
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static PREPARING: Mutex<()> = ();
}

/// Makes sure that there are spare stacks: before anything is traced. Task context, may sleep.
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    let _one = PREPARING.lock();
    if SPARE.as_ref().is_none() {
        SPARE.populate(Spare::new()?);
    }
    SPARE.as_ref().map_or(Ok(()), |spare| spare.fill(true))
}
