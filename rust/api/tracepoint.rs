// SPDX-License-Identifier: GPL-2.0

//! Callbacks at tracepoints.
//!
//! C header: `include/linux/tracepoint.h`.

use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// A tracepoint of the kernel, with the types of what it passes on. [`crate::tracepoint!`] makes
/// one.
///
/// # Safety
///
/// `function` returns a C function that the tracepoint called `NAME` may call with a pointer to a
/// `T` as its data.
pub unsafe trait Tracepoint: Sized + 'static {
    /// What C calls it.
    const NAME: &'static CStr;

    /// What it passes on.
    type Arguments;

    /// The function that the tracepoint calls.
    fn function<T: TracepointCallback<Self>>() -> *mut c_void;
}

/// What is called at tracepoint `P`.
///
/// It runs in the context that the tracepoint is in, on any CPU, with preemption as it is there: a task
/// may go to another CPU during the call. It must not sleep, and must not take a lock that may be held
/// at the tracepoint. Nothing guards it against recursion: it must not pass the tracepoint itself.
pub trait TracepointCallback<P: Tracepoint>: Send + Sync + 'static {
    /// The tracepoint is passed. Pointers among `arguments` are valid during the call, as the
    /// tracepoint's definition says.
    fn hit(&self, arguments: P::Arguments);
}

/// A callback in memory of its own, also one without size: a tracepoint tells its callbacks apart by
/// their addresses. The callback is first, so a pointer to this is one to it.
#[repr(C)]
struct Boxed<T> {
    callback: T,
    _byte: u8,
}

/// A callback that is registered at tracepoint `P`.
///
/// Dropping it ends the registration and waits until the callback does not run any more: task
/// context, may sleep.
///
/// # Examples
///
/// ```
/// use core::sync::atomic::{AtomicUsize, Ordering};
/// use kernel::bindings::task_struct;
/// use kernel::prelude::*;
/// use kernel::time::{delay::fsleep, Delta};
/// use rtrace::tracepoint::{TracepointCallback, TracepointProbe};
///
/// rtrace::tracepoint! {
///     /// A task begins to wait for a processor.
///     struct Waking = sched_waking(*mut task_struct);
/// }
///
/// struct Wakeups(AtomicUsize);
///
/// impl TracepointCallback<Waking> for Wakeups {
///     fn hit(&self, (_task,): (*mut task_struct,)) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let probe = TracepointProbe::<Waking, _>::new(Wakeups(AtomicUsize::new(0)))?;
/// fsleep(Delta::from_millis(1));
/// assert_ne!(probe.callback().0.load(Ordering::Relaxed), 0);
/// # Ok::<(), Error>(())
/// ```
pub struct TracepointProbe<P: Tracepoint, T: TracepointCallback<P>> {
    tracepoint: NonNull<bindings::tracepoint>,
    /// What the tracepoint calls. A generic function may have an address in each crate.
    function: *mut c_void,
    callback: KBox<Boxed<T>>,
    _tracepoint: PhantomData<fn(P)>,
}

// SAFETY: the tracepoint is static, and C's functions on it take their locks; the callback is
// `Send`.
unsafe impl<P: Tracepoint, T: TracepointCallback<P>> Send for TracepointProbe<P, T> {}
// SAFETY: as above; the callback is `Sync`.
unsafe impl<P: Tracepoint, T: TracepointCallback<P>> Sync for TracepointProbe<P, T> {}

impl<P: Tracepoint, T: TracepointCallback<P>> TracepointProbe<P, T> {
    /// Calls `callback` at each hit. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the kernel has no such tracepoint, `ENOMEM`. `EINVAL` in a kernel with `CONFIG_CFI`
    /// if an argument is an `enum`: there C does not call functions that take a number for it.
    pub fn new(callback: T) -> Result<Self> {
        let callback = KBox::new(Boxed { callback, _byte: 0 }, GFP_KERNEL)?;
        let mut search = Search {
            name: P::NAME,
            found: ptr::null_mut(),
        };
        // SAFETY: the function is called with a pointer to `search`, and only now.
        unsafe { bindings::for_each_kernel_tracepoint(Some(compare), (&raw mut search).cast()) };
        let found = NonNull::new(search.found).ok_or(ENOENT)?;
        let (function, data) = (
            P::function::<T>(),
            ptr::from_ref(&*callback).cast_mut().cast(),
        );
        // SAFETY: both are functions of the tracepoint's.
        if !unsafe { bindings::rtrace_probe_fits(found.as_ptr(), function) } {
            return Err(EINVAL);
        }
        // SAFETY: the tracepoint has the name of `P`, so it may call `P`'s function; the callback
        // stays in its box until `drop` has unregistered it.
        to_result(unsafe { bindings::tracepoint_probe_register(found.as_ptr(), function, data) })?;
        Ok(Self {
            tracepoint: found,
            function,
            callback,
            _tracepoint: PhantomData,
        })
    }

