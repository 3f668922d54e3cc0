// SPDX-License-Identifier: GPL-2.0

//! The functions of `include/linux/fprobe.h`. Unless said otherwise
//! these are for task context and may sleep.

use super::ftrace::ftrace_lookup_symbols;
use crate::core::parse::glob::{glob, is_path};
use crate::kernel::interop::errno;
use crate::kernel::kallsyms;
use crate::kernel::sort::sort_by;
use crate::trace::fgraph::fprobe::{self, Probe};
use crate::trace::ftrace::sites;
use kernel::bindings;
use kernel::ffi::{c_int, c_ulong};
use kernel::prelude::*;
use kernel::str::CStr;

/// # Safety
///
/// `text` is null or NUL-terminated for `'a`.
unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: C's strings are NUL-terminated.
    (!text.is_null()).then(|| unsafe { CStr::from_char_ptr(text) }.to_bytes())
}

/// Whether `filter` matches a symbol, or the path that it stands for if the filter is for paths.
fn is_named(name: &[u8], filter: &[u8]) -> bool {
    match is_path(filter) {
        false => glob(filter, name),
        true => kallsyms::has_path(name, |path| path == filter || glob(filter, path)),
    }
}

/// Whether `filter` is the name of a symbol: it has no byte that means more in patterns, and is no path.
fn is_name(filter: &[u8]) -> bool {
    !is_path(filter) && !filter.iter().any(|byte| br"*?[\".contains(byte))
}

/// Calls `f` with the address of each traceable function whose name matches `filter` and not
/// `notfilter`, once for each of its names; how many there were. `ENOENT` for none, and what `f`
/// says.
fn matching(
    filter: &[u8],
    notfilter: Option<&[u8]>,
    mut f: impl FnMut(usize) -> Result,
) -> Result<usize> {
    let mut found = 0usize;
    let mut result = Ok(());
    let mut take = |addr| {
        if result.is_ok() && sites::lookup(addr).is_some() {
            found = found.saturating_add(1);
            result = f(addr);
        }
        result.is_err()
    };
    let left_out = |name: &[u8]| notfilter.is_some_and(|not| is_named(name, not));
    if !is_name(filter) {
        kallsyms::for_each_symbol(|name, addr| {
            is_named(name, filter) && !left_out(name) && take(addr)
        });
    } else if !left_out(filter) {
        // The kernel's own symbols are found by their names at once.
        kallsyms::for_each_named(filter, |addr| {
            take(addr);
        });
        kallsyms::for_each_of_modules(|name, addr| name == filter && take(addr));
    }
    result.and(if found == 0 { Err(ENOENT) } else { Ok(found) })
}

/// The addresses of the traceable functions of these names. `ENOENT` if one is missing, `ENOMEM`.
///
/// # Safety
///
/// `names` are strings.
unsafe fn named(names: &[*const c_char]) -> Result<KVVec<usize>> {
    let mut addrs = KVVec::from_elem(0usize, names.len(), GFP_KERNEL)?;
    let mut sorted = KVVec::with_capacity(names.len(), GFP_KERNEL)?;
    sorted.extend_from_slice(names, GFP_KERNEL)?;
    // SAFETY: C's strings are NUL-terminated.
    sort_by(&mut sorted, |a, b| unsafe { bytes(*a).cmp(&bytes(*b)) });
    // SAFETY: both have as many elements, the names are in order.
    match unsafe { ftrace_lookup_symbols(sorted.as_mut_ptr(), names.len(), addrs.as_mut_ptr()) } {
        0 => Ok(addrs),
        _ => Err(ENOENT),
    }
}

/// Probes the functions whose names match `filter` but not `notfilter`, which may be null.
///
/// # Safety
///
/// `fp` is a `struct fprobe` that stays as it is until it is unregistered and a grace period is
/// over, but for its flags; the patterns are null or strings.
#[export]
pub(crate) unsafe extern "C" fn register_fprobe(
    fp: *mut bindings::fprobe,
    filter: *const c_char,
    notfilter: *const c_char,
) -> c_int {
    // SAFETY: the probe is null or there as long as it is registered; the texts are null or
    // strings.
    let (probe, filter, notfilter) =
        unsafe { (Probe::from_raw(fp), bytes(filter), bytes(notfilter)) };
    let (Some(probe), Some(filter)) = (probe, filter) else {
        return EINVAL.to_errno();
    };
    errno(fprobe::register(probe, || {
        let mut addrs = KVVec::new();
        matching(filter, notfilter, |addr| Ok(addrs.push(addr, GFP_KERNEL)?))?;
        Ok(addrs)
    }))
}

/// Probes the functions at these addresses.
///
/// # Safety
///
/// `fp` as for [`register_fprobe`]; `addrs` is null or has `num` elements.
#[export]
pub(crate) unsafe extern "C" fn register_fprobe_ips(
    fp: *mut bindings::fprobe,
    addrs: *mut c_ulong,
    num: c_int,
) -> c_int {
    // SAFETY: the probe is null, or there as long as it is registered.
    let Some(probe) = (unsafe { Probe::from_raw(fp) }) else {
        return EINVAL.to_errno();
    };
    errno(fprobe::register(probe, || {
        let mut own = KVVec::new();
        // Without any it is `EINVAL`, but only where the probe is not registered already.
        let Some(count) = count(addrs, num) else {
            return Ok(own);
        };
        // SAFETY: the array has so many elements, and stays during the call.
        own.extend_from_slice(
            unsafe { core::slice::from_raw_parts(addrs, count) },
            GFP_KERNEL,
        )?;
        Ok(own)
    }))
}

/// Probes the functions of these names.
///
/// # Safety
///
/// `fp` as for [`register_fprobe`]; `syms` is null or has `num` elements, which are strings.
#[export]
pub(crate) unsafe extern "C" fn register_fprobe_syms(
    fp: *mut bindings::fprobe,
    syms: *mut *const c_char,
    num: c_int,
) -> c_int {
    // SAFETY: the probe is null, or there as long as it is registered.
    let probe = unsafe { Probe::from_raw(fp) };
    let (Some(probe), Some(count)) = (probe, count(syms, num)) else {
        return EINVAL.to_errno();
    };
    // SAFETY: the array has so many elements, and stays during the call.
    errno(fprobe::register(probe, || unsafe {
        named(core::slice::from_raw_parts(syms, count))
    }))
}

/// How many elements a C caller's array has; none if it has none.
fn count<T>(array: *mut T, num: c_int) -> Option<usize> {
    usize::try_from(num)
        .ok()
        .filter(|num| *num != 0 && !array.is_null())
}

/// Ends a registration, and waits until none of its functions runs any more. `EINVAL` if there is
/// none.
///
/// # Safety
///
/// `fp` is null or a `struct fprobe`.
#[export]
pub(crate) unsafe extern "C" fn unregister_fprobe(fp: *mut bindings::fprobe) -> c_int {
    // SAFETY: the probe is null, or there as long as it is registered.
    errno(
        unsafe { Probe::from_raw(fp) }
            .ok_or(EINVAL)
            .and_then(fprobe::unregister),
    )
}

/// [`unregister_fprobe`] without the wait.
///
/// # Safety
///
/// As there.
#[export]
pub(crate) unsafe extern "C" fn unregister_fprobe_async(fp: *mut bindings::fprobe) -> c_int {
    // SAFETY: the probe is null, or there as long as it is registered.
    errno(
        unsafe { Probe::from_raw(fp) }
            .ok_or(EINVAL)
            .and_then(fprobe::unregister_async),
    )
}

/// Any context.
///
/// # Safety
///
/// `fp` is null or a `struct fprobe`.
#[export]
pub(crate) unsafe extern "C" fn fprobe_is_registered(fp: *mut bindings::fprobe) -> bool {
    // SAFETY: the probe is null, or there as long as it is registered.
    unsafe { Probe::from_raw(fp) }.is_some_and(Probe::is_marked)
}

/// For how many names [`register_fprobe`] would probe a function; `ENOENT` for none.
///
/// # Safety
///
/// The patterns are null or strings.
#[export]
pub(crate) unsafe extern "C" fn fprobe_count_ips_from_filter(
    filter: *const c_char,
    notfilter: *const c_char,
) -> c_int {
    // SAFETY: C's strings are NUL-terminated.
    let (filter, notfilter) = unsafe { (bytes(filter), bytes(notfilter)) };
    match filter
        .ok_or(EINVAL)
        .and_then(|filter| matching(filter, notfilter, |_| Ok(())))
    {
        Ok(found) => c_int::try_from(found).unwrap_or(c_int::MAX),
        Err(error) => error.to_errno(),
    }
}
