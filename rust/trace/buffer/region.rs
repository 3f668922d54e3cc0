// SPDX-License-Identifier: GPL-2.0

//! Memory that a whole buffer lies in, so that the next kernel finds it
//! (`Documentation/persistent-buffers.md`).
//!
//!     first page(s)     header (`Header`), then the scratch area, which is the owner's
//!     for each CPU      the ring with its words and descriptors; then, page-aligned, its sub-buffers
//!
//! What is found there at first is bytes. The header says whether they were laid out as they would
//! be now. If so, the core checks each CPU's part ([`SavedBuffer`]) and says which sub-buffers are
//! valid. Only then the ring is built anew in its place, around those. A ring in a region is never
//! replaced, swapped or resized.

use super::ring::{Memory, Reading, Ring, Shape};
use super::Buffer;
use crate::core::ring_buffer::{
    place_of, CpuBuffer, Parts, SavedBuffer, SubBuffer, ValidSubBuffer, Validation,
};
use crate::kernel::percpu::PerCpu;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::reserved::Reserved;
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;
use kernel::cpu::{nr_cpu_ids, CpuId};
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};

/// Words of the header.
const HEADER: usize = 4;
/// Its first word, once all else is in place.
const MAGIC: u64 = 0x7274_7261_6365_0002;

/// Where things are.
#[derive(Clone, Copy)]
struct Plan {
    /// Words of the scratch area.
    scratch: usize,
    /// How many CPUs have a part.
    cpus: usize,
    /// Bytes from one part to the next.
    stride: usize,
    shape: Shape,
}

impl Plan {
    /// The largest one for `size` bytes. `EINVAL` if there is none.
    fn for_size(size: usize, scratch: usize, order: u32) -> Result<Self> {
        let cpus = nr_cpu_ids() as usize;
        let scratch = scratch.div_ceil(8);
        let plan = |slots: usize| {
            let shape = Shape {
                slots: slots as u32,
                order,
            };
            let stride = Self::before_memory(slots) + (slots + 1) * (PAGE_SIZE << order);
            Self {
                scratch,
                cpus,
                stride,
                shape,
            }
        };
        let rest = size.checked_sub(plan(2).first());
        let rest = rest.and_then(|rest| rest.checked_div(cpus)).ok_or(EINVAL)?;
        let mut slots = (rest / (PAGE_SIZE << order)).min(Shape::MAX_SLOTS);
        while slots >= 2 && plan(slots).stride > rest {
            slots -= 1;
        }
        if slots < 2 {
            Err(EINVAL)
        } else {
            Ok(plan(slots))
        }
    }

    /// Where the first part begins.
    fn first(&self) -> usize {
        ((HEADER + self.scratch) * size_of::<u64>()).next_multiple_of(PAGE_SIZE)
    }

    /// Bytes of a part before its sub-buffers.
    fn before_memory(slots: usize) -> usize {
        (size_of::<Ring>() + (slots + 1) * size_of::<SubBuffer>()).next_multiple_of(PAGE_SIZE)
    }

    /// What the header must say, besides [`MAGIC`].
    fn words(&self, size: usize) -> [u64; HEADER - 1] {
        let types = [
            size_of::<Ring>(),
            offset_of!(Ring, core),
            size_of::<CpuBuffer>(),
            size_of::<SubBuffer>(),
        ];
        let types = types
            .into_iter()
            .fold(0u64, |all, size| all << 16 | size as u64);
        let Shape { slots, order } = self.shape;
        [
            types,
            (size as u64) << 16 | self.cpus as u64,
            (self.scratch as u64) << 32 | u64::from(slots) << 8 | u64::from(order),
        ]
    }
}

/// See the module's head.
///
/// # Invariants
///
/// `plan` was made for the size of `memory`.
pub(crate) struct Region {
    memory: Reserved,
    plan: Plan,
    /// Is what the parts hold of an earlier kernel?
    found: Atomic<bool>,
}

