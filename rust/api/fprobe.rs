// SPDX-License-Identifier: GPL-2.0

//! Callbacks at the entry and at the return of functions, with data of each call.
//!
//! C header: `include/linux/fprobe.h`.

use crate::{Call, EntryExitCallback, Hit, Return};
use core::mem::size_of;
use core::ptr;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::types::Opaque;

/// A registered [`EntryExitCallback`].
///
/// Dropping it ends the registration and waits until neither callback runs any more: task context,
/// may sleep. Calls that have not returned by then return without it.
///
/// # Examples
///
/// ```
/// use core::sync::atomic::{AtomicU64, Ordering};
/// use kernel::prelude::*;
/// use kernel::time::{delay::fsleep, Delta};
/// use rtrace::fprobe::Fprobe;
/// use rtrace::{Call, EntryExitCallback, Return};
///
/// /// How many nanoseconds sleeps have taken, and how many microseconds were asked for.
/// struct Sleeps {
///     taken: AtomicU64,
///     asked: AtomicU64,
/// }
///
/// impl EntryExitCallback for Sleeps {
///     type Data = (u64, u64);
///
///     fn entry(&self, call: &Call<'_>) -> Option<(u64, u64)> {
///         Some((rtrace::now(), call.argument(0)? as u64))
///     }
///
///     fn exit(&self, (begin, asked): (u64, u64), _: &Return<'_>) {
///         let taken = rtrace::now().saturating_sub(begin);
///         self.taken.fetch_add(taken, Ordering::Relaxed);
///         self.asked.fetch_add(asked, Ordering::Relaxed);
///     }
/// }
///
/// let sleeps = Sleeps { taken: AtomicU64::new(0), asked: AtomicU64::new(0) };
/// let probe = KBox::pin_init(Fprobe::new(c"usleep_range_state", sleeps), GFP_KERNEL)?;
/// fsleep(Delta::from_millis(1));
/// assert!(probe.callback().asked.load(Ordering::Relaxed) >= 1000);
/// assert_ne!(probe.callback().taken.load(Ordering::Relaxed), 0);
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct Fprobe<T: EntryExitCallback> {
    callback: T,
    #[pin]
    probe: Opaque<bindings::fprobe>,
}

// SAFETY: what is done with the probe from `&self` is done by the tracing core, which takes its
// locks; the callback is `Send`.
unsafe impl<T: EntryExitCallback> Send for Fprobe<T> {}
// SAFETY: as above; the callback is `Sync`.
unsafe impl<T: EntryExitCallback> Sync for Fprobe<T> {}

impl<T: EntryExitCallback> Fprobe<T> {
    /// Calls `callback` at the functions that match `pattern`, a name or a glob. Task context, may
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if no function matches, `E2BIG` if the data of a call are too large (more than a few
    /// words), `ENOMEM`, `ENODEV` if ftrace has shut itself down after an error.
    pub fn new(pattern: &CStr, callback: T) -> impl PinInit<Self, Error> + use<'_, T> {
        // The probe is last: from its registration on, the callbacks are called.
        try_pin_init!(Self {
            callback,
            probe <- Opaque::try_ffi_init(move |probe: *mut bindings::fprobe| {
                // SAFETY: the slot may be written to. It is the field of a pinned `Self`, whose
                // callback is there already and which stays until `drop` has unregistered the probe.
                unsafe {
                    probe.write(bindings::fprobe {
                        entry_data_size: size_of::<T::Data>(),
                        entry_handler: Some(Self::entry),
                        exit_handler: Some(Self::exit),
                        ..pin_init::zeroed()
                    });
                    let pattern = pattern.as_char_ptr();
                    to_result(bindings::register_fprobe(probe, pattern, ptr::null()))
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
    /// `probe` is that of a registered `Self`, whose callback stays for the lifetime that the caller
    /// picks.
    #[inline]
    unsafe fn of<'a>(probe: *mut bindings::fprobe) -> &'a T {
        // SAFETY: the probe is the field of a `Self`, whose callback was there before the probe was
        // registered, stays until it is unregistered, and is only shared.
        unsafe {
            let probe = Opaque::cast_from(probe).cast_mut();
            &(*kernel::container_of!(probe, Self, probe)).callback
        }
    }

    /// # Safety
    ///
    /// `probe` is that of a registered `Self`, `regs` are those of the hit, and `data` has as many
    /// bytes as the probe asked for.
    unsafe extern "C" fn entry(
        probe: *mut bindings::fprobe,
        ip: usize,
        parent: usize,
        regs: *mut bindings::ftrace_regs,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: `probe` is registered during the call, and the registers stay.
        let handed = unsafe { Self::of(probe).entry(&Call(Hit::new(ip, parent, regs))) };
        match handed {
            Some(handed) => {
                // SAFETY: there are so many bytes, of any alignment.
                unsafe { data.cast::<T::Data>().write_unaligned(handed) };
                0
            }
            None => 1,
        }
    }

    /// # Safety
    ///
    /// As for `entry`; `data` are those that the entry of this call has written.
    unsafe extern "C" fn exit(
        probe: *mut bindings::fprobe,
        ip: usize,
        parent: usize,
        regs: *mut bindings::ftrace_regs,
        data: *mut c_void,
    ) {
        // SAFETY: `probe` is registered during the call, the registers stay, and the entry has
        // written the data, as it had the return followed.
        unsafe {
            let handed = data.cast::<T::Data>().read_unaligned();
            Self::of(probe).exit(handed, &Return(Hit::new(ip, parent, regs)));
        }
    }
}

#[pinned_drop]
impl<T: EntryExitCallback> PinnedDrop for Fprobe<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: a `Self` that exists is registered. This waits for the callbacks.
        unsafe { bindings::unregister_fprobe(self.probe.get()) };
    }
}