    /// The callback, with what it has recorded.
    #[inline]
    pub fn callback(&self) -> &T {
        &self.callback.callback
    }
}

impl<P: Tracepoint, T: TracepointCallback<P>> Drop for TracepointProbe<P, T> {
    fn drop(&mut self) {
        let data = ptr::from_ref(&*self.callback).cast_mut().cast();
        // SAFETY: it was registered with this function and these data. When the second call returns,
        // the callback runs nowhere.
        unsafe {
            bindings::tracepoint_probe_unregister(self.tracepoint.as_ptr(), self.function, data);
            bindings::tracepoint_synchronize_unregister();
        }
    }
}

struct Search {
    name: &'static CStr,
    found: *mut bindings::tracepoint,
}

/// # Safety
///
/// `tracepoint` is one, and `search` is a [`Search`] that nobody else uses.
#[inline]
unsafe extern "C" fn compare(tracepoint: *mut bindings::tracepoint, search: *mut c_void) {
    // SAFETY: the search is on the caller's stack; a tracepoint's name is a string.
    unsafe {
        let search = &mut *search.cast::<Search>();
        if CStr::from_char_ptr((*tracepoint).name) == search.name {
            search.found = tracepoint;
        }
    }
}

/// Declares a [`Tracepoint`](crate::tracepoint::Tracepoint): the name of a type, what C calls the
/// tracepoint, and the types of its arguments.
///
/// The types are compared with the prototype in the kernel's header. A wrong one does not compile,
/// nor does a tracepoint whose header is not among those of `rust/bindings`: of `trace/events/` these are
/// `block.h`, `irq.h`, `kmem.h`, `net.h`, `power.h`, `sched.h`, `signal.h`, `syscalls.h`, `task.h`,
/// `timer.h` and `workqueue.h`.
#[macro_export]
macro_rules! tracepoint {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $Name:ident = $name:ident($($Type:ty),+ $(,)?);
    ) => {
        $(#[$attribute])*
        $visible struct $Name;

        $crate::tracepoint! { @implement $Name $name [$($Type),+] [] [a b c d e f g h i j k l] }
    };
    (@implement $Name:ident $name:ident [] [$($arg:ident: $Type:ty,)+] [$($spare:ident)*]) => {
        ::kernel::macros::paste! {
            const _: () = {
                type Iterator = unsafe extern "C" fn(
                    *mut ::core::ffi::c_void,
                    $($Type),+
                ) -> ::core::ffi::c_int;
                // The prototype in the kernel's header.
                const _: Iterator = ::kernel::bindings::[< __traceiter_ $name >];
            };
        }

        // SAFETY: the tracepoint calls its functions with their data and the arguments of its
        // prototype, which has these types.
        unsafe impl $crate::tracepoint::Tracepoint for $Name {
            const NAME: &'static ::kernel::str::CStr = ::kernel::c_str!(::core::stringify!($name));

            type Arguments = ($($Type,)+);

            fn function<__RtraceCallback: $crate::tracepoint::TracepointCallback<Self>>(
            ) -> *mut ::core::ffi::c_void {
                /// # Safety
                ///
                /// `data` points to the callback, which stays during the call.
                unsafe extern "C" fn hit<__RtraceCallback: $crate::tracepoint::TracepointCallback<$Name>>(
                    data: *mut ::core::ffi::c_void,
                    $($arg: $Type),+
                ) {
                    // SAFETY: the data are a callback that is registered, and only shared.
                    unsafe { &*data.cast::<__RtraceCallback>() }.hit(($($arg,)+))
                }
                hit::<__RtraceCallback> as *mut ::core::ffi::c_void
            }
        }
    };
    (
        @implement $Name:ident $name:ident [$First:ty $(, $Type:ty)*] [$($done:tt)*]
        [$arg:ident $($spare:ident)*]
    ) => {
        $crate::tracepoint! {
            @implement $Name $name [$($Type),*] [$($done)* $arg: $First,] [$($spare)*]
        }
    };
}
