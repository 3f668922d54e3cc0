// SPDX-License-Identifier: GPL-2.0

//! Names of kernel and module symbols.
//!
//! C header: [`include/linux/kallsyms.h`](srctree/include/linux/kallsyms.h)

use crate::core::format::rust_name::{self, is_mangled};
use crate::core::format::{copy_short, printf, LineBuf};
use crate::core::parse::glob::{is_path, Pattern};
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::kernel::memory;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::stack;
use core::fmt;
use core::mem::MaybeUninit;
use kernel::{bindings, ffi::c_int, prelude::*, str::CStr, sync::rcu};

/// The longest symbol with offset and module, as C prints it, and a little more.
pub(crate) const SYMBOL_TOKEN: usize = bindings::FILTER_TOKEN_MAX;

const NAME_LEN: usize = bindings::KSYM_NAME_LEN as usize;
const MODULE_LEN: usize = 56;

/// Memory for a name with its NUL.
type NameBuffer = MaybeUninit<[u8; NAME_LEN]>;

/// The symbol that an address lies in; its names are copies, so that the module may go.
pub(crate) struct Symbol<'a> {
    name: &'a [u8],
    /// The name with offset and size as `%pS` prints them; empty if that is not known yet.
    place: &'a [u8],
    module: &'a [u8],
}

