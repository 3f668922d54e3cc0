// SPDX-License-Identifier: GPL-2.0

//! Runs something at each [point](super::point) of a thread. For tests, on the host only.

use std::cell::Cell;

#[cfg(loom)]
use loom::thread_local;
#[cfg(not(loom))]
use std::thread_local;

thread_local! {
    static HOOK: Cell<Option<*const dyn Fn()>> = Cell::new(None);
}

/// Runs `run`. Meanwhile `hook` runs at each point that this thread reaches, those inside `hook`
/// included.
pub fn with<R>(hook: &dyn Fn(), run: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const dyn Fn()>);
    impl Drop for Restore {
        fn drop(&mut self) {
            set(self.0);
        }
    }
    // SAFETY: only the lifetime changes. `Restore` removes the pointer before `hook` ends.
    let hook = unsafe { core::mem::transmute::<*const (dyn Fn() + '_), *const dyn Fn()>(hook) };
    let _restore = Restore(set(Some(hook)));
    run()
}

fn set(hook: Option<*const dyn Fn()>) -> Option<*const dyn Fn()> {
    HOOK.with(|place| place.replace(hook))
}

/// This thread is at a point.
pub fn reached() {
    if let Some(hook) = HOOK.with(Cell::get) {
        // SAFETY: `with` has set it, and has not ended.
        unsafe { (*hook)() };
    }
}
