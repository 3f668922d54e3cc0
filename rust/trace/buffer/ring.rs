// SPDX-License-Identifier: GPL-2.0

//! One CPU's core buffer together with the memory it is made of.

use super::mapped::Shown;
use crate::core::ring_buffer::{CpuBuffer, Parts, SubBuffer, HEADER_SIZE};
use crate::kernel::pages::{Bulk, Pages};
use crate::kernel::raw_lock::RawLock;
use core::ptr::NonNull;
use kernel::alloc::Allocator;
use kernel::cpu::CpuId;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// The fewest sub-buffers a ring can have, the reader's not counted.
const MIN_SLOTS: usize = 2;

/// How large a ring is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Sub-buffers, the reader's not counted.
    pub(super) slots: u32,
    /// A sub-buffer has 2^order pages.
    pub(super) order: u32,
}

impl Shape {
    /// The most that the core's descriptors can number.
    pub(super) const MAX_SLOTS: usize = (1 << 24) - 2;

    /// The shape with room for `bytes` in sub-buffers of 2^`order` pages. `ENOMEM` for more than
    /// can be numbered.
    pub(super) fn with_room(bytes: usize, order: u32) -> Result<Self> {
        let slots = bytes.div_ceil(Self::room(order)).max(MIN_SLOTS);
        if slots > Self::MAX_SLOTS {
            return Err(ENOMEM);
        }
        Ok(Self {
            slots: slots as u32,
            order,
        })
    }

    /// The least there can be.
    pub(super) const LEAST: Self = Self {
        slots: MIN_SLOTS as u32,
        order: 0,
    };

    /// Bytes for records in one sub-buffer.
    fn room(order: u32) -> usize {
        (PAGE_SIZE << order) - HEADER_SIZE
    }

    /// Sub-buffers, the reader's counted.
    pub(super) fn blocks(self) -> usize {
        self.slots as usize + 1
    }

    /// Pages that they take.
    pub(super) fn pages(self) -> usize {
        self.blocks() << self.order
    }

    /// Bytes for records in the ring.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        self.slots as usize * Self::room(self.order)
    }
}

/// What belongs to the reading side.
#[derive(Default)]
pub(super) struct Reading {
    /// While user space maps the ring.
    pub(super) shown: Option<KBox<Shown>>,
}

/// The last epoch that a ring got.
static EPOCH: Atomic<u64> = Atomic::new(0);

/// A core buffer and its memory.
///
/// # Invariants
///
/// `core` was made of what `memory` has. If that is the ring's own, the memory of each descriptor
/// is a block of `order` that came from [`Pages::into_raw`], or none, and the ring is in a box;
/// else the ring itself lies in the region, too.
#[repr(C)]
pub(super) struct Ring {
    pub(super) core: CpuBuffer,
    /// One bit for each level of contexts that reads the clock for an entry here. Only the CPU's
    /// own contexts change it, and each puts it back.
    pub(super) in_clock: Atomic<u32>,
    /// The reader lock. Its holder may use the reading side; the ring is not replaced while it is
    /// held.
    pub(super) reader: RawLock<Reading>,
    /// What tells this ring's content from that of other rings and from what it held before it was
    /// emptied.
    pub(super) epoch: Atomic<u64>,
    order: u32,
    memory: Memory,
}

// Code in assembly takes the address of a ring for that of its core (`ring_buffer/assembly.rs`).
const _: () = assert!(core::mem::offset_of!(Ring, core) == 0);

/// Whose memory a ring is made of.
pub(super) enum Memory {
    /// Its own.
    Own { _descriptors: Descriptors },
    /// A region's ([`super::region`]).
    Region,
}

impl Ring {
    /// An empty ring for `cpu`, recording, in overwrite mode. Task context, sleeps. `ENOMEM`, and
    /// `EINTR` once the task is to die.
    pub(super) fn new(cpu: CpuId, shape: Shape) -> Result<KBox<Self>> {
        let mut blocks = Self::blocks(
            &Bulk::begin(shape.pages())?,
            cpu,
            shape.order,
            shape.blocks(),
        )?
        .into_iter();
        // There are as many, and the memory is initialised and the ring's own.
        Self::with_descriptors(shape, || {
            blocks
                .next()
                .map_or_else(SubBuffer::vacant, |block| SubBuffer::new(block.into_raw()))
        })
    }

    /// A ring without memory for its sub-buffers, to be given it by a
    /// [`Resize`](crate::core::ring_buffer::Resize) before anybody else uses it. Task context,
    /// sleeps. `ENOMEM`.
    pub(super) fn vacant(shape: Shape) -> Result<KBox<Self>> {
        Self::with_descriptors(shape, SubBuffer::vacant)
    }

