// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/ftrace.h` for patch sites, ops, filters and direct callers.
//!
//! Unless said otherwise these are for task context and may sleep.

use super::boot::Given;
use crate::core::parse::command::split_pattern;
use crate::core::parse::number;
use crate::kernel::interop::errno;
use crate::kernel::kallsyms;
use crate::kernel::module::{self, Module, ModuleId};
use crate::trace::fgraph::filter::{self, GraphFilterKind};
use crate::trace::ftrace::arch::{IdleSites, Target};
use crate::trace::ftrace::ops::{self, Enabled, FilterKind, OpsRef, Switch};
#[cfg(CONFIG_FTRACE_RECORD_RECURSION)]
use crate::trace::ftrace::recursed;
use crate::trace::ftrace::{direct, modules, sites};
use crate::trace::{fgraph, profilers};
use core::ptr;
use kernel::ffi::{c_int, c_ulong, c_void};
use kernel::{
    bindings::{self, ftrace_ops},
    error::to_result,
    prelude::*,
    str::CStr,
    sync::atomic::{Atomic, Relaxed},
};

/// `kernel.ftrace_enabled`, which kexec's inline helpers also touch. 1 but for those and after
/// `ftrace_kill()`.
#[no_mangle]
static ftrace_enabled: Atomic<c_int> = Atomic::new(0);

impl Switch for Enabled {
    fn get() -> bool {
        ftrace_enabled.load(Relaxed) != 0
    }

    fn set(on: bool) {
        ftrace_enabled.store(c_int::from(on), Relaxed);
    }
}

/// # Safety
///
/// `ops` is null or a `struct ftrace_ops` under the rules of its header.
unsafe fn with(ops: *mut ftrace_ops, f: impl FnOnce(OpsRef) -> Result) -> c_int {
    // SAFETY: null, or under those rules, which are the invariants that it asks for.
    match unsafe { OpsRef::from_raw(ops) } {
        Some(op) => errno(f(op)),
        None => EINVAL.to_errno(),
    }
}

/// Text of C callers: `len` bytes up to a NUL, or nothing.
///
/// # Safety
///
/// `buf` is null or has `len` readable bytes for `'a`.
unsafe fn text<'a>(buf: *const u8, len: c_int) -> Option<&'a [u8]> {
    if buf.is_null() {
        return None;
    }
    // SAFETY: it is not null, so `len` bytes may be read for `'a`.
    let bytes = unsafe { core::slice::from_raw_parts(buf, usize::try_from(len).unwrap_or(0)) };
    Some(crate::core::parse::parser::until_nul(bytes))
}

/// Makes the index of the kernel's sites. Early boot, one CPU, interrupts off.
///
/// # Safety
///
/// Called once, from `start_kernel()`.
#[export]
pub(crate) unsafe extern "C" fn ftrace_init() {
    // SAFETY: `start_kernel()` calls this once, before there are files or tasks that could take one
    // of the locks.
    unsafe {
        ops::FTRACE.init();
        ops::DIRECT.init();
        ops::OPS_INIT.init();
        fgraph::GRAPH.init();
        fgraph::ret_stack::PREPARING.init();
        fgraph::ret_stack::begin_boot_task();
        fgraph::sleep::SLEEP.init();
        #[cfg(CONFIG_FPROBE)]
        fgraph::fprobe::FPROBES.init();
        profilers::function::PROFILE.init();
    }
    let result = ops::Ops::init_global().and_then(|()| {
        let (mut start, mut end, mut init) = (ptr::null_mut(), ptr::null_mut(), [0usize; 2]);
        // SAFETY: the out pointers are valid.
        unsafe { bindings::rtrace_boot_sites(&mut start, &mut end, init.as_mut_ptr()) };
        let len = (end as usize).wrapping_sub(start as usize) / core::mem::size_of::<usize>();
        // SAFETY: the linker's list of sites, in init data that only this function uses.
        let addrs = unsafe { core::slice::from_raw_parts_mut(start, len) };
        let [init_start, init_end] = init;
        // SAFETY: there is one CPU, interrupts are off, and what runs here is not traced.
        modules::init_kernel(unsafe { IdleSites::new(addrs) }, init_start..init_end)
    });
    if let Err(e) = result {
        pr_warn!("ftrace: no function can be traced: {:?}\n", e);
        ops::kill();
        return;
    }
    Enabled::set(true);
    // SAFETY: `start_kernel()` has parsed the command line, and init memory is there until its end.
    set_by_parameters(|param| unsafe { Given::of(param) });
}