impl Region {
    /// A region on `memory` with a scratch area of so many bytes and sub-buffers of 2^`order`
    /// pages. What is in the scratch area stays if it was such a region before, else it is cleared.
    /// `EINVAL` if the memory is too small.
    pub(crate) fn new(memory: Reserved, scratch: usize, order: u32) -> Result<Self> {
        if order > Buffer::MAX_ORDER {
            return Err(EINVAL);
        }
        let plan = Plan::for_size(memory.size(), scratch, order)?;
        // INVARIANT: just made.
        let region = Self {
            memory,
            plan,
            found: Atomic::new(false),
        };
        let words = Iterator::chain([MAGIC].into_iter(), plan.words(region.memory.size()));
        let known = region
            .words(0, HEADER)
            .iter()
            .zip(words)
            .all(|(is, wanted)| is.load(Relaxed) == wanted);
        region.found.store(known, Relaxed);
        if !known {
            Iterator::chain(region.words(0, HEADER).iter(), region.scratch())
                .for_each(|word| word.store(0, Relaxed));
        }
        Ok(region)
    }

    /// The scratch area.
    pub(crate) fn scratch(&self) -> &[Atomic<u64>] {
        self.words(HEADER, self.plan.scratch)
    }

    /// Whether it was laid out by an earlier kernel, or by an earlier user.
    pub(crate) fn was_found(&self) -> bool {
        self.found.load(Relaxed)
    }

    /// Can its memory be given back?
    pub(crate) fn can_go(&self) -> bool {
        self.memory.can_go()
    }

    /// As [`Reserved::give_back_in_the_end`].
    pub(crate) fn give_back_in_the_end(&self) {
        self.memory.give_back_in_the_end();
    }

    /// Can its sub-buffers be mapped?
    pub(crate) fn can_be_mapped(&self) -> bool {
        self.memory.has_pages()
    }

    /// Its memory, to be read back elsewhere. Errors as [`Reserved::copy`].
    pub(crate) fn copy(&self) -> Result<Reserved> {
        self.memory.copy()
    }

    /// Is its memory a copy?
    pub(crate) fn is_copy(&self) -> bool {
        self.memory.is_copy()
    }

    pub(super) fn shape(&self) -> Shape {
        self.plan.shape
    }

    /// Words of its first pages, before the first part.
    fn words(&self, from: usize, count: usize) -> &[Atomic<u64>] {
        // SAFETY: by the type invariants so many words, and a multiple of pages behind them, are in
        // the memory, which is aligned; words there are used as atomics only.
        unsafe {
            core::slice::from_raw_parts(
                self.memory.start().cast::<Atomic<u64>>().add(from).as_ptr(),
                count,
            )
        }
    }

    /// Says that it is laid out: all rings are in their places.
    fn seal(&self) {
        let words = self.plan.words(self.memory.size());
        for (place, word) in self.words(1, HEADER - 1).iter().zip(words) {
            place.store(word, Relaxed);
        }
        if let Some(magic) = self.words(0, 1).first() {
            magic.store(MAGIC, ordering::Release);
        }
    }

    /// Puts rings in place for all CPUs, with what can be kept of what was there. Gives them. Task
    /// context. `ENOMEM`.
    pub(super) fn rings(&self) -> Result<PerCpu<Atomic<*mut Ring>>> {
        let slots = self.plan.shape.slots as usize;
        let mut saved = KVVec::from_elem(ValidSubBuffer::default(), slots + 1, GFP_KERNEL)?;
        let rings = PerCpu::new(|_| Atomic::new(core::ptr::null_mut()))?;
        for (cpu, place) in rings.iter() {
            place.store(self.ring(cpu, &mut saved)?.as_ptr(), Relaxed);
        }
        self.seal();
        Ok(rings)
    }

