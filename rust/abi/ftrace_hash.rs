// SPDX-License-Identifier: GPL-2.0

//! `struct ftrace_hash` as BPF's trampolines use it: a list of sites and what each shall call, made
//! for one call of an `update_ftrace_direct_*()`.
//!
//! It is opaque to C. Its entries, `struct ftrace_func_entry`, are made here, or are the caller's
//! own, who takes them out by `ftrace_hash_remove()` before the list is freed. Only built-in code
//! uses these, in task context.

use crate::kernel::interop::errno;
use crate::trace::ftrace::arch::Target;
use crate::trace::ftrace::direct;
use crate::trace::ftrace::hash::SiteSet;
use crate::trace::ftrace::ops::OpsRef;
use core::ptr;
use kernel::{
    bindings::{ftrace_func_entry, ftrace_hash, ftrace_ops},
    ffi::{c_int, c_ulong},
    prelude::*,
};

/// What `struct ftrace_hash *` points to in C callers' hands.
///
/// # Invariants
///
/// `first` is the first of `count` entries, linked by `hlist.next`.
struct Calls {
    first: *mut ftrace_func_entry,
    count: usize,
}

impl Calls {
    /// # Safety
    ///
    /// `hash` is null or came from `alloc_ftrace_hash()`, and nobody else uses it for `'a`.
    unsafe fn from_raw<'a>(hash: *mut ftrace_hash) -> Option<&'a mut Calls> {
        // SAFETY: null, or a hash made here that nobody else uses.
        unsafe { hash.cast::<Calls>().as_mut() }
    }

    /// # Safety
    ///
    /// `entry` stays until it is taken out.
    unsafe fn push(&mut self, entry: *mut ftrace_func_entry) {
        // INVARIANT: The new entry leads to the others.
        // SAFETY: the entry is the caller's to give, and in no hash.
        unsafe { (*entry).hlist.next = self.first.cast() };
        self.first = entry;
        self.count = self.count.wrapping_add(1);
    }

    fn pop(&mut self) -> Option<*mut ftrace_func_entry> {
        if self.first.is_null() {
            return None;
        }
        let entry = self.first;
        // SAFETY: by the type's invariant it is an entry.
        self.first = unsafe { (*entry).hlist.next }.cast();
        self.count = self.count.wrapping_sub(1);
        Some(entry)
    }

    fn to_set(&self) -> Result<SiteSet> {
        let mut set = SiteSet::new();
        let mut entry = self.first;
        // SAFETY: by the type's invariant they are entries or the end.
        while let Some(e) = unsafe { entry.as_ref() } {
            set.insert_with(e.ip, Target(e.direct))?;
            entry = e.hlist.next.cast();
        }
        Ok(set)
    }
}

/// An empty list; null without memory. The number of bits that C would use does not matter here.
#[no_mangle]
pub(crate) extern "C" fn alloc_ftrace_hash(_size_bits: c_int) -> *mut ftrace_hash {
    match KBox::new(
        Calls {
            first: ptr::null_mut(),
            count: 0,
        },
        GFP_KERNEL,
    ) {
        Ok(calls) => KBox::into_raw(calls).cast(),
        Err(_) => ptr::null_mut(),
    }
}

/// Frees a list and the entries in it.
///
/// # Safety
///
/// `hash` is null or came from `alloc_ftrace_hash()`; its entries from
/// `add_ftrace_hash_entry_direct()`.
#[export]
pub(crate) unsafe extern "C" fn free_ftrace_hash(hash: *mut ftrace_hash) {
    if hash.is_null() {
        return;
    }
    // SAFETY: it came from a box, and its owner gives it up.
    let mut calls = unsafe { KBox::from_raw(hash.cast::<Calls>()) };
    while let Some(entry) = calls.pop() {
        // SAFETY: what is in the hash came from a box.
        drop(unsafe { KBox::from_raw(entry) });
    }
}