impl Symbol<'_> {
    /// Runs `f` on the symbol at `addr`, if there is one. Any context in which RCU watches.
    pub(crate) fn with<R>(addr: usize, f: impl FnOnce(&Symbol<'_>) -> R) -> Option<R> {
        Self::with_shown(addr, false, f)
    }

    /// The same; with `demangle`, the name is as people read it: that of a Rust function is its path.
    pub(crate) fn with_shown<R>(
        addr: usize,
        demangle: bool,
        f: impl FnOnce(&Symbol<'_>) -> R,
    ) -> Option<R> {
        if let Some(known) = Recent::get(&NAMES, addr) {
            if !demangle || !is_mangled(known.name()) {
                return Some(f(&known.symbol()));
            }
        }
        if demangle {
            if let Some(known) = Recent::get(&PATHS, addr) {
                return Some(f(&known.symbol()));
            }
        }
        Self::with_found(addr, demangle, f)
    }

    /// [`Symbol::with`] that does not keep the name for later look-ups.
    #[inline(never)]
    pub(crate) fn with_once<R>(addr: usize, f: impl FnOnce(&Symbol<'_>) -> R) -> Option<R> {
        let (mut name, mut module) = (NameBuffer::uninit(), [0; MODULE_LEN]);
        find(addr, &mut name, &mut module).map(|symbol| f(&symbol))
    }

    /// [`Symbol::with_shown`] of one that is not known yet. The names take some 600 bytes of stack, and
    /// not inline, so that callers have them there only meanwhile.
    #[inline(never)]
    fn with_found<R>(addr: usize, demangle: bool, f: impl FnOnce(&Symbol<'_>) -> R) -> Option<R> {
        let (mut name, mut module) = (NameBuffer::uninit(), [0; MODULE_LEN]);
        let symbol = find(addr, &mut name, &mut module)?;
        if !demangle || !is_mangled(symbol.name) {
            Recent::put(&NAMES, addr, &symbol);
            return Some(f(&symbol));
        }
        let module = symbol.module;
        Some(with_path(symbol.name, |name, is_final| {
            let symbol = Symbol {
                name,
                place: &[],
                module,
            };
            if is_final {
                Recent::put(&PATHS, addr, &symbol);
            }
            f(&symbol)
        }))
    }

    /// Its name.
    pub(crate) fn name(&self) -> &[u8] {
        self.name
    }

    /// Whether `pattern` matches its name, or the path that the name stands for if the pattern is for
    /// paths. Task context.
    pub(crate) fn matches(&self, pattern: &Pattern<'_>) -> bool {
        match pattern.is_for_paths() {
            false => pattern.matches(self.name),
            true => has_path(self.name, |path| pattern.matches(path)),
        }
    }

    /// The module it is in.
    pub(crate) fn module(&self) -> Option<&[u8]> {
        Some(self.module).filter(|m| !m.is_empty())
    }
}

/// Runs `f` on the path that `symbol` stands for, or on `symbol` if it stands for none. Any context;
/// on a stack without room for it, that of an interrupt for one, the symbol stays as it is, and `f` is
/// told false: elsewhere it is another.
#[inline(never)]
fn with_path<R>(symbol: &[u8], f: impl FnOnce(&[u8], bool) -> R) -> R {
    let mut room = rust_name::Room::new();
    let has_room = stack::room() >= rust_name::STACK;
    let path = match has_room {
        true => rust_name::shown(symbol, &mut room),
        false => None,
    };
    f(path.unwrap_or(symbol), has_room)
}

/// Whether `symbol` stands for a path of which `wanted` is true. Task context.
pub(crate) fn has_path(symbol: &[u8], wanted: impl FnOnce(&[u8]) -> bool) -> bool {
    is_mangled(symbol) && with_path(symbol, |path, _| wanted(path))
}

/// An address and the name of its symbol, or how `%pS` prints the two once that was asked for.
#[derive(Clone, Copy)]
struct Known<const LONGEST: usize> {
    addr: usize,
    name_len: u8,
    /// Of the whole; 0 if the name is all that is known.
    len: u8,
    text: [u8; LONGEST],
}

impl<const LONGEST: usize> Known<LONGEST> {
    const NONE: Self = Self {
        addr: 0,
        name_len: 0,
        len: 0,
        text: [0; LONGEST],
    };

    fn name(&self) -> &[u8] {
        self.text.get(..self.name_len.into()).unwrap_or(&[])
    }

    fn symbol(&self) -> Symbol<'_> {
        Symbol {
            name: self.name(),
            place: self.text.get(..self.len.into()).unwrap_or(&[]),
            module: &[],
        }
    }
}

/// The addresses whose names were asked for lately: the lines of a trace name a few functions over
/// and over, and to find a name takes thousands of instructions. Only those in the kernel's own
/// text, where names do not change.
///
/// An address has two places, the newer one first: with one place each, two functions that call one
/// another could take it from each other on every line.
struct Recent<const LONGEST: usize, const SETS: usize>([[Known<LONGEST>; 2]; SETS]);

/// How many places there are for symbols, and for paths: pairs of them.
const SETS: (usize, usize) = if cfg!(CONFIG_BASE_SMALL) {
    (1 << 7, 1 << 4)
} else {
    (1 << 10, 1 << 7)
};

/// Symbols. Nearly all names are shorter; a row of this length is as long as a line of the cache.
static NAMES: RawLock<Recent<54, { SETS.0 }>> = RawLock::new(Recent::NONE);
/// Paths of Rust functions.
static PATHS: RawLock<Recent<118, { SETS.1 }>> = RawLock::new(Recent::NONE);

impl<const LONGEST: usize, const SETS: usize> Recent<LONGEST, SETS> {
    const NONE: Self = Self([[Known::NONE; 2]; SETS]);

    fn place(addr: usize) -> usize {
        const { assert!(SETS.is_power_of_two() && SETS > 1) };
        addr.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SETS.ilog2())
    }

    /// Any context; what is just looked up elsewhere is not known.
    fn get(all: &RawLock<Self>, addr: usize) -> Option<Known<LONGEST>> {
        let recent = all.try_lock()?;
        recent
            .0
            .get(Self::place(addr))?
            .iter()
            .find(|known| known.addr == addr && known.name_len != 0)
            .copied()
    }

    /// Keeps the name. Any context.
    fn put(all: &RawLock<Self>, addr: usize, symbol: &Symbol<'_>) {
        let len = symbol.name.len();
        if len > LONGEST || symbol.module().is_some() || !is_lasting(addr) {
            return;
        }
        let mut new = Known {
            addr,
            name_len: len as u8,
            ..Known::NONE
        };
        copy(symbol.name, &mut new.text);
        let Some(mut recent) = all.try_lock() else {
            return;
        };
        if let Some([known, older]) = recent.0.get_mut(Self::place(addr)) {
            *older = *known;
            *known = new;
        }
    }

    /// Keeps with a name that is known how `%pS` prints its address, if there is room for that. Any
    /// context.
    fn put_place(all: &RawLock<Self>, addr: usize, place: &[u8]) {
        let Some(mut recent) = all.try_lock() else {
            return;
        };
        let known = recent.0.get_mut(Self::place(addr));
        for known in known.into_iter().flatten() {
            let behind = place.strip_prefix(known.name());
            let is_of_it = known.addr == addr && behind.is_some_and(|rest| rest.starts_with(b"+"));
            if let Some(text) = known.text.get_mut(..place.len()).filter(|_| is_of_it) {
                copy(place, text);
                known.len = place.len() as u8;
            }
        }
    }
}

/// Whether the symbol at `addr` is one of the kernel's own text.
fn is_lasting(addr: usize) -> bool {
    // SAFETY: a comparison of addresses.
    unsafe { bindings::core_kernel_text(addr) != 0 }
}

/// The symbol at `addr`, its names copied to `name` and to `module`, which is all zeros.
fn find<'a>(
    addr: usize,
    name: &'a mut NameBuffer,
    module: &'a mut [u8; MODULE_LEN],
) -> Option<Symbol<'a>> {
    let (null, mut from) = (core::ptr::null_mut(), core::ptr::null_mut());
    let buffer = name.as_mut_ptr().cast();
    // The kernel's own are found without the length of the name, which is a fifteenth of the work.
    // SAFETY: a comparison of addresses; the buffer has the `KSYM_NAME_LEN` bytes that the function
    // writes at most.
    if unsafe {
        bindings::core_kernel_text(addr) != 0 && bindings::lookup_symbol_name(addr, buffer) == 0
    } {
        return Some(Symbol {
            // SAFETY: as below.
            name: unsafe { CStr::from_char_ptr(buffer) }.to_bytes(),
            place: &[],
            module: &[],
        });
    }
    let _rcu = rcu::read_lock();
    // SAFETY: the buffer has the `KSYM_NAME_LEN` bytes that the function asks for, the other out
    // pointers may be null.
    if unsafe { bindings::kallsyms_lookup(addr, null, null, &mut from, buffer) }.is_null() {
        return None;
    }
    if !from.is_null() {
        // SAFETY: the module's name is NUL-terminated, and its memory lives as long as RCU is
        // read-locked.
        let from = unsafe { CStr::from_char_ptr(from) }.to_bytes();
        module
            .iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = *from);
    }
    Some(Symbol {
        // SAFETY: a symbol that was found has its name in the buffer, with a NUL, and nobody
        // changes it as long as `name` is borrowed.
        name: unsafe { CStr::from_char_ptr(buffer) }.to_bytes(),
        place: &[],
        module: until_nul(module),
    })
}