    /// Puts the ring of `cpu` in place.
    fn ring(&self, cpu: CpuId, saved: &mut [ValidSubBuffer]) -> Result<NonNull<Ring>> {
        let Plan {
            stride,
            shape,
            cpus,
            ..
        } = self.plan;
        let index = cpu.as_u32() as usize;
        if index >= cpus {
            return Err(EINVAL);
        }
        let (slots, size) = (shape.slots as usize, PAGE_SIZE << shape.order);
        let count = slots + 1;
        // SAFETY: by the type invariants each CPU's part, and all of what is said to be in it, is
        // within the memory.
        let (part, descriptors, memory) = unsafe {
            let part = self.memory.start().add(self.plan.first() + index * stride);
            let descriptors = part.add(size_of::<Ring>());
            (part, descriptors, part.add(Plan::before_memory(slots)))
        };
        // SAFETY: by the type invariants so many bytes are there in the CPU's part, and nobody
        // writes them before `kept` is known.
        let bytes = |at: NonNull<u8>, count: usize| unsafe {
            core::slice::from_raw_parts(at.as_ptr().cast_const(), count)
        };
        let validation = if self.was_found() {
            let found = SavedBuffer {
                buffer: bytes(part, size_of::<Ring>())
                    .get(offset_of!(Ring, core)..)
                    .unwrap_or(&[]),
                descriptors: bytes(descriptors, count * size_of::<SubBuffer>()),
                memory: bytes(memory, count * size),
                nr_slots: shape.slots,
                sub_buffer_size: size as u32,
            };
            found.validate(saved)
        } else {
            Validation::default()
        };
        report(cpu, validation);

        let sub_buffers = descriptors.cast::<SubBuffer>();
        for id in 0..count {
            // SAFETY: places for so many descriptors and sub-buffers are in the part, aligned: the
            // part and the memory to pages, a ring's size to its alignment, which is a
            // descriptor's.
            unsafe {
                sub_buffers.add(id).write(SubBuffer::new(
                    memory.add(place_of(id as u32, shape.slots) * size),
                ))
            };
        }
        let parts = Parts {
            sub_buffers,
            nr_slots: shape.slots,
            sub_buffer_size: size as u32,
        };
        // SAFETY: just written, as many as `parts` says; the memory is the region's own, and any
        // byte is a valid value.
        let core = unsafe { CpuBuffer::new(parts) }.map_err(|_| EINVAL)?;
        // SAFETY: nobody else has it; the sub-buffers are where they were validated, and untouched
        // since.
        unsafe { core.restore(saved.get(..validation.kept).unwrap_or(&[])) };
        let ring = part.cast::<Ring>();
        // SAFETY: room for it is at the start of the part.
        unsafe {
            ring.write(Ring::of(
                core,
                shape.order,
                Memory::Region,
                RawLock::new(Reading::default()),
            ))
        };
        Ok(ring)
    }
}

const _: () = {
    assert!(core::mem::align_of::<Ring>() == core::mem::align_of::<SubBuffer>());
    assert!(size_of::<Ring>() % core::mem::align_of::<SubBuffer>() == 0);
};

fn report(cpu: CpuId, validation: Validation) {
    let Validation { kept, discarded } = validation;
    let cpu = cpu.as_u32();
    if kept != 0 || discarded != 0 {
        pr_info!(
            "ring buffer of cpu {} is of the last boot: {} sub-buffers\n",
            cpu,
            kept
        );
    }
    if discarded != 0 {
        pr_warn!(
            "ring buffer of cpu {}: {} invalid sub-buffers of the last boot were left out\n",
            cpu,
            discarded
        );
    }
}

impl Buffer {
    /// A buffer in `region`, switched on, with what the region was found to hold. It is never
    /// resized or swapped. Task context, sleeps. `ENOMEM`.
    ///
    /// # Safety
    ///
    /// There is no other buffer in the region, and the region outlives this one.
    pub(crate) unsafe fn in_region(region: &Region) -> impl PinInit<Self, Error> + '_ {
        let bytes = region.shape().bytes();
        Self::with_rings(move || region.rings(), bytes, true).pin_chain(|buffer| {
            core::mem::forget(buffer.keep_rings());
            core::mem::forget(buffer.hold(None));
            Ok(())
        })
    }
}