/// The kernel's text has been adapted to the CPU. At boot, on the one CPU and in the one task there
/// is.
#[no_mangle]
pub(crate) extern "C" fn rtrace_renew_trampolines() {
    // SAFETY: `alternative_instructions()` calls it, before there are others, from no callback.
    unsafe { ops::renew_trampolines() };
}

/// Sets the filters that boot parameters give.
fn set_by_parameters(given: impl Fn(bindings::rtrace_param) -> Given) {
    let graph = [
        (
            bindings::rtrace_param_RTRACE_PARAM_GRAPH_FILTER,
            GraphFilterKind::Only,
        ),
        (
            bindings::rtrace_param_RTRACE_PARAM_GRAPH_NOTRACE,
            GraphFilterKind::Not,
        ),
    ];
    for (param, kind) in graph {
        warn_if_not_set(filter::at_boot(kind, given(param).last()));
    }
    let depths = given(bindings::rtrace_param_RTRACE_PARAM_GRAPH_DEPTH).all();
    // One that is wrong leaves what was given before.
    let depths = depths.filter_map(|text| u32::try_from(number::unsigned(text, 0).ok()?).ok());
    if let Some(depth) = depths.last() {
        filter::set_max_depth(depth);
    }
    let functions = [
        (
            bindings::rtrace_param_RTRACE_PARAM_FILTER,
            FilterKind::Filter,
        ),
        (
            bindings::rtrace_param_RTRACE_PARAM_NOTRACE,
            FilterKind::NoTrace,
        ),
    ];
    for (param, kind) in functions {
        warn_if_not_set(filter_at_boot(kind, given(param).last()));
    }
}

fn warn_if_not_set(result: Result) {
    if let Err(e) = result {
        pr_warn!("ftrace: boot filter not set: {:?}\n", e);
    }
}

/// Comma-separated patterns for one of the top instance's sets.
fn filter_at_boot(kind: FilterKind, text: &[u8]) -> Result {
    let mut tokens = text
        .split(|&c| c == b',')
        .filter(|t| !t.is_empty())
        .peekable();
    let Some(global) = ops::Ops::global().filter(|_| tokens.peek().is_some()) else {
        return Ok(());
    };
    let mut edit = global.edit(kind, false)?;
    for token in tokens {
        // A pattern that matches nothing leaves the others in force, as in C.
        let _ = edit.apply(token);
    }
    edit.commit()
}

/// # Safety
///
/// `ops` follows the rules of the header: static, or not freed before it is unregistered.
#[export]
pub(crate) unsafe extern "C" fn register_ftrace_function(ops: *mut ftrace_ops) -> c_int {
    // SAFETY: the ops is there during the call, and as long as it is registered.
    unsafe { with(ops, ops::register) }
}

/// # Safety
///
/// `ops` was registered.
#[export]
pub(crate) unsafe extern "C" fn unregister_ftrace_function(ops: *mut ftrace_ops) -> c_int {
    // SAFETY: the ops is there during the call, and as long as it is registered.
    unsafe { with(ops, ops::unregister) }
}

/// # Safety
///
/// `ops` is a `struct ftrace_ops` that lives through the call, and, if it is registered, until that has
/// ended.
#[export]
pub(crate) unsafe extern "C" fn ftrace_set_filter_ip(
    ops: *mut ftrace_ops,
    mut ip: c_ulong,
    remove: c_int,
    reset: c_int,
) -> c_int {
    // SAFETY: `ops` lives through the call, and `ip` is one address.
    unsafe { ftrace_set_filter_ips(ops, &mut ip, 1, remove, reset) }
}

/// # Safety
///
/// `ops` is a `struct ftrace_ops` that lives through the call, and, if it is registered, until that has
/// ended; `ips` is null or has `cnt` addresses.
#[export]
pub(crate) unsafe extern "C" fn ftrace_set_filter_ips(
    ops: *mut ftrace_ops,
    ips: *mut c_ulong,
    cnt: u32,
    remove: c_int,
    reset: c_int,
) -> c_int {
    let ips: &[c_ulong] = if ips.is_null() {
        &[]
    } else {
        // SAFETY: `ips` has `cnt` addresses, which stay during the call.
        unsafe { core::slice::from_raw_parts(ips, cnt as usize) }
    };
    // SAFETY: the ops is there during the call, and as long as it is registered.
    unsafe {
        with(ops, |op| {
            ops::edit_set(op, FilterKind::Filter, reset != 0, |edit| {
                ips.iter().try_for_each(|&ip| edit.set_ip(ip, remove != 0))
            })
        })
    }
}

