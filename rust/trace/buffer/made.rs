// SPDX-License-Identifier: GPL-2.0

//! Buffers that C callers make with `ring_buffer_alloc()`. They belong to no instance; all that the
//! core does for them by itself is to take in CPUs that come up.
//!
//! Lock order: the lock of CPU hotplug, [`Registry`]'s mutex, a buffer's resize mutex.

use super::region::Region;
use super::Buffer;
use crate::kernel::{cpus, hotplug};
use core::pin::Pin;
use core::ptr::NonNull;
use kernel::cpu::CpuId;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex, SetOnce};

/// The buffers that there are.
#[pin_data]
struct Registry {
    #[pin]
    buffers: Mutex<KVec<Known>>,
}

/// A buffer that [`free`] takes out before it goes, and where it lies if that is a C caller's
/// memory.
struct Known(NonNull<Buffer>, Option<KBox<Region>>);

// SAFETY: a `Buffer` may be used from any thread.
unsafe impl Send for Known {}

static REGISTRY: SetOnce<Arc<Registry>> = SetOnce::new();

/// Prepares for buffers. Once, at boot. `ENOMEM`.
pub(crate) fn init() -> Result {
    let registry = pin_init!(Registry { buffers <- new_mutex!(KVec::new()) });
    REGISTRY.populate(Arc::pin_init(registry, GFP_KERNEL)?);
    Ok(())
}

/// Makes a buffer of `bytes` for each CPU. [`free`] ends it. Task context, sleeps.
///
/// # Errors
///
/// `ENOMEM`; `ENODEV` before [`init`].
pub(crate) fn make(bytes: usize, overwrite: bool) -> Result<NonNull<Buffer>> {
    known(
        None,
        KBox::try_pin_init(Buffer::new(bytes, true), GFP_KERNEL)?,
        overwrite,
    )
}

/// Makes a buffer in `region`, with what is found there. Otherwise as [`make`].
pub(crate) fn make_in(region: Region, overwrite: bool) -> Result<NonNull<Buffer>> {
    let region = KBox::new(region, GFP_KERNEL)?;
    // SAFETY: the only buffer there; the region goes behind it in `free`, or in `known`, where that
    // fails.
    let made = KBox::try_pin_init(unsafe { Buffer::in_region(&region) }, GFP_KERNEL)?;
    known(Some(region), made, overwrite)
}

/// Runs `f` on the region that `buffer` lies in, if it lies in one. Task context, sleeps.
pub(crate) fn with_region<R>(buffer: NonNull<Buffer>, f: impl FnOnce(&Region) -> R) -> Option<R> {
    let buffers = REGISTRY.as_ref()?.buffers.lock();
    buffers
        .iter()
        .find(|known| known.0 == buffer)?
        .1
        .as_deref()
        .map(f)
}

/// Has all CPUs that are up in a new buffer, and gives it to the registry. Where that fails, the
/// buffer goes before the region that it lies in: parameters are dropped from the last to the first.
fn known(
    region: Option<KBox<Region>>,
    made: Pin<KBox<Buffer>>,
    overwrite: bool,
) -> Result<NonNull<Buffer>> {
    let registry = REGISTRY.as_ref().ok_or(ENODEV)?;
    made.set_overwrite(overwrite);
    // No CPU comes up between the two steps, without which one could be missed by both.
    let _no_change = hotplug::Hold::new();
    cpus::online().try_for_each(|cpu| made.prepare(cpu))?;
    let mut buffers = registry.buffers.lock();
    buffers.reserve(1, GFP_KERNEL)?;
    // SAFETY: it stays where it is until `free`, which drops it there.
    let made = NonNull::from(Box::leak(unsafe { Pin::into_inner_unchecked(made) }));
    // There is room.
    let _ = buffers.push_within_capacity(Known(made, region));
    Ok(made)
}

/// Ends a buffer. Task context, sleeps.
///
/// # Safety
///
/// `buffer` came from [`make`] or [`make_in`], and nobody uses it any more.
pub(crate) unsafe fn free(buffer: NonNull<Buffer>) {
    let known = REGISTRY.as_ref().and_then(|registry| {
        let mut buffers = registry.buffers.lock();
        let at = buffers.iter().position(|known| known.0 == buffer)?;
        buffers.remove(at).ok()
    });
    // RCU has not waited for writers on a CPU in its first and last moments.
    drop(hotplug::Hold::new());
    // SAFETY: `make` leaked this box and `known` has it, so that no CPU that comes up finds it any
    // more; nobody else uses it.
    drop(unsafe { KBox::from_raw(buffer.as_ptr()) });
    // Where it lay goes behind it.
    drop(known);
}

/// A CPU is about to come up. Task context, sleeps. `ENOMEM`.
pub(crate) fn prepare(cpu: CpuId) -> Result {
    let Some(registry) = REGISTRY.as_ref() else {
        return Ok(());
    };
    let buffers = registry.buffers.lock();
    // SAFETY: those in the list live; `free` needs the mutex to take one out.
    buffers
        .iter()
        .try_for_each(|known| unsafe { known.0.as_ref() }.prepare(cpu))
}
