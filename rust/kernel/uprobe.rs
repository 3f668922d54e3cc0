// SPDX-License-Identifier: GPL-2.0

//! Uprobes and uretprobes: code that runs where programs reach an instruction of a file that they
//! have mapped, or where its function has returned.
//!
//! C header: `include/linux/uprobes.h`.

pub(crate) use super::regs::Regs;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::error::{from_err_ptr, to_result};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SpinLock};
use kernel::types::Opaque;
use kernel::{new_mutex, new_spinlock};

/// A file, by its path when it was looked for. It stays, whatever is done with its name.
///
/// # Invariants
///
/// It holds a reference to both parts of the path.
pub(crate) struct File(bindings::path);

// SAFETY: a path may be used by any task.
unsafe impl Send for File {}
// SAFETY: it does not change.
unsafe impl Sync for File {}

impl File {
    /// Looks for a file, through links. Task context, sleeps. Errors as of a path.
    pub(crate) fn find(path: &CStr) -> Result<Self> {
        let mut found = bindings::path {
            mnt: null_mut(),
            dentry: null_mut(),
        };
        // SAFETY: the text is NUL-terminated, and there is room for the path.
        let error = unsafe {
            bindings::kern_path(path.as_char_ptr(), bindings::LOOKUP_FOLLOW, &raw mut found)
        };
        to_result(error)?;
        // INVARIANT: `kern_path` has taken them.
        Ok(Self(found))
    }

    /// Whether it is a regular file.
    pub(crate) fn is_regular(&self) -> bool {
        // SAFETY: by the invariant the entry is there.
        unsafe { bindings::d_is_reg(self.0.dentry) }
    }

    fn inode(&self) -> *mut bindings::inode {
        // SAFETY: by the invariant the entry is there.
        unsafe { bindings::d_real_inode(self.0.dentry) }
    }

    /// Whether both are one file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        core::ptr::eq(self.inode(), other.inode())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: by the invariant there is a reference, which is given back once.
        unsafe { bindings::path_put(&raw const self.0) };
    }
}

/// What a probe does. All of it in the probed program's task, which may sleep.
pub(crate) trait Handler: Send + Sync + 'static {
    /// The instruction is reached in `program`. Returns false if that one's hits are of no interest.
    fn hit(&self, regs: &Regs, program: &Program) -> bool;

    /// The function at `function` has returned.
    fn returned(&self, function: usize, regs: &Regs);

    /// Whether hits of a program are of interest. May be asked in any task, with the program's
    /// memory map locked.
    fn wants(&self, program: &Program) -> bool;
}

/// A program, by its memory.
#[repr(transparent)]
pub(crate) struct Program(Opaque<bindings::mm_struct>);

/// Where a probe goes.
pub(crate) struct Place {
    /// The file.
    pub(crate) file: File,
    /// The instruction's place in it.
    pub(crate) offset: u64,
    /// Where in the file its count of users is, or 0.
    pub(crate) counter: u64,
}

/// One probe. It is not registered at first. Dropping it (task context, sleeps) unregisters it.
///
/// # Invariants
///
/// While `state` is not [`State::Out`] the kernel may have the address of `raw`, which is a consumer
/// there; else nobody but this has it.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(crate) struct Uprobe<H: Handler> {
    raw: Opaque<bindings::uprobe_consumer>,
    place: Place,
    is_return: bool,
    #[pin]
    state: Mutex<State>,
    handler: H,
}

/// Whether a consumer is registered.
#[derive(Clone, Copy)]
enum State {
    /// It is not.
    Out,
    /// It is one of this probe.
    In(NonNull<bindings::uprobe>),
    /// Not any more, but hits may be under way.
    Leaving,
}

// SAFETY: any task may use the probe as long as the consumer is registered.
unsafe impl Send for State {}

// SAFETY: the C structure is changed under the mutex; the handler may be sent.
unsafe impl<H: Handler> Send for Uprobe<H> {}
// SAFETY: the C structure is changed under the mutex; the handler may be shared.
unsafe impl<H: Handler> Sync for Uprobe<H> {}