/// Changes one of the sets of `op` by a pattern, or empties it first.
pub(super) fn set_pattern(
    op: OpsRef,
    buf: Option<&[u8]>,
    reset: bool,
    which: FilterKind,
) -> Result {
    // Only the ops of an instance can wait for a module. Two colons are part of a Rust path.
    let has_more = |token| split_pattern(token).1.is_some();
    if buf.is_some_and(has_more) && !ops::is_owned(op) {
        return Err(EINVAL);
    }
    ops::edit_set(op, which, reset, |edit| {
        buf.map_or(Ok(()), |token| edit.apply(token))
    })
}

/// # Safety
///
/// `ops` is a `struct ftrace_ops` that lives through the call, and, if it is registered, until that has
/// ended; `buf` is null or has `len` bytes.
#[export]
pub(crate) unsafe extern "C" fn ftrace_set_filter(
    ops: *mut ftrace_ops,
    buf: *mut u8,
    len: c_int,
    reset: c_int,
) -> c_int {
    // SAFETY: the ops is there during the call; `buf` is null, or `len` bytes that stay as long.
    unsafe {
        with(ops, |op| {
            set_pattern(op, text(buf, len), reset != 0, FilterKind::Filter)
        })
    }
}

/// # Safety
///
/// `ops` is a `struct ftrace_ops` that lives through the call, and, if it is registered, until that has
/// ended; `buf` is null or has `len` bytes.
#[export]
pub(crate) unsafe extern "C" fn ftrace_set_notrace(
    ops: *mut ftrace_ops,
    buf: *mut u8,
    len: c_int,
    reset: c_int,
) -> c_int {
    // SAFETY: the ops is there during the call; `buf` is null, or `len` bytes that stay as long.
    unsafe {
        with(ops, |op| {
            set_pattern(op, text(buf, len), reset != 0, FilterKind::NoTrace)
        })
    }
}

fn set_global(buf: Option<&[u8]>, reset: bool, which: FilterKind) {
    if let Some(global) = ops::Ops::global() {
        // The function has no way to say that it failed.
        let _ = set_pattern(global.raw(), buf, reset, which);
    }
}

/// # Safety
///
/// `buf` is null or has `len` bytes.
#[export]
pub(crate) unsafe extern "C" fn ftrace_set_global_filter(buf: *mut u8, len: c_int, reset: c_int) {
    // SAFETY: null, or so many bytes.
    set_global(unsafe { text(buf, len) }, reset != 0, FilterKind::Filter);
}

/// # Safety
///
/// `buf` is null or has `len` bytes.
#[export]
pub(crate) unsafe extern "C" fn ftrace_set_global_notrace(buf: *mut u8, len: c_int, reset: c_int) {
    // SAFETY: null, or so many bytes.
    set_global(unsafe { text(buf, len) }, reset != 0, FilterKind::NoTrace);
}

/// # Safety
///
/// `ops` is a `struct ftrace_ops` that is not registered.
#[export]
pub(crate) unsafe extern "C" fn ftrace_free_filter(ops: *mut ftrace_ops) {
    // SAFETY: null, or there during the call.
    if let Some(op) = unsafe { OpsRef::from_raw(ops) } {
        ops::free_sets(op);
    }
}

/// Makes an ops that was never used follow the top instance's filters.
///
/// # Safety
///
/// `ops` is a `struct ftrace_ops`.
#[export]
pub(crate) unsafe extern "C" fn ftrace_ops_set_global_filter(ops: *mut ftrace_ops) {
    // SAFETY: the ops is null or there during the call.
    let Some(op) = (unsafe { OpsRef::from_raw(ops) }) else {
        return;
    };
    if op.has(ops::flag::INITIALIZED) {
        return;
    }
    op.init();
    if let Some(global) = ops::Ops::global() {
        op.share_sets(global.raw());
    }
}

/// The site at `ip`, or of the function that starts there; 0 if none. Any context in which RCU
/// watches.
#[no_mangle]
pub(crate) extern "C" fn ftrace_location(ip: c_ulong) -> c_ulong {
    sites::lookup(ip).map_or(0, |site| site.addr())
}

/// The first site in `start..=end`; 0 if none. Any context in which RCU watches.
#[no_mangle]
pub(crate) extern "C" fn ftrace_location_range(start: c_ulong, end: c_ulong) -> c_ulong {
    sites::in_range(start, end).map_or(0, |site| site.addr())
}

