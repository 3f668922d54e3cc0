// SPDX-License-Identifier: GPL-2.0

//! Tracepoints by name. Each has a function that does nothing, its stub; while that is one of the
//! tracepoint's probes, whoever probes the stub sees the tracepoint's arguments.
//!
//! C header: `include/linux/tracepoint.h`.

use super::kallsyms::Symbol;
use super::text::Text;
use core::ops::Range;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

/// A tracepoint whose stub is one of its probes.
struct User {
    tracepoint: NonNull<bindings::tracepoint>,
    count: usize,
}

// SAFETY: the tracepoint may be used from anywhere as long as it is there.
unsafe impl Send for User {}

kernel::sync::global_lock! {
    // SAFETY: `init` runs before any other use, at boot.
    unsafe(uninit) static USERS: Mutex<KVec<User>> = KVec::new();
}

/// Makes the list of tracepoints in use. Once, at boot.
pub(crate) fn init() {
    // SAFETY: called once, before any other use.
    unsafe { USERS.init() };
}

/// What is looked for among all tracepoints.
struct Search<'a> {
    name: &'a [u8],
    found: Option<NonNull<bindings::tracepoint>>,
    module: *mut bindings::module,
}

impl Search<'_> {
    /// # Safety
    ///
    /// `tracepoint` is one.
    unsafe fn is(&self, tracepoint: *mut bindings::tracepoint) -> bool {
        // SAFETY: the name of a tracepoint is NUL-terminated.
        let name = unsafe { CStr::from_char_ptr((*tracepoint).name) };
        self.found.is_none() && name.to_bytes() == self.name
    }
}

/// # Safety
///
/// `search` is a [`Search`] that nobody else uses, and `tracepoint` is one.
unsafe extern "C" fn look(tracepoint: *mut bindings::tracepoint, search: *mut c_void) {
    // SAFETY: `search` is a `Search` of `find`, which nobody else uses meanwhile.
    unsafe {
        let search = &mut *search.cast::<Search<'_>>();
        if search.is(tracepoint) {
            search.found = NonNull::new(tracepoint);
        }
    }
}

/// # Safety
///
/// As [`look`]; the tracepoint is of `module`.
unsafe extern "C" fn look_in_module(
    tracepoint: *mut bindings::tracepoint,
    module: *mut bindings::module,
    search: *mut c_void,
) {
    // SAFETY: `search` is a `Search` of `find`, which nobody else uses meanwhile; the module is there
    // as long as it is listed.
    unsafe {
        let search = &mut *search.cast::<Search<'_>>();
        if search.is(tracepoint) && bindings::try_module_get(module) {
            search.found = NonNull::new(tracepoint);
            search.module = module;
        }
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        if !self.module.is_null() {
            // SAFETY: `look_in_module` has taken a reference.
            unsafe { bindings::module_put(self.module) };
        }
    }
}

/// Looks for a tracepoint; it stays as long as the result.
fn find(name: &[u8]) -> Search<'_> {
    let mut search = Search {
        name,
        found: None,
        module: null_mut(),
    };
    let data = (&raw mut search).cast();
    // SAFETY: `data` is the search, which outlives the calls.
    unsafe {
        bindings::for_each_kernel_tracepoint(Some(look), data);
        if search.found.is_none() {
            bindings::for_each_module_tracepoint(Some(look_in_module), data);
        }
    }
    search
}

/// The name of the stub of the tracepoint `name`, if there is one.
pub(crate) fn name_of(name: &[u8]) -> Option<KVec<u8>> {
    let search = find(name);
    // SAFETY: the search keeps the tracepoint; its stub does not change.
    let stub = unsafe { (*search.found?.as_ptr()).probestub };
    Symbol::with(stub as usize, |symbol| Text::copy(symbol.name()).ok()).flatten()
}

/// A tracepoint whose stub is called at its hits as long as this is there. Dropping it: task
/// context, sleeps.
pub(crate) struct Stub {
    tracepoint: NonNull<bindings::tracepoint>,
    address: usize,
}

// SAFETY: the tracepoint may be used from anywhere as long as it is there.
unsafe impl Send for Stub {}
// SAFETY: there is nothing to be changed.
unsafe impl Sync for Stub {}

impl Stub {
    /// Has the stub of the tracepoint `name` called; `None` if there is no such tracepoint now. Task
    /// context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// The result is dropped before a module goes that [has](Stub::is_in) the tracepoint.
    pub(crate) unsafe fn new(name: &[u8]) -> Result<Option<Self>> {
        let search = find(name);
        let Some(tracepoint) = search.found else {
            return Ok(None);
        };
        // SAFETY: the search keeps the tracepoint; its stub does not change.
        let stub = unsafe { (*tracepoint.as_ptr()).probestub };
        let mut users = USERS.lock();
        match users.iter_mut().find(|user| user.tracepoint == tracepoint) {
            Some(user) => user.count += 1,
            None => {
                users.reserve(1, GFP_KERNEL)?;
                // SAFETY: the stub has the tracepoint's prototype, with a pointer in front that it
                // does not use.
                to_result(unsafe {
                    bindings::tracepoint_probe_register_prio_may_exist(
                        tracepoint.as_ptr(),
                        stub,
                        null_mut(),
                        0,
                    )
                })?;
                let count = 1;
                let _ = users.push_within_capacity(User { tracepoint, count });
            }
        }
        Ok(Some(Self {
            tracepoint,
            address: stub as usize,
        }))
    }

    /// Where the stub is.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// Whether it is in `text`.
    pub(crate) fn is_in(&self, text: &Range<usize>) -> bool {
        text.contains(&self.address)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let mut users = USERS.lock();
        let Some(at) = users
            .iter()
            .position(|user| user.tracepoint == self.tracepoint)
        else {
            return;
        };
        if let Some(user) = users.get_mut(at) {
            user.count -= 1;
            if user.count != 0 {
                return;
            }
        }
        let tracepoint = self.tracepoint.as_ptr();
        // SAFETY: undoes the registration with the same arguments, while the tracepoint is there:
        // its module has not gone.
        unsafe {
            bindings::tracepoint_probe_unregister(
                tracepoint,
                self.address as *mut c_void,
                null_mut(),
            );
        }
        let _ = users.remove(at);
    }
}