/// The bytes before the first NUL; all without one.
fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)
}

/// Writes the symbol at `addr`, `name` or `name [module]`, and where there is none the address; with
/// `demangle`, the name of a Rust function as people read it. Any context in which RCU watches.
pub(crate) fn write_name(addr: usize, demangle: bool, w: &mut dyn fmt::Write) -> fmt::Result {
    let written = Symbol::with_shown(addr, demangle, |symbol| {
        write_bytes(w, symbol.name)?;
        write_module(w, symbol)
    });
    written.unwrap_or_else(|| write!(w, "0x{addr:x}"))
}

/// Writes the symbol of the kernel's own text at `addr` to `room` as `%pS` does, or without `offset` as
/// `%ps`; with `demangle`, the name of a Rust function is as people read it. Gives how many bytes it is,
/// of which nothing was written if they do not fit; `None` for other addresses. Any context in which RCU
/// watches.
pub(crate) fn write_own(
    addr: usize,
    offset: bool,
    demangle: bool,
    room: &mut [u8],
) -> Option<usize> {
    if !is_lasting(addr) {
        return None;
    }
    let mut is_new = false;
    let written = Symbol::with_shown(addr, demangle, |symbol| {
        let text = if offset { symbol.place } else { symbol.name };
        if text.is_empty() {
            is_new = true;
            let mut line = LineBuf::new(room);
            let (size, offset) = size_offset(addr)?;
            let done = printf::write_place(symbol.name, offset, size, &mut line);
            let length = line.as_bytes().len();
            return Some(done.map_or(usize::MAX, |()| length));
        }
        if let Some(place) = room.get_mut(..text.len()) {
            copy_short(place, text);
        }
        Some(text.len())
    });
    let written = written.flatten()?;
    if let Some(place) = room.get(..written).filter(|_| is_new) {
        Recent::put_place(&NAMES, addr, place);
        Recent::put_place(&PATHS, addr, place);
    }
    Some(written)
}