/// Does a site meet the text from `start` to `end`? Any context in which RCU watches.
#[no_mangle]
pub(crate) extern "C" fn ftrace_text_reserved(start: *const c_void, end: *const c_void) -> c_int {
    c_int::from(sites::in_range(start as usize, end as usize).is_some())
}

/// The addresses of the traceable functions of these names; `ESRCH` if one is missing. One alone may
/// be `module:name`.
///
/// # Safety
///
/// `sorted_syms` and `addrs` have `cnt` elements each and do not overlap; the former are strings in order.
#[export]
pub(crate) unsafe extern "C" fn ftrace_lookup_symbols(
    sorted_syms: *mut *const c_char,
    cnt: usize,
    addrs: *mut c_ulong,
) -> c_int {
    // Nothing is found where nothing is asked for.
    if cnt == 0 {
        return ESRCH.to_errno();
    }
    // SAFETY: both have so many elements, which stay during the call; nobody else uses them.
    let (names, addrs) = unsafe {
        (
            core::slice::from_raw_parts(sorted_syms, cnt),
            core::slice::from_raw_parts_mut(addrs, cnt),
        )
    };
    addrs.fill(0);
    // SAFETY: the elements of `sorted_syms` are strings.
    let bytes = |p: &*const c_char| unsafe { CStr::from_char_ptr(*p) }.to_bytes();
    // One is searched for, and all symbols are gone through only if the first of that name has no site.
    if let ([name], [place]) = (names, &mut *addrs) {
        let found = kallsyms::address_of(bytes(name));
        if let Some(addr) = found.filter(|addr| sites::lookup(*addr).is_some()) {
            *place = addr;
            return 0;
        }
    }
    let mut missing = cnt;
    kallsyms::for_each_symbol(|name, addr| {
        let Ok(i) = names.binary_search_by(|p| bytes(p).cmp(name)) else {
            return false;
        };
        if let Some(place) = addrs.get_mut(i).filter(|a| **a == 0) {
            if sites::lookup(addr).is_some() {
                *place = addr;
                missing = missing.wrapping_sub(1);
            }
        }
        missing == 0
    });
    if missing == 0 {
        0
    } else {
        ESRCH.to_errno()
    }
}

/// The ops in whose trampoline `addr` is. Any context, for the unwinder.
#[no_mangle]
pub(crate) extern "C" fn ftrace_ops_trampoline(addr: c_ulong) -> *mut ftrace_ops {
    ops::trampoline_at(addr).map_or(ptr::null_mut(), OpsRef::as_ptr)
}

/// Is `addr` in a trampoline that was made for an ops? Any context.
#[no_mangle]
pub(crate) extern "C" fn is_ftrace_trampoline(addr: c_ulong) -> bool {
    ops::trampoline_at(addr).is_some()
}

/// The trampolines are read-only and executable from the start.
#[no_mangle]
pub(crate) extern "C" fn set_ftrace_ops_ro() {}

/// Disarms ftrace. Any context, for panics.
#[no_mangle]
pub(crate) extern "C" fn ftrace_kill() {
    ops::kill();
}

/// Was ftrace disarmed? Any context.
#[no_mangle]
pub(crate) extern "C" fn ftrace_is_dead() -> c_int {
    c_int::from(ops::is_dead())
}

/// # Safety
///
/// `module` is being loaded, its text is not final.
#[export]
pub(crate) unsafe extern "C" fn ftrace_module_init(module: *mut bindings::module) {
    // SAFETY: the loader holds the module, and nobody else uses its list of sites.
    let (this, mut lists) = unsafe { (Module::from_raw(module), Module::from_raw(module)) };
    // SAFETY: the module's code has not run yet.
    if let Err(e) = modules::init(&this, unsafe { IdleSites::new(lists.sites()) }) {
        pr_warn!("ftrace: functions of a module cannot be traced: {:?}\n", e);
    }
}

/// # Safety
///
/// `module` is being loaded, its text is final.
#[export]
pub(crate) unsafe extern "C" fn ftrace_module_enable(module: *mut bindings::module) {
    // SAFETY: the loader holds the module.
    modules::enable(&unsafe { Module::from_raw(module) });
}

/// # Safety
///
/// `module` is being unloaded, or its loading failed.
#[export]
pub(crate) unsafe extern "C" fn ftrace_release_mod(module: *mut bindings::module) {
    modules::release(ModuleId::from_raw(module));
}

