// SPDX-License-Identifier: GPL-2.0

//! A callback runs on several CPUs at once: a counter without atomics is refused.

use core::cell::Cell;
use rtrace::function::FunctionCallback;
use rtrace::Call;

struct Counter(Cell<usize>);

impl FunctionCallback for Counter {
    fn entry(&self, _call: &Call<'_>) {
        self.0.set(self.0.get() + 1);
    }
}
