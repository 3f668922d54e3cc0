// SPDX-License-Identifier: GPL-2.0

//! Modules: their names, texts and patch sites.
//!
//! C header: `include/linux/module.h`.

#[cfg(CONFIG_FUNCTION_TRACER)]
use core::ops::Range;
#[cfg(CONFIG_FUNCTION_TRACER)]
use core::ptr;
use kernel::bindings;
use kernel::prelude::*;
#[cfg(CONFIG_FUNCTION_TRACER)]
use kernel::str::CStr;

const fn length<const N: usize>(_field: fn(&bindings::module) -> &[c_char; N]) -> usize {
    N
}

/// Bytes of a module's name, the NUL included: `MODULE_NAME_LEN`.
pub(crate) const NAME_LEN: usize = length(|module| &module.name);

/// Which module it is, or the kernel. To be compared: the module may be gone.
#[cfg(CONFIG_FUNCTION_TRACER)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModuleId(*const bindings::module);

// SAFETY: it is a number to be compared.
#[cfg(CONFIG_FUNCTION_TRACER)]
unsafe impl Send for ModuleId {}
// SAFETY: it is a number to be compared, by any CPU.
#[cfg(CONFIG_FUNCTION_TRACER)]
unsafe impl Sync for ModuleId {}

#[cfg(CONFIG_FUNCTION_TRACER)]
impl ModuleId {
    /// The kernel itself.
    pub(crate) const KERNEL: Self = Self(ptr::null());

    /// That of a C pointer, which is null for the kernel.
    pub(crate) fn from_raw(module: *const bindings::module) -> Self {
        Self(module)
    }

    /// Whether it is the kernel.
    pub(crate) fn is_kernel(self) -> bool {
        self.0.is_null()
    }

    /// The C pointer.
    pub(crate) fn as_ptr(self) -> *const bindings::module {
        self.0
    }
}

/// A module in the course of being loaded.
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) struct Module<'a>(&'a bindings::module);

#[cfg(CONFIG_FUNCTION_TRACER)]
impl<'a> Module<'a> {
    /// # Safety
    ///
    /// The loader holds `module` for `'a`, with its text as it is and its list of patch sites for
    /// the caller alone.
    pub(crate) unsafe fn from_raw(module: *const bindings::module) -> Self {
        // SAFETY: the module is there for `'a`.
        Module(unsafe { &*module })
    }

    /// Which it is.
    pub(crate) fn id(&self) -> ModuleId {
        ModuleId(self.0)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'a [u8] {
        // SAFETY: the loader has NUL-terminated it.
        unsafe { CStr::from_char_ptr(self.0.name.as_ptr()) }.to_bytes()
    }

    /// The range of its text.
    pub(crate) fn text(&self) -> Range<usize> {
        self.part(bindings::mod_mem_type_MOD_TEXT)
    }

    /// The range of its init text, which is freed after its initialisation.
    pub(crate) fn init_text(&self) -> Range<usize> {
        self.part(bindings::mod_mem_type_MOD_INIT_TEXT)
    }

    fn part(&self, part: bindings::mod_mem_type) -> Range<usize> {
        match self.0.mem.get(part as usize) {
            Some(mem) => mem.base as usize..(mem.base as usize).wrapping_add(mem.size as usize),
            None => 0..0,
        }
    }

    /// Its list of patch sites; empty without one.
    pub(crate) fn sites(&mut self) -> &mut [usize] {
        let (list, len) = (
            self.0.ftrace_callsites,
            self.0.num_ftrace_callsites as usize,
        );
        if list.is_null() {
            return &mut [];
        }
        // SAFETY: the loader says that so many words are there, and nobody else uses them while
        // this is borrowed.
        unsafe { core::slice::from_raw_parts_mut(list, len) }
    }
}

/// Is a module of this name there? Task context.
pub(crate) fn exists(name: &[u8]) -> bool {
    let mut buf = [0u8; NAME_LEN];
    match buf.get_mut(..name.len()) {
        Some(place) if name.len() < NAME_LEN => place.copy_from_slice(name),
        _ => return false,
    }
    // SAFETY: the name is NUL-terminated, as the buffer is longer.
    unsafe { bindings::rtrace_module_exists(buf.as_ptr().cast()) }
}

/// The module whose code has made something, or the kernel. Who uses that holds it.
pub(crate) struct Owner(*mut bindings::module);

// SAFETY: holding and releasing a module may be done by any task.
unsafe impl Send for Owner {}
// SAFETY: holding and releasing a module may be done by any task at once.
unsafe impl Sync for Owner {}

impl Owner {
    /// The kernel.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) const fn kernel() -> Self {
        Self(core::ptr::null_mut())
    }

    /// The module that C code means; null is the kernel.
    ///
    /// # Safety
    ///
    /// What it has made is removed before it goes.
    pub(crate) unsafe fn from_raw(module: *mut bindings::module) -> Self {
        Self(module)
    }

    /// Where the module is; 0 for the kernel. It may be gone.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) fn address(&self) -> usize {
        self.0 as usize
    }

    /// The same once more.
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    pub(crate) fn again(&self) -> Self {
        Self(self.0)
    }

    /// Keeps the module until [`Owner::release`]. Task context. `EBUSY` if it is going.
    pub(crate) fn hold(&self) -> Result {
        // SAFETY: what the module has made is removed before it goes, so it is there.
        match unsafe { bindings::try_module_get(self.0) } {
            true => Ok(()),
            false => Err(EBUSY),
        }
    }

    /// Undoes [`Owner::hold`]. Task context.
    ///
    /// # Safety
    ///
    /// It was held, and each hold is undone once.
    pub(crate) unsafe fn release(&self) {
        // SAFETY: it was held.
        unsafe { bindings::module_put(self.0) };
    }
}