/// Writes `name`, one of the symbols at `addr`, as [`write_name`] writes the one that it finds there.
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) fn write_alias(
    name: &[u8],
    addr: usize,
    demangle: bool,
    w: &mut dyn fmt::Write,
) -> fmt::Result {
    write_shown(name, demangle, w)?;
    match memory::is_module_text(addr) {
        true => Symbol::with_once(addr, |found| write_module(w, found)).unwrap_or(Ok(())),
        false => Ok(()),
    }
}

/// Writes `name`; with `demangle`, that of a Rust function as people read it. Any context.
#[cfg(any(CONFIG_FUNCTION_TRACER, CONFIG_EVENT_TRACING))]
pub(crate) fn write_shown(name: &[u8], demangle: bool, w: &mut dyn fmt::Write) -> fmt::Result {
    match demangle && is_mangled(name) {
        true => with_path(name, |path, _| write_bytes(w, path)),
        false => write_bytes(w, name),
    }
}

/// Names of functions that were inlined wherever they are called, as symbols would have them.
#[cfg(CONFIG_RTRACE_INLINED_FUNCTIONS)]
pub(crate) fn inlined() -> impl Iterator<Item = &'static [u8]> {
    let mut names = core::ptr::null();
    // SAFETY: it stores a pointer.
    let len = unsafe { bindings::rtrace_inlined_names(&mut names) };
    let names: &[u8] = match len {
        0 => &[],
        // SAFETY: so many bytes of the kernel's image are there, and nobody changes them.
        _ => unsafe { core::slice::from_raw_parts(names.cast(), len) },
    };
    names
        .split(|byte| *byte == b'\n')
        .filter(|name| !name.is_empty())
}

/// Writes ` [module]` after a symbol of a module.
fn write_module(w: &mut dyn fmt::Write, symbol: &Symbol<'_>) -> fmt::Result {
    let Some(module) = symbol.module() else {
        return Ok(());
    };
    w.write_str(" [")?;
    write_bytes(w, module)?;
    w.write_str("]")
}

/// Writes bytes that are nearly always UTF-8; what is not becomes `?`.
#[inline]
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
    // SAFETY: both out pointers are valid for the call.
    let found = unsafe { bindings::kallsyms_lookup_size_offset(addr, &mut size, &mut offset) };
    (found != 0).then_some((size, offset))
}

/// Calls `f` with name and address of each symbol that the path stands for, of one module or of
/// all and the kernel. May sleep.
pub(crate) fn for_each_of_path(
    path: &[u8],
    module: Option<&[u8]>,
    mut f: impl FnMut(&[u8], usize),
) {
    for_each_symbol(|name, addr| {
        let of_module = |symbol: &Symbol<'_>| symbol.module() == module;
        if has_path(name, |shown| shown == path)
            && (module.is_none() || Symbol::with_once(addr, of_module) == Some(true))
        {
            f(name, addr);
        }
        false
    });
}

/// The address of the symbol of this name or path, of the kernel's own or else of a module's; a name
/// with a NUL has none. May sleep.
pub(crate) fn address_of(name: &[u8]) -> Option<usize> {
    if is_path(name) {
        let mut found = None;
        for_each_of_path(name, None, |_, addr| {
            found.get_or_insert(addr);
        });
        return found;
    }
    let mut buf = [0u8; NAME_LEN];
    match buf.get_mut(..name.len()) {
        Some(place) if name.len() < NAME_LEN && !name.contains(&0) => place.copy_from_slice(name),
        _ => return None,
    }
    // SAFETY: the name is NUL-terminated.
    let found = unsafe { bindings::kallsyms_lookup_name(buf.as_ptr().cast()) } as usize;
    Some(found).filter(|address| *address != 0)
}

