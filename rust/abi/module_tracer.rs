// SPDX-License-Identifier: GPL-2.0

//! Tracers of modules, for the interface for Rust code (`rust/api`); C has none.

use crate::kernel::context::current_pid;
use crate::kernel::interop::errno;
use crate::kernel::module::Owner;
use crate::trace::instance::tracer::{self, Running, Tracer};
use crate::trace::instance::{list, Instance};
use core::ptr::null_mut;
use kernel::bindings;
use kernel::error::to_result;
use kernel::ffi::{c_char, c_int, c_void};
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::{Acquire, Atomic, Full, Relaxed};
use kernel::sync::{Arc, ArcBorrow, CondVar, Mutex};
use kernel::{new_condvar, new_mutex};

type Start =
    unsafe extern "C" fn(*mut c_void, *mut bindings::trace_array, *mut *mut c_void) -> c_int;
type Stop = unsafe extern "C" fn(*mut c_void, *mut c_void);
type Switched = unsafe extern "C" fn(*mut c_void, *mut c_void, bool);

/// A registered tracer. Its module's code and data are there while `uses` is open or counts a use.
#[pin_data]
struct Shared {
    name: CString,
    start: Start,
    stop: Stop,
    switched: Switched,
    data: *mut c_void,
    owner: Owner,
    #[pin]
    uses: Mutex<Uses>,
    #[pin]
    unused: CondVar,
}

// SAFETY: the data are only handed to the module's functions, which may be called by any task.
unsafe impl Send for Shared {}
// SAFETY: as above; for several instances at once, too.
unsafe impl Sync for Shared {}

struct Uses {
    closed: bool,
    count: usize,
}

/// Places for the tasks that are in a function of a tracer; one that is free is 0.
///
/// # Invariants
///
/// `more` is null or from `KBox::into_raw`, and stays for good.
struct Places {
    tasks: [Atomic<i32>; 16],
    more: Atomic<*mut Places>,
}

/// A use has one task at most in a function, as that has the mutex of the instance: there are as many
/// places as uses.
static CALLING: Places = Places::new();
static USES: Atomic<usize> = Atomic::new(0);

impl Places {
    const fn new() -> Self {
        // INVARIANT: null.
        Self {
            tasks: [const { Atomic::new(0) }; 16],
            more: Atomic::new(null_mut()),
        }
    }

    /// What there is behind these.
    fn more(&self) -> Option<&'static Self> {
        // SAFETY: by the invariant it is null or stays for good.
        unsafe { self.more.load(Acquire).as_ref() }
    }

    /// All places.
    fn all() -> impl Iterator<Item = &'static Atomic<i32>> {
        core::iter::successors(Some(&CALLING), |places| places.more())
            .flat_map(|places| &places.tasks)
    }

    /// Sees to it that there are `count` places. May sleep. `ENOMEM`.
    fn reserve(count: usize) -> Result {
        let mut last = &CALLING;
        for _ in 0..count.saturating_sub(1) / last.tasks.len() {
            if last.more().is_none() {
                let new = KBox::into_raw(KBox::new(Self::new(), GFP_KERNEL)?);
                // INVARIANT: from a box. It stays, as nothing is taken out.
                if last.more.cmpxchg(null_mut(), new, Full).is_err() {
                    // SAFETY: made above; another task was first, and nobody has seen this.
                    drop(unsafe { KBox::from_raw(new) });
                }
            }
            last = last.more().ok_or(ENOMEM)?;
        }
        Ok(())
    }
}

