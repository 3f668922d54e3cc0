// SPDX-License-Identifier: GPL-2.0

//! [`File`]: an event in an instance.

use super::{Call, Registered};
use crate::kernel::rcu_slot::wait_for_readers;
use crate::kernel::relaxed;
use core::mem::offset_of;
use core::ops::Deref;
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::sync::Arc;
use kernel::types::Opaque;

/// `struct trace_event_file` up to its flags. What C code reads is there; behind it are counters of
/// the core's.
#[repr(C, align(8))]
struct Head([u8; HEAD_SIZE]);

const HEAD_SIZE: usize = offset_of!(bindings::trace_event_file, flags) + size_of::<c_ulong>();

const _: () = assert!(
    offset_of!(bindings::trace_event_file, event_call) < HEAD_SIZE
        && offset_of!(bindings::trace_event_file, filter) < HEAD_SIZE
        && offset_of!(bindings::trace_event_file, tr) < HEAD_SIZE
        && align_of::<Head>() >= align_of::<bindings::trace_event_file>()
);

/// An event in an instance: what the generated code gets for data. `repr(C)`, as C code takes it
/// for its first field.
#[repr(C)]
pub(crate) struct File<T> {
    head: Opaque<Head>,
    data: T,
}

// SAFETY: the flags are an atomic word, and of the rest only `data` is given out.
unsafe impl<T: Send + Sync> Send for File<T> {}
// SAFETY: any CPU may use the flags, which are an atomic word, and `data`, which is `Sync`.
unsafe impl<T: Send + Sync> Sync for File<T> {}

/// Bits of [`File::flags`], `EVENT_FILE_FL_*`.
pub(crate) mod flag {
    use kernel::bindings;

    /// The event is recorded, or would be if it were not [`SOFT_DISABLED`].
    pub(crate) const ENABLED: usize = bindings::EVENT_FILE_FL_ENABLED as usize;
    /// It has a filter.
    pub(crate) const FILTERED: usize = bindings::EVENT_FILE_FL_FILTERED as usize;
    /// It is hit and not recorded.
    pub(crate) const SOFT_DISABLED: usize = bindings::EVENT_FILE_FL_SOFT_DISABLED as usize;
    /// It has triggers.
    pub(crate) const TRIGGER_MODE: usize = bindings::EVENT_FILE_FL_TRIGGER_MODE as usize;
    /// Some of them look at the entry.
    pub(crate) const TRIGGER_COND: usize = bindings::EVENT_FILE_FL_TRIGGER_COND as usize;
    /// The instance traces some tasks only.
    pub(crate) const PID_FILTER: usize = bindings::EVENT_FILE_FL_PID_FILTER as usize;
    /// Somebody sees its entries beside the buffer. C has no such bit.
    pub(crate) const OBSERVED: usize = 1 << 31;
    /// Something is recorded behind each entry. C has no such bit.
    pub(crate) const FOLLOWED: usize = 1 << 30;
    /// Its triggers take an entry that is nowhere but on the stack. C has no such bit.
    pub(crate) const DIRECT: usize = 1 << 29;
    /// It was enabled once.
    pub(crate) const WAS_ENABLED: usize = bindings::EVENT_FILE_FL_WAS_ENABLED as usize;
}

impl<T> File<T> {
    /// The file at `file`.
    ///
    /// # Safety
    ///
    /// It is the address of a `File<T>` that stays for the lifetime that the caller picks.
    #[inline(always)]
    pub(crate) unsafe fn from_raw<'a>(file: *const bindings::trace_event_file) -> &'a Self {
        // SAFETY: `file` is the address of a `File<T>` that stays for `'a`.
        unsafe { &*file.cast() }
    }

    /// As C code knows it.
    pub(crate) fn as_ptr(&self) -> *mut bindings::trace_event_file {
        self.head.get().cast()
    }

    fn word(&self) -> &Atomic<usize> {
        // SAFETY: an aligned word that lives as long as `self` and is used as an atomic one; C code
        // reads it at once.
        unsafe { Atomic::from_ptr((&raw mut (*self.as_ptr()).flags).cast()) }
    }

    /// Its bits, by one load. Any context.
    #[inline(always)]
    pub(crate) fn flags(&self) -> usize {
        relaxed::load(self.word())
    }

    /// Sets or clears `bits`; tells whether that changed any of them. Any context.
    pub(crate) fn set(&self, bits: usize, on: bool) -> bool {
        let word = self.word();
        let mut old = word.load(ordering::Relaxed);
        loop {
            let new = if on { old | bits } else { old & !bits };
            match word.cmpxchg(old, new, ordering::Full) {
                Ok(_) => return new != old,
                Err(now) => old = now,
            }
        }
    }

    /// Sets the filter that C code sees, null for none. C code compares it with null, and nothing here
    /// reads it.
    pub(crate) fn set_filter_in_c(&self, filter: *const c_void) {
        // SAFETY: an aligned word that lives as long as `self` and is used as an atomic one; C code
        // reads it by one load.
        let word =
            unsafe { Atomic::<*mut c_void>::from_ptr((&raw mut (*self.as_ptr()).filter).cast()) };
        word.store(filter.cast_mut(), ordering::Relaxed);
    }

    /// The event. Any context.
    #[inline(always)]
    pub(crate) fn call(&self) -> &Call {
        // SAFETY: `FileBox` ends before the event, `FileBox::share` gives out no file of an event that can
        // be removed, and a `FlagsHandle` gives out none.
        unsafe { Call::from_raw((*self.as_ptr()).event_call) }
    }
}