/// An address as `%pS` prints it: `symbol+0xoffset/0xsize [module]`, or a number where there is no
/// symbol.
pub(crate) struct SymbolOffset(pub(crate) usize);

impl fmt::Display for SymbolOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buf = [0u8; NAME_LEN + MODULE_LEN + 192];
        // SAFETY: the buffer is longer than `KSYM_SYMBOL_LEN`, the most that the function writes.
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

/// [`SymbolOffset`]; with `demangle`, the name of a Rust function is as people read it.
pub(crate) struct ShownOffset {
    /// The address.
    pub(crate) addr: usize,
    /// Whether names of Rust functions are shown as paths.
    pub(crate) demangle: bool,
}

impl ShownOffset {
    /// Writes it if its text is known, or its symbol is one of Rust's.
    fn write_known(&self, f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
        let written = Symbol::with_shown(self.addr, self.demangle, |symbol| {
            if !symbol.place.is_empty() {
                return Some(write_bytes(f, symbol.place));
            }
            let is_path = self.demangle && is_path(symbol.name);
            let (size, offset) = size_offset(self.addr).filter(|_| is_path)?;
            let write = |f: &mut fmt::Formatter<'_>| {
                write_bytes(f, symbol.name)?;
                write!(f, "+{offset:#x}/{size:#x}")?;
                write_module(f, symbol)
            };
            Some(write(f))
        });
        written.flatten()
    }
}

impl fmt::Display for ShownOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_known(f)
            .unwrap_or_else(|| fmt::Display::fmt(&SymbolOffset(self.addr), f))
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
        let mut name = [0u8; MODULE_LEN];
        // SAFETY: a comparison of addresses.
        let (text, start) = if unsafe { bindings::core_kernel_text(addr) } != 0 {
            // SAFETY: no preconditions.
            (&b"_text"[..], unsafe { bindings::rtrace_text_start() })
        } else {
            let _rcu = rcu::read_lock();
            // SAFETY: a module that is found stays while RCU is read-locked.
            let module = unsafe { bindings::__module_text_address(addr).as_ref() }?;
            // SAFETY: its name is NUL-terminated, and stays as long.
            let of = unsafe { CStr::from_char_ptr(module.name.as_ptr()) }.to_bytes();
            let text = module.mem.get(bindings::mod_mem_type_MOD_TEXT as usize)?;
            copy(of, &mut name);
            (&[][..], text.base as usize)
        };
        copy(text, &mut name);
        Some(Self {
            module: name,
            offset: addr.wrapping_sub(start),
        })
    }
}

/// Copies a name, as far as there is room.
fn copy(from: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

#[cfg(CONFIG_FUNCTION_TRACER)]
impl fmt::Display for TextOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_bytes(f, until_nul(&self.module))?;
        write!(f, "+{:#x}", self.offset)
    }
}

/// Calls `f` with the address of each of the kernel's own symbols of this name, aliases included; a
/// name with a NUL has none. May sleep.
pub(crate) fn for_each_named<F: FnMut(usize)>(name: &[u8], mut f: F) {
    /// # Safety
    ///
    /// `data` is an `F` that nobody else uses.
    unsafe extern "C" fn call<F: FnMut(usize)>(data: *mut c_void, addr: usize) -> c_int {
        // SAFETY: `data` is the address of an `F` that `kallsyms` was given, and nobody else uses
        // it meanwhile.
        unsafe { (*data.cast::<F>())(addr) };
        0
    }
    let mut buf = [0u8; NAME_LEN];
    match buf.get_mut(..name.len()) {
        Some(place) if name.len() < NAME_LEN && !name.contains(&0) => place.copy_from_slice(name),
        _ => return,
    }
    // SAFETY: the name is NUL-terminated, `data` is `f`, which outlives the calls.
    unsafe {
        bindings::kallsyms_on_each_match_symbol(
            Some(call::<F>),
            buf.as_ptr().cast(),
            (&raw mut f).cast(),
        )
    };
}