/// Adds a site and what it shall call; null without memory.
///
/// # Safety
///
/// `hash` came from `alloc_ftrace_hash()`.
#[export]
pub(crate) unsafe extern "C" fn add_ftrace_hash_entry_direct(
    hash: *mut ftrace_hash,
    ip: c_ulong,
    direct: c_ulong,
) -> *mut ftrace_func_entry {
    // SAFETY: the hash is null, or was made here and is not freed.
    let Some(calls) = (unsafe { Calls::from_raw(hash) }) else {
        return ptr::null_mut();
    };
    let entry = ftrace_func_entry {
        ip,
        direct,
        ..Default::default()
    };
    let Ok(entry) = KBox::new(entry, GFP_KERNEL) else {
        return ptr::null_mut();
    };
    let entry = KBox::into_raw(entry);
    // SAFETY: it is freed only after it is taken out.
    unsafe { calls.push(entry) };
    entry
}

/// Adds the caller's entry.
///
/// # Safety
///
/// `hash` came from `alloc_ftrace_hash()`; `entry` stays until it is taken out.
#[export]
pub(crate) unsafe extern "C" fn add_ftrace_hash_entry(
    hash: *mut ftrace_hash,
    entry: *mut ftrace_func_entry,
) {
    // SAFETY: the hash is null, or was made here and is not freed.
    if let Some(calls) = unsafe { Calls::from_raw(hash) } {
        // SAFETY: the entry came from a box, and is in no other hash.
        unsafe { calls.push(entry) };
    }
}

/// Takes all entries out, without freeing them.
///
/// # Safety
///
/// `hash` is null or came from `alloc_ftrace_hash()`.
#[export]
pub(crate) unsafe extern "C" fn ftrace_hash_remove(hash: *mut ftrace_hash) {
    // SAFETY: the hash is null, or was made here and is not freed.
    if let Some(calls) = unsafe { Calls::from_raw(hash) } {
        while calls.pop().is_some() {}
    }
}

/// Number of entries.
///
/// # Safety
///
/// `hash` is null or came from `alloc_ftrace_hash()`.
#[export]
pub(crate) unsafe extern "C" fn ftrace_hash_count(hash: *mut ftrace_hash) -> c_ulong {
    // SAFETY: the hash is null, or was made here and is not freed.
    unsafe { Calls::from_raw(hash) }.map_or(0, |calls| calls.count)
}

/// # Safety
///
/// `ops` follows the rules of the header, `hash` came from `alloc_ftrace_hash()`.
unsafe fn with(
    ops: *mut ftrace_ops,
    hash: *mut ftrace_hash,
    f: impl FnOnce(OpsRef, &SiteSet) -> Result,
) -> c_int {
    // SAFETY: the hash is null, or was made here and is not freed.
    let (op, calls) = match unsafe { (OpsRef::from_raw(ops), Calls::from_raw(hash)) } {
        (Some(op), Some(calls)) => (op, calls),
        _ => return EINVAL.to_errno(),
    };
    errno(calls.to_set().and_then(|set| f(op, &set)))
}

/// # Safety
///
/// As for `register_ftrace_direct()`; `hash` came from `alloc_ftrace_hash()`.
#[export]
pub(crate) unsafe extern "C" fn update_ftrace_direct_add(
    ops: *mut ftrace_ops,
    hash: *mut ftrace_hash,
) -> c_int {
    // SAFETY: the ops and the hash are there during the call, the ops as long as it is registered.
    unsafe { with(ops, hash, direct::add) }
}

/// # Safety
///
/// `hash` came from `alloc_ftrace_hash()`.
#[export]
pub(crate) unsafe extern "C" fn update_ftrace_direct_del(
    ops: *mut ftrace_ops,
    hash: *mut ftrace_hash,
) -> c_int {
    // SAFETY: the ops and the hash are there during the call, the ops as long as it is registered.
    unsafe { with(ops, hash, direct::del) }
}

/// # Safety
///
/// As for `register_ftrace_direct()`; `hash` came from `alloc_ftrace_hash()`; without
/// `do_direct_lock` this is called from within an `ops_func`.
#[export]
pub(crate) unsafe extern "C" fn update_ftrace_direct_mod(
    ops: *mut ftrace_ops,
    hash: *mut ftrace_hash,
    do_direct_lock: bool,
) -> c_int {
    // SAFETY: the ops and the hash are there during the call, the ops as long as it is registered.
    unsafe {
        with(ops, hash, |op, calls| {
            direct::change(op, calls, !do_direct_lock)
        })
    }
}

crate::abi::same_in_c! {
    fn alloc_ftrace_hash(_) -> _;
}
