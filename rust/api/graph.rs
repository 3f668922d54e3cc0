// SPDX-License-Identifier: GPL-2.0

//! Callbacks at the entry and at the return of functions, as users of the function graph: with data
//! of each call, and a filter of several patterns.
//!
//! C header: `include/linux/ftrace.h`.

use crate::{filter, Call, EntryExitCallback, Hit, Return};
use core::mem::size_of;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::types::Opaque;

/// A registered [`EntryExitCallback`]: a user of the function graph, beside the `function_graph`
/// tracer and fprobes. There can be 16 of them in all.
///
/// While it exists, the `function_graph` tracer does not take its shortest path.
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
/// use rtrace::graph::GraphProbe;
/// use rtrace::{Call, EntryExitCallback, Return};
///
/// struct Longest(AtomicU64);
///
/// impl EntryExitCallback for Longest {
///     type Data = u64;
///
///     fn entry(&self, _: &Call<'_>) -> Option<u64> {
///         Some(rtrace::now())
///     }
///
///     fn exit(&self, begin: u64, _: &Return<'_>) {
///         let time = rtrace::now().saturating_sub(begin);
///         self.0.fetch_max(time, Ordering::Relaxed);
///     }
/// }
///
/// let longest = Longest(AtomicU64::new(0));
/// let probe = GraphProbe::new(&[c"usleep_range_*", c"msleep"], longest);
/// let probe = KBox::pin_init(probe, GFP_KERNEL)?;
/// fsleep(Delta::from_millis(1));
/// assert_ne!(probe.callback().0.load(Ordering::Relaxed), 0);
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct GraphProbe<T: EntryExitCallback> {
    callback: T,
    #[pin]
    user: Opaque<bindings::fgraph_ops>,
}

// SAFETY: what is done with the user from `&self` is done by the tracing core, which takes its locks;
// the callback is `Send`.
unsafe impl<T: EntryExitCallback> Send for GraphProbe<T> {}
// SAFETY: as above; the callback is `Sync`.
unsafe impl<T: EntryExitCallback> Sync for GraphProbe<T> {}

impl<T: EntryExitCallback> GraphProbe<T> {
    /// Calls `callback` at the functions that match one of `patterns`: names, or globs as
    /// `set_ftrace_filter` takes them (`vfs_*`, `rust_binder::*`). Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no pattern, one that begins with `!` or a digit, or one that no function matches;
    /// `E2BIG` if the data of a call have more than 256 bytes; `ENOSPC` if there are too many users of
    /// the function graph; `ENOMEM`; `ENODEV` if ftrace has shut itself down after an error.
    pub fn new<'a>(
        patterns: &'a [&'a CStr],
        callback: T,
    ) -> impl PinInit<Self, Error> + use<'a, T> {
        // The user is last: from its registration on, the callbacks are called.
        try_pin_init!(Self {
            callback,
            user <- Opaque::try_ffi_init(move |user: *mut bindings::fgraph_ops| {
                // SAFETY: the slot may be written to. It is the field of a pinned `Self`, whose
                // callback is there already and which stays until `drop` has unregistered the user.
                unsafe {
                    user.write(bindings::fgraph_ops {
                        entryfunc: Some(Self::entry),
                        retfunc: Some(Self::exit),
                        ..pin_init::zeroed()
                    });
                    Self::register(user, patterns)
                }
            }),
        }? Error)
    }

    /// # Safety
    ///
    /// `user` is the field of a pinned `Self`, with its functions, and not registered.
    unsafe fn register(user: *mut bindings::fgraph_ops, patterns: &[&CStr]) -> Result {
        if size_of::<T::Data>() > bindings::RTRACE_GRAPH_DATA_MAX as usize {
            return Err(E2BIG);
        }
        // SAFETY: the user is there, not registered, and stays until it is unregistered. A filter
        // that is set is given back if there is no registration.
        unsafe {
            let ops = &raw mut (*user).ops;
            filter::set(ops, patterns)
                .and_then(|()| to_result(bindings::register_ftrace_graph(user)))
                .inspect_err(|_| bindings::ftrace_free_filter(ops))
        }
    }

    /// The callback, with what it has recorded.
    #[inline]
    pub fn callback(&self) -> &T {
        &self.callback
    }

    /// # Safety
    ///
    /// `user` is that of a registered `Self`, whose callback stays for the lifetime that the caller
    /// picks.
    #[inline]
    unsafe fn of<'a>(user: *mut bindings::fgraph_ops) -> &'a T {
        // SAFETY: the user is the field of a `Self`, whose callback was there before the user was
        // registered, stays until it is unregistered and hits are out, and is only shared.
        unsafe {
            let user = Opaque::cast_from(user).cast_mut();
            &(*kernel::container_of!(user, Self, user)).callback
        }
    }

    /// # Safety
    ///
    /// `user` is that of a registered `Self`, and the other two are of the hit.
    unsafe extern "C" fn entry(
        trace: *mut bindings::ftrace_graph_ent,
        user: *mut bindings::fgraph_ops,
        regs: *mut bindings::ftrace_regs,
    ) -> c_int {
        // SAFETY: no preconditions.
        if !unsafe { bindings::rcu_is_watching() } {
            return 0;
        }
        // SAFETY: the user is registered, and its place does not change then. What was reserved goes
        // again if the return is not wanted.
        let data =
            unsafe { bindings::fgraph_reserve_data((*user).idx, size_of::<T::Data>() as c_int) };
        if data.is_null() {
            return 0;
        }
        // SAFETY: the user is registered during the call, and the registers stay, as does the word
        // that their stack pointer leads to: at its entry a function returns to what it holds.
        let handed = unsafe {
            let caller = *(bindings::rtrace_stack_pointer(regs) as *const usize);
            Self::of(user).entry(&Call(Hit::new((*trace).func, caller, regs)))
        };
        match handed {
            Some(handed) => {
                // SAFETY: there are so many bytes, of any alignment.
                unsafe { data.cast::<T::Data>().write_unaligned(handed) };
                1
            }
            None => 0,
        }
    }

    /// # Safety
    ///
    /// As for `entry`, which has asked for this return.
    unsafe extern "C" fn exit(
        trace: *mut bindings::ftrace_graph_ret,
        user: *mut bindings::fgraph_ops,
        regs: *mut bindings::ftrace_regs,
    ) {
        // SAFETY: no preconditions.
        if !unsafe { bindings::rcu_is_watching() } {
            return;
        }
        let mut size = 0;
        // SAFETY: the user is registered, so its place does not change.
        let data = unsafe { bindings::fgraph_retrieve_data((*user).idx, &mut size) };
        if data.is_null() || (size as usize) < size_of::<T::Data>() {
            return;
        }
        // SAFETY: the user is registered during the call, and the registers stay; the entry of this
        // call has written the data, as it had the return followed.
        unsafe {
            let handed = data.cast::<T::Data>().read_unaligned();
            let caller = bindings::rtrace_instruction_pointer(regs);
            Self::of(user).exit(handed, &Return(Hit::new((*trace).func, caller, regs)));
        }
    }
}

#[pinned_drop]
impl<T: EntryExitCallback> PinnedDrop for GraphProbe<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: a `Self` that exists is registered. This waits for the callbacks.
        unsafe { bindings::rtrace_unregister_graph(self.user.get()) };
    }
}