impl<T> Deref for File<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.data
    }
}

/// Owns a [`File`]. When it is dropped, nothing records by it any more: the event is taken away
/// from its tracepoint, and probes that still run are waited for (task context, sleeps).
pub(crate) struct FileBox<T> {
    file: Arc<File<T>>,
    has_ended: bool,
}

impl<T> FileBox<T> {
    /// The event `call` in the instance that C code knows as `tr`, not enabled. Task context, may
    /// sleep. `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `tr` is an instance as C code knows it, and the instance stays as long as `data` does. The result
    /// goes before the event does.
    pub(crate) unsafe fn new(
        call: &Registered,
        tr: *mut bindings::trace_array,
        data: T,
    ) -> Result<Self> {
        let head = Opaque::zeroed();
        let file = Arc::new(File { head, data }, GFP_KERNEL)?;
        // SAFETY: the file is new; what is pointed to stays as long as it is used.
        unsafe {
            let raw = file.as_ptr();
            (*raw).event_call = call.as_ptr();
            (*raw).tr = tr;
        }
        Ok(Self {
            file,
            has_ended: false,
        })
    }

    /// A handle on its flags, which may outlive it.
    pub(crate) fn flags_handle(&self) -> FlagsHandle<T> {
        FlagsHandle(self.file.clone())
    }

    /// The file, for code that hits the event without a probe. `None` if the event can be removed.
    pub(crate) fn share(&self) -> Option<Arc<File<T>>> {
        let call = self.call();
        let stays = call.module() == 0 && !call.has(Call::DYNAMIC);
        stays.then(|| self.file.clone())
    }

    /// Has the event's class call the file from now on, or no longer. A hit may still be under way
    /// then. Task context, sleeps; the caller holds the events lock.
    ///
    /// # Errors
    ///
    /// As the class says.
    pub(crate) fn enable(&mut self, on: bool) -> Result {
        if on == (self.flags() & flag::ENABLED != 0) {
            return Ok(());
        }
        let what = match on {
            true => bindings::trace_reg_TRACE_REG_REGISTER,
            false => {
                self.set(flag::ENABLED, false);
                bindings::trace_reg_TRACE_REG_UNREGISTER
            }
        };
        // SAFETY: the file stays until `drop` has taken it away again and has waited.
        unsafe { self.call().reg(what, self.as_ptr().cast()) }?;
        if on {
            self.set(flag::ENABLED | flag::WAS_ENABLED, true);
        }
        Ok(())
    }

    /// Ends many at the cost of one. Task context, sleeps.
    pub(crate) fn end_all(mut files: impl Iterator<Item = Self>) {
        let mut ended = KVVec::new();
        for mut file in files.by_ref() {
            let _ = file.enable(false);
            if let Err(_no_room) = ended.push(file, GFP_KERNEL) {
                // It was dropped.
            }
        }
        if ended.is_empty() {
            return;
        }
        wait_for_hits(ended.iter().any(|file| file.call().has(Call::DYNAMIC)));
        ended.iter_mut().for_each(|file| file.has_ended = true);
    }
}

impl<T> Deref for FileBox<T> {
    type Target = File<T>;

    fn deref(&self) -> &File<T> {
        &self.file
    }
}

impl<T> Drop for FileBox<T> {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.enable(false);
            wait_for_hits(self.call().has(Call::DYNAMIC));
        }
    }
}

/// The flags of a [`File`]. They mean nothing any more once its [`FileBox`] has gone.
pub(crate) struct FlagsHandle<T>(Arc<File<T>>);

impl<T> FlagsHandle<T> {
    /// The file's data, which stay as long as the handle.
    #[cfg(CONFIG_HIST_TRIGGERS)]
    pub(crate) fn data(&self) -> &T {
        &self.0.data
    }

    /// The event.
    ///
    /// # Safety
    ///
    /// It has not gone: somebody else holds it.
    pub(crate) unsafe fn call(&self) -> &Call {
        self.0.call()
    }

    /// Keeps the file until [`FlagsHandle::from_kept`]; gives it as C code knows it.
    pub(crate) fn keep(self) -> *mut bindings::trace_event_file {
        Arc::into_raw(self.0).cast_mut().cast()
    }

    /// Takes over what [`FlagsHandle::keep`] has left.
    ///
    /// # Safety
    ///
    /// `file` came from there, for files with `T`, and nobody else takes it over.
    pub(crate) unsafe fn from_kept(file: *mut bindings::trace_event_file) -> Self {
        // SAFETY: `keep` has left a count of the `Arc` that has the file.
        Self(unsafe { Arc::from_raw(file.cast()) })
    }

    /// [`File::flags`].
    pub(crate) fn get(&self) -> usize {
        self.0.flags()
    }

    /// [`File::set`].
    pub(crate) fn set(&self, bits: usize, on: bool) -> bool {
        self.0.set(bits, on)
    }
}

/// Waits until no hit looks at a file any more that gets none. Task context, sleeps.
fn wait_for_hits(of_dynamic_events: bool) {
    wait_for_probes();
    // Hits of dynamic events have preemption off, and are in no section of the tracepoints' SRCU.
    if of_dynamic_events {
        wait_for_readers();
    }
}

/// Waits until no probe of a tracepoint that was removed runs any more. Task context, sleeps.
pub(crate) fn wait_for_probes() {
    // SAFETY: task context, where sleeping is allowed.
    unsafe { bindings::tracepoint_synchronize_unregister() };
}
