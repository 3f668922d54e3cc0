// SPDX-License-Identifier: GPL-2.0

//! A callback is called until its guard is dropped: one that borrows what may go first is refused.

use core::sync::atomic::{AtomicUsize, Ordering};
use rtrace::function::FunctionCallback;
use rtrace::Call;

struct Counter<'a>(&'a AtomicUsize);

impl FunctionCallback for Counter<'_> {
    fn entry(&self, _call: &Call<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
