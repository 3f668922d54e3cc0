// SPDX-License-Identifier: GPL-2.0

//! Tracers: what `available_tracers` lists, and `current_tracer` takes.

use crate::instance::Recorder;
use crate::lock_order::outside;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// A tracer, which any number of instances may have at once.
///
/// Its functions, and the drop of what runs, are in task context under a mutex of the instance. They may
/// sleep, record to any instance, and make and drop what calls functions (function probes, fprobes, graph
/// probes, probes of tracepoints) and buffers. Anything else takes a mutex that has to come before the one
/// that is held: tasks would wait for each other for good. So these are `EDEADLK` there:
///
/// - to make an [`Event`](crate::event::Event) or a [`SyntheticEvent`](crate::synthetic::SyntheticEvent):
///   they are made beside the registration, and the tracer records them;
/// - to open, find, remove or read any [`Instance`](crate::instance::Instance), to switch its events, or to
///   set its tracer;
/// - to register a tracer.
///
/// What was made elsewhere must not be dropped there, as a drop cannot be refused; lockdep reports it.
pub trait Tracer: Send + Sync + 'static {
    /// What it is called in `available_tracers`: at most 63 visible characters of ASCII.
    const NAME: &'static CStr;

    /// The tracer at work in one instance. It is dropped when another tracer becomes the current one,
    /// or the instance goes. From then on it must not record: registrations that record are part of
    /// it, as they end when they are dropped.
    type Running: Send + 'static;

    /// Starts recording to an instance, whose buffer is empty.
    ///
    /// # Errors
    ///
    /// Whoever has written to `current_tracer` gets the error, and the instance keeps the tracer that
    /// it had.
    fn start(&self, to: Recorder) -> Result<Self::Running>;

    /// `tracing_on` of the instance has changed. What is recorded while it is off is refused anyway.
    fn switched(&self, _running: &mut Self::Running, _on: bool) {}
}

/// A registered [`Tracer`].
///
/// While an instance has the tracer, its module cannot be unloaded. Dropping the registration removes
/// the tracer, and the instances that have it get `nop`; what they have recorded stays. Then it waits
/// until none of the tracer's functions runs: task context, may sleep.
///
/// # Examples
///
/// ```
/// use core::sync::atomic::{AtomicUsize, Ordering};
/// use kernel::prelude::*;
/// use rtrace::instance::{Instance, Recorder};
/// use rtrace::tracer::{Tracer, TracerRegistration};
///
/// /// Records when it was started.
/// struct Starts(AtomicUsize);
///
/// impl Tracer for Starts {
///     const NAME: &'static CStr = c"starts";
///     type Running = Recorder;
///
///     fn start(&self, to: Recorder) -> Result<Recorder> {
///         let number = self.0.fetch_add(1, Ordering::Relaxed);
///         to.print(format_args!("start {number}"))?;
///         Ok(to)
///     }
/// }
///
/// # let module: &'static ThisModule = &<crate::LocalModule as kernel::ModuleMetadata>::THIS_MODULE;
/// let starts = TracerRegistration::new(module, Starts(AtomicUsize::new(0)))?;
/// let instance = Instance::open(c"rtrace_tracer_example")?;
/// instance.set_tracer(c"starts")?;
/// assert_eq!(starts.tracer().0.load(Ordering::Relaxed), 1);
/// assert!(instance.reader()?.consume()?.is_some_and(|entry| entry.text.ends_with(b"start 0")));
/// instance.remove()?;
/// # Ok::<(), Error>(())
/// ```
///
/// What would wait for good is refused:
///
/// ```
/// use kernel::prelude::*;
/// use rtrace::instance::{Instance, Recorder};
/// use rtrace::tracer::{Tracer, TracerRegistration};
///
/// struct Opens;
///
/// impl Tracer for Opens {
///     const NAME: &'static CStr = c"opens";
///     type Running = Instance;
///
///     fn start(&self, _to: Recorder) -> Result<Instance> {
///         Instance::open(c"rtrace_tracer_another")
///     }
/// }
///
/// # let module: &'static ThisModule = &<crate::LocalModule as kernel::ModuleMetadata>::THIS_MODULE;
/// let _opens = TracerRegistration::new(module, Opens)?;
/// let instance = Instance::open(c"rtrace_tracer_example")?;
/// assert_eq!(instance.set_tracer(c"opens"), Err(EDEADLK));
/// instance.remove()?;
/// # Ok::<(), Error>(())
/// ```
pub struct TracerRegistration<T: Tracer> {
    registered: NonNull<bindings::rtrace_tracer>,
    tracer: KBox<T>,
    _running: PhantomData<fn() -> T::Running>,
}

