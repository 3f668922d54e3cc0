// SPDX-License-Identifier: GPL-2.0

//! The boot configuration: a tree of keys with values (`Documentation/admin-guide/bootconfig.rst`).
//!
//! C header: `include/linux/bootconfig.h`.

use core::marker::PhantomData;
use core::ptr::NonNull;
use kernel::bindings;
use kernel::prelude::*;

/// A key of the tree.
///
/// # Invariants
///
/// `raw` is a node of the tree, which stays for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    raw: NonNull<bindings::xbc_node>,
    _tree: PhantomData<&'a bindings::xbc_node>,
}

/// Calls `f` with the key `name` of the top level, if there is one. Boot, task context.
///
/// # Safety
///
/// Init memory is still there while `f` runs.
pub(crate) unsafe fn with_key(name: &CStr, f: impl for<'a> FnOnce(Key<'a>)) {
    // SAFETY: null means the top level; the tree is there as long as init memory is.
    if let Some(key) = unsafe { Key::below(core::ptr::null_mut(), name) } {
        f(key);
    }
}

impl<'a> Key<'a> {
    /// # Safety
    ///
    /// The tree stays for `'a`, and `parent` is null or a node of it.
    unsafe fn below(parent: *mut bindings::xbc_node, name: &CStr) -> Option<Self> {
        // SAFETY: `parent` is null or a node of the tree, which is there.
        let raw = unsafe { bindings::rtrace_bootconfig_key(parent, name.as_char_ptr()) };
        // SAFETY: null or a node of the tree.
        unsafe { Self::from_raw(raw) }
    }

    /// # Safety
    ///
    /// Null or a node of a tree that stays for `'a`.
    unsafe fn from_raw(raw: *mut bindings::xbc_node) -> Option<Self> {
        // INVARIANT: `raw` is a node of a tree that stays for `'a`.
        Some(Self {
            raw: NonNull::new(raw)?,
            _tree: PhantomData,
        })
    }

    /// The word that it adds to its parent's.
    pub(crate) fn name(self) -> &'a [u8] {
        // SAFETY: by the type invariant a node of the tree.
        unsafe { text(self.raw.as_ptr()) }
    }

    /// The key `name` below it; several words may be joined by dots.
    pub(crate) fn key(self, name: &CStr) -> Option<Self> {
        // SAFETY: by the type invariant a node of the tree, which stays for `'a`.
        unsafe { Self::below(self.raw.as_ptr(), name) }
    }

    /// The keys directly below it.
    pub(crate) fn keys(self) -> impl Iterator<Item = Self> {
        // SAFETY: by the type invariant; what is given is null or a node of the same tree.
        let first = unsafe { Self::from_raw(bindings::rtrace_bootconfig_first(self.raw.as_ptr())) };
        core::iter::successors(first, |key| {
            // SAFETY: `key` is a node of the tree; what is given is null or a node of the same
            // tree.
            unsafe { Self::from_raw(bindings::rtrace_bootconfig_next(key.raw.as_ptr())) }
        })
    }

    /// The values of the key `name` below it; none for one without value.
    pub(crate) fn values(self, name: &CStr) -> impl Iterator<Item = &'a [u8]> {
        let key = self.key(name);
        // SAFETY: by the type invariant a node of the tree; what is given is null or a value of it.
        let first = key.and_then(|key| unsafe {
            NonNull::new(bindings::rtrace_bootconfig_value(key.raw.as_ptr()))
        });
        let values = core::iter::successors(first, |value| {
            // SAFETY: a value of the tree.
            NonNull::new(unsafe { bindings::rtrace_bootconfig_next_value(value.as_ptr()) })
        });
        // SAFETY: a value of the tree.
        values.map(|value| unsafe { text(value.as_ptr()) })
    }

    /// The first value of the key `name` below it, unless that is empty.
    pub(crate) fn value(self, name: &CStr) -> Option<&'a [u8]> {
        self.values(name).next().filter(|value| !value.is_empty())
    }
}

/// # Safety
///
/// A node of a tree that stays for `'a`.
unsafe fn text<'a>(node: *mut bindings::xbc_node) -> &'a [u8] {
    // SAFETY: `node` is one of a tree that is there.
    let text = unsafe { bindings::rtrace_bootconfig_text(node) };
    if text.is_null() {
        return b"";
    }
    // SAFETY: a string of the tree's text, which stays as long as the tree.
    unsafe { CStr::from_char_ptr(text) }.to_bytes()
}
