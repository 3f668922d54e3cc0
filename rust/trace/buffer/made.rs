// SPDX-License-Identifier: GPL-2.0

//! Buffers that C callers make with `ring_buffer_alloc()`. They belong to no instance; all that the core does for them
//! by itself is to take in CPUs that come up.
//!
//! Lock order: the lock of CPU hotplug, [`Registry`]'s mutex, a buffer's resize mutex.

use super::Buffer;
use crate::kapi::{cpus, hotplug};
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

/// A buffer that [`free`] takes out before it goes.
#[derive(PartialEq, Eq)]
struct Known(NonNull<Buffer>);

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
    let registry = REGISTRY.as_ref().ok_or(ENODEV)?;
    let made = KBox::try_pin_init(Buffer::new(bytes, true), GFP_KERNEL)?;
    made.set_overwrite(overwrite);
    // No CPU comes up between the two steps, without which one could be missed by both.
    let _no_change = hotplug::Hold::new();
    cpus::online().try_for_each(|cpu| made.prepare(cpu))?;
    let mut buffers = registry.buffers.lock();
    buffers.reserve(1, GFP_KERNEL)?;
    // SAFETY: it stays where it is until `free`.
    let made = NonNull::from(Box::leak(unsafe { Pin::into_inner_unchecked(made) }));
    // There is room.
    let _ = buffers.push_within_capacity(Known(made));
    Ok(made)
}

/// Ends a buffer. Task context, sleeps.
///
/// # Safety
///
/// `buffer` came from [`make`], and nobody uses it any more.
pub(crate) unsafe fn free(buffer: NonNull<Buffer>) {
    if let Some(registry) = REGISTRY.as_ref() {
        registry.buffers.lock().retain(|known| *known != Known(buffer));
    }
    // SAFETY: by the precondition a box's, and no CPU that comes up finds it any more.
    drop(unsafe { KBox::from_raw(buffer.as_ptr()) });
}

/// A CPU is about to come up. Task context, sleeps. `ENOMEM`.
pub(crate) fn prepare(cpu: CpuId) -> Result {
    let Some(registry) = REGISTRY.as_ref() else { return Ok(()) };
    let buffers = registry.buffers.lock();
    // SAFETY: those in the list live; `free` needs the mutex to take one out.
    buffers.iter().try_for_each(|known| unsafe { known.0.as_ref() }.prepare(cpu))
}
