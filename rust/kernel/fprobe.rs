// SPDX-License-Identifier: GPL-2.0

//! Fprobes: code that runs where functions are entered, or where they have returned.
//!
//! C header: `include/linux/fprobe.h`.

use super::context::PreemptOff;
use super::regs::Regs;
use core::mem::{size_of, ManuallyDrop};
use kernel::bindings;
use kernel::error::to_result;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use kernel::types::Opaque;

/// What a probe does. All of it in the probed code's context, with preemption off: no sleep, no
/// lock that may be held there.
pub(crate) trait Handler: Send + Sync + 'static {
    /// The function is entered. For a probe without [`Returns`].
    fn entered(&self, function: usize, regs: &Regs, stay: &PreemptOff);

    /// The function is entered whose return is probed; `saved` is kept for that.
    fn save(&self, regs: &Regs, saved: &mut [usize]);

    /// The function at `function` has returned to `to`.
    fn returned(&self, function: usize, to: usize, regs: &Regs, saved: &[usize], stay: &PreemptOff);
}

/// What is probed.
pub(crate) enum Target<'a> {
    /// All functions that a glob matches.
    Matching(&'a CStr),
    /// The function that is entered at an address.
    Entry(usize),
}

/// Words that can be saved at entry, at most.
pub(crate) const SAVED_MAX: usize = (1 << bindings::FPROBE_DATA_SIZE_BITS) - 1;

/// A probe of returns, for which so many words are saved at entry.
#[derive(Clone, Copy)]
pub(crate) struct Returns(pub(crate) usize);

/// One probe. It is not registered at first. Dropping it (task context, sleeps) unregisters it.
///
/// # Invariants
///
/// While `registered` is true the kernel has the address of `raw`, else nobody but this has it.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(crate) struct Probe<H: Handler> {
    raw: Opaque<bindings::fprobe>,
    saved: usize,
    #[pin]
    registered: Mutex<bool>,
    handler: H,
}

// SAFETY: the C structure is changed under the mutex, and read word by word; the handler may be
// sent.
unsafe impl<H: Handler> Send for Probe<H> {}
// SAFETY: the C structure is changed under the mutex, and read word by word; the handler may be
// shared.
unsafe impl<H: Handler> Sync for Probe<H> {}

/// For how many functions [`Probe::register`] would probe a glob. Task context, sleeps. `ENOENT` for
/// none.
pub(crate) fn count(glob: &CStr) -> Result<usize> {
    // SAFETY: a string, and none.
    let count =
        unsafe { bindings::fprobe_count_ips_from_filter(glob.as_char_ptr(), core::ptr::null()) };
    to_result(count)?;
    Ok(count as usize)
}

impl<H: Handler> Probe<H> {
    /// A probe, of returns where `returns` says so. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `E2BIG` for more words to be saved than there can be, `ENOMEM`.
    pub(crate) fn new(returns: Option<Returns>, handler: H) -> Result<Arc<Self>> {
        let saved = returns.map_or(0, |Returns(saved)| saved);
        if saved > SAVED_MAX {
            return Err(E2BIG);
        }
        // INVARIANT: nobody has its address.
        let probe = Arc::pin_init(
            pin_init!(Self {
                raw: Opaque::zeroed(),
                saved,
                registered <- new_mutex!(false),
                handler,
            }? Error),
            GFP_KERNEL,
        )?;
        let raw = probe.raw.get();
        // SAFETY: the probe is new.
        unsafe {
            match returns {
                None => (*raw).entry_handler = Some(entered::<H>),
                Some(_) => {
                    (*raw).exit_handler = Some(returned::<H>);
                    if saved != 0 {
                        (*raw).entry_handler = Some(save::<H>);
                        (*raw).entry_data_size = saved * size_of::<usize>();
                    }
                }
            }
        }
        Ok(probe)
    }