    /// So many blocks of memory for sub-buffers of `cpu`. Task context, sleeps. Errors as of
    /// [`Ring::new`].
    pub(super) fn blocks(
        bulk: &Bulk,
        cpu: CpuId,
        order: u32,
        count: usize,
    ) -> Result<KVVec<Pages>> {
        let mut blocks = KVVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            blocks.push(bulk.pages(cpu, order)?, GFP_KERNEL)?;
        }
        Ok(blocks)
    }

    /// A ring of descriptors that `descriptor` gives: all vacant, or each with a block of the
    /// shape's order that came from [`Pages::into_raw`].
    fn with_descriptors(shape: Shape, descriptor: impl FnMut() -> SubBuffer) -> Result<KBox<Self>> {
        let place = KBox::<Self>::new_uninit(GFP_KERNEL)?;
        let (sub_buffers, descriptors) = Descriptors::new(shape.blocks(), descriptor)?;
        let parts = Parts {
            sub_buffers,
            nr_slots: shape.slots,
            sub_buffer_size: (PAGE_SIZE << shape.order) as u32,
        };
        // SAFETY: there are as many descriptors as `parts` says, and they move with the ring
        // without reallocating; the blocks are zeroed, page-aligned and the ring's own, or there
        // are none yet.
        let core = unsafe { CpuBuffer::new(parts) }.map_err(|_| EINVAL)?;
        // INVARIANT: made of these parts.
        let memory = Memory::Own {
            _descriptors: descriptors,
        };
        Ok(place.write(Self::of(
            core,
            shape.order,
            memory,
            RawLock::new(Reading::default()),
        )))
    }

    /// A ring of its parts; they must be as the type's invariants say.
    pub(super) fn of(
        core: CpuBuffer,
        order: u32,
        memory: Memory,
        reader: RawLock<Reading>,
    ) -> Self {
        Self {
            core,
            in_clock: Atomic::new(0),
            reader,
            epoch: Atomic::new(next_epoch()),
            order,
            memory,
        }
    }

    /// Does it lie in a region?
    pub(super) fn is_in_region(&self) -> bool {
        matches!(self.memory, Memory::Region)
    }

    /// Ends a ring. Task context.
    ///
    /// # Safety
    ///
    /// `ring` came from `KBox::into_raw` or lies in a region, and nobody uses it any more.
    pub(super) unsafe fn end(ring: NonNull<Self>) {
        // SAFETY: nobody uses the ring any more; by the type invariant it is in a box if not in a
        // region.
        unsafe {
            if ring.as_ref().is_in_region() {
                ring.drop_in_place();
            } else {
                drop(KBox::from_raw(ring.as_ptr()));
            }
        }
    }

    /// Says that what is there now has nothing to do with what was there before.
    pub(super) fn renew(&self) {
        self.epoch.store(next_epoch(), Relaxed);
    }

    /// How many sub-buffers there are, the reader's included.
    pub(super) fn sub_buffers(&self) -> u32 {
        self.core.nr_slots().wrapping_add(1)
    }

    /// Its shape.
    pub(super) fn shape(&self) -> Shape {
        Shape {
            slots: self.core.nr_slots(),
            order: self.order,
        }
    }
}

fn next_epoch() -> u64 {
    EPOCH.fetch_add(1, Relaxed).wrapping_add(1)
}

/// Descriptors of sub-buffers, in memory that is rounded up to pages at most: `kmalloc()` makes it
/// a power of two.
pub(super) enum Descriptors {
    Few { _kept: KVec<SubBuffer> },
    Many { _kept: VVec<SubBuffer> },
}

impl Descriptors {
    /// So many, and where they lie. `ENOMEM`.
    fn new(
        count: usize,
        descriptor: impl FnMut() -> SubBuffer,
    ) -> Result<(NonNull<SubBuffer>, Self)> {
        fn table<A: Allocator>(
            count: usize,
            mut descriptor: impl FnMut() -> SubBuffer,
        ) -> Result<(NonNull<SubBuffer>, Vec<SubBuffer, A>)> {
            let mut table = Vec::with_capacity(count, GFP_KERNEL)?;
            let at = NonNull::new(table.as_mut_ptr()).unwrap_or(NonNull::dangling());
            for _ in 0..count {
                // There is room for all of them.
                let _ = table.push_within_capacity(descriptor());
            }
            Ok((at, table))
        }
        if count * size_of::<SubBuffer>() <= PAGE_SIZE {
            table(count, descriptor).map(|(at, _kept)| (at, Self::Few { _kept }))
        } else {
            table(count, descriptor).map(|(at, _kept)| (at, Self::Many { _kept }))
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.is_in_region() {
            return;
        }
        for id in 0..=self.core.nr_slots() {
            if let Some(block) = self.core.sub_buffer_memory(id).and_then(NonNull::new) {
                // SAFETY: by the type invariant a block of this order that is ours; nobody uses the
                // ring any more.
                drop(unsafe { Pages::from_raw(block, self.order) });
            }
        }
    }
}