/// # Safety
///
/// The memory from `start` to `end` is text that nothing runs any more, of `module` or of the
/// kernel.
#[export]
pub(crate) unsafe extern "C" fn ftrace_free_mem(
    _module: *mut bindings::module,
    start: *mut c_void,
    end: *mut c_void,
) {
    if start < end {
        modules::free_range(start as usize, end as usize);
    }
}

/// Init memory of the kernel is about to be freed.
#[no_mangle]
pub(crate) extern "C" fn ftrace_free_init_mem() {
    super::trace::ftrace_boot_snapshot();
    let mut init = [0usize; 2];
    // SAFETY: the out pointer is valid.
    unsafe { bindings::rtrace_boot_done(init.as_mut_ptr()) };
    let [start, end] = init;
    modules::free_range(start, end);
}

/// A string of kallsyms's: `text` and a NUL, cut to `room` bytes.
///
/// # Safety
///
/// `to` has `room` bytes, at least one.
unsafe fn put(to: *mut c_char, text: &[u8], room: usize) {
    let len = text.len().min(room.wrapping_sub(1));
    // SAFETY: there is room for `room` bytes, of which these are at most all.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), len);
        *to.add(len) = 0;
    }
}

const NAME_ROOM: usize = bindings::KSYM_NAME_LEN as usize;

/// The function of a module's init text, now gone, that was at `addr`: length of its name, 0 if
/// there was none. Any context.
///
/// # Safety
///
/// The out pointers are null or valid, `sym` has `KSYM_NAME_LEN` bytes.
#[export]
pub(crate) unsafe extern "C" fn ftrace_mod_address_lookup(
    addr: c_ulong,
    size: *mut c_ulong,
    off: *mut c_ulong,
    modname: *mut *mut c_char,
    modbuildid: *mut *const u8,
    sym: *mut c_char,
) -> c_int {
    let found = modules::freed::at(addr, |found| {
        // SAFETY: the out pointers are null or may be written, `sym` for `KSYM_NAME_LEN` bytes; the
        // module is there as long as its functions are in the list.
        unsafe {
            if let Some(size) = size.as_mut() {
                *size = found.size;
            }
            if let Some(off) = off.as_mut() {
                *off = addr.wrapping_sub(found.addr);
            }
            if let Some(modname) = modname.as_mut() {
                *modname = (&raw const (*found.module.as_ptr()).name).cast_mut().cast();
            }
            if let Some(modbuildid) = modbuildid.as_mut() {
                *modbuildid = bindings::rtrace_module_buildid(found.module.as_ptr().cast_mut());
            }
            put(sym, found.name, NAME_ROOM);
        }
        found.name.len() as c_int
    });
    found.unwrap_or(0)
}

/// Functions of modules' init text that is gone, then the trampolines, for `/proc/kallsyms`.
/// `ERANGE` past the last.
///
/// # Safety
///
/// The out pointers are those of kallsyms, and may be written: `name` has `KSYM_NAME_LEN` bytes,
/// `module_name` `MODULE_NAME_LEN`.
#[export]
pub(crate) unsafe extern "C" fn ftrace_mod_get_kallsym(
    symnum: u32,
    value: *mut c_ulong,
    type_: *mut c_char,
    name: *mut c_char,
    module_name: *mut c_char,
    exported: *mut c_int,
) -> c_int {
    let n = symnum as usize;
    let freed = modules::freed::nth(n, |found| {
        // SAFETY: kallsyms passes `KSYM_NAME_LEN` and `MODULE_NAME_LEN` bytes; the module is there as long
        // as its functions are in the list, and the loader has NUL-terminated its name.
        unsafe {
            put(name, found.name, NAME_ROOM);
            put(
                module_name,
                CStr::from_char_ptr((*found.module.as_ptr()).name.as_ptr()).to_bytes(),
                module::NAME_LEN,
            );
        }
        found.addr
    });
    let (addr, kind, is_exported) = match freed {
        Ok(addr) => (addr, b'T', 1),
        Err(count) => {
            let Some(addr) = ops::nth_trampoline(n.wrapping_sub(count)) else {
                return ERANGE.to_errno();
            };
            // SAFETY: kallsyms passes `KSYM_NAME_LEN` and `MODULE_NAME_LEN` bytes.
            unsafe {
                put(name, b"ftrace_trampoline", NAME_ROOM);
                put(module_name, b"__builtin__ftrace", module::NAME_LEN);
            }
            (addr, b't', 0)
        }
    };
    // SAFETY: kallsyms passes places that may be written.
    unsafe {
        *value = addr;
        *type_ = kind as c_char;
        *exported = is_exported;
    }
    0
}

