// SPDX-License-Identifier: GPL-2.0

//! Names of kernel and module symbols.
//!
//! C header: [`include/linux/kallsyms.h`](srctree/include/linux/kallsyms.h)

use core::fmt;
use kernel::{bindings, ffi::c_int, prelude::*, str::CStr, sync::rcu};

const NAME_LEN: usize = bindings::KSYM_NAME_LEN as usize;
const MODULE_LEN: usize = 56;

/// The symbol that an address lies in; its names are copies, so that the module may go.
///
/// Large (some 600 bytes): keep no two of them on the stack.
pub(crate) struct Symbol {
    name: [u8; NAME_LEN],
    name_len: usize,
    module: [u8; MODULE_LEN],
    module_len: usize,
}

impl Symbol {
    /// The symbol at `addr`. Any context in which RCU watches.
    pub(crate) fn at(addr: usize) -> Option<Self> {
        let mut sym = Symbol { name: [0; NAME_LEN], name_len: 0, module: [0; MODULE_LEN], module_len: 0 };
        let mut module: *mut c_char = core::ptr::null_mut();
        let _rcu = rcu::read_lock();
        // SAFETY: The buffer has the `KSYM_NAME_LEN` bytes that the function asks for, the other out pointers may
        // be null.
        let name = unsafe {
            bindings::kallsyms_lookup(
                addr,
                core::ptr::null_mut(),
                core::ptr::null_mut(),
                &mut module,
                sym.name.as_mut_ptr().cast(),
            )
        };
        if name.is_null() {
            return None;
        }
        // SAFETY: Not null, so it points to a NUL-terminated string, in `sym.name` or static.
        let name = unsafe { CStr::from_char_ptr(name) };
        sym.name_len = name.to_bytes().len();
        if name.as_ptr().cast() != sym.name.as_ptr() {
            let len = sym.name_len.min(NAME_LEN);
            sym.name.get_mut(..len)?.copy_from_slice(name.to_bytes().get(..len)?);
        }
        if !module.is_null() {
            // SAFETY: The module's name is NUL-terminated, and its memory lives as long as RCU is read-locked.
            let module = unsafe { CStr::from_char_ptr(module) }.to_bytes();
            sym.module_len = module.len().min(MODULE_LEN);
            sym.module.get_mut(..sym.module_len)?.copy_from_slice(module.get(..sym.module_len)?);
        }
        Some(sym)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &[u8] {
        self.name.get(..self.name_len).unwrap_or(&[])
    }

    /// The module it is in.
    pub(crate) fn module(&self) -> Option<&[u8]> {
        self.module.get(..self.module_len).filter(|m| !m.is_empty())
    }

    /// Writes `name` or `name [module]`.
    pub(crate) fn write(&self, w: &mut dyn fmt::Write) -> fmt::Result {
        write_bytes(w, self.name())?;
        if let Some(module) = self.module() {
            w.write_str(" [")?;
            write_bytes(w, module)?;
            w.write_str("]")?;
        }
        Ok(())
    }
}

/// Writes bytes that are nearly always UTF-8; what is not becomes `?`.
fn write_bytes(w: &mut dyn fmt::Write, bytes: &[u8]) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        w.write_str(chunk.valid())?;
        for _ in chunk.invalid() {
            w.write_str("?")?;
        }
    }
    Ok(())
}

/// Size of the symbol at `addr`, and how far into it `addr` is.
pub(crate) fn size_offset(addr: usize) -> Option<(usize, usize)> {
    let (mut size, mut offset) = (0, 0);
    // SAFETY: Both out pointers are valid for the call.
    let found = unsafe { bindings::kallsyms_lookup_size_offset(addr, &mut size, &mut offset) };
    (found != 0).then_some((size, offset))
}

/// An address as `%pS` prints it: `symbol+0xoffset/0xsize [module]`, or a number where there is no symbol.
pub(crate) struct SymbolOffset(pub(crate) usize);

impl fmt::Display for SymbolOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buf = [0u8; NAME_LEN + MODULE_LEN + 192];
        // SAFETY: The buffer is longer than `KSYM_SYMBOL_LEN`, the most that the function writes.
        let len = unsafe { bindings::sprint_symbol(buf.as_mut_ptr().cast(), self.0) };
        let len = usize::try_from(len).unwrap_or(0);
        write_bytes(f, buf.get(..len).unwrap_or(&[]))
    }
}

impl kernel::fmt::Display for SymbolOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An address as how far it is from the start of the kernel's text, or of its module's.
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) struct TextOffset {
    module: [u8; MODULE_LEN],
    offset: usize,
}

#[cfg(CONFIG_FUNCTION_TRACER)]
impl TextOffset {
    /// None for what is in neither. Any context in which RCU watches.
    pub(crate) fn of(addr: usize) -> Option<Self> {
        let (mut module, mut offset) = ([0u8; MODULE_LEN], 0);
        // SAFETY: The buffer has the length given, and the out pointer is valid.
        let found = unsafe {
            bindings::rtrace_text_offset(addr, module.as_mut_ptr().cast(), MODULE_LEN as c_int, &mut offset)
        };
        found.then_some(Self { module, offset })
    }
}

#[cfg(CONFIG_FUNCTION_TRACER)]
impl fmt::Display for TextOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_bytes(f, crate::rcore::text::parser::until_nul(&self.module))?;
        write!(f, "+{:#x}", self.offset)
    }
}

/// Calls `f` with the address of each of the kernel's own symbols of this name, aliases included; a name with a NUL has
/// none. May sleep.
pub(crate) fn for_each_named<F: FnMut(usize)>(name: &[u8], mut f: F) {
    /// # Safety
    ///
    /// `data` is an `F` that nobody else uses.
    unsafe extern "C" fn call<F: FnMut(usize)>(data: *mut c_void, addr: usize) -> c_int {
        // SAFETY: By the caller's promise.
        unsafe { (*data.cast::<F>())(addr) };
        0
    }
    let mut buf = [0u8; NAME_LEN];
    match buf.get_mut(..name.len()) {
        Some(place) if name.len() < NAME_LEN && !name.contains(&0) => place.copy_from_slice(name),
        _ => return,
    }
    // SAFETY: The name is NUL-terminated, `data` is `f`, which outlives the calls.
    unsafe { bindings::kallsyms_on_each_match_symbol(Some(call::<F>), buf.as_ptr().cast(), (&raw mut f).cast()) };
}

/// Calls `f` with name and address of every symbol, the kernel's and then the modules', until it says true. May sleep.
pub(crate) fn for_each_symbol<F: FnMut(&[u8], usize) -> bool>(mut f: F) {
    /// # Safety
    ///
    /// `data` is an `F` that nobody else uses, `name` a string.
    unsafe extern "C" fn call<F: FnMut(&[u8], usize) -> bool>(
        data: *mut c_void,
        name: *const c_char,
        addr: usize,
    ) -> c_int {
        // SAFETY: By the caller's promise.
        let (f, name) = unsafe { (&mut *data.cast::<F>(), CStr::from_char_ptr(name)) };
        c_int::from(f(name.to_bytes(), addr))
    }
    let data = (&raw mut f).cast();
    // SAFETY: `data` is `f`, which outlives the calls; no module is named, so all are walked.
    unsafe {
        if bindings::kallsyms_on_each_symbol(Some(call::<F>), data) == 0 {
            bindings::module_kallsyms_on_each_symbol(core::ptr::null(), Some(call::<F>), data);
        }
    }
}
