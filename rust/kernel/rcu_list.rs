// SPDX-License-Identifier: GPL-2.0

//! A list in a static that is walked under RCU and changed under a lock.
//!
//! C header: `include/linux/rculist.h`.

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr;
use kernel::prelude::*;
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};
use kernel::sync::rcu;

/// The proof that a lock is held.
///
/// # Safety
///
/// There is one value of the type, inside the lock: who has a reference to it holds the lock, and
/// has borrowed what the lock protects.
pub(crate) unsafe trait LockKey {}

/// A list of `T`s. The holder of the lock that `K` proves may change it.
///
/// # Invariants
///
/// The pointers are null or came from `KBox::into_raw`. What is taken out keeps its `next`, and is
/// freed after a grace period.
pub(crate) struct RcuList<T, K> {
    head: Atomic<*mut Node<T>>,
    _key: PhantomData<fn(&K)>,
}

/// An element of a list, not in one yet.
pub(crate) struct Node<T> {
    next: Atomic<*mut Node<T>>,
    value: T,
}

impl<T> Node<T> {
    /// An element. May sleep. `ENOMEM`.
    pub(crate) fn new(value: T) -> Result<KBox<Self>> {
        let next = Atomic::new(ptr::null_mut());
        Ok(KBox::new(Self { next, value }, GFP_KERNEL)?)
    }
}

impl<T> Deref for Node<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

// SAFETY: any context may look at its elements, and who holds the lock may drop them.
unsafe impl<T: Send + Sync, K> Sync for RcuList<T, K> {}

impl<T: 'static, K: LockKey> RcuList<T, K> {
    /// Empty.
    pub(crate) const fn new() -> Self {
        // INVARIANT: null.
        Self {
            head: Atomic::new(ptr::null_mut()),
            _key: PhantomData,
        }
    }

    /// All elements, for a reader under RCU. Any context.
    pub(crate) fn under_rcu<'a>(&'static self, _guard: &'a rcu::Guard) -> Iter<'a, T> {
        // INVARIANT: RCU is read-locked for `'a`.
        Iter::from(&self.head)
    }

    /// All elements, for a holder of the lock.
    pub(crate) fn under_lock<'a>(&'static self, _key: &'a K) -> Iter<'a, T> {
        // INVARIANT: who takes elements out has borrowed the key mutably, and so not before `'a` is
        // over.
        Iter::from(&self.head)
    }

    /// Puts an element at the front.
    pub(crate) fn push_front(&'static self, _key: &K, node: KBox<Node<T>>) {
        node.next.store(self.head.load(Relaxed), Relaxed);
        // Pairs with the acquire loads in `Iter`.
        self.head.store(KBox::into_raw(node), Release);
    }

    /// Puts an element at the end.
    pub(crate) fn push_back(&'static self, key: &K, node: KBox<Node<T>>) {
        let mut link = &self.head;
        let mut all = self.under_lock(key);
        while let Some(node) = all.next_node() {
            link = &node.next;
        }
        // Pairs with the acquire loads in `Iter`.
        link.store(KBox::into_raw(node), Release);
    }

    /// Takes out the first element for which `which` is true; it is freed when the answer is
    /// dropped. The key is borrowed mutably, so that no holder of the lock is still at an element.
    pub(crate) fn take_out(
        &'static self,
        key: &mut K,
        which: impl Fn(&T) -> bool,
    ) -> Option<Removed<T>> {
        let mut link = &self.head;
        let mut all = self.under_lock(key);
        while let Some(node) = all.next_node() {
            if which(&node.value) {
                link.store(node.next.load(Relaxed), Release);
                // INVARIANT: only a holder of the lock takes out, and none walks the list, so this is
                // the only one to have it.
                return Some(Removed(ptr::from_ref(node).cast_mut()));
            }
            link = &node.next;
        }
        None
    }
}

/// Walks a list.
///
/// # Invariants
///
/// No element that can be reached from `at` is freed for `'a`.
pub(crate) struct Iter<'a, T> {
    at: *mut Node<T>,
    _guard: PhantomData<&'a T>,
}

impl<'a, T> Iter<'a, T> {
    fn from(head: &Atomic<*mut Node<T>>) -> Self {
        // Pairs with the release stores of the list.
        Self {
            at: head.load(Acquire),
            _guard: PhantomData,
        }
    }

    fn next_node(&mut self) -> Option<&'a Node<T>> {
        // SAFETY: by the type invariant null, or an element that stays for `'a`.
        let node: &'a Node<T> = unsafe { self.at.as_ref() }?;
        self.at = node.next.load(Acquire);
        Some(node)
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.next_node().map(|node| &node.value)
    }
}

/// An element out of its list that readers may still look at. Dropping it waits for them: may
/// sleep, not under locks that their progress needs.
///
/// # Invariants
///
/// It came from `KBox::into_raw`, is in no list, and is nobody else's.
#[must_use]
pub(crate) struct Removed<T>(*mut Node<T>);

impl<T> Deref for Removed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it is freed by the drop alone.
        unsafe { &(*self.0).value }
    }
}

impl<T> Drop for Removed<T> {
    fn drop(&mut self) {
        rcu::synchronize_rcu();
        // SAFETY: by the type invariant it came from `into_raw` and is in no list; readers that
        // found it there are gone.
        drop(unsafe { KBox::from_raw(self.0) });
    }
}
