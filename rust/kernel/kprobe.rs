// SPDX-License-Identifier: GPL-2.0

//! Kprobes and kretprobes: code that runs where an instruction is reached, or where a function has
//! returned.
//!
//! C header: `include/linux/kprobes.h`.

use super::context::PreemptOff;
use super::regs::Regs;
use super::text::NulText;
use core::mem::{size_of, ManuallyDrop};
use core::ptr::{null_mut, slice_from_raw_parts_mut, NonNull};
use kernel::bindings;
use kernel::error::to_result;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use kernel::types::Opaque;

/// What is at a place that a symbol names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A function's entry.
    Yes,
    /// Not the entry of its function.
    No,
    /// The symbol is not there.
    Unknown,
}

/// Whether a function is entered at `offset` behind `symbol`. Task context.
pub(crate) fn entry_of(symbol: &CStr, offset: usize) -> Entry {
    // SAFETY: a name and an offset, as an alternative to an address.
    told(unsafe { bindings::kprobe_on_func_entry(null_mut(), symbol.as_char_ptr(), offset) })
}

/// Whether a function is entered at `offset` behind `address`, which is not 0. Task context.
pub(crate) fn entry_at(address: usize, offset: usize) -> Entry {
    let address = address as *mut bindings::kprobe_opcode_t;
    // SAFETY: an address and an offset, as an alternative to a name.
    told(unsafe { bindings::kprobe_on_func_entry(address, core::ptr::null(), offset) })
}

/// What `kprobe_on_func_entry()` says.
fn told(result: c_int) -> Entry {
    match result {
        0 => Entry::Yes,
        error if error == EINVAL.to_errno() => Entry::No,
        _ => Entry::Unknown,
    }
}

/// What a probe does. All of it in the probed code's context, with preemption off: no sleep, no
/// lock that may be held there, no code that may be probed.
pub(crate) trait Handler: Sized + Send + Sync + 'static {
    /// The instruction at `address` is reached.
    fn hit(&self, address: usize, regs: &Regs, stay: &PreemptOff);

    /// The function is entered whose return is probed; `saved` is kept for that.
    fn entered(&self, regs: &Regs, saved: &mut [usize]);

    /// The call `call` of a function has returned.
    fn returned(&self, call: Call<'_, Self>, regs: &Regs, stay: &PreemptOff);
}

/// A call that has returned. Each of its functions reads what it tells.
///
/// # Invariants
///
/// `instance` is of a call of the function of `probe`, and nobody changes it for `'a`.
pub(crate) struct Call<'a, H: Handler> {
    probe: &'a Probe<H>,
    instance: NonNull<bindings::kretprobe_instance>,
}

impl<H: Handler> Clone for Call<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: Handler> Copy for Call<'_, H> {}

impl<'a, H: Handler> Call<'a, H> {
    /// Where the function is.
    #[inline(always)]
    pub(crate) fn function(self) -> usize {
        // SAFETY: the address changes only while the probe is not registered. Then no call is hit.
        unsafe { (*self.probe.raw()).kp.addr as usize }
    }

    /// Where it has returned to.
    #[inline(always)]
    pub(crate) fn to(self) -> usize {
        // SAFETY: by the invariant the instance is there.
        unsafe { bindings::get_kretprobe_retaddr(self.instance.as_ptr()) }
    }

    /// The words that were saved at entry.
    #[inline(always)]
    pub(crate) fn saved(self) -> &'a [usize] {
        // SAFETY: by the invariant the instance is of this probe, and nobody changes it for `'a`. The kernel
        // has allocated the words.
        unsafe { &*saved(self.probe, self.instance.as_ptr()) }
    }
}

/// Where a probe goes.
pub(crate) enum Target {
    /// An address.
    Address(usize),
    /// Some bytes behind a symbol.
    Symbol {
        /// `NAME` or `MODULE:NAME`.
        name: NulText,
        /// The number of bytes.
        offset: u32,
        /// The address of the symbol, if it is known and stays. The name is not looked up then.
        start: Option<usize>,
    },
}

/// A probe of a function's return.
#[derive(Clone, Copy)]
pub(crate) struct Returns {
    /// How many returns can be waited for at once; 0 leaves that to the kernel.
    pub(crate) at_once: u32,
    /// Words that are saved at entry.
    pub(crate) saved: usize,
}

/// One probe. It is not registered at first. Dropping it (task context, sleeps) unregisters it.
///
/// # Invariants
///
/// While `registered` is true the kernel has the address of `raw`, else nobody but this has it.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(crate) struct Probe<H: Handler> {
    raw: Opaque<bindings::kretprobe>,
    symbol: Option<NulText>,
    /// The address that `offset` counts from, if it is known.
    start: Option<usize>,
    is_return: bool,
    /// Words that are saved at entry.
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

