// SPDX-License-Identifier: GPL-2.0

//! Stand-ins for `rust/kernel/`.

/// A lock with interrupts off.
pub(crate) mod raw_lock {
    use super::context::PreemptOff;
    use core::cell::UnsafeCell;
    use core::ops::{Deref, DerefMut};
    use kernel::sync::{Lazy, MutexGuard, SpinMutex};

    pub(crate) struct RawLock<T> {
        lock: Lazy<SpinMutex<()>>,
        data: UnsafeCell<T>,
    }

    // SAFETY: as of a mutex.
    unsafe impl<T: Send> Send for RawLock<T> {}
    // SAFETY: as of a mutex.
    unsafe impl<T: Send> Sync for RawLock<T> {}

    impl<T> RawLock<T> {
        pub(crate) const fn new(data: T) -> Self {
            Self {
                lock: Lazy::new(),
                data: UnsafeCell::new(data),
            }
        }

        pub(crate) fn lock(&self) -> RawGuard<'_, T> {
            let off = PreemptOff::new();
            RawGuard {
                lock: self,
                _taken: self.lock.get(kernel::rcu::lock).lock().unwrap(),
                _off: off,
            }
        }

        pub(crate) fn try_lock(&self) -> Option<RawGuard<'_, T>> {
            let off = PreemptOff::new();
            Some(RawGuard {
                lock: self,
                _taken: self.lock.get(kernel::rcu::lock).try_lock().ok()?,
                _off: off,
            })
        }
    }

    pub(crate) struct RawGuard<'a, T> {
        lock: &'a RawLock<T>,
        _taken: MutexGuard<'a, ()>,
        _off: PreemptOff,
    }

    impl<T> Deref for RawGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: the lock is taken.
            unsafe { &*self.lock.data.get() }
        }
    }

    impl<T> DerefMut for RawGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: the lock is taken.
            unsafe { &mut *self.lock.data.get() }
        }
    }
}

/// Preemption off: a read-side section.
pub(crate) mod context {
    use core::marker::PhantomData;

    pub(crate) struct PreemptOff(PhantomData<*mut ()>);

    impl PreemptOff {
        pub(crate) fn new() -> Self {
            kernel::rcu::enter();
            Self(PhantomData)
        }
    }

    impl Drop for PreemptOff {
        fn drop(&mut self) {
            kernel::rcu::exit();
        }
    }

    /// Models are tasks.
    pub(crate) struct PreemptCount;

    impl PreemptCount {
        pub(crate) fn read() -> Self {
            Self
        }

        pub(crate) fn level(&self) -> u32 {
            0
        }
    }
}

/// No CPU comes up in models, or goes down.
pub(crate) mod hotplug {
    pub(crate) struct Hold;

    impl Hold {
        pub(crate) fn new() -> Self {
            Self
        }
    }

    impl Drop for Hold {
        fn drop(&mut self) {}
    }
}

/// Work of an interrupt. Models look whether it was queued, and do it themselves.
pub(crate) mod irq_work {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use kernel::prelude::*;

    pub(crate) trait Run: Send + Sync {
        fn run(&self);
    }

    pub(crate) struct IrqWork<T: Run> {
        data: T,
        queued: AtomicUsize,
    }

    impl<T: Run> IrqWork<T> {
        pub(crate) fn new(data: T) -> impl PinInit<Self> {
            move || {
                Ok(Self {
                    data,
                    queued: AtomicUsize::new(0),
                })
            }
        }

        pub(crate) fn queue_housekeeping(&self) {
            self.queued.fetch_add(1, Ordering::Relaxed);
        }

        /// How often it was queued.
        pub(crate) fn queued(&self) -> usize {
            self.queued.load(Ordering::Relaxed)
        }
    }
}

/// A queue of sleepers. In models nobody sleeps: they look at what a sleeper would have seen last.
pub(crate) mod wait_queue {
    use kernel::prelude::*;

    pub(crate) struct WaitQueue;

    impl WaitQueue {
        pub(crate) fn wait(&self, _ticks: isize, mut ready: impl FnMut() -> bool) -> Result {
            ready().then_some(()).ok_or(EAGAIN)
        }

        pub(crate) fn wake_all(&self) {}
    }
}

/// Memory of sub-buffers.
pub(crate) mod pages {
    use core::mem::ManuallyDrop;
    use core::ptr::NonNull;
    use kernel::cpu::CpuId;
    use kernel::page::PAGE_SIZE;
    use kernel::prelude::*;

    pub(crate) struct Pages {
        address: NonNull<u8>,
        order: u32,
    }

    // SAFETY: it owns its memory.
    unsafe impl Send for Pages {}

