// SPDX-License-Identifier: GPL-2.0

//! Callbacks at the entry of functions.
//!
//! C header: `include/linux/ftrace.h`.

use crate::{filter, Call, Hit};
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::types::Opaque;

/// What is called at the entry of traced functions.
///
/// The callback runs on any CPU and in any context, NMIs among them, with preemption off. It must
/// not sleep, and must not take a lock that code which it interrupts may hold; atomics are fine, and
/// so are [`RingBuffer::write`](crate::ring_buffer::RingBuffer::write) and
/// [`Instance::print`](crate::instance::Instance::print). A traced function that it calls may call it
/// once more, and then no more: the core has a guard against recursion. Where RCU is not watching, it
/// is not called.
pub trait FunctionCallback: Send + Sync + 'static {
    /// A function that is traced is entered.
    fn entry(&self, call: &Call<'_>);
}

/// A registered [`FunctionCallback`].
///
/// Dropping it ends the registration and waits until the callback does not run any more: task
/// context, may sleep.
///
/// # Examples
///
/// ```
/// use core::sync::atomic::{AtomicUsize, Ordering};
/// use kernel::prelude::*;
/// use kernel::time::{delay::fsleep, Delta};
/// use rtrace::function::{FunctionCallback, FunctionProbe};
/// use rtrace::Call;
///
/// struct Sleeps(AtomicUsize);
///
/// impl FunctionCallback for Sleeps {
///     fn entry(&self, _: &Call<'_>) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let sleeps = Sleeps(AtomicUsize::new(0));
/// let probe = KBox::pin_init(FunctionProbe::new(&[c"usleep_range_*"], sleeps), GFP_KERNEL)?;
/// fsleep(Delta::from_millis(1));
/// assert_ne!(probe.callback().0.load(Ordering::Relaxed), 0);
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct FunctionProbe<T: FunctionCallback> {
    callback: T,
    #[pin]
    ops: Opaque<bindings::ftrace_ops>,
}

// SAFETY: what is done with the ops from `&self` is done by the tracing core, which takes its locks;
// the callback is `Send`.
unsafe impl<T: FunctionCallback> Send for FunctionProbe<T> {}
// SAFETY: as above; the callback is `Sync`.
unsafe impl<T: FunctionCallback> Sync for FunctionProbe<T> {}

impl<T: FunctionCallback> FunctionProbe<T> {
    /// Calls `callback` at the entry of the functions that match one of `patterns`: names, or globs
    /// as `set_ftrace_filter` takes them (`vfs_*`, `rust_binder::*`). Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no pattern, one that begins with `!` or a digit, or one that no function matches;
    /// `ENOMEM`; `ENODEV` if ftrace has shut itself down after an error.
    pub fn new<'a>(
        patterns: &'a [&'a CStr],
        callback: T,
    ) -> impl PinInit<Self, Error> + use<'a, T> {
        // The ops is last: from its registration on, the callback is called.
        try_pin_init!(Self {
            callback,
            ops <- Opaque::try_ffi_init(move |ops: *mut bindings::ftrace_ops| {
                // Dynamic in a static of the kernel, too: only for such ops the end of the
                // registration waits for the callbacks.
                let flags = bindings::FTRACE_OPS_FL_RECURSION
                    | bindings::FTRACE_OPS_FL_RCU
                    | bindings::FTRACE_OPS_FL_DYNAMIC;
                // SAFETY: the slot may be written to. It is the field of a pinned `Self`, whose
                // callback is there already and which stays until `drop` has unregistered the ops.
                unsafe {
                    ops.write(bindings::ftrace_ops {
                        func: Some(Self::entry),
                        flags: flags as usize,
                        ..pin_init::zeroed()
                    });
                    register(ops, patterns)
                }
            }),
        }? Error)
    }

    /// The callback, with what it has recorded.
    #[inline]
    pub fn callback(&self) -> &T {
        &self.callback
    }

    /// # Safety
    ///
    /// `ops` is that of a `Self` and registered; `regs` are null or those of the hit.
    unsafe extern "C" fn entry(
        ip: usize,
        parent: usize,
        ops: *mut bindings::ftrace_ops,
        regs: *mut bindings::ftrace_regs,
    ) {
        // SAFETY: the ops is the field of a `Self`, which stays as long as it is registered; its
        // callback was there before, and is only shared. The registers stay during the call.
        unsafe {
            let ops = Opaque::cast_from(ops).cast_mut();
            let this = kernel::container_of!(ops, Self, ops);
            (*this).callback.entry(&Call(Hit::new(ip, parent, regs)));
        }
    }
}

/// Sets the filter of `ops` and registers it. If that fails, nothing of it is left.
///
/// # Safety
///
/// `ops` is not registered, and stays in its place until it is unregistered.
#[inline]
unsafe fn register(ops: *mut bindings::ftrace_ops, patterns: &[&CStr]) -> Result {
    // SAFETY: the ops is not registered, and stays.
    let done = unsafe {
        filter::set(ops, patterns).and_then(|()| to_result(bindings::register_ftrace_function(ops)))
    };
    if done.is_err() {
        // SAFETY: it is not registered.
        unsafe { bindings::ftrace_free_filter(ops) };
    }
    done
}

#[pinned_drop]
impl<T: FunctionCallback> PinnedDrop for FunctionProbe<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: a `Self` that exists is registered. After an error by which ftrace shuts itself
        // down this fails, and the callback is not called then either.
        unsafe {
            bindings::unregister_ftrace_function(self.ops.get());
            bindings::ftrace_free_filter(self.ops.get());
        }
    }
}