// SAFETY: the registration may end in any thread; the tracer is `Send`.
unsafe impl<T: Tracer> Send for TracerRegistration<T> {}
// SAFETY: only the tracer can be reached from `&self`, which is `Sync`.
unsafe impl<T: Tracer> Sync for TracerRegistration<T> {}

impl<T: Tracer> TracerRegistration<T> {
    /// Registers `tracer`, which `module`, the caller's, has. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is a tracer of this name, `EINVAL` for a name that is none, `EDEADLK` in a
    /// tracer's functions, `ENOMEM`.
    pub fn new(module: &'static ThisModule, tracer: T) -> Result<Self> {
        outside()?;
        let tracer = KBox::new(tracer, GFP_KERNEL)?;
        let ops = bindings::rtrace_tracer_ops {
            start: Some(Self::start),
            stop: Some(Self::stop),
            switched: Some(Self::switched),
        };
        let mut registered = ptr::null_mut();
        // SAFETY: the name is a string. The functions may be called with the tracer, which stays in
        // its box until `drop` has unregistered it.
        to_result(unsafe {
            bindings::rtrace_tracer_register(
                T::NAME.as_char_ptr(),
                &ops,
                ptr::from_ref(&*tracer).cast_mut().cast(),
                module.as_ptr(),
                &mut registered,
            )
        })?;
        Ok(Self {
            registered: NonNull::new(registered).ok_or(ENOMEM)?,
            tracer,
            _running: PhantomData,
        })
    }

    /// The tracer.
    #[inline]
    pub fn tracer(&self) -> &T {
        &self.tracer
    }

    /// # Safety
    ///
    /// `data` is a registered `T`; `to` is a reference of the callee's own; `running` can be written
    /// to.
    unsafe extern "C" fn start(
        data: *mut c_void,
        to: *mut bindings::trace_array,
        running: *mut *mut c_void,
    ) -> c_int {
        // SAFETY: the tracer is only shared; the reference is handed over.
        let (tracer, to) = unsafe { (&*data.cast::<T>(), Recorder::from_raw(to)) };
        let started = to
            .ok_or(EINVAL)
            .and_then(|to| tracer.start(to))
            .and_then(|started| Ok(KBox::new(started, GFP_KERNEL)?));
        match started {
            Ok(started) => {
                // SAFETY: the caller's place for it.
                unsafe { running.write(KBox::into_raw(started).cast()) };
                0
            }
            Err(error) => error.to_errno(),
        }
    }

    /// # Safety
    ///
    /// `running` came from `start`, and is not used any more.
    unsafe extern "C" fn stop(_data: *mut c_void, running: *mut c_void) {
        // SAFETY: it is the box that `start` has made.
        drop(unsafe { KBox::from_raw(running.cast::<T::Running>()) });
    }

    /// # Safety
    ///
    /// `data` is a registered `T`; `running` came from `start`, and nobody else uses it.
    unsafe extern "C" fn switched(data: *mut c_void, running: *mut c_void, on: bool) {
        // SAFETY: the tracer is only shared; what `start` has made is used under a mutex.
        unsafe { (*data.cast::<T>()).switched(&mut *running.cast(), on) };
    }
}

impl<T: Tracer> Drop for TracerRegistration<T> {
    fn drop(&mut self) {
        // SAFETY: a `Self` that exists is registered. This waits for the functions.
        unsafe { bindings::rtrace_tracer_unregister(self.registered.as_ptr()) };
    }
}