    /// Registers it. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it is registered already, `ENOENT` where there is no such function, `ENOMEM`, and
    /// those of tracing functions.
    pub(crate) fn register(&self, target: &Target<'_>) -> Result {
        let mut registered = self.registered.lock();
        if *registered {
            return Err(EINVAL);
        }
        let raw = self.raw.get();
        // SAFETY: by the invariant nobody else has the structure, which stays until `drop` has
        // taken it away from the kernel. The name, and the one address, stay during the call.
        let result = unsafe {
            match *target {
                Target::Matching(glob) => {
                    bindings::register_fprobe(raw, glob.as_char_ptr(), core::ptr::null())
                }
                Target::Entry(mut address) => {
                    bindings::register_fprobe_ips(raw, &raw mut address, 1)
                }
            }
        };
        // INVARIANT: as the kernel said.
        *registered = result == 0;
        to_result(result)
    }

    /// Unregisters it, and waits for hits under way. Task context, sleeps.
    pub(crate) fn unregister(&self) {
        let mut registered = self.registered.lock();
        if core::mem::take(&mut *registered) {
            // SAFETY: by the invariant it was registered. Nobody has it any more then.
            unsafe { bindings::unregister_fprobe(self.raw.get()) };
        }
    }

    /// What it does.
    pub(crate) fn handler(&self) -> &H {
        &self.handler
    }
}

#[pinned_drop]
impl<H: Handler> PinnedDrop for Probe<H> {
    fn drop(self: Pin<&mut Self>) {
        self.unregister();
    }
}

/// # Safety
///
/// `fprobe` is the first field of a registered [`Probe`] of this handler, and `regs` are those of
/// the hit.
pub(crate) unsafe extern "C" fn entered<H: Handler>(
    fprobe: *mut bindings::fprobe,
    function: usize,
    _to: usize,
    regs: *mut bindings::ftrace_regs,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: `fprobe` is the first field of a registered `Probe<H>`, and `regs`, which are those of
    // the hit, begin with the registers. Fprobes call this with preemption off, and wait for it
    // before a probe goes.
    unsafe {
        let probe = &*fprobe.cast::<Probe<H>>();
        let stay = ManuallyDrop::new(PreemptOff::assume());
        let regs = Regs::from_raw(regs.cast());
        probe.handler.entered(function, regs, &stay);
    }
    0
}

/// # Safety
///
/// As [`entered`]; `data` are as many words as the probe has asked for.
pub(crate) unsafe extern "C" fn save<H: Handler>(
    fprobe: *mut bindings::fprobe,
    _function: usize,
    _to: usize,
    regs: *mut bindings::ftrace_regs,
    data: *mut c_void,
) -> c_int {
    // SAFETY: `fprobe` is the first field of a registered `Probe<H>`, `regs` begin with the
    // registers, and `data` are the words that `Probe::new` has asked for, for this call alone. The core
    // has them as atomics (interior mutability), which nobody looks at meanwhile.
    unsafe {
        let probe = &*fprobe.cast::<Probe<H>>();
        let saved = core::slice::from_raw_parts_mut(data.cast(), probe.saved);
        probe.handler.save(Regs::from_raw(regs.cast()), saved);
    }
    0
}

/// # Safety
///
/// As [`save`], if words are saved; else `data` may be null.
pub(crate) unsafe extern "C" fn returned<H: Handler>(
    fprobe: *mut bindings::fprobe,
    function: usize,
    to: usize,
    regs: *mut bindings::ftrace_regs,
    data: *mut c_void,
) {
    // SAFETY: `fprobe` is the first field of a registered `Probe<H>`, and `regs`, which are those of
    // the return, begin with the registers. Where words are saved, `data` are those. Fprobes call
    // this with preemption off.
    unsafe {
        let probe = &*fprobe.cast::<Probe<H>>();
        let stay = ManuallyDrop::new(PreemptOff::assume());
        let saved = match probe.saved {
            0 => &[],
            words => core::slice::from_raw_parts(data.cast_const().cast(), words),
        };
        let regs = Regs::from_raw(regs.cast());
        probe.handler.returned(function, to, regs, saved, &stay);
    }
}