impl<H: Handler> Probe<H> {
    /// A probe at `target`, of the function's return where `returns` says so. Task context, may
    /// sleep. `ENOMEM`.
    pub(crate) fn new(target: Target, returns: Option<Returns>, handler: H) -> Result<Arc<Self>> {
        let (symbol, offset, start) = match target {
            Target::Address(address) => (None, 0, Some(address)),
            Target::Symbol {
                name,
                offset,
                start,
            } => (Some(name), offset, start),
        };
        // INVARIANT: nobody has its address.
        let probe = Arc::pin_init(
            pin_init!(Self {
                raw: Opaque::zeroed(),
                symbol,
                start,
                is_return: returns.is_some(),
                saved: returns.map_or(0, |returns| returns.saved),
                registered <- new_mutex!(false),
                handler,
            }? Error),
            GFP_KERNEL,
        )?;
        let raw = probe.raw.get();
        // SAFETY: the probe is new, and the name stays as long as it.
        unsafe {
            probe.forget_address();
            (*raw).kp.offset = offset;
            match returns {
                None => (*raw).kp.pre_handler = Some(hit::<H>),
                Some(Returns { at_once, saved }) => {
                    (*raw).handler = Some(returned::<H>);
                    (*raw).maxactive = at_once as c_int;
                    if saved != 0 {
                        (*raw).entry_handler = Some(entered::<H>);
                        (*raw).data_size = saved * size_of::<usize>();
                    }
                }
            }
        }
        Ok(probe)
    }

    #[inline(always)]
    fn raw(&self) -> *mut bindings::kretprobe {
        self.raw.get()
    }

    /// Registers it, enabled if `on`. `start` is where its symbol is now, if the kernel does not know the symbol by its name.
    /// Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a place that cannot be probed, or if it is registered already; `EILSEQ` between
    /// two instructions, `ENOENT` without the symbol, `ENOMEM`.
    pub(crate) fn register(&self, on: bool, start: Option<usize>) -> Result {
        let mut registered = self.registered.lock();
        if *registered {
            return Err(EINVAL);
        }
        let raw = self.raw();
        let start = self.start.or(start);
        self.reset_address(start);
        // Kprobes want one of the two.
        let looked_up = self.symbol.as_ref().filter(|_| start.is_none());
        let name = looked_up.map_or(core::ptr::null(), |symbol| symbol.as_char_ptr());
        // SAFETY: by the invariant nobody else has the structure, which stays until `drop` has
        // taken it away from the kernel. The name stays as long.
        let result = unsafe {
            let kprobe = &raw mut (*raw).kp;
            (*kprobe).symbol_name = name;
            (*kprobe).flags = match on {
                true => 0,
                false => bindings::KPROBE_FLAG_DISABLED,
            };
            match self.is_return {
                false => bindings::register_kprobe(kprobe),
                true => bindings::register_kretprobe(raw),
            }
        };
        let result = to_result(result);
        // INVARIANT: as the kernel said.
        *registered = result.is_ok();
        if result.is_err() {
            self.forget_address();
        }
        result
    }

    /// Sets the address that the offset counts from, or 0 if it is not known. Registration has changed
    /// it. The probe is not registered.
    fn reset_address(&self, start: Option<usize>) {
        let start = start.unwrap_or(0);
        // SAFETY: by the invariant nobody else has the structure.
        unsafe { (*self.raw()).kp.addr = start as *mut bindings::kprobe_opcode_t };
    }

    /// [`Probe::reset_address`] to what [`Probe::place`] tells of a probe that is not registered.
    fn forget_address(&self) {
        self.reset_address(self.start.filter(|_| self.symbol.is_none()));
    }

    /// Unregisters it, and waits for hits under way. Task context, sleeps.
    pub(crate) fn unregister(&self) {
        let mut registered = self.registered.lock();
        if !*registered {
            return;
        }
        let raw = self.raw();
        // SAFETY: by the invariant it is registered.
        unsafe {
            match self.is_return {
                false => bindings::unregister_kprobe(&raw mut (*raw).kp),
                true => bindings::unregister_kretprobe(raw),
            }
        }
        // INVARIANT: nobody has it any more.
        *registered = false;
        self.forget_address();
    }

    /// Enables or disables it. Does nothing if it is not registered, or if its module was unloaded.
    /// Task context, sleeps. Errors as the kernel's.
    pub(crate) fn enable(&self, on: bool) -> Result {
        let registered = self.registered.lock();
        let raw = self.raw();
        // SAFETY: by the invariant it is registered.
        unsafe {
            let kprobe = &raw mut (*raw).kp;
            if !*registered || bindings::kprobe_gone(kprobe) {
                return Ok(());
            }
            // Both are one for kprobes and kretprobes.
            to_result(match on {
                true => bindings::enable_kprobe(kprobe),
                false => bindings::disable_kprobe(kprobe),
            })
        }
    }

    /// The symbol and the bytes behind it, as they were asked for, and the address of the instruction, 0
    /// before it is known. That of a probe by address may have moved behind an `ENDBR`.
    pub(crate) fn place(&self) -> (Option<&CStr>, u32, usize) {
        let raw = self.raw();
        // SAFETY: words, each read at once.
        let (offset, address) = unsafe {
            (
                (&raw const (*raw).kp.offset).read_volatile(),
                (&raw const (*raw).kp.addr).read_volatile(),
            )
        };
        (self.symbol.as_deref(), offset, address as usize)
    }

