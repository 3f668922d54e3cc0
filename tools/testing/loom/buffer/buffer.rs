// SPDX-License-Identifier: GPL-2.0

//! A buffer of one CPU. What it does is in the kernel's files; here are its fields, and what those
//! files take from `rust/trace/buffer.rs` and from files that are not here.

#[path = "../../../../rust/trace/buffer/lane.rs"]
mod lane;
#[path = "../../../../rust/trace/buffer/read.rs"]
mod read;
#[path = "../../../../rust/trace/buffer/resize.rs"]
mod resize;
#[path = "../../../../rust/trace/buffer/ring.rs"]
mod ring;
#[path = "../../../../rust/trace/buffer/settle.rs"]
mod settle;
#[path = "../../../../rust/trace/buffer/swap.rs"]
mod swap;
#[path = "../../../../rust/trace/buffer/wait.rs"]
mod wait;

#[cfg(all(test, loom))]
#[path = "models.rs"]
mod models;

use crate::kernel::percpu::PerCpu;
use crate::kernel::wait_queue::WaitQueue;
use core::ptr::NonNull;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::{Arc, Mutex};
use lane::Lane;
use read::Part;
use ring::{Ring, Shape};

pub(crate) struct Buffer {
    rings: PerCpu<Atomic<*mut Ring>>,
    clock_in_line: Atomic<bool>,
    on: Atomic<bool>,
    paused: Atomic<u32>,
    quiet: Atomic<u32>,
    kept: Atomic<u32>,
    offered: Atomic<bool>,
    overwrite: Atomic<bool>,
    absolute: Atomic<bool>,
    started: Atomic<u64>,
    wakes: Atomic<u32>,
    lanes: KVec<Option<Pin<KBox<Lane>>>>,
    all: Arc<WaitQueue>,
    sizes: Mutex<Sizes>,
}

struct Sizes {
    full: usize,
    order: u32,
    expanded: bool,
}

impl Buffer {
    /// A buffer of two sub-buffers and the reader's.
    pub(crate) fn new(bytes: usize, expanded: bool) -> impl PinInit<Self> {
        move || {
            let all = queue()?;
            let cpu = CpuId::from_u32(0).ok_or(EINVAL)?;
            let lane = Lane::new(cpu, all.clone())?;
            lane.present.store(true, Relaxed);
            let mut lanes = KVec::new();
            lanes.push(Some(lane), GFP_KERNEL)?;
            let ring = KBox::into_raw(Ring::new(cpu, Shape::with_room(1, 0)?)?);
            let buffer = Self {
                rings: PerCpu::new(Atomic::new(ring)),
                clock_in_line: Atomic::new(true),
                on: Atomic::new(true),
                paused: Atomic::new(0),
                quiet: Atomic::new(0),
                kept: Atomic::new(0),
                offered: Atomic::new(true),
                overwrite: Atomic::new(true),
                absolute: Atomic::new(false),
                started: Atomic::new(0),
                wakes: Atomic::new(0),
                lanes,
                all,
                sizes: Mutex::new(Sizes {
                    full: bytes,
                    order: 0,
                    expanded,
                }),
            };
            buffer.settle_all();
            Ok(buffer)
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    fn now(&self) -> u64 {
        0
    }

    pub(crate) fn cpu(&self, cpu: CpuId) -> Option<Part<'_>> {
        self.lane(cpu).map(|lane| Part { buffer: self, lane })
    }

    /// The only lane.
    fn only_lane(&self) -> &Lane {
        self.all_lanes().next().expect("there is one")
    }

    /// Runs `f` on the ring that there is, as a writer does: with preemption off.
    fn with_only_ring<R>(&self, f: impl FnOnce(&Lane, &Ring) -> R) -> R {
        let lane = self.only_lane();
        self.with_ring(lane, |ring| f(lane, ring))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(ring) = NonNull::new(
            self.rings
                .this()
                .xchg(core::ptr::null_mut(), ordering::Full),
        ) {
            // SAFETY: nobody uses the buffer any more.
            unsafe { Ring::end(ring) };
        }
    }
}

fn queue() -> Result<Arc<WaitQueue>> {
    Ok(Arc::new(WaitQueue))
}

fn wait_for_writers() {
    kernel::rcu::wait();
}

/// No ring is mapped.
mod mapped {
    use super::ring::Ring;
    use crate::core::ring_buffer::MappedPage;

    pub(super) struct Shown;

    impl Shown {
        pub(super) fn update(&self, _ring: &Ring, _page: MappedPage) {}
    }
}