    impl Pages {
        pub(crate) fn address(&self) -> NonNull<u8> {
            self.address
        }

        pub(crate) fn size(&self) -> usize {
            PAGE_SIZE << self.order
        }

        pub(crate) fn into_raw(self) -> NonNull<u8> {
            ManuallyDrop::new(self).address
        }

        /// # Safety
        ///
        /// `address` came from [`Pages::into_raw`] of the same order.
        pub(crate) unsafe fn from_raw(address: NonNull<u8>, order: u32) -> Self {
            Self { address, order }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            let words = core::ptr::slice_from_raw_parts_mut(
                self.address.as_ptr().cast::<u64>(),
                self.size() / 8,
            );
            // SAFETY: `Bulk::pages` made it as a box of so many words.
            drop(unsafe { std::boxed::Box::from_raw(words) });
        }
    }

    pub(crate) struct Bulk;

    impl Bulk {
        pub(crate) fn begin(_pages: usize) -> Result<Self> {
            Ok(Self)
        }

        pub(crate) fn pages(&self, _cpu: CpuId, order: u32) -> Result<Pages> {
            let words = std::vec![0_u64; (PAGE_SIZE << order) / 8].into_boxed_slice();
            let address = std::boxed::Box::into_raw(words).cast::<u8>();
            Ok(Pages {
                address: NonNull::new(address).ok_or(ENOMEM)?,
                order,
            })
        }
    }
}

/// There is one CPU, and one value.
pub(crate) mod percpu {
    use kernel::cpu::CpuId;

    pub(crate) struct PerCpu<T>(T);

    impl<T> PerCpu<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(value)
        }

        pub(crate) fn get(&self, _cpu: CpuId) -> Option<&T> {
            Some(&self.0)
        }

        pub(crate) fn this(&self) -> &T {
            &self.0
        }
    }
}

pub(crate) mod relaxed {
    use kernel::sync::atomic::{Atomic, AtomicType, Relaxed};

    pub(crate) fn load<T: AtomicType>(word: &Atomic<T>) -> T {
        word.load(Relaxed)
    }
}

pub(crate) mod clock {
    pub(crate) const HZ: usize = 1000;
}

/// Interrupts of a writer's CPU by a poller.
pub(crate) mod cpus {
    use kernel::cpu::CpuId;
    use kernel::sync::{Condvar, Lazy, SpinMutex};

    #[derive(Default)]
    struct State {
        /// A poller waits for the interrupt.
        wanted: bool,
        taken: bool,
        /// No poller will come.
        over: bool,
    }

    static STATE: Lazy<(SpinMutex<State>, Condvar)> = Lazy::new();

    /// In models no CPU is kept free of noise.
    pub(crate) fn is_housekeeping(_cpu: CpuId) -> bool {
        true
    }

    /// In models no CPU is idle.
    pub(crate) fn is_watched(_cpu: CpuId) -> bool {
        true
    }

    fn state() -> &'static (SpinMutex<State>, Condvar) {
        STATE.get(|| (SpinMutex::new(State::default()), Condvar::new()))
    }

    /// Makes the state, before threads begin.
    pub(crate) fn prepare() {
        state();
    }

    /// The poller's side.
    pub(crate) fn interrupt(_cpu: CpuId) {
        let (state, changed) = state();
        let mut state = state.lock().unwrap();
        state.wanted = true;
        changed.notify_all();
        while !state.taken {
            state = changed.wait(state).unwrap();
        }
    }

    /// The writer's side: here it is interrupted if a poller wants that.
    pub(crate) fn take() {
        let (state, changed) = state();
        let mut state = state.lock().unwrap();
        while !state.wanted && !state.over {
            state = changed.wait(state).unwrap();
        }
        state.taken = true;
        changed.notify_all();
    }

    /// The poller has come to its end.
    pub(crate) fn end_poll() {
        let (state, changed) = state();
        state.lock().unwrap().over = true;
        changed.notify_all();
    }
}

pub(crate) mod fs {
    pub(crate) mod pseudo_fs {
        use crate::kernel::wait_queue::WaitQueue;
        use core::marker::PhantomData;

        #[derive(Default)]
        pub(crate) struct PollCall<'f>(PhantomData<&'f ()>);

        impl<'f> PollCall<'f> {
            pub(crate) fn wait_on(&self, _queue: &'f WaitQueue) {}
        }

        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) struct PollEvents(u32);

        impl PollEvents {
            pub(crate) const NONE: Self = Self(0);
            pub(crate) const READABLE: Self = Self(1);
            pub(crate) const ERROR: Self = Self(8);
        }
    }
}