    /// The number of hits that the kernel has missed.
    pub(crate) fn missed(&self) -> usize {
        let raw = self.raw();
        // SAFETY: counts, each read at once.
        unsafe {
            let entries = (&raw const (*raw).kp.nmissed).read_volatile();
            let returns = (&raw const (*raw).nmissed).read_volatile();
            entries.wrapping_add(returns as usize)
        }
    }

    /// How many returns can be waited for at once.
    pub(crate) fn returns_at_once(&self) -> u32 {
        // SAFETY: a number, read at once.
        unsafe { (&raw const (*self.raw()).maxactive).read_volatile() as u32 }
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
/// `kprobe` is the first field of a registered [`Probe`] of this handler, and `regs` are those of
/// the hit.
pub(crate) unsafe extern "C" fn hit<H: Handler>(
    kprobe: *mut bindings::kprobe,
    regs: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: `kprobe` is the first field of a registered `Probe<H>`, and `regs` are those of the
    // hit. Kprobes call this with preemption off, and wait for it before a probe goes.
    unsafe {
        let probe = &*kprobe.cast::<Probe<H>>();
        let stay = ManuallyDrop::new(PreemptOff::assume());
        let address = (*kprobe).addr as usize;
        let regs = Regs::from_raw(regs);
        #[cfg(CONFIG_BPF_EVENTS)]
        let instruction = regs.instruction();
        probe.handler.hit(address, regs, &stay);
        // A BPF program may have the function return at once. It is not run then.
        #[cfg(CONFIG_BPF_EVENTS)]
        if regs.instruction() != instruction {
            return 1;
        }
    }
    0
}

/// The probe of a call; none if it is not registered any more.
///
/// # Safety
///
/// Kretprobes tell a probe of this handler of `instance`, and have not been answered yet for the lifetime
/// that the caller picks.
#[inline(always)]
unsafe fn probe_of<'a, H: Handler>(
    instance: *mut bindings::kretprobe_instance,
) -> Option<&'a Probe<H>> {
    // SAFETY: what `instance` leads to is null or a `Probe<H>`, which stays until kretprobes are answered.
    unsafe {
        let probe = bindings::get_kretprobe(instance).cast::<Probe<H>>();
        // A rethook keeps what it was made with: it is never null.
        #[cfg(CONFIG_KRETPROBE_ON_RETHOOK)]
        return Some(&*probe);
        #[cfg(not(CONFIG_KRETPROBE_ON_RETHOOK))]
        probe.as_ref()
    }
}

/// Where the words are that are saved at entry: as many as `Probe::new` has asked for, behind other words.
///
/// # Safety
///
/// `instance` is of a function that is being probed, for `probe`.
#[inline(always)]
unsafe fn saved<H: Handler>(
    probe: &Probe<H>,
    instance: *mut bindings::kretprobe_instance,
) -> *mut [usize] {
    // SAFETY: only an address is taken, of a field of what the kernel has allocated.
    let start = unsafe { (&raw mut (*instance).data).cast::<usize>() };
    slice_from_raw_parts_mut(start, probe.saved)
}

/// # Safety
///
/// `instance` is of a function that is entered, and `regs` are those of the hit.
pub(crate) unsafe extern "C" fn entered<H: Handler>(
    instance: *mut bindings::kretprobe_instance,
    regs: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: `instance` is of a function that is entered, so what it leads to is null or a
    // `Probe<H>` that stays until this has returned; `regs` are those of the hit.
    unsafe {
        let Some(probe) = probe_of::<H>(instance) else {
            return ENOENT.to_errno();
        };
        // Nobody else uses the words before this has returned.
        let saved = &mut *saved(probe, instance);
        probe.handler.entered(Regs::from_raw(regs), saved);
    }
    0
}

/// # Safety
///
/// `instance` is of a function that has returned, and `regs` are those of the hit.
pub(crate) unsafe extern "C" fn returned<H: Handler>(
    instance: *mut bindings::kretprobe_instance,
    regs: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: `instance` is of a function that has returned, so what it leads to is null or a
    // `Probe<H>` that stays until this has returned; `regs` are those of the hit. Kretprobes call
    // this with preemption off.
    unsafe {
        let Some(probe) = probe_of::<H>(instance) else {
            return 0;
        };
        let stay = ManuallyDrop::new(PreemptOff::assume());
        // INVARIANT: `instance` is of a call of the function of `probe`, and this has it until it returns.
        let call = Call {
            probe,
            instance: NonNull::new_unchecked(instance),
        };
        probe.handler.returned(call, Regs::from_raw(regs), &stay);
    }
    0
}

/// Calls the function that the test at the end of boot probes: it adds the numbers from 1 to 6.
#[cfg(CONFIG_FTRACE_STARTUP_TEST)]
pub(crate) fn call_selftest_target() -> c_int {
    // SAFETY: no preconditions.
    unsafe { bindings::kprobe_trace_selftest_target(1, 2, 3, 4, 5, 6) }
}
