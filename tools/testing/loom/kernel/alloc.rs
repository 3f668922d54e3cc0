// SPDX-License-Identifier: GPL-2.0

//! Boxes and vectors. There is always memory.

use crate::error::Result;
use crate::init::PinInit;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;

/// How memory is asked for.
#[derive(Clone, Copy)]
pub struct Flags;

/// By a task that may sleep.
pub const GFP_KERNEL: Flags = Flags;

/// Where memory comes from.
pub trait Allocator {}

macro_rules! allocators {
    ($($name:ident)*) => {$(
        /// An allocator.
        pub struct $name;
        impl Allocator for $name {}
    )*};
}
allocators!(Kmalloc Vmalloc KVmalloc);

/// A box.
pub struct KBox<T>(Box<T>);

impl<T> KBox<T> {
    /// A box without a value.
    pub fn new_uninit(_: Flags) -> Result<KBox<MaybeUninit<T>>> {
        Ok(KBox(Box::new_uninit()))
    }

    /// A box with a value that stays in its place.
    pub fn pin_init(init: impl PinInit<T>, _: Flags) -> Result<Pin<Self>> {
        let value = KBox(Box::new(init.make()?));
        // SAFETY: nothing moves the value out of its box.
        Ok(unsafe { Pin::new_unchecked(value) })
    }

    /// Its address, which owns the value.
    pub fn into_raw(this: Self) -> *mut T {
        Box::into_raw(this.0)
    }

    /// # Safety
    ///
    /// `raw` came from [`KBox::into_raw`].
    pub unsafe fn from_raw(raw: *mut T) -> Self {
        // SAFETY: the caller says so.
        Self(unsafe { Box::from_raw(raw) })
    }

    /// A reference for ever.
    pub fn leak<'a>(this: Self) -> &'a mut T {
        Box::leak(this.0)
    }
}

impl<T> KBox<MaybeUninit<T>> {
    /// The box with a value.
    pub fn write(mut self, value: T) -> KBox<T> {
        self.0.write(value);
        // SAFETY: it was just written.
        KBox(unsafe { self.0.assume_init() })
    }
}

impl<T> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for KBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A vector.
pub struct Vec<T, A: Allocator>(std::vec::Vec<T>, PhantomData<A>);

pub type KVec<T> = Vec<T, Kmalloc>;
pub type VVec<T> = Vec<T, Vmalloc>;
pub type KVVec<T> = Vec<T, KVmalloc>;

impl<T, A: Allocator> Vec<T, A> {
    /// An empty vector.
    pub fn new() -> Self {
        Self(std::vec::Vec::new(), PhantomData)
    }

    /// An empty vector with room.
    pub fn with_capacity(capacity: usize, _: Flags) -> Result<Self> {
        Ok(Self(std::vec::Vec::with_capacity(capacity), PhantomData))
    }

    /// Appends a value.
    pub fn push(&mut self, value: T, _: Flags) -> Result {
        self.0.push(value);
        Ok(())
    }

    /// Appends a value if there is room.
    pub fn push_within_capacity(&mut self, value: T) -> Result<(), T> {
        if self.0.len() == self.0.capacity() {
            return Err(value);
        }
        self.0.push(value);
        Ok(())
    }

    /// Takes the last value.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }
}

impl<T, A: Allocator> Default for Vec<T, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, A: Allocator> IntoIterator for Vec<T, A> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T, A: Allocator> Deref for Vec<T, A> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, A: Allocator> DerefMut for Vec<T, A> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}
