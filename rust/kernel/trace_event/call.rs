// SPDX-License-Identifier: GPL-2.0

//! [`Call`]: what an event is, and how its code is reached.

#[cfg(CONFIG_DYNAMIC_EVENTS)]
use super::owned::Owned;
use crate::kernel::format::is_tracepoint_string;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::types::Opaque;

/// What an event is, and how its code is reached (`struct trace_event_call`).
#[repr(transparent)]
pub(crate) struct Call(Opaque<bindings::trace_event_call>);

// SAFETY: what is read here does not change once the event is known, but for the fields that are
// said to, which are read at once.
unsafe impl Send for Call {}
// SAFETY: what is read here does not change once the event is known, but for words that are read at
// once.
unsafe impl Sync for Call {}

/// `TRACE_EVENT_FL_*`, as far as they are asked for.
impl Call {
    /// The core's own entries: nobody enables them.
    pub(crate) const IGNORE_ENABLE: u32 = bindings::TRACE_EVENT_FL_IGNORE_ENABLE as u32;
    /// It was made while the kernel ran, and has no module.
    pub(crate) const DYNAMIC: u32 = bindings::TRACE_EVENT_FL_DYNAMIC as u32;
    /// It belongs to a tracepoint.
    pub(crate) const TRACEPOINT: u32 = bindings::TRACE_EVENT_FL_TRACEPOINT as u32;
    /// It has a name of its own, though it may belong to a tracepoint.
    pub(crate) const CUSTOM: u32 = bindings::TRACE_EVENT_FL_CUSTOM as u32;

    /// It is the beginning of an [`Owned`]: who holds it holds its module, and the event's memory. C has
    /// no such bit.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) const OWNED: u32 = 1 << 30;

    /// Its entries are printed with names of symbols. C has no such bit.
    pub(crate) const SHOWS_SYMBOLS: u32 = 1 << 29;

    /// It is of a kprobe.
    #[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_EPROBE_EVENTS))]
    pub(crate) const KPROBE: u32 = bindings::TRACE_EVENT_FL_KPROBE as u32;

    /// It is of a uprobe, and each task may use it for itself.
    #[cfg(CONFIG_UPROBE_EVENTS)]
    pub(crate) const UPROBE: u32 =
        (bindings::TRACE_EVENT_FL_UPROBE | bindings::TRACE_EVENT_FL_CAP_ANY) as u32;

    /// It is of another event's entries.
    #[cfg(CONFIG_EPROBE_EVENTS)]
    pub(crate) const EPROBE: u32 = bindings::TRACE_EVENT_FL_EPROBE as u32;
    /// It is of a kprobe, a uprobe or another event's entries.
    #[cfg(CONFIG_EPROBE_EVENTS)]
    pub(crate) const OF_PROBES: u32 =
        Self::KPROBE | bindings::TRACE_EVENT_FL_UPROBE as u32 | Self::EPROBE;

    /// It is of an fprobe.
    #[cfg(CONFIG_FPROBE_EVENTS)]
    pub(crate) const FPROBE: u32 = bindings::TRACE_EVENT_FL_FPROBE as u32;

    /// Its entries may have addresses of strings elsewhere, that are printed.
    pub(crate) const TEST_STR: u32 = bindings::TRACE_EVENT_FL_TEST_STR as u32;

    /// The description at `call`.
    ///
    /// # Safety
    ///
    /// It is a complete one, and stays for the lifetime that the caller picks.
    pub(crate) unsafe fn from_raw<'a>(call: *const bindings::trace_event_call) -> &'a Self {
        // SAFETY: `call` is complete and stays for `'a`; the type is transparent.
        unsafe { &*call.cast() }
    }

    /// The C structure.
    pub(crate) fn as_ptr(&self) -> *mut bindings::trace_event_call {
        self.0.get()
    }

    pub(super) fn class(&self) -> *mut bindings::trace_event_class {
        // SAFETY: the structure is complete; the class of an event does not change.
        unsafe { (*self.0.get()).class }
    }

    /// `TRACE_EVENT_FL_*`.
    pub(crate) fn flags(&self) -> u32 {
        // SAFETY: the structure is complete, and the word is read at once.
        unsafe { (&raw const (*self.0.get()).flags).read_volatile() as u32 }
    }