impl<H: Handler> Uprobe<H> {
    /// A probe at `place`, of the function's return if `is_return`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(place: Place, is_return: bool, handler: H) -> Result<Arc<Self>> {
        // INVARIANT: nobody has its address.
        Arc::pin_init(
            pin_init!(Self {
                raw: Opaque::zeroed(),
                place,
                is_return,
                state <- new_mutex!(State::Out),
                handler,
            }? Error),
            GFP_KERNEL,
        )
    }

    /// Registers it: programs that are [wanted](Handler::wants) get the breakpoint, also those that
    /// map the file later. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a place behind the file's end, or if it is registered already; `EIO` for a file
    /// that cannot be read so, `ENOTSUPP` for an instruction that cannot be probed, `ENOMEM`.
    pub(crate) fn register(&self) -> Result {
        let mut state = self.state.lock();
        let State::Out = *state else {
            return Err(EINVAL);
        };
        let raw = self.raw.get();
        let Place {
            file,
            offset,
            counter,
        } = &self.place;
        // SAFETY: by the invariant nobody else has the structure, which stays until `drop` has taken
        // it away from the kernel; the file stays as long.
        let probe = unsafe {
            raw.write(bindings::uprobe_consumer {
                handler: Some(hit::<H>),
                ret_handler: match self.is_return {
                    true => Some(returned::<H>),
                    false => None,
                },
                filter: Some(wants::<H>),
                ..core::mem::zeroed()
            });
            bindings::uprobe_register(file.inode(), *offset as i64, *counter as i64, raw)
        };
        // INVARIANT: as the kernel said.
        *state = State::In(NonNull::new(from_err_ptr(probe)?).ok_or(EINVAL)?);
        Ok(())
    }

    /// Unregisters it, and waits for hits under way. Task context, sleeps.
    pub(crate) fn unregister(&self) {
        Self::unregister_all(&[self], |probe| probe);
    }

    /// [`Uprobe::unregister`] of the probe of each of `all`, with one wait. The caller holds the events
    /// lock, or has the probes alone: nobody registers one of them meanwhile.
    pub(crate) fn unregister_all<T>(all: &[T], probe_of: fn(&T) -> &Self) {
        let mut are_out = true;
        for probe in all.iter().map(probe_of) {
            let mut state = probe.state.lock();
            if let State::In(registered) = *state {
                // SAFETY: by the invariant it is registered.
                unsafe { bindings::uprobe_unregister_nosync(registered.as_ptr(), probe.raw.get()) };
                *state = State::Leaving;
            }
            are_out &= matches!(*state, State::Out);
        }
        if are_out {
            return;
        }
        // SAFETY: task context, where sleeping is allowed.
        unsafe { bindings::uprobe_unregister_sync() };
        for probe in all.iter().map(probe_of) {
            let mut state = probe.state.lock();
            if let State::Leaving = *state {
                // INVARIANT: it was left before the wait, so nobody has it any more.
                *state = State::Out;
            }
        }
    }

    /// Gives the breakpoint to programs that are wanted now, or takes it from those that are not.
    /// Does nothing if the probe is not registered. Task context, sleeps. Errors as
    /// [`Uprobe::register`].
    pub(crate) fn apply(&self, add: bool) -> Result {
        let state = self.state.lock();
        let State::In(registered) = *state else {
            return Ok(());
        };
        // SAFETY: by the invariant it is registered.
        to_result(unsafe { bindings::uprobe_apply(registered.as_ptr(), self.raw.get(), add) })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Whether it is of a function's return.
    pub(crate) fn is_return(&self) -> bool {
        self.is_return
    }

    /// What it does.
    pub(crate) fn handler(&self) -> &H {
        &self.handler
    }
}

#[pinned_drop]
impl<H: Handler> PinnedDrop for Uprobe<H> {
    fn drop(self: Pin<&mut Self>) {
        self.unregister();
    }
}

/// # Safety
///
/// `consumer` is the first field of a registered [`Uprobe`] of this handler, and `regs` are those of
/// the hit.
unsafe extern "C" fn hit<H: Handler>(
    consumer: *mut bindings::uprobe_consumer,
    regs: *mut bindings::pt_regs,
    _data: *mut u64,
) -> c_int {
    // SAFETY: `consumer` is the first field of a registered `Uprobe<H>`, which is unregistered only
    // after this has returned; `regs` are those of the hit. The current task runs a program, whose
    // memory stays meanwhile; its type is transparent.
    let keep = unsafe {
        let probe = &*consumer.cast::<Uprobe<H>>();
        let program = &*(*bindings::get_current()).mm.cast::<Program>();
        probe.handler.hit(Regs::from_raw(regs), program)
    };
    match keep {
        true => 0,
        false => bindings::UPROBE_HANDLER_REMOVE as c_int,
    }
}

/// # Safety
///
/// As [`hit`].
unsafe extern "C" fn returned<H: Handler>(
    consumer: *mut bindings::uprobe_consumer,
    function: usize,
    regs: *mut bindings::pt_regs,
    _data: *mut u64,
) -> c_int {
    // SAFETY: as in `hit`.
    unsafe {
        let probe = &*consumer.cast::<Uprobe<H>>();
        probe.handler.returned(function, Regs::from_raw(regs));
    }
    0
}