/// This task is in a function of a tracer.
struct Calling(&'static Atomic<i32>);

impl Calling {
    /// During a [`Use`], by the task that has the mutex of its instance.
    fn begin() -> Self {
        loop {
            // One that was free is taken by another task now and then, which leaves a free one elsewhere.
            let is_taken = |place: &&Atomic<i32>| {
                place.load(Relaxed) == 0 && place.cmpxchg(0, current_pid(), Relaxed).is_ok()
            };
            if let Some(place) = Places::all().find(is_taken) {
                return Self(place);
            }
        }
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        self.0.store(0, Relaxed);
    }
}

/// Whether this task may take mutexes that come before an instance's: 0, or `-EDEADLK` in a function of
/// a tracer. Task context.
#[export]
pub(crate) extern "C" fn rtrace_outside_tracers() -> c_int {
    let is_inside = Places::all().any(|place| place.load(Relaxed) == current_pid());
    errno(match is_inside {
        true => Err(EDEADLK),
        false => Ok(()),
    })
}

/// One of the uses that there are, with a place in [`CALLING`].
struct Counted;

impl Counted {
    /// May sleep. `ENOMEM`.
    fn new() -> Result<Self> {
        let counted = Self;
        Places::reserve(USES.fetch_add(1, Relaxed).wrapping_add(1))?;
        Ok(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        USES.fetch_sub(1, Relaxed);
    }
}

/// A use of the module's code. The module cannot be unloaded meanwhile.
struct Use(Arc<Shared>, Counted);

impl Use {
    /// `EINVAL` if the tracer was unregistered or its module is going: as if there were none; `ENOMEM`.
    fn begin(tracer: &Arc<Shared>) -> Result<Self> {
        let counted = Counted::new()?;
        let mut uses = tracer.uses.lock();
        if uses.closed {
            return Err(EINVAL);
        }
        tracer.owner.hold().map_err(|_| EINVAL)?;
        uses.count += 1;
        drop(uses);
        Ok(Self(tracer.clone(), counted))
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // SAFETY: whoever makes a `Use` has held it.
        unsafe { self.0.owner.release() };
        let mut uses = self.0.uses.lock();
        uses.count = uses.count.saturating_sub(1);
        if uses.count == 0 {
            self.0.unused.notify_all();
        }
    }
}

/// The tracer in the list.
struct Added(Arc<Shared>);

impl Tracer for Added {
    fn name(&self) -> &str {
        // What is none is refused when the tracer is registered.
        self.0.name.to_str().unwrap_or("")
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        let used = Use::begin(&self.0)?;
        let mut running = null_mut();
        let _calling = Calling::begin();
        let to = Arc::into_raw(instance.clone()).cast_mut().cast();
        // SAFETY: the module's code and data are there during a use; the reference is the
        // function's own.
        to_result(unsafe { (self.0.start)(self.0.data, to, &mut running) })?;
        // Without memory it is dropped, and so stopped.
        Ok(KBox::new(Started { running, used }, GFP_KERNEL)?)
    }
}

/// The tracer in an instance that has it.
struct Started {
    running: *mut c_void,
    used: Use,
}

// SAFETY: what `running` points to is only handed to the module's functions, which may be called by
// any task.
unsafe impl Send for Started {}

impl Running for Started {
    fn switched(&mut self, on: bool) {
        let tracer = &self.used.0;
        let _calling = Calling::begin();
        // SAFETY: the module's code and data are there during a use; `running` is what its function
        // has made.
        unsafe { (tracer.switched)(tracer.data, self.running, on) };
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let tracer = &self.used.0;
        let _calling = Calling::begin();
        // SAFETY: as in `switched`, and it is not used any more.
        unsafe { (tracer.stop)(tracer.data, self.running) };
    }
}

/// What [`rtrace_tracer_register`] gives.
struct Registration {
    shared: Arc<Shared>,
    listed: Arc<dyn Tracer>,
}

/// Registers a tracer. Its functions are called in task context, under the mutex of an instance. Task
/// context, may sleep. Errors as [`tracer::add`].
///
/// # Safety
///
/// `name` is NUL-terminated; the functions of `ops` may be called with `data` until
/// [`rtrace_tracer_unregister`] has returned; `owner` is null or the caller's module; `tracer` can be
/// written to.
#[export]
pub(crate) unsafe extern "C" fn rtrace_tracer_register(
    name: *const c_char,
    ops: *const bindings::rtrace_tracer_ops,
    data: *mut c_void,
    owner: *mut bindings::module,
    tracer: *mut *mut bindings::rtrace_tracer,
) -> c_int {
    // SAFETY: the name is NUL-terminated, the ops is there; a module unregisters before it goes.
    let (name, ops, owner) = unsafe { (CStr::from_char_ptr(name), &*ops, Owner::from_raw(owner)) };
    let register = || {
        name.to_str().map_err(|_| EINVAL)?;
        let (start, stop, switched) = (
            ops.start.ok_or(EINVAL)?,
            ops.stop.ok_or(EINVAL)?,
            ops.switched.ok_or(EINVAL)?,
        );
        let shared: Arc<Shared> = Arc::pin_init(
            try_pin_init!(Shared {
                name: CString::try_from(name)?,
                start,
                stop,
                switched,
                data,
                owner,
                uses <- new_mutex!(Uses { closed: false, count: 0 }),
                unused <- new_condvar!(),
            }? Error),
            GFP_KERNEL,
        )?;
        let listed: Arc<dyn Tracer> = Arc::new(Added(shared.clone()), GFP_KERNEL)?;
        let made = KBox::new(Registration { shared, listed }, GFP_KERNEL)?;
        tracer::add(made.listed.clone())?;
        Ok(made)
    };
    errno(register().map(|made| {
        // SAFETY: the caller's place for it.
        unsafe { tracer.write(KBox::into_raw(made).cast()) }
    }))
}

/// Removes a tracer. Where it is current, it is stopped, and `nop` is current then. Waits until none
/// of its functions runs. Task context, may sleep; not from the tracer's functions.
///
/// # Safety
///
/// `tracer` came from [`rtrace_tracer_register`]; nobody uses it any more.
#[export]
pub(crate) unsafe extern "C" fn rtrace_tracer_unregister(tracer: *mut bindings::rtrace_tracer) {
    // SAFETY: it came from a box, and is the caller's own.
    let registration = unsafe { KBox::from_raw(tracer.cast::<Registration>()) };
    let shared = &registration.shared;
    // From here on it does not start, neither in an instance that is not in the list yet.
    shared.uses.lock().closed = true;
    list::remove_tracer(&registration.listed);
    // An instance that has left the list stops it as well.
    let mut uses = shared.uses.lock();
    while uses.count != 0 {
        shared.unused.wait(&mut uses);
    }
}

/// Gives back the reference that a tracer was started with. Task context, may sleep.
///
/// # Safety
///
/// The reference is the caller's own.
#[export]
pub(crate) unsafe extern "C" fn rtrace_array_put(tr: *mut bindings::trace_array) {
    // SAFETY: `Added::start` has kept this count for the caller.
    drop(unsafe { Arc::from_raw(tr.cast::<Instance>()) });
}

/// Makes the tracer called `name` the current one of an instance. Task context, may sleep. Errors as
/// [`Instance::set_tracer`].
///
/// # Safety
///
/// `tr` came from `trace_array_get_by_name()` and was not put as often; `name` is NUL-terminated.
#[export]
pub(crate) unsafe extern "C" fn rtrace_array_set_tracer(
    tr: *mut bindings::trace_array,
    name: *const c_char,
) -> c_int {
    // SAFETY: the instance is held, and all of them are in `Arc`s; the name is NUL-terminated.
    let (instance, name) = unsafe {
        let instance: Arc<Instance> = ArcBorrow::from_raw(tr.cast::<Instance>()).into();
        (instance, CStr::from_char_ptr(name))
    };
    errno(instance.set_tracer(name.to_bytes()))
}
