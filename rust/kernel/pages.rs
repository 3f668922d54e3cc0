// SPDX-License-Identifier: GPL-2.0

//! Blocks of physically contiguous pages, for memory that may be handed to user space page by page.
//!
//! C header: `include/linux/gfp.h`.

use core::ptr::NonNull;
use kernel::bindings;
use kernel::cpu::CpuId;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::types::NotThreadSafe;

/// 2^order pages, zeroed when new.
///
/// # Invariants
///
/// `address` is the kernel's address of a compound page of `order` that the value owns.
pub(crate) struct Pages {
    address: NonNull<u8>,
    order: u32,
}

// SAFETY: it owns plain memory.
unsafe impl Send for Pages {}
// SAFETY: shared references give out no access to the memory.
unsafe impl Sync for Pages {}

impl Pages {
    /// Allocates near `cpu`. Task context, sleeps. `ENOMEM`, without a warning in the log.
    pub(crate) fn new(cpu: CpuId, order: u32) -> Result<Self> {
        let flags = bindings::GFP_KERNEL
            | bindings::__GFP_NOWARN
            | bindings::__GFP_ZERO
            | 1 << bindings::___GFP_RETRY_MAYFAIL_BIT
            | 1 << bindings::___GFP_COMP_BIT;
        // SAFETY: a `CpuId` is below `nr_cpu_ids`, for which there is a node; pages that are no high
        // memory have an address.
        let address = unsafe {
            let node = bindings::cpu_to_node(cpu.as_u32() as c_int);
            let page = bindings::alloc_pages_node(node, flags, order);
            if page.is_null() {
                return Err(ENOMEM);
            }
            bindings::page_address(page)
        };
        // INVARIANT: just allocated.
        Ok(Self {
            address: NonNull::new(address.cast()).ok_or(ENOMEM)?,
            order,
        })
    }

    /// Where they are.
    pub(crate) fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// Its bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: by the type invariant the value's own memory, which was initialised when it was
        // allocated.
        unsafe { core::slice::from_raw_parts_mut(self.address.as_ptr(), self.size()) }
    }

    /// Whether a pipe or a mapping has a reference to the memory.
    pub(crate) fn is_shared(&self) -> bool {
        // SAFETY: by the type invariant there is a live page at the address.
        unsafe { bindings::rtrace_page_is_shared(self.address.as_ptr().cast()) }
    }

    /// 2^order pages each.
    pub(crate) fn order(&self) -> u32 {
        self.order
    }

    /// The first of them, as the memory management knows it.
    pub(crate) fn page(&self) -> *mut bindings::page {
        // SAFETY: by the type invariant there is a live page at the address.
        unsafe { bindings::rtrace_page_at(self.address.as_ptr().cast()) }
    }

    /// How many bytes.
    pub(crate) fn size(&self) -> usize {
        PAGE_SIZE << self.order
    }

    /// Gives up ownership; [`Pages::from_raw`] takes it back.
    pub(crate) fn into_raw(self) -> NonNull<u8> {
        core::mem::ManuallyDrop::new(self).address
    }

    /// Owns the pages at `address`.
    ///
    /// # Safety
    ///
    /// `address` came from [`Pages::into_raw`] of pages of this `order`, and nobody else uses or
    /// owns them.
    pub(crate) unsafe fn from_raw(address: NonNull<u8>, order: u32) -> Self {
        // INVARIANT: `into_raw` gave up these pages, and nobody else owns them.
        Self { address, order }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: by the type invariant pages of this order, which the value owns; who else has them
        // mapped or in a pipe has a reference of its own.
        unsafe { bindings::free_pages(self.address.as_ptr() as usize, self.order) };
    }
}

/// Many blocks are being allocated for one purpose. While this lives, the task that asks for them
/// is the one that the OOM killer takes first.
pub(crate) struct Bulk {
    is_origin: bool,
    /// The mark is the task's.
    _not_send: NotThreadSafe,
}

impl Bulk {
    /// Begins to allocate so many pages. Task context. `ENOMEM` if the system has fewer available.
    pub(crate) fn begin(pages: usize) -> Result<Self> {
        // SAFETY: no preconditions.
        let available = usize::try_from(unsafe { bindings::si_mem_available() }).unwrap_or(0);
        if pages > available {
            return Err(ENOMEM);
        }
        // SAFETY: task context; undone by `drop`.
        let is_origin = unsafe { bindings::rtrace_begin_oom_origin() };
        Ok(Self {
            is_origin,
            _not_send: NotThreadSafe,
        })
    }

    /// One of the blocks, as [`Pages::new`]. `EINTR` once the task is to die.
    pub(crate) fn pages(&self, cpu: CpuId, order: u32) -> Result<Pages> {
        // SAFETY: no preconditions.
        if unsafe { bindings::rtrace_is_killed() } {
            return Err(EINTR);
        }
        Pages::new(cpu, order)
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        if self.is_origin {
            // SAFETY: `begin` has set it for this task, which the value cannot leave.
            unsafe { bindings::rtrace_end_oom_origin() };
        }
    }
}
