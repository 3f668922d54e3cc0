// SPDX-License-Identifier: GPL-2.0

//! Read-side sections (preemption off) and grace periods.
//!
//! A grace period waits for the sections that have begun. What those did comes before its end, and
//! what came before its beginning is seen by later sections. A section orders nothing else: between
//! two of them there is no barrier.

#[cfg(not(loom))]
mod imp {
    use crate::sync::SpinMutex;
    use std::sync::atomic::AtomicU64;

    /// There is one execution.
    pub fn execution() -> u64 {
        0
    }

    /// A word that is 0.
    pub fn word() -> AtomicU64 {
        AtomicU64::new(0)
    }

    /// An open lock.
    pub fn lock() -> SpinMutex<()> {
        SpinMutex::new(())
    }

    /// A section begins.
    pub fn enter() {}

    /// A section ends.
    pub fn exit() {}

    /// A grace period. Tests without loom have one thread.
    pub fn wait() {}
}

#[cfg(loom)]
mod imp {
    use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use loom::sync::{Condvar, Mutex};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    /// So many threads there can be.
    const THREADS: usize = 3;

    /// So many words and locks that constants may initialise.
    const WORDS: usize = 60;
    const LOCKS: usize = 8;

    /// The state of an execution.
    struct State {
        number: u64,
        /// For loom, who makes an object comes before all others that use it. So these are made
        /// before there are threads.
        words: RefCell<Vec<AtomicU64>>,
        locks: RefCell<Vec<Mutex<()>>>,
        /// Whether a thread is in a section.
        flags: [AtomicUsize; THREADS],
        nesting: [Cell<usize>; THREADS],
        /// Grace periods that have begun, and how many of them a thread's sections have seen.
        begun: Cell<usize>,
        seen: [Cell<usize>; THREADS],
        beginning: AtomicUsize,
        /// Threads whose sections are waited for.
        awaited: Cell<[bool; THREADS]>,
        lock: Mutex<()>,
        ended: Condvar,
    }

    std::thread_local! {
        static STATE: RefCell<Option<Rc<State>>> = const { RefCell::new(None) };
    }

    loom::thread_local! {
        static THREAD: Cell<usize> = Cell::new(0);
    }

    fn state() -> Rc<State> {
        STATE.with(|state| state.borrow().clone().expect("`model` has begun"))
    }

    /// The number of this execution.
    pub fn execution() -> u64 {
        state().number
    }

    /// A word that is 0.
    pub fn word() -> AtomicU64 {
        state()
            .words
            .borrow_mut()
            .pop()
            .expect("WORDS is too small")
    }

    /// An open lock.
    pub fn lock() -> Mutex<()> {
        state()
            .locks
            .borrow_mut()
            .pop()
            .expect("LOCKS is too small")
    }

    /// Runs `case` in all orders, of which there are more than `least`. One model at a time: there
    /// are static objects.
    pub fn model(least: usize, case: impl Fn() + Send + Sync + 'static) {
        static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let order = std::sync::atomic::Ordering::Relaxed;
        let alone = ALONE.lock().unwrap_or_else(|failed| failed.into_inner());
        let base = NUMBER.load(order);
        let mut builder = loom::model::Builder::new();
        builder.max_branches = 10_000;
        builder.check(move || {
            let number = NUMBER.fetch_add(1, order) + 1;
            let new = State {
                number,
                words: RefCell::new((0..WORDS).map(|_| AtomicU64::new(0)).collect()),
                locks: RefCell::new((0..LOCKS).map(|_| Mutex::new(())).collect()),
                flags: core::array::from_fn(|_| AtomicUsize::new(0)),
                nesting: Default::default(),
                begun: Cell::new(0),
                seen: Default::default(),
                beginning: AtomicUsize::new(0),
                awaited: Cell::default(),
                lock: Mutex::new(()),
                ended: Condvar::new(),
            };
            STATE.with(|state| state.replace(Some(Rc::new(new))));
            case();
            STATE.with(|state| state.take());
        });
        let orders = (NUMBER.load(order) - base) as usize;
        drop(alone);
        assert!(orders > least, "{orders} orders");
    }

    /// A thread with a number from 1.
    pub fn spawn<R: 'static>(
        thread: usize,
        run: impl FnOnce() -> R + 'static,
    ) -> loom::thread::JoinHandle<R> {
        assert!(thread < THREADS);
        loom::thread::spawn(move || {
            THREAD.with(|place| place.set(thread));
            run()
        })
    }

    /// A section begins.
    pub fn enter() {
        let (state, thread) = (state(), THREAD.with(Cell::get));
        let nesting = &state.nesting[thread];
        nesting.set(nesting.get() + 1);
        if nesting.get() > 1 {
            return;
        }
        nesting.set(0);
        state.flags[thread].store(1, Ordering::Relaxed);
        nesting.set(1);
        if state.seen[thread].replace(state.begun.get()) != state.begun.get() {
            state.beginning.fetch_add(0, Ordering::Acquire);
        }
    }

    /// A section ends.
    pub fn exit() {
        let (state, thread) = (state(), THREAD.with(Cell::get));
        let nesting = &state.nesting[thread];
        if nesting.get() > 1 {
            nesting.set(nesting.get() - 1);
            return;
        }
        state.flags[thread].store(0, Ordering::Release);
        nesting.set(0);
        if state.awaited.get()[thread] {
            let guard = state.lock.lock().unwrap();
            let mut awaited = state.awaited.get();
            awaited[thread] = false;
            state.awaited.set(awaited);
            state.ended.notify_all();
            drop(guard);
        }
    }

    /// A grace period. One at a time.
    pub fn wait() {
        let (state, thread) = (state(), THREAD.with(Cell::get));
        assert_eq!(state.nesting[thread].get(), 0, "this sleeps in a section");
        state.beginning.fetch_add(1, Ordering::Release);
        state.begun.set(state.begun.get() + 1);
        let mut guard = state.lock.lock().unwrap();
        state.awaited.set(core::array::from_fn(|other| {
            state.nesting[other].get() != 0
        }));
        // A section that is not awaited has ended, and is seen here.
        for flag in &state.flags {
            flag.fetch_add(0, Ordering::Acquire);
        }
        while state.awaited.get() != [false; THREADS] {
            guard = state.ended.wait(guard).unwrap();
        }
        drop(guard);
    }
}

pub use imp::*;