    /// Whether it has any of these flags.
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags() & flags != 0
    }

    fn raw_name(&self) -> *const c_char {
        let call = self.0.get();
        // SAFETY: the flags say which field of the union it is, and a tracepoint lives as long as
        // its event.
        unsafe {
            let either = &raw const (*call).__bindgen_anon_1;
            if !self.has(Self::CUSTOM) && self.has(Self::TRACEPOINT) {
                let tracepoint = (*either).tp;
                return match tracepoint.is_null() {
                    true => core::ptr::null(),
                    false => (*tracepoint).name,
                };
            }
            (*either).name
        }
    }

    /// Its name; empty where it has none yet.
    pub(crate) fn name(&self) -> &CStr {
        let name = self.raw_name();
        if name.is_null() {
            return c"";
        }
        // SAFETY: names are NUL-terminated and live as long as the event.
        unsafe { CStr::from_char_ptr(name) }
    }

    /// Whether this is its name. Cheaper than a look at [`Call::name`], which has to find its end.
    pub(crate) fn is_named(&self, name: &[u8]) -> bool {
        let mut at = self.raw_name();
        if at.is_null() {
            return name.is_empty();
        }
        for byte in name {
            // SAFETY: names are NUL-terminated, and no byte before this one was NUL.
            let here = unsafe { *at } as u8;
            if here == 0 || here != *byte {
                return false;
            }
            at = at.wrapping_add(1);
        }
        // SAFETY: as above.
        unsafe { *at == 0 }
    }

    /// The system it belongs to.
    pub(crate) fn system(&self) -> &CStr {
        // SAFETY: the class lives as long as the event, and its name is NUL-terminated.
        unsafe { CStr::from_char_ptr((*self.class()).system) }
    }

    /// Where its system's name is: events of one system in one object share it, and so do the names
    /// in their formats.
    pub(crate) fn system_key(&self) -> usize {
        // SAFETY: the class lives as long as the event.
        unsafe { (*self.class()).system as usize }
    }

    /// The type of its entries, which is in its `id` file; 0 before it has one.
    pub(crate) fn id(&self) -> u16 {
        // SAFETY: the structure is complete; types fit.
        unsafe { (&raw const (*self.0.get()).event.type_).read_volatile() as u16 }
    }

    /// Where the text is by which user space prints its entries.
    fn print_fmt_word(&self) -> &Atomic<*mut c_char> {
        // SAFETY: the structure is complete, and the word is used as an atomic one once the event is
        // known.
        unsafe { Atomic::from_ptr((&raw mut (*self.0.get()).print_fmt).cast()) }
    }

    /// The text by which user space prints its entries; see
    /// [`Registered::rewrite_print_fmt`](super::Registered::rewrite_print_fmt). Any context.
    pub(crate) fn print_fmt(&self) -> &CStr {
        // Pairs with the release store in `set_print_fmt`.
        let text = self.print_fmt_word().load(ordering::Acquire);
        match text.is_null() {
            true => c"",
            // SAFETY: NUL-terminated; no text of an event is written to once the event has it, and all of
            // them stay as long as the event.
            false => unsafe { CStr::from_char_ptr(text) },
        }
    }

    /// Makes `text` what [`Call::print_fmt`] gives.
    ///
    /// # Safety
    ///
    /// It is NUL-terminated, and stays as it is as long as the event.
    pub(super) unsafe fn set_print_fmt(&self, text: *mut c_char) {
        // Pairs with the acquire load in `print_fmt`.
        self.print_fmt_word().store(text, ordering::Release);
    }

    /// Whether it can be enabled. Those of the core's own entries cannot.
    pub(crate) fn can_record(&self) -> bool {
        // SAFETY: the class lives as long as the event.
        unsafe { (*self.class()).reg.is_some() }
    }

    /// The address of its probe function; 0 if the class does not give it.
    pub(crate) fn probe(&self) -> usize {
        // SAFETY: the class lives as long as the event.
        unsafe { (*self.class()).probe as usize }
    }

    /// The module it belongs to, as an address; 0 for the kernel's own, and for dynamic ones without an
    /// owner.
    pub(crate) fn module(&self) -> usize {
        #[cfg(CONFIG_DYNAMIC_EVENTS)]
        if let Some(owned) = self.owned() {
            return owned.module();
        }
        if self.has(Self::DYNAMIC) {
            return 0;
        }
        // SAFETY: the flags say which field of the union it is.
        unsafe { (*self.0.get()).__bindgen_anon_2.module as usize }
    }

    /// The name of its module.
    pub(crate) fn module_name(&self) -> Option<&CStr> {
        let module = self.module() as *const bindings::module;
        if module.is_null() {
            return None;
        }
        // SAFETY: a module with events stays until they are removed; its name is NUL-terminated.
        Some(unsafe { CStr::from_char_ptr((&raw const (*module).name).cast()) })
    }

    /// Does what is at `address` stay as long as the event is known? Constants of the kernel do, and
    /// what is in the event's module. Any context.
    pub(crate) fn keeps(&self, address: usize) -> bool {
        let module = self.module() as *const bindings::module;
        // SAFETY: a module with events stays until they are removed.
        let of_module =
            || !module.is_null() && unsafe { bindings::within_module_core(address, module) };
        // SAFETY: compares addresses.
        let constant = unsafe { bindings::is_kernel_rodata(address) };
        constant || is_tracepoint_string(address) || of_module()
    }

    /// What counts its memory, if that is its own though it has a module.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(super) fn owned(&self) -> Option<&Owned> {
        // SAFETY: by the flag the call is the first field of one, which stays as long as the call.
        self.has(Self::OWNED)
            .then(|| unsafe { &*self.as_ptr().cast::<Owned>() })
    }

    /// How often an event without a module is held.
    pub(super) fn users(&self) -> Option<&Atomic<i32>> {
        // SAFETY: the flags say which field of the union it is: an aligned word that is used as an
        // atomic one while others know the event, and lives as long as the event.
        self.has(Self::DYNAMIC).then(|| unsafe {
            let either = &raw mut (*self.0.get()).__bindgen_anon_2;
            Atomic::from_ptr((&raw mut (*either).refcnt).cast())
        })
    }

    /// How many of perf's events see its hits. It changes under the events lock alone.
    #[cfg(CONFIG_PERF_EVENTS)]
    pub(in crate::kernel) fn perf_users(&self) -> &Atomic<i32> {
        // SAFETY: an aligned word that is used as an atomic one, and lives as long as the event.
        unsafe { Atomic::from_ptr(&raw mut (*self.0.get()).perf_refcount) }
    }

    /// Whether perf sees hits of the event, or the event has no module and is held. Task context. The
    /// answer is good as long as the caller holds the events lock.
    pub(crate) fn is_in_use(&self) -> bool {
        #[cfg(CONFIG_PERF_EVENTS)]
        if self.perf_users().load(ordering::Relaxed) != 0 {
            return true;
        }
        self.users()
            .is_some_and(|users| users.load(ordering::Relaxed) != 0)
    }

    /// Initialises it: its class gives it a type. Task context.
    ///
    /// # Errors
    ///
    /// What the class says, `EINVAL` without a name.
    ///
    /// # Safety
    ///
    /// Nobody knows the event yet; `module` is where its code is, or null.
    pub(super) unsafe fn init(&self, module: *mut bindings::module) -> Result {
        if self.name().is_empty() {
            return Err(EINVAL);
        }
        let call = self.0.get();
        // SAFETY: nobody knows the event yet, so nobody else uses the structure.
        unsafe {
            // The same word counts the users of an event without a module.
            (*call).__bindgen_anon_2.module = module.cast();
            match (*self.class()).raw_init {
                Some(raw_init) => to_result(raw_init(call)),
                None => Ok(()),
            }
        }
    }

    /// Calls the class's `reg` with `what`. Task context, sleeps. Errors as the class says.
    ///
    /// # Safety
    ///
    /// `data` is what that asks for: a `struct trace_event_file` that stays until it is undone and
    /// the readers of tracepoints were waited for, or a `struct perf_event`.
    pub(crate) unsafe fn reg(
        &self,
        what: bindings::trace_reg,
        data: *mut core::ffi::c_void,
    ) -> Result<c_int> {
        // SAFETY: the class lives as long as the event.
        if unsafe { (*self.class()).reg }.is_none() {
            return Err(EINVAL);
        }
        // In C: kCFI tells `what`, an enum, from an integer. SAFETY: the class has the function;
        // `data` is what it asks for with `what`: the file or the perf event that stays until it is
        // undone.
        let result = unsafe { bindings::rtrace_event_reg(self.0.get(), what, data) };
        kernel::error::to_result(result.min(0))?;
        Ok(result)
    }
}