/// # Safety
///
/// `consumer` is the first field of an [`Uprobe`] of this handler that is registered or is being so,
/// and `program` is live.
unsafe extern "C" fn wants<H: Handler>(
    consumer: *mut bindings::uprobe_consumer,
    program: *mut bindings::mm_struct,
) -> bool {
    // SAFETY: `consumer` is the first field of an `Uprobe<H>` that stays until this has returned,
    // and `program` is live; the type is transparent.
    unsafe {
        let probe = &*consumer.cast::<Uprobe<H>>();
        probe.handler.wants(&*program.cast())
    }
}

/// The tasks whose hits perf wants. Its events come and go under the events lock.
///
/// # Invariants
///
/// The events in the list are live, and keep their tasks.
#[pin_data]
pub(crate) struct Targets {
    /// The number of perf's events that want those of all.
    all: Atomic<usize>,
    /// A spinlock, as each hit asks.
    #[pin]
    of_tasks: SpinLock<KVec<Target>>,
}

/// One of perf's events that is for a task.
struct Target(NonNull<bindings::perf_event>);

// SAFETY: only its address and its task are looked at, under the lock.
unsafe impl Send for Target {}

impl Target {
    fn task(&self) -> *mut bindings::task_struct {
        // SAFETY: by the list's invariant the event is live.
        unsafe { (*self.0.as_ptr()).hw.target }
    }

    fn is_of(&self, program: *const bindings::mm_struct) -> bool {
        // SAFETY: by the list's invariant the task is live; the word is only compared.
        let mm = unsafe { (&raw const (*self.task()).mm).read_volatile() };
        core::ptr::eq(mm, program)
    }
}

impl Targets {
    /// None.
    pub(crate) fn new() -> impl PinInit<Self> {
        // INVARIANT: the list is empty.
        pin_init!(Self {
            all: Atomic::new(0),
            of_tasks <- new_spinlock!(KVec::new()),
        })
    }

    /// Whether hits of a program are wanted. Task context.
    pub(crate) fn has(&self, program: &Program) -> bool {
        if self.all.load(Relaxed) != 0 {
            return true;
        }
        let of_tasks = self.of_tasks.lock();
        of_tasks.iter().any(|target| target.is_of(program.0.get()))
    }

    /// Adds one of perf's events. Returns whether breakpoints may be missing now. `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `event` stays until [`Targets::remove`].
    pub(crate) unsafe fn add(&self, event: NonNull<bindings::perf_event>) -> Result<bool> {
        let raw = event.as_ptr();
        // SAFETY: `event` is live, and so is its task, if it is for one.
        unsafe {
            let task = (*raw).hw.target;
            if task.is_null() {
                let before = self.all.fetch_add(1, Relaxed);
                return Ok(before == 0);
            }
            // Memory is taken and freed without the lock; the events lock keeps the number as it is.
            let mut larger = KVec::new();
            let (length, room) = {
                let of_tasks = self.of_tasks.lock();
                (of_tasks.len(), of_tasks.capacity())
            };
            if length == room {
                larger.reserve(2 * length + 1, GFP_KERNEL)?;
            }
            let mut of_tasks = self.of_tasks.lock();
            if length == room {
                for target in of_tasks.drain_all() {
                    larger.push_within_capacity(target).map_err(|_| ENOMEM)?;
                }
                core::mem::swap(&mut *of_tasks, &mut larger);
            }
            // A copy for a child has the breakpoints of its parent's memory, and an `exec` maps the
            // files anew.
            let covered = self.all.load(Relaxed) != 0
                || !(*raw).parent.is_null()
                || (*raw).attr.enable_on_exec() != 0
                || of_tasks.iter().any(|target| target.is_of((*task).mm));
            // INVARIANT: `event` stays until it is removed.
            let added = of_tasks.push_within_capacity(Target(event));
            drop(of_tasks);
            added.map_err(|_| ENOMEM)?;
            Ok(!covered)
        }
    }

    /// Undoes [`Targets::add`]. Returns whether breakpoints may be there that are not wanted.
    pub(crate) fn remove(&self, event: NonNull<bindings::perf_event>) -> bool {
        let mut of_tasks = self.of_tasks.lock();
        let Some(at) = of_tasks.iter().position(|target| target.0 == event) else {
            let before = self.all.fetch_sub(1, Relaxed);
            return before == 1;
        };
        let Ok(target) = of_tasks.remove(at) else {
            return false;
        };
        // SAFETY: the event is live until the caller has returned, and so is its task.
        let (mm, flags) = unsafe { ((*target.task()).mm, (*target.task()).flags) };
        let is_exiting = flags & bindings::PF_EXITING != 0;
        let covered = self.all.load(Relaxed) != 0 || of_tasks.iter().any(|other| other.is_of(mm));
        !is_exiting && !covered
    }
}
