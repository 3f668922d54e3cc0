// SPDX-License-Identifier: GPL-2.0

//! Atomics and barriers, as loom has them or the host.

#[cfg(loom)]
pub use loom::sync::{Arc, Condvar, Mutex as SpinMutex, MutexGuard};
#[cfg(not(loom))]
pub use std::sync::{Arc, Condvar, Mutex as SpinMutex, MutexGuard};

/// A lock that its waiters sleep for.
pub struct Mutex<T>(SpinMutex<T>);

impl<T> Mutex<T> {
    /// An open lock.
    pub fn new(value: T) -> Self {
        Self(SpinMutex::new(value))
    }

    /// Takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

/// A value that a constant can initialise: each execution has its own, which is taken when it is used
/// for the first time.
pub struct Lazy<T>(core::cell::UnsafeCell<Option<(u64, Box<T>)>>);

// SAFETY: with loom all threads of an execution are one thread of the host, and executions that use
// the same object come one after the other (`rcu::model`). Else `get` is called with `&mut` only.
unsafe impl<T: Send> Send for Lazy<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Lazy<T> {}

impl<T> Lazy<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(core::cell::UnsafeCell::new(None))
    }

    /// The value of this execution, which `make` makes if there is none.
    pub fn get(&self, make: impl FnOnce() -> T) -> &T {
        let execution = crate::rcu::execution();
        // SAFETY: as for `Sync`; a value stays to the end of its execution.
        let place = unsafe { &mut *self.0.get() };
        if place.as_ref().is_none_or(|(of, _)| *of != execution) {
            // An object of an execution that has ended is nothing any more.
            core::mem::forget(place.replace((execution, Box::new(make()))));
        }
        &place.as_ref().unwrap().1
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Barriers.
pub mod barrier {
    use super::atomic::ordering;

    /// `smp_mb()`.
    pub fn smp_mb(_: ordering::Full) {
        super::atomic::fence();
    }
}

/// Atomics.
pub mod atomic {
    use super::Lazy;
    #[cfg(loom)]
    use loom::sync::atomic as imp;
    #[cfg(not(loom))]
    use std::sync::atomic as imp;

    use imp::{AtomicU64, Ordering};
    pub use ordering::{Acquire, Full, Relaxed, Release};

    pub(super) fn fence() {
        imp::fence(Ordering::SeqCst);
    }

    /// The orders of accesses, by their names in the kernel crate.
    pub mod ordering {
        use super::Ordering;

        /// An order.
        pub trait Any {
            const LOAD: Ordering;
            const STORE: Ordering;
            const CHANGE: Ordering;
            /// Whether a barrier comes before and after.
            const FULL: bool = false;
        }

        macro_rules! orders {
            ($($name:ident: $load:ident $store:ident $change:ident $full:literal;)*) => {$(
                /// An order.
                #[derive(Clone, Copy)]
                pub struct $name;
                impl Any for $name {
                    const LOAD: Ordering = Ordering::$load;
                    const STORE: Ordering = Ordering::$store;
                    const CHANGE: Ordering = Ordering::$change;
                    const FULL: bool = $full;
                }
            )*};
        }
        orders! {
            Relaxed: Relaxed Relaxed Relaxed false;
            Acquire: Acquire Relaxed Acquire false;
            Release: Relaxed Release Release false;
            Full: Acquire Release AcqRel true;
        }
    }

    /// What an atomic can hold.
    pub trait AtomicType: Copy {
        fn to_bits(self) -> u64;
        fn from_bits(bits: u64) -> Self;
    }

    macro_rules! types {
        ($($type:ty)*) => {$(
            impl AtomicType for $type {
                fn to_bits(self) -> u64 {
                    self as u64
                }
                fn from_bits(bits: u64) -> Self {
                    bits as Self
                }
            }
        )*};
    }
    types!(u32 u64 usize);

    impl AtomicType for bool {
        fn to_bits(self) -> u64 {
            self.into()
        }
        fn from_bits(bits: u64) -> Self {
            bits != 0
        }
    }

    impl<T> AtomicType for *mut T {
        fn to_bits(self) -> u64 {
            self.expose_provenance() as u64
        }
        fn from_bits(bits: u64) -> Self {
            core::ptr::with_exposed_provenance_mut(bits as usize)
        }
    }

    /// An atomic. The word is its value minus the first one, so that it begins as 0.
    pub struct Atomic<T: AtomicType> {
        first: T,
        word: Lazy<AtomicU64>,
    }

    // SAFETY: a value can be sent and shared as its bits.
    unsafe impl<T: AtomicType> Send for Atomic<T> {}
    // SAFETY: as above.
    unsafe impl<T: AtomicType> Sync for Atomic<T> {}

    impl<T: AtomicType> Atomic<T> {
        /// One with a value.
        pub const fn new(first: T) -> Self {
            Self {
                first,
                word: Lazy::new(),
            }
        }

        fn word(&self) -> &AtomicU64 {
            self.word.get(crate::rcu::word)
        }

        fn word_of(&self, value: T) -> u64 {
            value.to_bits().wrapping_sub(self.first.to_bits())
        }

        fn value_of(&self, word: u64) -> T {
            T::from_bits(word.wrapping_add(self.first.to_bits()))
        }

        fn change<O: ordering::Any, R>(&self, change: impl FnOnce(&AtomicU64, Ordering) -> R) -> R {
            if O::FULL {
                fence();
            }
            let result = change(self.word(), O::CHANGE);
            if O::FULL {
                fence();
            }
            result
        }

        pub fn load<O: ordering::Any>(&self, _: O) -> T {
            self.value_of(self.word().load(O::LOAD))
        }

        pub fn store<O: ordering::Any>(&self, value: T, _: O) {
            self.word().store(self.word_of(value), O::STORE);
        }

        pub fn xchg<O: ordering::Any>(&self, value: T, _: O) -> T {
            let new = self.word_of(value);
            self.value_of(self.change::<O, _>(|word, order| word.swap(new, order)))
        }

        pub fn cmpxchg<O: ordering::Any>(&self, old: T, new: T, _: O) -> Result<T, T> {
            let (old, new) = (self.word_of(old), self.word_of(new));
            self.change::<O, _>(|word, order| {
                word.compare_exchange(old, new, order, Ordering::Relaxed)
            })
            .map(|word| self.value_of(word))
            .map_err(|word| self.value_of(word))
        }

        pub fn fetch_add<O: ordering::Any>(&self, value: T, _: O) -> T {
            let more = value.to_bits();
            self.value_of(self.change::<O, _>(|word, order| word.fetch_add(more, order)))
        }

        pub fn fetch_sub<O: ordering::Any>(&self, value: T, _: O) -> T {
            let less = value.to_bits();
            self.value_of(self.change::<O, _>(|word, order| word.fetch_sub(less, order)))
        }
    }
}