/// Has `F` see a symbol, and says whether it says true.
///
/// # Safety
///
/// `data` is an `F` that nobody else uses, `name` a string.
unsafe extern "C" fn see<F: FnMut(&[u8], usize) -> bool>(
    data: *mut c_void,
    name: *const c_char,
    addr: usize,
) -> c_int {
    // SAFETY: `data` is the address of an `F` that `kallsyms` was given, and nobody else uses it
    // meanwhile; `name` is NUL-terminated.
    let (f, name) = unsafe { (&mut *data.cast::<F>(), CStr::from_char_ptr(name)) };
    c_int::from(f(name.to_bytes(), addr))
}

/// Calls `f` with name and address of every symbol, the kernel's and then the modules', until it
/// says true. May sleep.
pub(crate) fn for_each_symbol<F: FnMut(&[u8], usize) -> bool>(mut f: F) {
    // SAFETY: the data is `f`, which outlives the calls.
    if unsafe { bindings::kallsyms_on_each_symbol(Some(see::<F>), (&raw mut f).cast()) } == 0 {
        for_each_of_modules(f);
    }
}

/// Calls `f` with name and address of every symbol of modules, until it says true. May sleep.
pub(crate) fn for_each_of_modules<F: FnMut(&[u8], usize) -> bool>(mut f: F) {
    // SAFETY: the data is `f`, which outlives the calls; no module is named, so all are walked.
    unsafe {
        bindings::module_kallsyms_on_each_symbol(
            core::ptr::null(),
            Some(see::<F>),
            (&raw mut f).cast(),
        );
    }
}

/// Calls `f` for each symbol of modules that is called `name`: of the one called `module`, or of
/// all. May sleep.
#[cfg(CONFIG_KPROBE_EVENTS)]
pub(crate) fn for_each_in_modules(module: Option<&CStr>, name: &[u8], mut f: impl FnMut()) {
    /// # Safety
    ///
    /// `data` is an `F` that nobody else uses, `name` a string.
    unsafe extern "C" fn call<F: FnMut(&[u8])>(
        data: *mut c_void,
        name: *const c_char,
        _addr: usize,
    ) -> c_int {
        // SAFETY: `data` is the address of an `F` that `kallsyms` was given, and nobody else uses
        // it meanwhile; `name` is NUL-terminated.
        unsafe { (*data.cast::<F>())(CStr::from_char_ptr(name).to_bytes()) };
        0
    }
    fn walk<F: FnMut(&[u8])>(module: *const c_char, f: &mut F) {
        // SAFETY: `module` is null or NUL-terminated, and `data` is `f`, which outlives the calls.
        unsafe {
            let data = core::ptr::from_mut(f).cast();
            bindings::module_kallsyms_on_each_symbol(module, Some(call::<F>), data);
        }
    }
    let module = module.map_or(core::ptr::null(), CStr::as_char_ptr);
    walk(module, &mut |known: &[u8]| {
        if known == name {
            f();
        }
    });
}

/// Writes an address to `to` as `%pS` prints it, as far as there is room for that and its end, and
/// says how many bytes that was, its end included. With `to` empty it says how many it would be.
/// Any context in which RCU watches.
///
/// Not inline: callers have the stack for its buffer only if they print symbols.
#[cfg(CONFIG_PROBE_EVENTS)]
#[inline(never)]
pub(crate) fn symbol_text(addr: usize, to: &mut [u8]) -> usize {
    let mut buf = [0u8; NAME_LEN + MODULE_LEN + 192];
    // SAFETY: the buffer is longer than `KSYM_SYMBOL_LEN`, the most that the function writes.
    let length = unsafe { bindings::sprint_symbol(buf.as_mut_ptr().cast(), addr) };
    let length = usize::try_from(length).unwrap_or(0).wrapping_add(1);
    let Some(room) = to.len().checked_sub(1) else {
        return length;
    };
    let shown = room.min(length.wrapping_sub(1));
    copy(buf.get(..shown).unwrap_or(&[]), to);
    if let Some(end) = to.get_mut(shown) {
        *end = 0;
    }
    shown.wrapping_add(1)
}