/// # Safety
///
/// `ops` follows the rules of the header; `addr` is code that may be called from sites until it is
/// unregistered.
#[export]
pub(crate) unsafe extern "C" fn register_ftrace_direct(
    ops: *mut ftrace_ops,
    addr: c_ulong,
) -> c_int {
    // SAFETY: the ops is there during the call, and as long as it is registered.
    unsafe { with(ops, |op| direct::register(op, Target(addr))) }
}

/// # Safety
///
/// `ops` was registered by `register_ftrace_direct()`.
#[export]
pub(crate) unsafe extern "C" fn unregister_ftrace_direct(
    ops: *mut ftrace_ops,
    _addr: c_ulong,
    free_filters: bool,
) -> c_int {
    // SAFETY: the ops is there during the call, and as long as it is registered.
    unsafe {
        with(ops, |op| {
            direct::unregister(op)?;
            if free_filters {
                ops::free_sets(op);
            }
            Ok(())
        })
    }
}

/// # Safety
///
/// `ops` was registered by `register_ftrace_direct()`; `addr` as there.
#[export]
pub(crate) unsafe extern "C" fn modify_ftrace_direct(ops: *mut ftrace_ops, addr: c_ulong) -> c_int {
    // SAFETY: the ops is there during the call, and as long as it is registered.
    unsafe { with(ops, |op| direct::modify(op, Target(addr))) }
}

/// # Safety
///
/// As for `modify_ftrace_direct`, from within an `ops_func`.
#[export]
pub(crate) unsafe extern "C" fn modify_ftrace_direct_nolock(
    ops: *mut ftrace_ops,
    addr: c_ulong,
) -> c_int {
    // SAFETY: the ops is there during the call, and as long as it is registered.
    unsafe { with(ops, |op| direct::modify_locked(op, Target(addr))) }
}

/// The direct caller at `ip`, 0 if there is none.
#[no_mangle]
pub(crate) extern "C" fn ftrace_find_rec_direct(ip: c_ulong) -> c_ulong {
    direct::target_at(ip).0
}

/// `kernel.ftrace_enabled`: reading says 1; 1 can be written; 0 is refused, as Linux 7.3 does.
///
/// # Safety
///
/// A sysctl handler's arguments.
#[no_mangle]
pub(crate) unsafe extern "C" fn rtrace_ftrace_enabled_sysctl(
    table: *const bindings::ctl_table,
    write: c_int,
    buffer: *mut c_void,
    lenp: *mut usize,
    ppos: *mut bindings::loff_t,
) -> c_int {
    let _state = ops::FTRACE.lock();
    if ops::is_dead() {
        return ENODEV.to_errno();
    }
    // SAFETY: the arguments are a sysctl handler's, passed on.
    if let Err(e) = to_result(unsafe { bindings::proc_dointvec(table, write, buffer, lenp, ppos) })
    {
        return e.to_errno();
    }
    if write != 0 && !Enabled::get() {
        Enabled::set(true);
        kernel::pr_warn_once!(
            "The ftrace_enabled file is deprecated and no longer disables ftrace\n"
        );
        return EOPNOTSUPP.to_errno();
    }
    0
}

/// Records a function that was hit in a callback, for `recursed_functions`. Any context.
///
/// C header: `include/linux/trace_recursion.h`, whose guards call this.
#[cfg(CONFIG_FTRACE_RECORD_RECURSION)]
#[export]
pub(crate) extern "C" fn ftrace_record_recursion(ip: c_ulong, parent_ip: c_ulong) {
    recursed::record(ip, parent_ip);
}

crate::abi::same_in_c! {
    fn ftrace_location(_) -> _;
    fn ftrace_location_range(_, _) -> _;
    fn ftrace_text_reserved(_, _) -> _;
    fn ftrace_ops_trampoline(_) -> _;
    fn is_ftrace_trampoline(_) -> _;
    fn set_ftrace_ops_ro();
    fn ftrace_kill();
    fn ftrace_free_init_mem();
    fn ftrace_find_rec_direct(_) -> _;
}

#[cfg(CONFIG_FTRACE_RECORD_RECURSION)]
crate::abi::same_in_c! {
    fn ftrace_record_recursion(_, _);
}
